"""Tables on real object stores: SeaweedFS for S3, Azurite for Azure, and one server that must be refused."""

from __future__ import annotations

import random
import threading
import traceback
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from bench.proxies import running
from bench.servers import Server

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StorageDeniedError,
    StorageError,
    TableNotFoundError,
    UnsafeStoreError,
)
from indextables.storage import open_store
from support.fault_proxy import FaultProxy
from support.invariants import check_table

pytestmark = pytest.mark.servers


@pytest.fixture
def uri(server: Server) -> str:
    return server.uri(f"{uuid.uuid4()}/logs")


@pytest.fixture
def settings(server: Server, tmp_path: Path) -> dict[str, str]:
    """Access to the server, and an index cache of the test's own: what is read must come from the store."""
    return server.settings | {keys.CACHE_DIRECTORY.key: str(tmp_path), keys.HEAP_SIZE.key: "15M"}


@pytest.fixture
def watched(server: Server, settings: dict[str, str]) -> Iterator[tuple[FaultProxy, dict[str, str]]]:
    """A proxy that only watches, and the settings that lead through it."""
    with running(FaultProxy(server.address, faults=())) as proxy:
        yield proxy, settings | server.through(proxy.address).settings


def logs(day: str, messages: list[str]) -> pa.Table:
    return pa.table({"day": [day] * len(messages), "message": messages})


def test_the_life_of_a_table(uri: str, settings: dict[str, str]):
    first = logs("2026-03-03", ["timeout waiting for db", "user ada logged in"])
    assert it.write(uri, first, partition_by=["day"], text=["message"], settings=settings) == 0
    assert it.write(uri, logs("2026-03-04", ["db timeout"]), settings=settings) == 1
    table = it.open(uri, settings=settings)
    assert table.count() == 3
    assert table.search("message:(timeout AND db)", columns=["message"]).num_rows == 2
    assert table.to_arrow(where="day = '2026-03-04'").column("message").to_pylist() == ["db timeout"]
    assert table.drop_partitions("day = '2026-03-03'") == 2
    assert table.count() == 3, "a table is one version"
    assert table.refresh().checkpoint() == 2
    assert it.open(uri, settings=settings).count() == 1
    assert it.open(uri, version=1, settings=settings).count(query="message:timeout") == 2
    assert it.write(uri, logs("2026-03-05", ["again"]), mode="overwrite", settings=settings) == 3
    newest = it.open(uri, settings=settings)
    assert newest.to_arrow(columns=["message"]).to_pylist() == [{"message": "again"}]
    assert newest.history().column("version").to_pylist() == [3, 2, 1, 0]
    assert check_table(open_store(uri, Settings(settings))) == 3


def test_a_store_keeps_the_contract(uri: str, settings: dict[str, str]):
    store = open_store(uri, Settings(settings))
    store.create("log/0", b"0123456789")
    with pytest.raises(ObjectExistsError, match="log/0"):
        store.create("log/0", b"another")
    assert store.get("log/0") == b"0123456789"
    assert store.get_range("log/0", 2, 3) == b"234"
    assert store.head("log/0").size == 10
    with pytest.raises(StorageError, match="ends at byte 10"):
        store.get_range("log/0", 8, 3)
    for key in ("a=1%2F2 é/k", "log/1", "log-b"):
        store.put(key, b"1")
    assert [info.key for info in store.list_from("")] == ["a=1%2F2 é/k", "log-b", "log/0", "log/1"]
    assert [info.key for info in store.list_from("log", start_after="log/0")] == ["log/1"]
    for _ in range(2):
        store.delete("log/1")
    with pytest.raises(ObjectNotFoundError, match="log/1"):
        store.get("log/1")


def test_one_of_many_wins_a_create(uri: str, settings: dict[str, str]):
    store, racers, versions = open_store(uri, Settings(settings)), 4, 5
    won: list[tuple[int, bytes]] = []
    start = threading.Barrier(racers)

    def race(me: bytes) -> None:
        for version in range(versions):
            start.wait()
            try:
                store.create(f"log/{version}", me)
                won.append((version, me))
            except ObjectExistsError:
                pass

    threads = [threading.Thread(target=race, args=(str(n).encode(),)) for n in range(racers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [(version, store.get(f"log/{version}")) for version in range(versions)]


def test_a_search_reads_parts_of_a_split(uri: str, watched: tuple[FaultProxy, dict[str, str]]):
    proxy, settings = watched
    rows, rng = 3000, random.Random(1)
    table = pa.table(
        {
            "id": range(rows),
            "message": [f"row {n % 7}" + (" needle" if n == 1234 else "") for n in range(rows)],
            "payload": [rng.randbytes(3000) for _ in range(rows)],
        }
    )
    settings |= {keys.ROW_GROUP_ROWS.key: "100"}
    it.write(uri, table, text=["message"], settings=settings)
    (size,) = it.open(uri, settings=settings).files().column("size").to_pylist()
    proxy.passed.clear()
    found = it.open(uri, settings=settings).search("message:needle")
    assert found.column("id").to_pylist() == [1234]
    reads = [one for one in proxy.passed if one.path.endswith(".split")]
    assert reads
    assert all(one.method == "GET" and one.range is not None and one.status == 206 for one in reads)
    assert sum(one.size for one in reads) < size / 10, f"{reads} of {size} bytes"
    proxy.passed.clear()
    assert it.open(uri, settings=settings).count() == rows
    assert not [one for one in proxy.passed if one.path.endswith(".split")], "a count is in the log"


def test_wrong_credentials_are_refused_without_showing_any(
    server: Server, uri: str, settings: dict[str, str]
):
    secret = "d3Jvbmctd3Jvbmctd3Jvbmc="  # base64, as Azure's keys are
    wrong = settings | server.with_secret(secret).settings
    for attempt in (
        lambda: it.write(uri, logs("2026-03-03", ["x"]), settings=wrong),
        lambda: it.open(uri, settings=wrong),
    ):
        with pytest.raises(StorageDeniedError, match="the store refuses") as caught:
            attempt()
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert secret not in told
        assert server.secret not in told


def test_an_unknown_bucket_is_named(server: Server, settings: dict[str, str]):
    nowhere = server.uri("logs", bucket="nowhere")
    for attempt in (
        lambda: it.write(nowhere, logs("2026-03-03", ["x"]), settings=settings),
        lambda: it.open(nowhere, settings=settings),
        lambda: open_store(nowhere, Settings(settings)).put("k", b"1"),
    ):
        with pytest.raises(ObjectNotFoundError, match=r"nowhere.*bucket or container does not exist"):
            attempt()


def test_a_server_that_ignores_the_precondition_is_refused(rclone: Server):
    uri = rclone.uri("logs")
    with pytest.raises(UnsafeStoreError, match=r"ignores conditional creates.*put the table on a store that"):
        it.write(uri, logs("2026-03-03", ["x"]), settings=rclone.settings)
    with pytest.raises(TableNotFoundError):
        it.open(uri, settings=rclone.settings)


def test_the_environment_is_enough_on_s3(seaweedfs: Server, monkeypatch: pytest.MonkeyPatch):
    for name, value in {
        "ACCESS_KEY_ID": seaweedfs.access_key,
        "SECRET_ACCESS_KEY": seaweedfs.secret,
        "ENDPOINT_URL": seaweedfs.endpoint,
        "REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    uri = seaweedfs.uri(str(uuid.uuid4())).replace("s3://", "s3a://")
    assert it.write(uri, logs("2026-03-03", ["x"])) == 0
    assert it.open(uri).count() == 1


def test_the_environment_is_enough_on_azure(azurite: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", azurite.secret)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", azurite.endpoint)
    uri = azurite.uri(str(uuid.uuid4())).replace("abfss://", "wasbs://").replace(".dfs.", ".blob.")
    assert it.write(uri, logs("2026-03-03", ["x"])) == 0
    assert it.open(uri).count() == 1


def test_a_connection_string_is_enough_on_azure(azurite: Server):
    text = f"AccountName=tester;AccountKey={azurite.secret};BlobEndpoint={azurite.endpoint};"
    settings = {"spark.indextables.azure.connectionString": text}
    uri = f"abfss://tables/{uuid.uuid4()}"
    assert it.write(uri, logs("2026-03-03", ["x"]), settings=settings) == 0
    assert it.open(uri, settings=settings).count() == 1

"""Stores: creates with one winner, listings in order, errors that name the object and no secret."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from obstore import exceptions
from obstore.store import MemoryStore

from indextables.config import Settings
from indextables.errors import (
    ConfigError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageDeniedError,
    StorageError,
    StorageFullError,
    UnsafeStoreError,
)
from indextables.storage import Store, local, open_store, table_uri
from indextables.storage.remote import RemoteStore


@pytest.fixture
def store(any_store: Store) -> Store:
    return any_store


def test_what_was_put_is_got_back_whole_and_in_ranges(store: Store):
    store.put("a/b", b"0123456789")
    assert store.get("a/b") == b"0123456789"
    assert store.get_range("a/b", 2, 3) == b"234"
    assert store.get_range("a/b", 2, 0) == b""
    assert store.head("a/b").size == 10
    store.put("a/b", b"new")
    assert store.get("a/b") == b"new"


def test_a_range_beyond_the_end_is_an_error_and_not_a_short_answer(store: Store):
    store.put("k", b"0123456789")
    with pytest.raises(StorageError, match="ends at byte 10"):
        store.get_range("k", 8, 3)
    with pytest.raises(StorageError):
        store.get_range("k", 11, 1)


def test_absent_objects_are_named(store: Store):
    for ask in (store.get, store.head, lambda key: store.get_range(key, 0, 1)):
        with pytest.raises(ObjectNotFoundError, match="x/y"):
            ask("x/y")


def test_a_create_leaves_an_existing_object_alone(store: Store):
    store.create("log/0", b"mine")
    with pytest.raises(ObjectExistsError, match="log/0"):
        store.create("log/0", b"theirs")
    assert store.get("log/0") == b"mine"


def test_deleting_what_is_absent_is_fine(store: Store):
    store.delete("never/was")
    store.put("k", b"")
    store.delete("k")
    store.delete("k")
    assert list(store.list_from("")) == []


def test_a_listing_is_sorted_by_key_and_starts_after(store: Store):
    keys = ["a/x", "a-b/x", "a.b", "a/b/c", "ab", "a", "é/ü", "b=1%2F2/k"]
    keys.remove("a")  # a file cannot bear the name of a directory on a disk
    for key in keys:
        store.put(key, b"1")
    assert [info.key for info in store.list_from("")] == sorted(keys)
    for after in [*keys, "a/", "a", "zzz", ""]:
        expected = sorted(key for key in keys if key > after)
        assert [info.key for info in store.list_from("", start_after=after)] == expected
    assert [info.key for info in store.list_from("a")] == ["a/b/c", "a/x"]
    assert [info.key for info in store.list_from("a/")] == ["a/b/c", "a/x"]
    assert list(store.list_from("nothing/here")) == []


def test_a_listing_tells_size_and_time(store: Store):
    before = datetime.now(UTC).timestamp() * 1000
    store.put("k", b"12345")
    (info,) = store.list_from("")
    assert info == store.head("k")
    assert info.size == 5
    assert abs(info.modified_ms - before) < 60_000


def test_a_file_is_uploaded_and_may_be_gone(store: Store, tmp_path: Path):
    source = tmp_path / "source"
    source.write_bytes(b"rows")
    store.put_file("splits/s", source)
    assert store.get("splits/s") == b"rows"


@pytest.mark.parametrize("key", ["../x", "a/../../x", "/etc/passwd", "", "a//b", "a/./b", "a\0b"])
def test_a_key_cannot_leave_the_root(store: Store, key: str):
    for call in (
        store.get,
        store.head,
        store.delete,
        lambda k: store.put(k, b""),
        lambda k: store.create(k, b""),
    ):
        with pytest.raises(StorageError, match="not a key"):
            call(key)


def test_one_of_many_threads_wins_a_create(store: Store):
    winners: list[int] = []
    start = threading.Barrier(8)

    def race(me: int) -> None:
        start.wait()
        for version in range(20):
            try:
                store.create(f"log/{version:03}", str(me).encode())
                winners.append(version)
            except ObjectExistsError:
                assert store.get(f"log/{version:03}")

    threads = [threading.Thread(target=race, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(winners) == list(range(20))


RACER = """
import sys
from indextables.errors import ObjectExistsError
from indextables.storage import open_store
root, me = sys.argv[1:]
store, won = open_store(root), 0
print("ready", flush=True)
sys.stdin.readline()
for version in range(50):
    try:
        store.create(f"log/{version:03}", me.encode() * 1000)
        won += 1
    except ObjectExistsError:
        pass
print(won)
"""


def test_one_of_many_processes_wins_a_create(tmp_path: Path):
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [
        subprocess.Popen([*command, me], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for me in "abc"
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    answers = [racer.communicate(timeout=60)[0] for racer in racers]
    assert sum(int(answer) for answer in answers) == 50
    store = open_store(str(tmp_path))
    assert all(len(set(store.get(info.key))) == 1 and info.size == 1000 for info in store.list_from("log"))


def test_a_local_create_that_fails_midway_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = open_store(str(tmp_path))
    store.create("log/0", b"")

    def full(fd: int, data: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(local.os, "write", full)
    with pytest.raises(StorageFullError, match="log/1: No space left.*free space"):
        store.create("log/1", b"data")
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "log").iterdir()] == ["0"]
    with pytest.raises(ObjectNotFoundError):
        store.get("log/1")


def test_half_written_files_are_not_listed(tmp_path: Path):
    (tmp_path / ".0123.tmp").write_bytes(b"half")
    assert list(open_store(str(tmp_path)).list_from("")) == []


def test_a_file_system_without_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_link(source: str, target: str) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(local.os, "link", no_link)
    with pytest.raises(UnsafeStoreError, match="does not support hard links"):
        open_store(str(tmp_path)).create("k", b"1")
    assert list(tmp_path.iterdir()) == []


def test_a_file_from_another_file_system_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store, source, replace = open_store(str(tmp_path / "t")), tmp_path / "source", os.replace
    source.write_bytes(b"rows" * 1000)

    def other_device(a: str, b: str) -> None:
        if os.fspath(a) == str(source):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        replace(a, b)

    monkeypatch.setattr(local.os, "replace", other_device)
    store.put_file("splits/s", source)
    assert store.get("splits/s") == b"rows" * 1000
    assert [path.name for path in (tmp_path / "t/splits").iterdir()] == ["s"]


def test_only_a_local_store_has_paths(tmp_path: Path):
    assert open_store(str(tmp_path)).local_path("a/b") == tmp_path / "a/b"
    assert open_store("memory:x").local_path("a/b") is None


def test_a_memory_store_is_one_for_the_process_by_its_name():
    open_store("memory:one").put("k", b"1")
    assert open_store("memory://one/").get("k") == b"1"
    with pytest.raises(ObjectNotFoundError):
        open_store("memory:two").get("k")


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/data/logs/", "/data/logs"),
        ("/data//x/../logs", "/data/logs"),
        ("file:/data/logs", "/data/logs"),
        ("file:///data/a%20b/", "/data/a b"),
        ("file://localhost/data", "/data"),
        ("/data/100%25", "/data/100%25"),
        ("s3a://bucket//logs/", "s3://bucket/logs"),
        ("S3://bucket", "s3://bucket"),
        ("abfss://box@acme.dfs.core.windows.net/a/b/", "abfss://box@acme.dfs.core.windows.net/a/b"),
        ("wasbs://box@acme.blob.core.windows.net/a", "abfss://box@acme.dfs.core.windows.net/a"),
        ("abfs://box/a", "abfss://box/a"),
        ("memory:x/y/", "memory://x/y"),
    ],
)
def test_an_address_has_one_spelling(path: str, uri: str):
    assert table_uri(path) == uri
    assert table_uri(uri) == uri


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert table_uri("a/b") == f"{tmp_path}/a/b"
    assert table_uri(Path("a")) == f"{tmp_path}/a"
    assert table_uri("10:30.logs") == f"{tmp_path}/10:30.logs"
    assert table_uri("./a:b") == f"{tmp_path}/a:b"
    assert table_uri("a/b:c/d") == f"{tmp_path}/a/b:c/d"
    assert table_uri("c:/logs") == f"{tmp_path}/c:/logs", "a drive, were this Windows"
    assert table_uri("/data/hdfs:/x") == "/data/hdfs:/x"
    assert table_uri("file:/data/a:b") == "/data/a:b"


@pytest.mark.parametrize(
    "path",
    [
        "dbfs:/x",
        "hdfs:/x",
        "hdfs://host:8020/x",
        "gs:x",
        "GS://b/x",
        "logs:2024",
        "my_store://b/x",
        "10:/x",
        " s3:/b",
    ],
)
def test_an_unknown_scheme_is_never_a_local_directory(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no store for scheme .* file, memory, s3, .*wasbs"):
        open_store(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "path",
    [
        "",
        "gs://bucket/x",
        "https://example.com/x",
        "s3://AKIA:sEcReT@bucket/x",
        "abfss://box@acme.dfs.core.windows.net/x?sig=sEcReT",
        "s3:///x",
        "s3://bucket/../x",
        "file://elsewhere/x",
    ],
)
def test_an_address_that_cannot_be_one_is_refused_without_its_secrets(path: str):
    with pytest.raises(ConfigError) as caught:
        table_uri(path)
    assert "sEcReT" not in str(caught.value)


class FakeClient:
    """As much of an obstore client as the store uses, with one failure to give."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def get(self, path: str) -> Any:
        raise self.failure

    put = list = get_range = head = delete = lambda self, *_, **__: self.get("")


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (exceptions.GenericError("boom"), StorageError),
        (exceptions.AlreadyExistsError("boom"), ObjectExistsError),
        (exceptions.PreconditionError("boom"), ObjectExistsError),
        (exceptions.PermissionDeniedError("boom"), StorageDeniedError),
        (exceptions.UnauthenticatedError("boom"), StorageDeniedError),
        (FileNotFoundError("boom"), ObjectNotFoundError),
        (OSError("boom"), StorageError),
        (ValueError("boom"), StorageError),
    ],
)
def test_every_error_of_a_client_becomes_ours(failure: Exception, kind: type[Exception]):
    store = RemoteStore("s3://b/t", FakeClient(failure), prefix="t", probe=False)
    for call in (lambda: store.get("k"), lambda: store.put("k", b""), lambda: store.create("k", b"")):
        with pytest.raises(kind, match="s3://b/t/k") as caught:
            call()
        assert type(caught.value) is kind


def test_a_secret_is_in_no_repr_and_no_error():
    said = (
        "Error performing PUT https://acme.blob.core.windows.net/box/k?sv=1&sig=sIgNeD with key sEcReT"
        "\n\nDebug source:\nsEcReT"
    )
    client = FakeClient(exceptions.GenericError(said))
    store = RemoteStore("abfss://box@acme/t", client, secrets=["sEcReT"], probe=False)
    with pytest.raises(StorageError) as caught:
        store.put("k", b"")
    told = f"{caught.value!r} {caught.value.__cause__} {store!r}"
    assert "sEcReT" not in told
    assert "sIgNeD" not in told
    assert "Error performing PUT" in told
    assert caught.value.__suppress_context__  # a traceback must not print the original either


def test_settings_reach_a_store_and_stay_out_of_its_errors():
    settings = Settings(
        {
            "spark.indextables.aws.accessKey": "AKIA",
            "spark.indextables.aws.secretkey": "sEcReT",  # Spark lower-cases the names of options
            "spark.indextables.aws.endpoint": "http://127.0.0.1:9",
            "spark.indextables.aws.region": "nowhere-1",
            "spark.indextables.aws.forcePathStyle": "true",
        }
    )
    store = open_store("s3a://bucket/logs", settings)
    with pytest.raises(StorageError, match="s3://bucket/logs/_transaction_log") as caught:
        store.create("k", b"1")
    assert "127.0.0.1:9/bucket/logs/" in str(caught.value)
    assert "sEcReT" not in f"{caught.value!r} {store!r}"


def test_an_unknown_member_of_a_family_is_an_error():
    with pytest.raises(ConfigError, match=r"aws\.secret'"):
        open_store("s3://bucket/x", Settings({"spark.indextables.aws.secret": "sEcReT"}))


def test_an_azure_store_without_an_account_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(ConfigError, match="abfss://box/x"):
        open_store("abfss://box/x")


class Counting:
    """Passes everything on to an obstore store; forgets the precondition on request."""

    def __init__(self, *, honest: bool) -> None:
        self.inner, self.honest, self.puts = MemoryStore(), honest, []

    def put(self, path: str, file: Any, *, mode: Any = None) -> Any:
        self.puts.append((path, mode))
        return self.inner.put(path, file, mode=mode if self.honest else None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_a_store_that_ignores_the_precondition_is_refused_before_the_first_create():
    client = Counting(honest=False)
    store = RemoteStore("s3://unsafe/t", client, prefix="t")
    for _ in range(2):  # and again: a refusal is not remembered as trust
        with pytest.raises(UnsafeStoreError, match="s3://unsafe/t ignores conditional creates"):
            store.create("_transaction_log/0", b"1")
    assert list(store.list_from("")) == []


def test_an_honest_store_is_asked_once_per_process_and_root():
    client = Counting(honest=True)
    for key in ("a", "b"):
        RemoteStore("s3://honest/t", client, prefix="t").create(key, b"1")
    probes = [path for path, _ in client.puts if "_probe-" in path]
    assert len(probes) == 2
    assert client.puts[2:] == [("t/a", "create"), ("t/b", "create")]
    assert [info.key for info in RemoteStore("s3://honest/t", client, prefix="t").list_from("")] == ["a", "b"]


class Stumbling(Counting):
    """Honest, but for the answers to some creates, by their number: an error, although the create was carried out."""

    def __init__(self, *failing: int) -> None:
        super().__init__(honest=True)
        self.failing = failing

    def put(self, path: str, file: Any, *, mode: Any = None) -> Any:
        try:
            return super().put(path, file, mode=mode)
        finally:
            if len(self.puts) in self.failing:
                raise exceptions.GenericError("the connection was reset")

    def delete(self, paths: str) -> None:
        raise exceptions.PermissionDeniedError("writers may not delete")


@pytest.mark.parametrize("failing", [(), (1,), (2,), (1, 3, 4), (1, 2, 3, 4)])
def test_a_lost_answer_is_no_verdict_on_a_store(failing: tuple[int, ...]):
    client = Stumbling(*failing)
    RemoteStore(f"s3://stumbling/{failing}", client).create("k", b"1")
    assert client.puts[-1] == ("k", "create")


def test_a_store_that_always_fails_is_not_trusted():
    client = Stumbling(*range(100))
    for _ in range(2):
        with pytest.raises(StorageError, match="the connection was reset"):
            RemoteStore("s3://failing/t", client).create("k", b"1")
    assert all("_probe-" in path for path, _ in client.puts)


def test_creates_go_through_the_client_that_does_not_repeat_them():
    retrying, once = Counting(honest=True), Counting(honest=True)
    store = RemoteStore("s3://two/t", retrying, commit_client=once, probe=False)
    store.create("k", b"1")
    store.put("j", b"1")
    assert (once.puts, retrying.puts) == ([("k", "create")], [("j", None)])


def test_a_listing_that_comes_unordered_is_ordered():
    page = [{"path": f"t/{k}", "size": 1, "last_modified": datetime(2026, 1, 1, tzinfo=UTC)} for k in "cab"]
    client: Any = SimpleNamespace(list=lambda *_, **__: [page[:2], page[2:]])
    listed = RemoteStore("s3://b/t", client, prefix="t", probe=False).list_from("")
    assert [(info.key, info.modified_ms) for info in listed] == [(k, 1767225600000) for k in "abc"]

"""States on real object stores: SeaweedFS for S3, Azurite for Azure."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest
from bench.proxies import running
from bench.servers import Server

import indextables as it
from indextables.config import Settings
from indextables.log import Append, Snapshot, checkpoint, commit, load_snapshot
from indextables.log.snapshots import cache
from indextables.state import entries, manifest_key, read_state
from indextables.storage import open_store
from support.fault_proxy import Fault, FaultProxy
from support.logs import add, metadata

pytestmark = pytest.mark.servers

DAYS = 30


@pytest.fixture
def uri(server: Server) -> str:
    return server.uri(str(uuid.uuid4()))


@pytest.fixture
def proxy(server: Server) -> Iterator[tuple[FaultProxy, dict[str, str]]]:
    """A proxy that only watches, and the settings that lead through it."""
    with running(FaultProxy(server.address, faults=())) as proxy:
        yield proxy, server.through(proxy.address).settings


def appended(uri: str, settings: dict[str, str], version: int, base: Snapshot | None) -> Snapshot:
    noise = random.Random(version)
    files = tuple(
        add(f"v{version}-{n}.split", day=f"d{n:02d}", stats=noise.randbytes(200).hex()) for n in range(DAYS)
    )
    chosen = Settings(settings)
    change = Append(files, metadata())
    return commit(open_store(uri, chosen), change, base=base, settings=chosen).snapshot


def loaded(uri: str, settings: dict[str, str]) -> Snapshot:
    cache.forget()
    return load_snapshot(open_store(uri, Settings(settings)))


@pytest.mark.spec(
    "testReadManifestFromS3",
    "testReadManifestFromAzure",
    "testWriteToS3",
    "testWriteToAzure",
    "testIncrementalWriteToS3",
    "testS3FullLifecycle",
    "testAzureFullLifecycle",
)
def test_states_grow_by_manifests_that_stay_and_are_compacted(server: Server, uri: str):
    every = server.settings | {"spark.indextables.checkpoint.interval": "1"}
    store = open_store(uri, Settings(server.settings))
    snapshot = None
    for version in range(4):
        snapshot = appended(uri, every, version, snapshot)
    one, two, three = (read_state(store, version).manifests for version in (1, 2, 3))
    assert three[:2] == two
    assert two[:1] == one
    before = {info.path: store.get(manifest_key(info.path, 3)) for info in three}
    assert sorted(loaded(uri, server.settings).files) == sorted(
        f"v{version}-{n}.split" for version in range(4) for n in range(DAYS)
    )
    table = it.open(uri, settings=every | {"spark.indextables.state.compaction.tombstoneThreshold": "1"})
    assert table.drop_partitions("day < 'd03'") == 4
    state = read_state(store, 4)
    assert (len(state.tombstones), len(state.manifests), state.num_files) == (12, 3, 108)
    assert {info.path: store.get(manifest_key(info.path, 4)) for info in state.manifests} == before
    # The state of version 4 is in place and stays as it is: a version that changes nothing gets the compacted one.
    assert table.checkpoint() == 5
    assert read_state(store, 4).tombstones == state.tombstones
    compacted = read_state(store, 5)
    assert (len(compacted.manifests), compacted.tombstones, compacted.num_files) == (1, (), 108)
    assert it.open(uri, settings=server.settings).files().num_rows == 108
    assert it.open(uri, version=3, settings=server.settings).files().num_rows == 120


@pytest.mark.spec("testReadManifestFromS3", "testReadManifestFromAzure")
def test_the_files_of_one_partition_are_a_ranged_read(
    uri: str, proxy: tuple[FaultProxy, dict[str, str]], monkeypatch: pytest.MonkeyPatch
):
    watched, settings = proxy
    monkeypatch.setattr(entries, "BLOCK_BYTES", 2000)
    snapshot = None
    for version in range(4):
        snapshot = appended(uri, settings, version, snapshot)
    checkpoint(open_store(uri, Settings(settings)), Settings(settings))
    watched.passed.clear()
    found = loaded(uri, settings)
    assert it.open(uri, settings=settings).files(where="day = 'd07'").num_rows == 4
    reads = [one for one in watched.passed if "/manifests/" in one.path]
    assert reads
    assert all(one.status == 206 and one.range for one in reads)
    watched.passed.clear()
    assert len(found.files) == 4 * DAYS
    (whole,) = [one for one in watched.passed if "/manifests/" in one.path]
    assert sum(one.size for one in reads) < whole.size / 2


@pytest.mark.spec("testStorageException")
def test_errors_of_a_moment_are_repeated_and_nobody_hears_of_them(server: Server, uri: str):
    every = {
        "spark.indextables.checkpoint.interval": "1",
        "spark.indextables.transaction.retry.baseDelayMs": "1",
    }
    with running(FaultProxy(server.address, seed=4, faults=(Fault.UNAVAILABLE_AFTER,), spared=4)) as proxy:
        settings = server.through(proxy.address).settings | every
        snapshot = None
        for version in range(3):
            snapshot = appended(uri, settings, version, snapshot)
        assert sorted(loaded(uri, settings).files) == sorted(snapshot.files)
    assert proxy.struck[Fault.UNAVAILABLE_AFTER] >= 2
    assert read_state(open_store(uri, Settings(server.settings)), 2).num_files == 3 * DAYS


@pytest.mark.spec("testS3MultipartUpload")
def test_a_manifest_larger_than_a_part_of_an_upload_arrives_whole(server: Server, uri: str):
    settings = server.settings | {"spark.indextables.state.compression": "none"}
    noise = random.Random(1)
    snapshot = commit(
        open_store(uri, Settings(settings)),
        Append(tuple(add(f"{n}.split", stats=noise.randbytes(3000).hex()) for n in range(2000)), metadata()),
        base=None,
    ).snapshot
    store = open_store(uri, Settings(settings))
    checkpoint(store, Settings(settings))
    (info,) = read_state(store, 0).manifests
    assert store.head(manifest_key(info.path, 0)).size > 10 << 20
    found = loaded(uri, settings)
    assert found.files.base_version == 0
    assert dict(found.files.items()) == dict(snapshot.files.items())


@pytest.mark.spec("testCrossRegionRead")
def test_a_reader_that_is_told_another_region_reads_the_same(seaweedfs: Server):
    uri = seaweedfs.uri(str(uuid.uuid4()))
    it.write(uri, pa.table({"id": [1, 2, 3]}), settings=seaweedfs.settings)
    it.open(uri, settings=seaweedfs.settings).checkpoint()
    cache.forget()
    elsewhere = seaweedfs.settings | {"spark.indextables.aws.region": "eu-west-1"}
    assert it.open(uri, settings=elsewhere).to_arrow().column("id").to_pylist() == [1, 2, 3]


@pytest.mark.spec("testS3EventualConsistency")
def test_what_was_just_written_is_found_by_every_reader(server: Server, uri: str):
    """Each state, manifest and version right after it was written, by name and by listing, through new clients."""
    every = server.settings | {"spark.indextables.checkpoint.interval": "1"}
    snapshot = None
    for version in range(6):
        snapshot = appended(uri, every, version, snapshot)
        fresh = loaded(uri, dict(server.settings))
        assert (fresh.version, fresh.files.base_version) == (version, version or -1)
        assert len(fresh.files) == DAYS * (version + 1)

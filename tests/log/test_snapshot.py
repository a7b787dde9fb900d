"""What a table is at a version: replay in order, time travel, and logs that cannot or must not be read."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from indextables.errors import (
    CorruptTableError,
    ProtocolError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.log import (
    Append,
    CommitInfo,
    DropPartitions,
    Gap,
    Overwrite,
    Protocol,
    RemoveFile,
    Summary,
    Txn,
    UnknownAction,
    VersionGapWarning,
    commit,
    load_snapshot,
    read_history,
    read_version,
    refresh,
    version_key,
)
from indextables.log.versions import record_key
from indextables.predicates import IsNull
from indextables.storage import open_store
from support.faults import FaultyStore, MemoryStore
from support.logs import add, live, metadata, put_table, put_version


def test_versions_are_replayed_in_order(store: MemoryStore):
    put_table(store, [add("a"), add("b")], [RemoveFile("a")], [add("a", rows=7)], [RemoveFile("b"), add("c")])
    snapshot = load_snapshot(store)
    assert snapshot.version == 4
    assert live(snapshot) == ["a", "c"], "an add after a remove of the same path lives"
    assert snapshot.files["a"].num_records == 7


def test_order_counts_within_a_version_too(store: MemoryStore):
    put_table(store, [add("a")], [RemoveFile("a"), add("a", rows=2)], [add("b"), RemoveFile("b")])
    assert [(file.path, file.num_records) for file in load_snapshot(store).files.values()] == [("a", 2)]


def test_a_file_added_twice_lives_once_and_removing_a_stranger_changes_nothing(store: MemoryStore):
    put_table(store, [add("a")], [add("a", rows=3), RemoveFile("never-was")])
    assert [(file.path, file.num_records) for file in load_snapshot(store).files.values()] == [("a", 3)]


def test_the_schema_partitioning_mapping_and_batches_come_with_it(store: MemoryStore):
    put_table(store, [metadata(text=("message",)), Txn("app", 3)], [Txn("app", 4), Txn("other", 1)])
    snapshot = load_snapshot(store)
    assert snapshot.schema.names == ["id", "message", "day"]
    assert snapshot.partition_columns == ("day",)
    assert {field.name: field.kind for field in snapshot.mapping.fields} == {"id": "i64", "message": "text"}
    assert snapshot.txns == {"app": 4, "other": 1}
    assert load_snapshot(store, 0).mapping.get("message").kind == "string"


def test_an_earlier_version_is_what_it_was(store: MemoryStore):
    put_table(store, [add("a")], [RemoveFile("a"), add("b")])
    assert [live(load_snapshot(store, version)) for version in range(3)] == [[], ["a"], ["b"]]


@pytest.mark.parametrize("version", [-1, 3, 99])
def test_a_version_that_is_not_there_names_those_that_are(store: MemoryStore, version: int):
    put_table(store, [add("a")], [add("b")])
    with pytest.raises(
        VersionNotFoundError, match=f"no version {version}; it can be read from version 0 to 2"
    ):
        load_snapshot(store, version)


def test_as_of_is_the_newest_version_that_is_not_younger(store: MemoryStore):
    put_version(store, 0, [CommitInfo(timestamp=1000), Protocol(4, 4), metadata()])
    for version, moment in ((1, 2000), (2, 1500), (3, 3000)):  # the clock of the writer of 2 was slow
        put_version(store, version, [CommitInfo(timestamp=moment), add(str(version))])
    versions = {
        moment: load_snapshot(store, as_of_ms=moment).version
        for moment in (1000, 1999, 2000, 2999, 3000, 9000)
    }
    assert versions == {1000: 0, 1999: 0, 2000: 2, 2999: 2, 3000: 3, 9000: 3}
    assert load_snapshot(store).timestamp_ms == 3000
    assert load_snapshot(store, 2).timestamp_ms == 2000, "times never go backwards"
    with pytest.raises(
        VersionNotFoundError, match=r"did not exist yet at 1970-01-01T00:00:00\.999.*00:00:01\.000"
    ):
        load_snapshot(store, as_of_ms=999)


def test_a_version_without_a_time_has_that_of_its_file(store: MemoryStore):
    put_table(store, [add("a")], [add("b")])
    snapshot = load_snapshot(store)
    assert snapshot.timestamp_ms == store.head(version_key(2)).modified_ms
    assert load_snapshot(store, as_of_ms=store.head(version_key(1)).modified_ms).version == 1
    assert refresh(store, load_snapshot(store, 0)) == snapshot


def test_no_log_is_no_table(store: MemoryStore, tmp_path: Path):
    for empty in (store, open_store(str(tmp_path / "nothing"))):
        with pytest.raises(TableNotFoundError, match=f"no table at {empty.uri}"):
            load_snapshot(empty)
    store.put("splits/x.split", b"")
    with pytest.raises(TableNotFoundError):
        load_snapshot(store)


def test_other_files_in_the_log_directory_are_none_of_its_business(store: MemoryStore):
    put_table(store, [add("a")])
    for name in (".00000000000000000001.json.crc", "0000000000000000002.json", "_probe-1", "2.json", "x"):
        store.put(f"_transaction_log/{name}", b"?")
    assert load_snapshot(store).version == 1


def test_a_gap_is_read_up_to_with_a_warning_and_not_written_to(store: MemoryStore):
    put_table(store, [add("a")], [add("b")], [add("c")])
    store.delete(version_key(2))
    with pytest.warns(VersionGapWarning, match="version 2 is missing although version 3 exists"):
        snapshot = load_snapshot(store)
    assert (snapshot.version, live(snapshot), snapshot.gap) == (1, ["a"], Gap(2, 3))
    with pytest.raises(VersionNotFoundError, match=r"0 to 1 \(version 2 is missing\)"):
        load_snapshot(store, 3)
    before = dict(store.objects)
    for base in (snapshot, load_snapshot(store, 0), None):
        with (
            pytest.warns(VersionGapWarning),
            pytest.raises(CorruptTableError, match=rf"version 2 of {store.uri} is missing.*restore"),
        ):
            commit(store, Append((add("d"),), metadata()), base=base)
    assert store.objects == before


def test_a_gap_that_is_mended_is_forgotten(store: MemoryStore):
    put_table(store, [add("a")], [add("b")], [add("c")])
    hidden = store.objects.pop(version_key(2))
    with pytest.warns(VersionGapWarning):
        snapshot = load_snapshot(store)
    store.objects[version_key(2)] = hidden
    assert live(refresh(store, snapshot)) == ["a", "b", "c"]
    assert commit(store, Append((add("d"),), metadata()), base=snapshot).version == 4


@pytest.mark.spec("testS3EventualConsistency")
def test_a_listing_that_lags_behind_is_no_gap(store: MemoryStore):
    put_table(store, [add("a")], [add("b")], [add("c")])

    class Lagging(MemoryStore):
        def list_from(self, prefix, start_after=None):
            return (info for info in super().list_from(prefix, start_after) if "1.json" not in info.key)

    lagging = Lagging()
    lagging.objects = store.objects
    assert live(load_snapshot(lagging)) == ["a", "b", "c"]


def test_a_log_that_begins_late_has_nothing_to_start_from(store: MemoryStore):
    put_table(store, [add("a")])
    store.delete(version_key(0))
    with pytest.raises(CorruptTableError, match="no version 0"):
        load_snapshot(store)


def test_a_protocol_above_ours_is_refused(store: MemoryStore):
    put_table(store, protocol=Protocol(99, 99))
    with pytest.raises(
        ProtocolError, match="requires protocol version 99; this release supports up to 4. Upgrade"
    ):
        load_snapshot(store)


def test_a_table_is_refused_from_the_version_on_that_raised_its_protocol(store: MemoryStore):
    put_table(store, [add("a")], [Protocol(99, 99)])
    assert load_snapshot(store, 1).version == 1
    with pytest.raises(ProtocolError, match="at version 2"):
        load_snapshot(store)


def test_an_unknown_reader_feature_is_refused_by_name(store: MemoryStore):
    put_table(store, protocol=Protocol(4, 4, reader_features=frozenset({"avroState", "deletionVectors"})))
    with pytest.raises(ProtocolError, match="requires the feature deletionVectors"):
        load_snapshot(store)


@pytest.mark.parametrize(
    "protocol",
    [Protocol(4, 99), Protocol(4, 4, writer_features=frozenset({"rowTracking"}))],
    ids=["version", "feature"],
)
def test_a_newer_writer_part_still_lets_us_read(store: MemoryStore, protocol: Protocol):
    put_table(store, [add("a")], protocol=protocol)
    snapshot = load_snapshot(store)
    assert live(snapshot) == ["a"]
    with pytest.raises(ProtocolError, match=f"writing {store.uri} requires"):
        commit(store, Append((add("b"),), metadata()), base=snapshot)
    assert load_snapshot(store).version == 1


def test_features_of_the_specs_are_known(store: MemoryStore):
    features = frozenset({"avroState", "multiPartCheckpoint", "schemaDeduplication"})
    put_table(store, protocol=Protocol(4, 4, features, features))
    assert commit(store, Append((add("a"),), metadata()), base=load_snapshot(store)).version == 1


@pytest.mark.parametrize("path", ["../../etc/passwd", "splits/../../x", "..", "", "a\0b", "./..//x"])
def test_a_path_that_leaves_the_table_is_refused(store: MemoryStore, path: str):
    put_table(store, [add(path)])
    with pytest.raises(CorruptTableError, match=f"{store.uri}, version 1: the log names a file"):
        load_snapshot(store)
    assert load_snapshot(store, 0).version == 0
    with pytest.raises(CorruptTableError):
        commit(store, Append((add(path),), metadata()), base=load_snapshot(store, 0))


@pytest.mark.parametrize("root", ["s3://bucket/t", "/data/t"])
def test_an_absolute_path_below_the_root_is_the_same_file_as_the_relative_one(root: str):
    store = MemoryStore(root)
    long = [f"{root}/splits/a", root.replace("s3:", "s3a:") + "/splits/b", "splits/./c", "/elsewhere/d"]
    put_table(store, [add(path) for path in long], [RemoveFile("splits/a"), RemoveFile(f"{root}/splits/c")])
    assert list(load_snapshot(store).files) == ["splits/b", "/elsewhere/d"]


def test_a_first_version_without_metadata_is_damage(store: MemoryStore):
    put_version(store, 0, [Protocol(4, 4), add("a")])
    with pytest.raises(CorruptTableError, match="no metaData action"):
        load_snapshot(store)


def test_a_damaged_version_is_named_and_never_skipped(store: MemoryStore):
    put_table(store, [add("a")], [add("b")])
    store.put(version_key(1), b"\x1f\x8bnot gzip")
    with pytest.raises(CorruptTableError, match=version_key(1)):
        load_snapshot(store)


def test_unknown_actions_do_not_disturb(store: MemoryStore):
    put_table(store, [UnknownAction("cdc", {"path": "x"}), add("a")])
    assert live(load_snapshot(store)) == ["a"]


def test_refresh_reads_only_what_is_newer(store: MemoryStore):
    put_table(store, *[[add(str(n))] for n in range(5)])
    old = load_snapshot(store, 3)
    watched = FaultyStore(store)
    fresh = refresh(watched, old)
    assert fresh == load_snapshot(store)
    assert {key for _, key in watched.calls} == {version_key(version) for version in (4, 5, 6)}
    assert live(old) == ["0", "1", "2"], "the older snapshot stays what it was"
    watched.calls.clear()
    assert refresh(watched, fresh) is fresh
    assert watched.calls == [("get", version_key(6))]


def test_refresh_over_many_versions_lists_once(store: MemoryStore):
    put_table(store, *[[CommitInfo(timestamp=n), add(str(n))] for n in range(60)])
    watched = FaultyStore(store)
    assert refresh(watched, load_snapshot(store, 2)) == load_snapshot(store)
    assert [name for name, _ in watched.calls].count("list_from") == 1
    assert len(watched.calls) == 58 + 1 + 1


def test_opening_lists_once_reads_each_version_once_and_looks_for_a_clean_up(store: MemoryStore):
    put_table(store, *[[add(str(n))] for n in range(40)])
    watched = FaultyStore(store)
    load_snapshot(watched)
    hint = ("get", "_transaction_log/_last_checkpoint")
    versions = [("get", version_key(version)) for version in range(41)]
    boundary = ("get", record_key(0))
    assert watched.calls[-1] == boundary
    assert sorted(watched.calls) == [*versions, boundary, hint, ("list_from", "_transaction_log")]


@pytest.mark.spec("testStateSnapshotSerialization")
def test_a_snapshot_travels_to_other_processes(store: MemoryStore):
    put_table(store, [add("a"), Txn("app", 1)])
    snapshot = load_snapshot(store)
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot


def test_one_version_is_read_by_itself(store: MemoryStore):
    put_table(store, [add("a")])
    assert read_version(store, 1) == [add("a")]
    assert read_version(store, 2) is None


def test_history_tells_who_did_what_newest_first(store: MemoryStore):
    put_table(store)
    clock = iter([1000, 900, 3000]).__next__
    snapshot = commit(
        store, Append((add("a", rows=5), add("b")), metadata()), base=None, clock=clock
    ).snapshot
    snapshot = commit(store, Overwrite((add("c", None),), metadata()), base=snapshot, clock=clock).snapshot
    commit(store, DropPartitions(IsNull("day")), base=snapshot, clock=clock)
    entries = read_history(store)
    assert [(entry.version, entry.summary) for entry in entries] == [
        (3, Summary(3000, 0, 1, 0, 1, 0, 10)),
        (2, Summary(1001, 1, 2, 1, 6, 10, 20)),
        (1, Summary(1000, 2, 0, 6, 0, 20, 0)),
        (0, Summary(1, 0, 0, 0, 0, 0, 0)),
    ]
    infos = [entry.commit_info for entry in entries]
    assert [info and info.operation for info in infos] == ["DROP PARTITIONS", "WRITE", "WRITE", None]
    assert infos[1].metrics["rowsAdded"] == 1
    assert infos[1].parameters == {"mode": "overwrite"}


def test_the_log_is_the_same_on_a_disk(tmp_path: Path):
    store = open_store(str(tmp_path))
    put_table(store, [add("a")], [RemoveFile("a"), add("b")])
    assert live(load_snapshot(store)) == ["b"]
    names = sorted(path.name for path in (tmp_path / "_transaction_log").iterdir())
    assert names == [f"{version:020d}.json" for version in range(3)]


def test_the_entries_of_added_files_are_made_once(store: MemoryStore):
    put_table(store, [add("a"), add("b")], [RemoveFile("a"), add("c")])
    files = load_snapshot(store).files
    assert files.entries() is files.entries()
    assert files.entries().column("key").to_pylist() == ["b", "c"]

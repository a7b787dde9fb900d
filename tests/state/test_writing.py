"""Writing states: incremental, compacted, shared manifests, and writers that meet."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.errors import CorruptTableError, StorageError
from indextables.log.actions import Added, to_entries
from indextables.schema import Field
from indextables.state import (
    CompactionRules,
    Delta,
    PartitionBounds,
    StateContext,
    StateManifest,
    StateOptions,
    TableState,
    compaction_reason,
    is_clean,
    read_pointer,
    read_state,
    state_key,
    write_state,
)
from support.faults import Fault, FaultyStore, fails, loses_the_answer
from support.logs import add

DAY = Field("day", "integer")
NEVER = StateOptions(rules=CompactionRules(tombstone_ratio=1.0, max_manifests=1000))


def entries(*names: str, day: str | None = "1", version: int = 0) -> pa.Table:
    return to_entries((name, Added(add(name, day=day), version, version * 100)) for name in names)


def write(store, version: int, base: int | None, added: pa.Table, removed=(), options=NEVER, **more):
    old = None if base is None else TableState(store, read_state(store, base), lambda path: path)
    delta = Delta(added, dict.fromkeys(removed, 10))
    return write_state(store, old, delta, StateContext(version, 1000 + version, [DAY], None), options, **more)


def live(store, version: int) -> list[str]:
    return (
        TableState(store, read_state(store, version), lambda path: path).entries().column("path").to_pylist()
    )


def manifests(store) -> list[str]:
    return [info.key for info in store.list_from("_transaction_log/manifests")]


@pytest.mark.spec("testWriteEmptyManifest")
def test_an_empty_table_has_a_state_without_manifests(store):
    assert write(store, 1, None, entries()).manifest.manifests == ()
    assert live(store, 1) == []


@pytest.mark.spec("testEmptyTombstones", "testIncrementalAddFiles", "testManifestReuse")
def test_new_files_make_one_new_manifest_and_leave_the_others(store):
    first = write(store, 1, None, entries("a", "b")).manifest
    second = write(store, 2, 1, entries("c", version=2)).manifest
    assert second.manifests[0] == first.manifests[0]
    assert [info.num_entries for info in second.manifests] == [2, 1]
    assert (second.num_files, second.total_bytes) == (3, 30)
    assert (second.manifests[1].min_added_at_version, second.manifests[1].max_added_at_version) == (2, 2)
    assert live(store, 2) == ["a", "b", "c"]
    assert live(store, 1) == ["a", "b"]


@pytest.mark.spec("testApplyTombstones", "testIncrementalRemoveFiles")
def test_removed_files_become_tombstones(store):
    write(store, 1, None, entries("a", "b", "c"))
    second = write(store, 2, 1, entries(), removed=["b"]).manifest
    assert (second.tombstones, second.num_files, second.total_bytes) == (("b",), 2, 20)
    assert len(second.manifests) == 1
    assert live(store, 2) == ["a", "c"]


@pytest.mark.spec("testIncrementalMixedAddRemove", "testMultipleIncrementalWrites")
def test_a_chain_of_incremental_states(store):
    write(store, 0, None, entries("f0"))
    model = ["f0"]
    for version in range(1, 15):
        removed = [model.pop(0)] if version % 3 == 0 else []
        model.append(f"f{version}")
        write(store, version, version - 1, entries(f"f{version}"), removed=removed)
        assert live(store, version) == model


def test_a_file_that_comes_back_lives(store):
    write(store, 1, None, entries("a", "b"))
    write(store, 2, 1, entries(), removed=["a"])
    written = write(store, 3, 2, entries("a", version=3))
    assert written.compacted == "files came back that had been removed"
    assert sorted(live(store, 3)) == ["a", "b"]


def test_what_a_base_holds_is_replaced_by_a_compaction(store):
    write(store, 1, None, entries("a", "b"))
    base = TableState(store, read_state(store, 1), lambda path: path)
    delta = Delta(entries("a", version=2), replaces=True)
    written = write_state(store, base, delta, StateContext(2, 0, [DAY], None), NEVER)
    assert written.manifest.num_files == 2
    table = TableState(store, read_state(store, 2), lambda path: path).entries()
    assert dict(zip(table["path"].to_pylist(), table["addedAtVersion"].to_pylist(), strict=True)) == {
        "a": 2,
        "b": 0,
    }


def test_of_a_path_in_two_manifests_the_later_entry_counts(store):
    write(store, 1, None, entries("a", "b"))
    write(store, 2, 1, entries("a", version=2))
    state = write(store, 3, 2, entries(), options=StateOptions(), compact="asked").manifest
    assert state.num_files == 2


@pytest.mark.spec(
    "testCompactionProducesCleanState", "testCompactionWithPartitionedData", "testPartitionLocalitySorting"
)
def test_compaction_leaves_nothing_behind_and_nothing_out(store):
    write(store, 1, None, entries("a", "b", day="2"))
    write(store, 2, 1, entries("c", day="10", version=2), removed=["a"])
    written = write(store, 3, 2, entries("d", day=None, version=3), compact="asked")
    assert written.compacted == "asked"
    assert written.manifest.tombstones == ()
    assert len(written.manifest.manifests) == 1
    assert live(store, 3) == ["b", "c", "d"], "by typed partition value, nulls last"
    table = TableState(store, read_state(store, 3), lambda path: path).entries()
    assert table["addedAtVersion"].to_pylist() == [0, 2, 3]
    assert table["addedAtTimestamp"].to_pylist() == [0, 200, 300]


@pytest.mark.spec("testManifestFileSizeEstimation", "testCompactionSplitsLargeManifests")
def test_manifests_hold_no_more_than_they_may(store):
    options = dataclasses.replace(NEVER, entries_per_manifest=3)
    found = write(store, 1, None, entries(*"abcdefgh"), options=options).manifest
    assert [info.num_entries for info in found.manifests] == [3, 3, 2]
    assert is_clean(found, options)
    assert not is_clean(found, NEVER)


@pytest.mark.spec(
    "testCompactionComputesPartitionBounds", "testPartitionBoundsComputation", "testPartitionBoundsWithNulls"
)
def test_bounds_are_by_type_and_nulls_leave_none(store):
    table = pa.concat_tables([entries("a", day="9"), entries("b", day="10"), entries("c", day=None)])
    (info,) = write(store, 1, None, table).manifest.manifests
    assert info.partition_bounds == {"day": PartitionBounds("9", "10")}
    (info,) = write(store, 2, None, entries("d", day=None)).manifest.manifests
    assert info.partition_bounds == {"day": PartitionBounds(None, None)}
    (info,) = write(store, 3, None, entries("e", day="mon")).manifest.manifests
    assert info.partition_bounds == {"day": PartitionBounds(None, None)}


@pytest.mark.spec("testCompactionTriggerByTombstoneRatio", "testCompactionTriggerByManifestCount")
@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ({"live_files": 100, "tombstones": 10, "manifests": 20}, None),
        ({"live_files": 100, "tombstones": 11, "manifests": 1}, "tombstones"),
        ({"live_files": 0, "tombstones": 1, "manifests": 1}, "tombstones"),
        ({"live_files": 0, "tombstones": 0, "manifests": 0}, None),
        ({"live_files": 100, "tombstones": 0, "manifests": 21}, "too many small manifests"),
        ({"live_files": 10**6, "tombstones": 2000, "manifests": 1, "new_removes": 2000}, None),
    ],
)
def test_when_to_compact(figures: dict[str, int], reason: str | None):
    found = compaction_reason(CompactionRules(), **figures)
    assert found is None if reason is None else reason in (found or "")


@pytest.mark.spec("testCompactionTriggerAfterMerge")
def test_a_large_remove_can_be_a_reason():
    rules = CompactionRules(large_remove=1000)
    figures = {"live_files": 10**6, "tombstones": 1001, "manifests": 1}
    assert compaction_reason(rules, **figures, new_removes=1000) is None
    assert (
        compaction_reason(rules, **figures, new_removes=1001) == "more than 1000 files were removed at once"
    )


def test_settings_are_heard():
    options = StateOptions.of(
        Settings(
            {
                "spark.indextables.state.compression": "Snappy",
                "spark.indextables.state.compressionLevel": "7",
                "spark.indextables.state.entriesPerManifest": "9",
                "spark.indextables.state.compaction.tombstoneThreshold": "0.5",
                "spark.indextables.state.compaction.maxManifests": "3",
                "spark.indextables.state.compaction.largeRemoveThreshold": "5",
            }
        )
    )
    assert options == StateOptions("snappy", 7, 9, CompactionRules(0.5, 3, 5))


@pytest.mark.spec("testCompactionTriggerByTombstoneRatio")
def test_thresholds_trigger_compaction_by_themselves(store):
    write(store, 1, None, entries(*"abcdefghij"), options=StateOptions())
    assert write(store, 2, 1, entries("k"), removed=["a"], options=StateOptions()).compacted is None
    assert "tombstones" in (
        write(store, 3, 2, entries(), removed=["b"], options=StateOptions()).compacted or ""
    )
    assert live(store, 3) == list("cdefghijk")


@pytest.mark.spec("testManifestReuseWithPartialOverlap", "testCompactionTriggerByManifestCount")
def test_small_manifests_are_merged_and_full_ones_left_alone(store):
    options = StateOptions(
        entries_per_manifest=10, rules=CompactionRules(tombstone_ratio=1.0, max_manifests=3)
    )
    write(store, 0, None, entries(*(f"f{n:02d}" for n in range(20))), options=options)
    full = read_state(store, 0).manifests
    for version in range(1, 9):
        removed = ["f03", "n2-0"] if version == 4 else []
        written = write(
            store, version, version - 1, entries(f"n{version}-0", f"n{version}-1"), removed, options
        )
        assert (written.compacted is not None) == (version in (4, 7))
        assert read_state(store, version).manifests[:2] == full
    state = read_state(store, 8)
    assert [info.num_entries for info in state.manifests] == [10, 10, 10, 3, 2]
    assert (state.tombstones, state.num_files) == (("f03", "n2-0"), 20 + 16 - 2)
    assert len(live(store, 8)) == len(set(live(store, 8))) == 34
    assert not {"f03", "n2-0"} & set(live(store, 8))


@pytest.mark.spec("testCompactionMergesSmallManifests")
def test_merging_all_manifests_leaves_no_tombstones(store):
    options = StateOptions(rules=CompactionRules(tombstone_ratio=1.0, max_manifests=2))
    write(store, 0, None, entries("a", "b"), options=options)
    write(store, 1, 0, entries("c"), removed=["a"], options=options)
    written = write(store, 2, 1, entries("d"), removed=["c"], options=options)
    assert written.compacted == "there are too many small manifests"
    assert (len(written.manifest.manifests), written.manifest.tombstones) == (1, ())
    assert live(store, 2) == ["b", "d"]


@pytest.mark.spec("testStateVersionIncrement")
def test_the_hint_comes_last_and_only_forward(store):
    write(store, 5, None, entries("a"))
    write(store, 3, None, entries("a"))
    pointer = read_pointer(store)
    assert pointer is not None
    assert (pointer.version, pointer.num_files, pointer.size_in_bytes, pointer.kind, pointer.state_dir) == (
        5, 1, 10, "avro-state", "state-v00000000000000000005",
    )  # fmt: skip
    watched = FaultyStore(store)
    write(watched, 7, 5, entries("z"))
    written = [key for operation, key in watched.calls if operation in ("create", "put")]
    assert ["_pins/" in written[0], "manifests/" in written[1]] == [True, True]
    assert written[2:] == [state_key(7), "_transaction_log/_last_checkpoint"]


@pytest.mark.spec("testConcurrentWrites")
def test_equal_manifests_have_names_of_their_own(store):
    """A collection may be about to delete one of them, which no state names any more."""
    for version in (1, 2):
        write(store, version, None, entries("a", "b"))
    assert len(manifests(store)) == 2
    assert live(store, 1) == live(store, 2) == ["a", "b"]


@pytest.mark.spec("testConcurrentStateUpdate")
def test_the_second_writer_of_a_state_is_content(store):
    first = write(store, 1, None, entries("a")).manifest
    second = write(store, 1, None, entries("a", "b")).manifest
    assert second == first == read_state(store, 1)


def test_a_compaction_of_a_state_that_is_in_place_leaves_it_there(store):
    write(store, 1, None, entries("a", "b"))
    first = write(store, 2, 1, entries(), removed=["a"])
    before = store.get(state_key(2))
    second = write(store, 2, 2, entries(), compact="asked")
    assert (store.get(state_key(2)), second.manifest) == (before, first.manifest)
    assert live(store, 2) == ["b"]


@pytest.mark.spec("testPartialManifestWrite")
def test_a_state_that_cannot_be_read_is_not_replaced(store):
    write(store, 1, None, entries("a"))
    store.put(state_key(1), b"torn")
    with pytest.raises(CorruptTableError):
        write(store, 1, None, entries("a"))
    assert store.get(state_key(1)) == b"torn"


@pytest.mark.spec("testPartialManifestWrite")
@pytest.mark.parametrize("place", ["manifests/", "state-v", "_last_checkpoint"])
@pytest.mark.parametrize("strike", [fails, loses_the_answer])
def test_an_interrupted_write_leaves_the_old_state_and_can_be_repeated(store, place: str, strike):
    write(store, 1, None, entries("a"))
    fails_often = Fault("create", fails, key=place, times=3 if place == "state-v" else 1)
    faulty = FaultyStore(store, fails_often, Fault("put", strike, key=place))
    with pytest.raises(StorageError):
        write(faulty, 2, 1, entries("b"))
    assert live(store, 1) == ["a"]
    write(store, 2, 1, entries("b"))
    assert live(store, 2) == ["a", "b"]


@pytest.mark.spec("testStorageException")
@pytest.mark.parametrize("place", ["manifests/", "state-v"])
@pytest.mark.parametrize("strike", [fails, loses_the_answer])
def test_a_store_that_fails_for_a_moment_does_not_fail_the_write(store, place: str, strike):
    write(store, 1, None, entries("a"))
    faulty = FaultyStore(store, Fault("create", strike, key=place))
    written = write(faulty, 2, 1, entries("b")).manifest
    assert faulty.faults[0].struck == 1
    assert read_state(store, 2) == written
    assert live(store, 2) == ["a", "b"]


@pytest.mark.spec("testManifestReuse")
def test_bare_manifest_names_of_an_older_state_are_found_from_the_next(store):
    state = write(store, 1, None, entries("a")).manifest
    (info,) = state.manifests
    store.put(
        "_transaction_log/state-v00000000000000000001/old.avro", store.get(f"_transaction_log/{info.path}")
    )
    base = TableState(
        store,
        dataclasses.replace(state, manifests=(dataclasses.replace(info, path="old.avro"),)),
        lambda path: path,
    )
    written = write_state(store, base, Delta(entries("b")), StateContext(2, 0, [DAY], None), NEVER)
    assert written.manifest.manifests[0].path == "state-v00000000000000000001/old.avro"
    assert live(store, 2) == ["a", "b"]


def test_a_state_manifest_stays_small(store):
    found = write(store, 1, None, entries(*(f"f{n}" for n in range(5000)))).manifest
    assert isinstance(found, StateManifest)
    assert len(store.get(state_key(1))) < 2500

"""MERGE SPLITS: fewer splits with the same rows, whatever else happens to the table at the same time."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import (
    CommitUnknownError,
    ConfigError,
    InputError,
    PredicateError,
    StorageError,
)
from indextables.log import AddFile, Append, SkipFile, Snapshot, commit, load_snapshot
from indextables.log.snapshots import VersionSelector, read_snapshot
from indextables.maintenance import (
    Merged,
    MergeOptions,
    MergeTask,
    drop_partitions,
    merge_small_splits,
    merges,
    plan_merge,
    purge,
    run_merge_task,
    upkeep,
)
from indextables.predicates import parse_where
from indextables.runtime import now_ms
from indextables.storage import Store, open_store
from support.faults import Fault, FaultyStore, MemoryStore, fails, loses_the_answer
from support.invariants import check_table
from support.logs import add, metadata

MEGABYTE = 1 << 20
HOUR = 3_600_000
VERSION_FILE = r"_transaction_log/\d{20}\.json$"
_DONE = SimpleNamespace(message="")
NO_CHECK = {keys.PURGE_RETENTION_CHECK.key: "false"}


# --- planning ---------------------------------------------------------------------------------------------------------


def snapshot_of(*files: AddFile, skips: tuple[SkipFile, ...] = ()) -> Snapshot:
    """A table whose files are not there: planning looks at the log alone."""
    snapshot = commit(MemoryStore(), Append(files, metadata()), base=None).snapshot
    extras = snapshot.extras.edit()
    for skip in skips:
        extras.skip(skip.path, skip)
    return dataclasses.replace(snapshot, extras=extras.done())


def file(name: str, size: int, day: str | None = "mon", **more: Any) -> AddFile:
    return dataclasses.replace(add(name, day=day, **more), size=size)


def planned(
    snapshot: Snapshot,
    options: MergeOptions | None = None,
    settings: dict[str, str] | None = None,
    now: int = 0,
) -> list[list[str]]:
    options = options or MergeOptions(target_size=100 * MEGABYTE)
    tasks = plan_merge(snapshot, options, Settings(settings or {}), now=now)
    return [[source.key for source in task.sources] for task in tasks]


def test_groups_stay_within_a_partition() -> None:
    files = [file(f"{day}-{n}", 10, day) for n in range(2) for day in ("mon", "tue", "wed")]
    groups = planned(
        snapshot_of(*files, file("alone", 10, "thu"), file("null-0", 10, None), file("null-1", 10, None))
    )
    assert sorted(groups) == [[f"{day}-0", f"{day}-1"] for day in ("mon", "null", "tue", "wed")]


def test_nearly_full_splits_are_left_alone() -> None:
    snapshot = snapshot_of(file("a", 45 * MEGABYTE), file("b", 45 * MEGABYTE - 1), file("c", 1))
    assert planned(snapshot) == [["b", "c"]]
    threshold = {keys.MERGE_SKIP_THRESHOLD.key: "0.9"}
    assert planned(snapshot, settings=threshold) == [["a", "b", "c"]]


def test_the_smallest_come_first_and_no_group_is_larger_than_the_target() -> None:
    snapshot = snapshot_of(*(file(f"f{size}", size * MEGABYTE) for size in (40, 1, 39, 2, 30, 3)))
    assert planned(snapshot) == [["f1", "f2", "f3", "f30", "f39"]]


def test_a_group_has_at_least_two_splits_and_at_most_the_maximum() -> None:
    snapshot = snapshot_of(*(file(f"f{n}", 10 + n) for n in range(7)))
    assert planned(snapshot, MergeOptions(max_source_splits=3)) == [["f0", "f1", "f2"], ["f3", "f4", "f5"]]
    assert planned(snapshot, settings={keys.MERGE_MAX_SOURCES.key: "5"}) == [
        ["f0", "f1", "f2", "f3", "f4"],
        ["f5", "f6"],
    ]


def test_the_best_groups_come_first_and_the_number_of_new_splits_is_limited() -> None:
    files = [
        file(f"{day}-{n}", 10, day)
        for day, count in (("mon", 2), ("tue", 4), ("wed", 3))
        for n in range(count)
    ]
    sizes = [len(group) for group in planned(snapshot_of(*files), MergeOptions(max_dest_splits=2))]
    assert sizes == [4, 3]


def test_rows_keep_the_order_in_which_they_were_added() -> None:
    store = MemoryStore()
    base = None
    for name, size in (("z", 30), ("m", 20), ("a", 10)):
        base = commit(store, Append((file(name, size),), metadata()), base=base).snapshot
    assert base is not None
    assert planned(base) == [["z", "m", "a"]]


def test_a_condition_chooses_partitions() -> None:
    snapshot = snapshot_of(*(file(f"{day}-{n}", 10, day) for n in range(2) for day in ("mon", "tue")))
    where = parse_where("day = 'tue'", snapshot.schema)
    assert planned(snapshot, MergeOptions(where=where)) == [["tue-0", "tue-1"]]


@pytest.mark.parametrize(
    ("skip", "now", "tried"),
    [
        (SkipFile("a", 0, "damaged", "merge", retry_after=10), 9, False),
        (SkipFile("a", 0, "damaged", "merge", retry_after=10), 10, True),
        (SkipFile("a", 5, "of a writer that says no time", "merge"), 24 * HOUR, False),
        (SkipFile("a", 5, "of a writer that says no time", "merge"), 24 * HOUR + 5, True),
    ],
)
def test_a_split_that_could_not_be_read_is_left_alone_for_a_time(
    skip: SkipFile, now: int, tried: bool
) -> None:
    snapshot = snapshot_of(file("a", 10), file("b", 10), file("c", 10), skips=(skip,))
    assert planned(snapshot, now=now) == [["a", "b", "c"] if tried else ["b", "c"]]


def test_files_outside_the_table_and_companions_of_other_files_are_left_alone() -> None:
    outside, companion = file("/other/x.split", 10), file("c", 10, companion_source_files=("f.parquet",))
    assert planned(snapshot_of(file("a", 10), file("b", 10), outside, companion)) == [["a", "b"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target_size": "1000K"}, "the target size of a merge is 1024000 bytes; the minimum is 1048576"),
        ({"target_size": "huge"}, "target_size is 'huge'; it takes a size"),
        ({"target_size": 1.5}, "target_size is 1.5; it takes a number of bytes"),
        ({"max_dest_splits": 0}, "at most 0 splits does nothing"),
        ({"max_source_splits": 1}, "at most 1 splits into one does nothing; the minimum is 2"),
        ({"max_source_splits": "3"}, "max_source_splits is '3'"),
        ({"progress": 7}, "progress is 7"),
        (
            {"where": "n = 1"},
            "MERGE SPLITS takes a condition on partition columns only, and this one has 'n'",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    it.write("memory://merge-arguments", pa.table({"n": [1]}), mode="overwrite")
    with pytest.raises((InputError, PredicateError), match=message):
        it.open("memory://merge-arguments").merge_splits(**arguments)


@pytest.mark.parametrize(
    "key", [keys.MERGE_BATCH_SIZE.key, keys.MERGE_MAX_SOURCES.key, keys.MERGE_SKIP_THRESHOLD.key]
)
def test_wrong_settings_are_named(key: str) -> None:
    for n in range(2):
        it.write("memory://merge-settings", pa.table({"n": [n]}))
    with pytest.raises(ConfigError, match=key):
        it.open("memory://merge-settings").merge_splits(settings={key: "-1"})


# --- merging ----------------------------------------------------------------------------------------------------------


def rows(first: int, count: int, days: tuple[str, ...] = ("mon", "tue")) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "message": [f"disk {n} full on host{n % 7}" for n in numbers],
            "day": [days[n % len(days)] for n in numbers],
        }
    )


def fill(uri: str, appends: int, count: int = 10, **more: Any) -> None:
    for n in range(appends):
        it.write(uri, rows(n * count, count), text=["message"], partition_by=["day"], **more)


def numbers(uri: str, **more: Any) -> list[int]:
    return sorted(it.open(uri, **more).to_arrow(columns=["n"]).column("n").to_pylist())


def splits(store: Store) -> set[str]:
    return {info.key for info in store.list_from("") if info.key.endswith(".split")}


def live(store: Store) -> set[str]:
    return set(load_snapshot(store).files)


def test_many_small_appends_become_one_split_for_each_partition(tmp_path) -> None:
    uri = str(tmp_path / "t")
    fill(uri, 40, 100, settings={keys.MERGE_ON_WRITE.key: "false"})
    before = it.open(uri)
    merged = before.merge_splits()
    after = it.open(uri)
    assert (merged.status, merged.merged_files, merged.merge_groups, merged.rows) == ("success", 80, 2, 4000)
    assert (merged.version, merged.linked + merged.indexed_again) == (after.version, 2)
    assert merged.original_size_bytes == sum(before.files().column("size").to_pylist())
    assert (
        merged.merged_size_bytes == sum(after.files().column("size").to_pylist()) < merged.original_size_bytes
    )
    assert after.files().num_rows == 2
    assert numbers(uri) == list(range(4000)) == numbers(uri, version=before.version)
    for query in ("message:host3", "message:(disk AND 17)", "n:[5 TO 90]"):
        assert after.count(query) == before.count(query) > 0
    assert after.to_arrow(where="day = 'mon'").column("n").to_pylist() == list(range(0, 4000, 2))
    check_table(open_store(uri))


def test_a_merged_split_keeps_statistics_bloom_filters_and_the_count_of_merges() -> None:
    uri = "memory://merge-statistics"
    bloom = {keys.BLOOM_COLUMNS.key: "message"}
    fill(uri, 3, settings=bloom)
    it.open(uri).merge_splits()
    fill(uri, 1)
    merged = it.open(uri).merge_splits()
    (first, second) = sorted(load_snapshot(open_store(uri)).files.values(), key=lambda f: f.path)
    assert (first.num_merge_ops, second.num_merge_ops, merged.merged_files) == (2, 2, 4)
    assert (first.min_values or {})["n"] == "0"
    assert (first.max_values or {})["n"] == "28"
    assert first.data_change is False
    assert first.num_records == 20
    at_once = "memory://merge-at-once"
    it.write(
        at_once,
        pa.concat_tables([rows(0, 30), rows(0, 10)]),
        text=["message"],
        partition_by=["day"],
        settings=bloom,
    )
    (expected, _) = sorted(load_snapshot(open_store(at_once)).files.values(), key=lambda f: f.path)
    assert first.stats is not None
    assert (first.stats, first.min_values, first.max_values) == (
        expected.stats,
        expected.min_values,
        expected.max_values,
    )
    assert first.doc_mapping_ref == expected.doc_mapping_ref


def test_a_second_merge_has_nothing_to_do() -> None:
    uri = "memory://merge-twice"
    fill(uri, 3)
    it.open(uri).merge_splits()
    again = it.open(uri).merge_splits()
    assert (again.status, again.merge_groups, again.version) == ("no_action", 0, it.open(uri).version)
    assert again.message == "no partition has two small splits at version 3"


def test_only_the_partitions_of_the_condition_are_merged() -> None:
    uri = "memory://merge-where"
    fill(uri, 3)
    merged = it.open(uri).merge_splits(where="day IN ('mon')", max_dest_splits=5)
    assert (merged.merge_groups, it.open(uri).files().num_rows) == (1, 4)
    assert it.open(uri).files(where="day = 'mon'").num_rows == 1


def test_a_handle_of_an_older_version_merges_the_newest() -> None:
    uri = "memory://merge-older-handle"
    fill(uri, 2)
    older = it.open(uri, version=0)
    fill(uri, 1)
    assert older.merge_splits().merged_files == 6


def test_progress_is_reported_after_each_group_and_batches_are_committed() -> None:
    uri = "memory://merge-progress"
    fill(uri, 3)
    seen: list[tuple[int, int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total, it.open(uri).version))

    merged = it.open(uri).merge_splits(settings={keys.MERGE_BATCH_SIZE.key: "1"}, progress=progress)
    assert seen == [(1, 2, 2), (2, 2, 3)]
    assert (merged.version, merged.merge_groups) == (4, 2)


def test_tasks_can_be_sent_to_another_process() -> None:
    uri = "memory://merge-pickle"
    fill(uri, 2, settings={})
    tasks = plan_merge(load_snapshot(open_store(uri)), MergeOptions(), Settings(), now=0)
    sent: MergeTask = pickle.loads(pickle.dumps(tasks[0]))
    assert sent == tasks[0]
    group = pickle.loads(pickle.dumps(run_merge_task(sent)))
    assert group.add.num_records == 10
    assert group.add.path.startswith("day=")


def test_merged_rows_are_not_new_rows() -> None:
    uri = "memory://merge-changes"
    fill(uri, 3)
    it.open(uri).merge_splits()
    changed = it.open(uri).changes(since=2)
    assert [add.data_change for add in changed.adds] == [False, False]
    assert len(changed.removes) == 6
    assert changed.to_arrow().num_rows == 0
    assert sorted(it.open(uri).changes(since=0).to_arrow().column("n").to_pylist()) == list(range(10, 30))
    with pytest.raises(InputError, match="were merged since then"):
        it.open(uri).changes(since=0, adds_only=True).to_arrow()


def test_the_state_after_a_merge_is_compacted_as_the_setting_says() -> None:
    for value, version in (("true", 3), ("false", 0)):
        uri = f"memory://merge-state-{value}"
        fill(uri, 3)
        it.open(uri).merge_splits(settings={keys.STATE_COMPACT_AFTER_MERGE.key: value})
        described = it.open(uri).describe_state()
        assert (described.version, described.num_tombstones) == (version, 0)


def test_a_purge_deletes_the_sources_when_no_version_needs_them(tmp_path) -> None:
    uri = str(tmp_path / "t")
    fill(uri, 3)
    it.open(uri).merge_splits()
    store = open_store(uri)
    later = lambda: now_ms() + 400 * 24 * HOUR  # noqa: E731
    assert purge(store, Settings(), clock=now_ms).orphaned_files_deleted == 0
    assert numbers(uri, version=2) == list(range(30))
    purge(store, Settings(), clock=later)
    assert splits(store) == live(store)
    assert len(live(store)) == 2
    assert numbers(uri) == list(range(30))


# --- sources that cannot be read --------------------------------------------------------------------------------------


def damage(store: Store, key: str) -> bytes:
    good = store.get(key)
    store.put(key, good[: len(good) // 2] + b"\0" * (len(good) - len(good) // 2))
    return good


def first_split(store: Store) -> str:
    return next(iter(load_snapshot(store).files))


def merge_at(store: Store, clock_ms: int) -> Merged:
    return merge_small_splits(store, Settings(), clock=lambda: clock_ms)


def test_a_damaged_split_is_recorded_skipped_and_taken_again_when_it_is_repaired() -> None:
    uri = "memory://merge-damaged"
    for n in range(20):
        it.write(uri, rows(n * 10, 10, ("mon",)))
    store, start = open_store(uri), now_ms()
    key = first_split(store)
    good = damage(store, key)

    merged = merge_at(store, start)
    assert (merged.status, merged.merged_files, merged.skipped_files) == ("partial_success", 19, 1)
    assert key in merged.message
    assert len(live(store)) == 2
    assert key in live(store)
    (skip,) = load_snapshot(store).extras.skips.values()
    assert (skip.path, skip.operation, skip.skip_count, skip.skip_timestamp) == (key, "merge", 1, start)
    assert skip.retry_after == start + 24 * HOUR
    assert skip.reason
    described = it.open(uri).describe_log().to_pylist()
    assert [row["skip_count"] for row in described if row["action_type"] == "skip"] == [1]
    assert "splits that merges could not read: 1" in it.open(uri).describe_state().status

    it.write(uri, rows(200, 10, ("mon",)))
    assert merge_at(store, start + 23 * HOUR).merged_files == 2  # the merged one and the new one
    assert key in live(store)

    it.write(uri, rows(210, 10, ("mon",)))
    tried = merge_at(store, start + 25 * HOUR)
    assert (tried.merged_files, tried.skipped_files) == (2, 1)
    assert load_snapshot(store).extras.skips[key].skip_count == 2

    store.put(key, good)
    assert merge_at(store, start + 26 * HOUR).status == "no_action"
    repaired = merge_at(store, start + 50 * HOUR)
    assert (repaired.status, repaired.merged_files) == ("success", 2)
    assert not load_snapshot(store).extras.skips
    assert numbers(uri) == list(range(220))


def test_a_split_that_is_missing_is_skipped_too() -> None:
    uri = "memory://merge-missing"
    for n in range(3):
        it.write(uri, rows(n * 10, 10, ("mon",)))
    store = open_store(uri)
    store.delete(first_split(store))
    merged = it.open(uri).merge_splits()
    assert (merged.merged_files, merged.skipped_files) == (2, 1)


def test_a_group_of_which_one_split_can_be_read_is_not_merged() -> None:
    uri = "memory://merge-one-left"
    for n in range(2):
        it.write(uri, rows(n * 10, 10, ("mon",)))
    store = open_store(uri)
    key = first_split(store)
    damage(store, key)
    before = splits(store)
    merged = it.open(uri).merge_splits()
    assert (merged.status, merged.merge_groups, merged.skipped_files) == ("no_action", 0, 1)
    assert splits(store) == before
    assert set(load_snapshot(store).extras.skips) == {key}


# --- concurrent commits -----------------------------------------------------------------------------------------------


def append(uri: str) -> None:
    it.write(uri, rows(1000, 10))


def overwrite(uri: str) -> None:
    it.write(uri, rows(2000, 10), mode="overwrite")


def drop(uri: str) -> None:
    snapshot = load_snapshot(open_store(uri))
    drop_partitions(open_store(uri), snapshot, parse_where("day = 'mon'", snapshot.schema), Settings())


def purge_now(uri: str) -> None:
    purge(open_store(uri), Settings(NO_CHECK), hours=0)


def merge(uri: str) -> None:
    it.open(uri).merge_splits()


def merge_one_partition(uri: str) -> None:
    it.open(uri).merge_splits(where="day = 'tue'")


INITIAL = list(range(30))
RACES: list[tuple[Callable[[str], None], list[int], int]] = [
    (append, [*INITIAL, *range(1000, 1010)], 2),
    (overwrite, list(range(2000, 2010)), 0),
    (drop, list(range(1, 30, 2)), 1),
    (merge, INITIAL, 0),
    (merge_one_partition, INITIAL, 1),
]


@pytest.mark.parametrize("moment", ["before the first split", "before the second split", "before the commit"])
@pytest.mark.parametrize(("other", "expected", "committed"), RACES, ids=[race[0].__name__ for race in RACES])
def test_no_row_is_lost_or_doubled_by_a_concurrent_commit(
    other: Callable[[str], None], expected: list[int], committed: int, moment: str
) -> None:
    uri = f"memory://merge-race-{other.__name__}-{moment.replace(' ', '-')}"
    fill(uri, 3)

    def first(call: Callable[[], Any]) -> Any:
        other(uri)
        return call()

    operation, key, spare = {
        "before the first split": ("put_file", "", 0),
        "before the second split": ("put_file", "", 1),
        "before the commit": ("create", VERSION_FILE, 0),
    }[moment]
    fault = Fault(operation, first, key, spare=spare)
    store = FaultyStore(open_store(uri), fault)
    merged = merge_small_splits(store, Settings())
    assert fault.struck == 1
    assert (merged.merge_groups, merged.dropped_groups) == (committed, 2 - committed)
    assert numbers(uri) == expected
    check_table(store)
    # The splits of groups that were not committed are deleted: every split is named by a version.
    named = {key for version in range(it.open(uri).version + 1) for key in read_at(store, version)}
    assert splits(store) == named


def read_at(store: Store, version: int) -> list[str]:
    return list(read_snapshot(store, VersionSelector(version)).files)


def test_a_purge_that_deletes_the_new_splits_makes_the_merge_fail_and_no_row_is_lost() -> None:
    uri = "memory://merge-race-purge"
    fill(uri, 3)

    def purge_first(call: Callable[[], Any]) -> Any:
        purge_now(uri)
        return call()

    store = FaultyStore(open_store(uri), Fault("create", purge_first, VERSION_FILE))
    merged = merge_small_splits(store, Settings())
    assert (merged.status, merged.merge_groups, merged.dropped_groups) == ("no_action", 0, 2)
    assert "a purge of" in merged.message
    assert numbers(uri) == INITIAL
    check_table(store)
    assert it.open(uri).merge_splits().merge_groups == 2
    assert numbers(uri) == INITIAL


def test_a_skip_of_a_split_that_another_commit_removed_is_not_recorded() -> None:
    uri = "memory://merge-skip-removed"
    fill(uri, 3)
    store = open_store(uri)
    key = next(key for key in load_snapshot(store).files if "day=mon" in key)
    damage(store, key)

    def drop_first(call: Callable[[], Any]) -> Any:
        drop(uri)
        return call()

    merged = merge_small_splits(FaultyStore(store, Fault("create", drop_first, VERSION_FILE)), Settings())
    assert (merged.merge_groups, merged.dropped_groups, merged.skipped_files) == (1, 1, 0)
    assert not load_snapshot(store).extras.skips


# --- failures ---------------------------------------------------------------------------------------------------------


def test_an_unknown_outcome_deletes_nothing() -> None:
    uri = "memory://merge-unknown"
    fill(uri, 3)
    before = splits(open_store(uri))

    def lose_the_store(call: Callable[[], Any]) -> Any:
        store.faults.append(Fault("get", fails, VERSION_FILE, times=10_000))
        return loses_the_answer(call)

    store = FaultyStore(open_store(uri), Fault("create", lose_the_store, VERSION_FILE))
    with pytest.raises(CommitUnknownError):
        merge_small_splits(store, Settings())
    assert len(splits(open_store(uri)) - before) == 2
    assert numbers(uri) == INITIAL
    assert it.open(uri).files().num_rows == 2


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("failed", [0, 1])
@pytest.mark.parametrize("error", [StorageError("no"), OSError("no"), MemoryError("no")], ids=repr)
def test_a_failure_costs_one_group(failed: int, batch: int, error: Exception) -> None:
    uri = f"memory://merge-failing-{failed}-{batch}-{type(error).__name__}"
    fill(uri, 3)

    def fail(_call: Callable[[], Any]) -> Any:
        raise error

    store = FaultyStore(open_store(uri), Fault("put_file", fail, spare=failed))
    merged = merge_small_splits(store, Settings({keys.MERGE_BATCH_SIZE.key: str(batch)}))
    assert (merged.status, merged.merge_groups, merged.failed_groups) == ("partial_success", 1, 1)
    assert merged.message.endswith(f"a group failed: {type(error).__name__}: no")
    assert it.open(uri).files().num_rows == 4
    assert numbers(uri) == INITIAL
    check_table(store)


def test_the_first_failure_is_raised_if_nothing_was_merged() -> None:
    uri = "memory://merge-all-failing"
    fill(uri, 3)
    reasons = iter(["the first", "the second"])

    def fail(_call: Callable[[], Any]) -> Any:
        raise StorageError(next(reasons))

    store = FaultyStore(open_store(uri), Fault("put_file", fail, times=2))
    with pytest.raises(StorageError, match="the first"):
        merge_small_splits(store, Settings({keys.MERGE_BATCH_SIZE.key: "1"}))
    assert next(reasons, None) is None, "the second group was tried"
    assert (it.open(uri).version, numbers(uri)) == (2, INITIAL)


def test_a_merge_that_is_asked_to_stop_in_a_group_stops() -> None:
    uri = "memory://merge-stopped"
    fill(uri, 3)

    def stop(_call: Callable[[], Any]) -> Any:
        raise InterruptedError("the process ends")

    store = FaultyStore(open_store(uri), Fault("put_file", stop, spare=1))
    before = splits(store)
    with pytest.raises(InterruptedError):
        merge_small_splits(store, Settings())
    assert (it.open(uri).version, splits(store)) == (2, before)


FOUR_DAYS = ("fri", "mon", "tue", "wed")


@pytest.mark.parametrize("is_automatic", [False, True], ids=["on demand", "automatic"])
def test_a_partition_that_always_fails_does_not_keep_the_others_from_merging(
    is_automatic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four partitions, the rows of one make every merge of it fail."""
    uri = f"memory://merge-starving-{is_automatic}"
    merge_splits = merges.merge_splits

    def fail_on_one(sources: Any, **more: Any) -> Any:
        if "day=fri" in sources[0].path:
            raise MemoryError("a row is too large")
        return merge_splits(sources, **more)

    monkeypatch.setattr(merges.run_merge_task, "__defaults__", (None, fail_on_one))
    for name in ("merge_tasks", "merge_small_splits"):
        defaults = getattr(merges, name).__kwdefaults__
        monkeypatch.setitem(defaults, "merger", fail_on_one)
    off = {keys.MERGE_ON_WRITE.key: "false"}
    purges = {keys.PURGE_ON_WRITE.key: "true"}
    on = {keys.MERGE_ON_WRITE_SPLITS.key: "2", keys.MERGE_ON_WRITE_ASYNC.key: "false"} | purges
    purged: list[str] = []
    monkeypatch.setattr(upkeep, "purge_automatically", lambda store, *_: purged.append(store.uri) or _DONE)
    for round_ in range(2):
        for n in range(3):
            last = is_automatic and n == 2
            new = rows((round_ * 3 + n) * 8, 8, FOUR_DAYS)
            it.write(uri, new, text=["message"], partition_by=["day"], settings=on if last else off)
        if not is_automatic:
            merged = it.open(uri).merge_splits()
            assert (merged.status, merged.merge_groups, merged.failed_groups) == ("partial_success", 3, 1)
        by_day = [dict(row["partition_values"])["day"] for row in it.open(uri).files().to_pylist()]
        assert [by_day.count(day) for day in FOUR_DAYS] == [3 * round_ + 3, 1, 1, 1]
        assert numbers(uri) == list(range((round_ + 1) * 24))
    if is_automatic:
        assert purged == [uri]
        jobs = it.open(uri).merge_jobs().to_pylist()
        completed = [job["error_message"] for job in jobs if job["status"] == "COMPLETED"]
        assert len(completed) == 2
        assert all("a group failed: MemoryError: a row is too large" in message for message in completed)
    check_table(open_store(uri))


@pytest.mark.parametrize("stop_at", [1, 2])
def test_an_interrupt_leaves_the_table_as_it_was(stop_at: int) -> None:
    uri = f"memory://merge-interrupted-{stop_at}"
    fill(uri, 3)
    store = open_store(uri)
    before = splits(store)

    def interrupt(done: int, total: int) -> None:
        if done == stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        it.open(uri).merge_splits(progress=interrupt)
    assert (it.open(uri).version, splits(store)) == (2, before)
    assert it.open(uri).merge_splits().merge_groups == 2
    assert numbers(uri) == INITIAL


def test_a_process_that_dies_before_the_commit_leaves_only_orphans(tmp_path) -> None:
    uri = str(tmp_path / "t")
    fill(uri, 3)
    store = open_store(uri)
    before = splits(store)
    tasks = plan_merge(load_snapshot(store), MergeOptions(), Settings(), now=now_ms())
    for task in tasks:
        run_merge_task(task)  # and then nothing
    assert len(splits(store) - before) == 2
    assert live(store) == before
    assert numbers(uri) == INITIAL
    purge(store, Settings(), clock=lambda: now_ms() + 8 * 24 * HOUR)
    assert splits(store) == before
    assert it.open(uri).merge_splits().merge_groups == 2
    check_table(store)

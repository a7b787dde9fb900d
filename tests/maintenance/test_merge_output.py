"""New splits of a merge that a program without a purge fence deletes: before the commit, and right after it."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, StorageError
from indextables.log import load_snapshot, read_history
from indextables.maintenance import drop_partitions, merge_small_splits, purge
from indextables.predicates import parse_where
from indextables.storage import Store, open_store
from support.faults import Fault, FaultyStore, fails
from support.invariants import check_table

VERSION_FILE = r"_transaction_log/\d{20}\.json$"
ROWS = list(range(30))
ONE_AT_A_TIME = {keys.MERGE_BATCH_SIZE.key: "1"}


def fill(uri: str) -> set[str]:
    """Write three versions with a split in each of two partitions; return the splits."""
    for n in range(3):
        numbers = range(n * 10, n * 10 + 10)
        it.write(
            uri, pa.table({"n": numbers, "day": ["mon", "tue"] * 5}), partition_by=["day"], mode="append"
        )
    return splits(open_store(uri))


def splits(store: Store) -> set[str]:
    return {info.key for info in store.list_from("") if info.key.endswith(".split")}


def numbers(uri: str) -> list[int]:
    return sorted(it.open(uri).to_arrow(columns=["n"]).column("n").to_pylist())


def operations(uri: str) -> list[str | None]:
    return [entry.commit_info.operation for entry in read_history(open_store(uri)) if entry.commit_info]


def delete_new(uri: str, before: set[str], day: str) -> None:
    store = open_store(uri)
    for key in splits(store) - before:
        if key.startswith(f"day={day}"):
            store.delete(key)


def before_commit(action: Callable[[], object]) -> Fault:

    return Fault("put_file", lambda call: (call(), action())[0], spare=1)


def after_commit(action: Callable[[], object]) -> Fault:
    return Fault("create", lambda call: (call(), action())[0], VERSION_FILE)


def test_a_group_whose_new_split_is_gone_before_the_commit_is_dropped() -> None:
    uri = "memory://output-gone-before"
    before = fill(uri)
    store = FaultyStore(open_store(uri), before_commit(lambda: delete_new(uri, before, "mon")))
    merged = merge_small_splits(store, Settings())
    assert (merged.status, merged.merge_groups, merged.dropped_groups) == ("partial_success", 1, 1)
    assert "was deleted from the store before the commit" in merged.message
    assert numbers(uri) == ROWS
    assert it.open(uri).files().num_rows == 4
    check_table(open_store(uri))
    assert it.open(uri).merge_splits().merge_groups == 1
    assert numbers(uri) == ROWS


def test_nothing_is_committed_if_every_new_split_is_gone() -> None:
    uri = "memory://output-all-gone"
    before = fill(uri)

    def delete_all() -> None:
        delete_new(uri, before, "mon")
        delete_new(uri, before, "tue")

    merged = merge_small_splits(FaultyStore(open_store(uri), before_commit(delete_all)), Settings())
    assert (merged.status, merged.merge_groups, merged.dropped_groups) == ("no_action", 0, 2)
    assert (it.open(uri).version, splits(open_store(uri))) == (2, before)


def test_a_group_whose_new_split_is_gone_after_the_commit_is_undone() -> None:
    uri = "memory://output-gone-after"
    before = fill(uri)
    store = FaultyStore(open_store(uri), after_commit(lambda: delete_new(uri, before, "mon")))
    merged = merge_small_splits(store, Settings())
    assert (merged.status, merged.merge_groups, merged.dropped_groups) == ("partial_success", 1, 1)
    assert "so the commit was undone" in merged.message
    assert merged.version == it.open(uri).version == 4
    assert operations(uri)[:2] == ["UNDO MERGE", "MERGE SPLITS"]
    assert it.open(uri).files(where="day = 'mon'").num_rows == 3
    assert it.open(uri).files(where="day = 'tue'").num_rows == 1
    assert numbers(uri) == ROWS
    assert it.open(uri).changes(since=2).to_arrow().num_rows == 0, "no row is new"
    check_table(open_store(uri))
    assert it.open(uri).merge_splits().merge_groups == 1
    assert numbers(uri) == ROWS


def test_batches_go_on_after_one_that_was_undone() -> None:
    uri = "memory://output-batches"
    before = fill(uri)

    def delete_first() -> None:
        for day in ("mon", "tue"):
            delete_new(uri, before, day)

    store = FaultyStore(open_store(uri), after_commit(delete_first))
    merged = merge_small_splits(store, Settings(ONE_AT_A_TIME))
    assert (merged.merge_groups, merged.dropped_groups) == (1, 1)
    assert numbers(uri) == ROWS
    check_table(open_store(uri))


def test_a_partition_that_was_dropped_since_does_not_come_back() -> None:
    uri = "memory://output-dropped"
    before = fill(uri)

    def delete_and_drop() -> None:
        delete_new(uri, before, "mon")
        snapshot = load_snapshot(open_store(uri))
        drop_partitions(open_store(uri), snapshot, parse_where("day = 'mon'", snapshot.schema), Settings())

    store = FaultyStore(open_store(uri), after_commit(delete_and_drop))
    merge_small_splits(store, Settings())
    assert numbers(uri) == [n for n in ROWS if n % 2]
    check_table(open_store(uri))


def test_a_merge_whose_split_others_removed_and_purged_is_not_an_error() -> None:
    """The process is paused after its commit, and the version before it can no longer be read either."""
    uri = "memory://output-paused"
    fill(uri)
    everything = {
        keys.PURGE_RETENTION_CHECK.key: "false",
        keys.LOG_RETENTION_MS.key: "0",
        keys.STATE_RETENTION_VERSIONS.key: "1",
        keys.STATE_RETENTION_HOURS.key: "0",
    }

    def replace_and_purge() -> None:
        it.write(uri, pa.table({"n": [7], "day": ["mon"]}), mode="overwrite", partition_by=["day"])
        table = it.open(uri)
        table.truncate_time_travel()
        purge(open_store(uri), Settings(everything), hours=0, log_hours=0)
        assert splits(open_store(uri)) == set(load_snapshot(open_store(uri)).files)

    store = FaultyStore(open_store(uri), after_commit(replace_and_purge))
    merged = merge_small_splits(store, Settings())
    assert (merged.status, merged.merge_groups, merged.dropped_groups) == ("success", 2, 0)
    assert numbers(uri) == [7]


def test_a_merge_that_cannot_be_undone_is_an_error() -> None:
    uri = "memory://output-sources-gone"
    before = fill(uri)

    def delete_everything_of_monday() -> None:
        store = open_store(uri)
        for key in splits(store):
            if key.startswith("day=mon"):
                store.delete(key)

    store = FaultyStore(open_store(uri), after_commit(delete_everything_of_monday))
    with pytest.raises(CorruptTableError, match="the merge cannot be undone: day=mon/.* restore an earlier"):
        merge_small_splits(store, Settings())
    assert before


def test_a_store_that_fails_before_the_commit_fails_the_merge_and_leaves_nothing() -> None:
    uri = "memory://output-head-fails"
    before = fill(uri)
    store = FaultyStore(open_store(uri), Fault("head", fails, r"\.split$", spare=2))
    with pytest.raises(StorageError):
        merge_small_splits(store, Settings())
    assert (it.open(uri).version, splits(open_store(uri))) == (2, before)


def test_a_store_that_fails_after_the_commit_does_not_make_it_look_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    uri = "memory://output-head-fails-late"
    fill(uri)
    store = FaultyStore(open_store(uri), Fault("head", fails, r"\.split$", spare=4, times=2))
    assert merge_small_splits(store, Settings()).merge_groups == 2
    assert "cannot look for the new splits" in caplog.text
    assert numbers(uri) == ROWS

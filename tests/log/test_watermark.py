"""A writer that is held up while clean-up passes its version loses no row and leaves no trace in history."""

from __future__ import annotations

import importlib
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import (
    CommitUnknownError,
    CorruptTableError,
    ObjectNotFoundError,
    StorageError,
    VersionNotFoundError,
)
from indextables.log import (
    Append,
    Change,
    Committed,
    MergeGroup,
    MergeSplits,
    Overwrite,
    RemoveFile,
    Snapshot,
    StateWarning,
    checkpoint,
    commit,
    encode_version,
    load_snapshot,
    version_key,
)
from indextables.log.snapshots import VersionSelector, cache, read_snapshot, refresh
from indextables.log.versions import (
    NO_WATERMARK,
    CleanupRecord,
    advance_watermark,
    decode_record,
    encode_record,
    read_record,
    read_watermark,
    record_key,
    recorded_transaction,
)
from indextables.maintenance import clean_versions, truncate_time_travel
from indextables.schema import TableSchema
from indextables.table import commit_write, plan_write, run_write_task
from support.faults import Fault, FaultyStore, MemoryStore, after, fails, loses_the_answer
from support.logs import add, live, metadata

TABLE = metadata()
SETTINGS = Settings()
commit_module = importlib.import_module("indextables.log.commits.loop")
snapshot_module = importlib.import_module("indextables.log.snapshots.snapshot")
loader_module = importlib.import_module("indextables.log.snapshots.loader")
superseded_module = importlib.import_module("indextables.log.versions.superseded")


def run(store: Any, change: Change, base: Snapshot | None = None, **more: Any) -> Committed:
    more.setdefault("sleep", lambda seconds: None)
    return commit(store, change, base=base, rng=random.Random(0), **more)


def append(*paths: str) -> Append:
    return Append(tuple(add(path) for path in paths), TABLE)


@pytest.fixture
def base(store: MemoryStore) -> Snapshot:
    """Two versions, with files a and b."""
    return run(store, append("b"), run(store, append("a")).snapshot).snapshot


def grow(store: MemoryStore, *paths: str) -> None:
    for path in paths:
        run(store, append(path), load_snapshot(store))


def grow_and_truncate(store: MemoryStore) -> None:
    """Others write five versions, and give up all history before the last of them."""
    grow(store, "v", "w", "x", "y", "z")
    truncate_time_travel(store, SETTINGS)


def files_at(store: MemoryStore) -> list[str]:
    return sorted(live(read_snapshot(store)))


# The stalled writer


def stalled_append(store: MemoryStore, base: Snapshot) -> Committed:
    """Others write and clean up between this writer's last look and its create."""
    stall = Fault("create", after(lambda: grow_and_truncate(store)), key=version_key(2))
    return run(FaultyStore(store, stall), append("mine"), base)


def test_a_writer_held_up_past_a_clean_up_commits_on_top_of_it(store: MemoryStore, base: Snapshot):
    assert stalled_append(store, base).version == 7
    assert files_at(store) == ["a", "b", "mine", "v", "w", "x", "y", "z"]
    assert version_key(2) not in store.objects, "the stray is taken back"


def test_so_does_one_whose_answer_is_lost_too(store: MemoryStore, base: Snapshot):
    def strike(call: Callable[[], Any]) -> Any:
        grow_and_truncate(store)
        return loses_the_answer(call)

    done = run(FaultyStore(store, Fault("create", strike, key=version_key(2))), append("mine"), base)
    assert (done.version, "mine" in files_at(store)) == (7, True)


def test_a_writer_held_up_while_it_makes_the_table_does_too(store: MemoryStore):
    def make_and_truncate() -> None:
        run(store, append("a"))
        grow(store, "b", "c")
        truncate_time_travel(store, SETTINGS)

    late = FaultyStore(store, Fault("create", after(make_and_truncate), key=version_key(0)))
    done = run(late, append("mine"))
    assert (done.version, files_at(store)) == (3, ["a", "b", "c", "mine"])
    assert version_key(0) not in store.objects


def test_an_overwrite_and_a_merge_are_computed_anew(store: MemoryStore, base: Snapshot):
    stall = Fault("create", after(lambda: grow_and_truncate(store)), key=version_key(2))
    run(FaultyStore(store, stall), Overwrite((add("mine"),), TABLE), base)
    assert files_at(store) == ["mine"]


def test_a_merge_of_files_that_still_live_is_too(store: MemoryStore, base: Snapshot):
    stall = Fault("create", after(lambda: grow_and_truncate(store)), key=version_key(2))
    run(FaultyStore(store, stall), MergeSplits((MergeGroup(("a", "b"), (add("ab"),)),), TABLE), base)
    assert files_at(store) == ["ab", "v", "w", "x", "y", "z"]


def test_a_writer_with_an_old_snapshot_needs_no_stall(store: MemoryStore, base: Snapshot):
    grow_and_truncate(store)
    assert run(store, append("mine"), base).version == 7
    assert "mine" in files_at(store)


def append_that_looks_late(store: MemoryStore, base: Snapshot) -> Committed:
    """It is created, then others build on it and clean it up, and only then does its writer look."""

    def strike(call: Callable[[], Any]) -> Any:
        call()
        cache.forget(store.uri)
        run(store, MergeSplits((MergeGroup(("mine",), (add("merged"),)),), TABLE), load_snapshot(store))
        grow_and_truncate(store)

    return run(FaultyStore(store, Fault("create", strike, key=version_key(2))), append("mine"), base)


def test_a_version_that_was_in_time_is_not_committed_twice(store: MemoryStore, base: Snapshot):
    assert append_that_looks_late(store, base).version == 2, "it stands, although its file is gone"
    assert files_at(store) == ["a", "b", "merged", "v", "w", "x", "y", "z"]


def test_a_merge_whose_number_a_stray_has_taken_since_knows_its_own_version(
    store: MemoryStore, base: Snapshot
):
    """It is created, the answer is lost, clean-up passes, and a writer that comes too late takes the number."""

    def strike(call: Callable[[], Any]) -> Any:
        call()
        cache.forget(store.uri)
        grow_and_truncate(store)
        stray = run(MemoryStore("memory://elsewhere"), append("stray"))
        store.create(version_key(2), encode_version(stray.actions))
        raise StorageError("the connection was reset")

    change = MergeSplits((MergeGroup(("a", "b"), (add("ab"),)),), TABLE)
    done = run(FaultyStore(store, Fault("create", strike, key=version_key(2))), change, base)
    assert (done.version, done.skipped) == (2, False), "no conflict, after which its files would be deleted"
    assert files_at(store) == ["ab", "v", "w", "x", "y", "z"]


def overwrite_beside_a_stray(store: MemoryStore, base: Snapshot) -> Committed:
    """A writer died and left a stray, which joins an old snapshot to versions that are there."""
    run(store, Overwrite((add("d"),), TABLE), base)
    grow(store, "e")
    truncate_time_travel(store, SETTINGS)
    stray = run(MemoryStore("memory://elsewhere"), append("stray"))
    store.create(version_key(base.version + 1), encode_version(stray.actions))
    return run(store, Overwrite((add("mine"),), TABLE), base)


def test_a_stray_of_a_writer_that_died_deceives_nobody(store: MemoryStore, base: Snapshot):
    done = overwrite_beside_a_stray(store, base)
    assert files_at(store) == ["mine"]
    removed = [action.path for action in done.actions if isinstance(action, RemoveFile)]
    assert sorted(removed) == ["d", "e"], "what lived, not what the stray would have had"


def test_nor_anybody_who_travels_in_time(store: MemoryStore, base: Snapshot):
    """A state from before is kept, and a stray follows it where a version was cleaned up."""
    checkpoint(store, SETTINGS)
    grow(store, "c", "d")
    checkpoint(store, SETTINGS)
    clean_versions(store, SETTINGS, hours=0, clock=lambda: 10**15)
    stray = run(MemoryStore("memory://elsewhere"), append("stray"))
    store.create(version_key(2), encode_version(stray.actions))
    assert sorted(live(read_snapshot(store, VersionSelector(1)))) == ["a", "b"]
    with pytest.raises(VersionNotFoundError):
        read_snapshot(store, VersionSelector(2))


def test_versions_that_a_clean_up_did_not_come_to_delete_can_still_be_read(
    store: MemoryStore, base: Snapshot
):
    checkpoint(store, SETTINGS)
    grow(store, "c", "d")
    checkpoint(store, SETTINGS)
    clean_versions(
        FaultyStore(store, Fault("delete", fails, times=99)), SETTINGS, hours=0, clock=lambda: 10**15
    )
    assert read_watermark(store) == 2
    assert sorted(live(read_snapshot(store, VersionSelector(2)))) == ["a", "b", "c"]


# Readers


@pytest.mark.parametrize("operation", ["get", "list_from"])
@pytest.mark.parametrize("spare", range(6))
def test_a_reader_that_a_clean_up_overtakes_reads_what_is_there_then(
    store: MemoryStore, base: Snapshot, operation: str, spare: int
):
    checkpoint(store, SETTINGS)
    grow(store, "c", "d", "e")
    passing = Fault(operation, after(lambda: grow_and_truncate(store)), spare=spare)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        found = read_snapshot(FaultyStore(store, passing))
    assert {"a", "b", "c", "d", "e"} <= set(live(found))


def read_beside_a_stray(store: MemoryStore) -> Snapshot:
    """Between a reader's listing and its reading clean-up passes, and a writer that comes too late leaves a version."""
    grow(store, "c")

    def overtake() -> None:
        checkpoint(store, SETTINGS)
        clean_versions(store, SETTINGS, hours=0, clock=lambda: 10**15)
        stray = run(MemoryStore("memory://elsewhere"), append("stray"))
        store.create(version_key(1), encode_version(stray.actions))

    held_up = FaultyStore(store, Fault("get", after(overtake), key=version_key(1)))
    found = read_snapshot(held_up)
    assert held_up.faults[0].struck == 1
    return found


def test_a_reader_that_is_held_up_does_not_believe_a_stray(store: MemoryStore, base: Snapshot):
    found = read_beside_a_stray(store)
    assert (found.version, sorted(live(found))) == (2, ["a", "b", "c"])


def test_without_a_look_after_the_reading_it_would(
    store: MemoryStore, base: Snapshot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(snapshot_module, "check_predecessor", lambda *asked: None)  # as without checksums
    monkeypatch.setattr(loader_module, "check_no_orphaned_commit", lambda *asked: None)
    assert sorted(live(read_beside_a_stray(store))) == ["a", "c", "stray"]


def test_the_next_clean_up_takes_strays_whatever_their_age(store: MemoryStore, base: Snapshot):
    grow_and_truncate(store)
    store.put(version_key(1), b"{}")
    assert clean_versions(store, SETTINGS, clock=lambda: 0).versions_deleted == 1
    assert version_key(1) not in store.objects


def test_when_the_boundary_cannot_be_read_the_outcome_is_unknown(store: MemoryStore, base: Snapshot):
    faulty = FaultyStore(store, Fault("get", fails, key="_cleanup", times=1000))
    with pytest.raises(
        CommitUnknownError, match="version 2 .* was created, but it could not be determined whether clean-up"
    ):
        run(faulty, append("mine"), base)
    assert "mine" in files_at(store)


def test_a_failed_look_at_the_boundary_is_repeated(store: MemoryStore, base: Snapshot):
    faulty = FaultyStore(store, Fault("get", fails, key="_cleanup", times=3))
    assert run(faulty, append("mine"), base).version == 2


def test_a_stray_that_cannot_be_deleted_does_not_stop_the_commit(store: MemoryStore, base: Snapshot):
    stalled = FaultyStore(
        store,
        Fault("create", after(lambda: grow_and_truncate(store)), key=version_key(2)),
        Fault("delete", fails),
    )
    assert run(stalled, append("mine"), base).version == 7
    assert "mine" in files_at(store)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_that_was_planned_before_a_clean_up_is_committed_after_it(tmp_path: Path, mode: str):
    rows = pa.table({"n": [1]})
    for _ in range(2):
        it.write(tmp_path, rows)
    schema = TableSchema.from_arrow(rows.schema)
    plan = plan_write(str(tmp_path), schema, mode=mode, partition_by=None, settings=SETTINGS)
    assert plan is not None
    result = run_write_task(plan, rows.to_batches())
    it.write(tmp_path, rows)
    it.open(tmp_path).truncate_time_travel()
    cache.forget()
    assert commit_write(plan, [result]) == 3
    assert it.open(tmp_path).count() == {"append": 4, "overwrite": 1}[mode]


# Proof that these tests can fail: each rule of the check taken out is noticed by one of them


def test_without_the_check_the_rows_are_lost(
    store: MemoryStore, base: Snapshot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(commit_module, "is_superseded", lambda *asked, **named: False)
    with pytest.raises(AssertionError):
        test_a_writer_held_up_past_a_clean_up_commits_on_top_of_it(store, base)
    assert "mine" not in files_at(store)


def test_without_knowing_who_made_a_version_rows_are_doubled(
    store: MemoryStore, base: Snapshot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(superseded_module, "recorded_transaction", lambda store, version: None)
    with pytest.raises(AssertionError):
        test_a_version_that_was_in_time_is_not_committed_twice(store, base)
    assert {"mine", "merged"} <= set(files_at(store))


def test_without_a_look_before_the_commit_strays_are_believed(
    store: MemoryStore, base: Snapshot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(snapshot_module, "check_predecessor", lambda *asked: None)  # as without checksums
    monkeypatch.setattr(commit_module, "read_watermark", lambda store, table_id: NO_WATERMARK)
    with pytest.raises(AssertionError):
        test_a_stray_of_a_writer_that_died_deceives_nobody(store, base)


# The chain of records


def test_a_table_that_was_never_cleaned_up_has_no_boundary(store: MemoryStore, base: Snapshot):
    assert read_watermark(store) == NO_WATERMARK


def test_the_boundary_is_written_before_anything_is_deleted(store: MemoryStore, base: Snapshot):
    grow(store, "c", "d")
    watched = FaultyStore(store)
    truncate_time_travel(watched, SETTINGS)
    changes = [key for operation, key in watched.calls if operation in ("create", "delete")]
    deletes = [
        i
        for i, (operation, key) in enumerate(watched.calls)
        if operation == "delete" and "/_pins/" not in key
    ]
    assert changes.index(record_key(0)) < changes.index(version_key(0))
    assert watched.calls.index(("create", record_key(0))) < deletes[0]
    assert read_watermark(store) == 2


def test_a_clean_up_that_cannot_write_the_boundary_deletes_nothing(store: MemoryStore, base: Snapshot):
    grow(store, "c")
    with pytest.raises(StorageError):
        truncate_time_travel(FaultyStore(store, Fault("create", fails, key="_cleanup")), SETTINGS)
    assert version_key(0) in store.objects


def test_links_follow_each_other_and_name_who_made_each_version(store: MemoryStore):
    assert advance_watermark(store, 3, lambda version: f"t{version}") == 3
    assert advance_watermark(store, 3, lambda version: "unused") == 3
    assert advance_watermark(store, 5, lambda version: f"t{version}") == 5
    assert read_record(store, 0) == CleanupRecord(0, 3, ("t0", "t1", "t2", "t3"))
    assert read_record(store, 4) == CleanupRecord(4, 5, ("t4", "t5"))
    assert [recorded_transaction(store, version) for version in range(6)] == [f"t{n}" for n in range(6)]
    with pytest.raises(CorruptTableError, match="no record of the clean-up that passed version 6"):
        recorded_transaction(store, 6)


def test_a_version_that_vanishes_while_it_is_read_is_gone_and_not_damaged(store: MemoryStore, base: Snapshot):
    checkpoint(store, SETTINGS)
    grow(store, "c", "d", "e")
    checkpoint(store, SETTINGS)
    advance_watermark(store, 4, lambda version: None)
    for version in range(3):
        store.delete(version_key(version))

    def is_gone(call: Callable[[], Any]) -> Any:
        raise ObjectNotFoundError("deleted since it was listed")

    overtaken = FaultyStore(store, Fault("get", is_gone, key="state-v0*1/", times=100))
    with (
        pytest.warns(StateWarning, match="cannot be read"),
        pytest.raises(VersionNotFoundError, match="history up to version 4 has been cleaned up"),
    ):
        read_snapshot(overtaken, VersionSelector(3))


def test_a_snapshot_is_brought_up_to_date_though_a_listed_version_vanishes(
    store: MemoryStore, base: Snapshot
):
    grow(store, *(f"c{n}" for n in range(12)))
    checkpoint(store, SETTINGS)

    def is_gone(call: Callable[[], Any]) -> Any:
        raise ObjectNotFoundError("deleted since it was listed")

    overtaken = FaultyStore(store, Fault("get", is_gone, key=version_key(12)))
    assert refresh(overtaken, base).version == 13
    assert overtaken.faults[0].struck == 1


def test_the_boundary_never_moves_back(store: MemoryStore):
    advance_watermark(store, 5, lambda version: None)
    assert advance_watermark(store, 2, lambda version: None) == 5
    assert read_watermark(store) == 5


def test_of_two_clean_ups_at_once_one_makes_the_next_link(store: MemoryStore):
    rival = Fault("create", after(lambda: advance_watermark(store, 2, lambda version: f"theirs{version}")))
    assert advance_watermark(FaultyStore(store, rival), 4, lambda version: f"mine{version}") == 4
    assert [recorded_transaction(store, version) for version in range(5)] == [
        "theirs0",
        "theirs1",
        "theirs2",
        "mine3",
        "mine4",
    ]


def test_a_known_boundary_is_built_upon_by_one_look(store: MemoryStore):
    advance_watermark(store, 2, lambda version: None)
    assert read_watermark(store, "table") == 2
    watched = FaultyStore(store)
    assert read_watermark(watched, "table") == 2
    assert watched.calls == [("get", record_key(3))]
    advance_watermark(store, 9, lambda version: None)
    assert read_watermark(store, "table") == 9


def test_a_boundary_of_a_table_that_was_there_before_does_no_harm(store: MemoryStore, base: Snapshot):
    grow_and_truncate(store)
    grow(store, "c")
    store.objects.clear()
    run(store, append("new"))
    grow(store, "newer")
    assert files_at(store) == ["new", "newer"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"first":0,"last":1,"transactions":[]}',
        b'{"first":"0","last":0,"transactions":[1]}',
    ],
)
def test_a_damaged_link_is_an_error_and_never_no_boundary(store: MemoryStore, data: bytes):
    store.put(record_key(0), data)
    with pytest.raises(CorruptTableError, match="is not a record of a clean-up"):
        read_watermark(store)


def test_a_link_under_a_wrong_name_is_an_error(store: MemoryStore):
    store.put(record_key(4), encode_record(CleanupRecord(0, 0, (None,))))
    with pytest.raises(CorruptTableError, match="begins with version 0"):
        read_watermark(store)


def test_links_survive_a_round_trip():
    link = CleanupRecord(7, 9, ("a", None, "b"))
    assert decode_record(encode_record(link), "some link") == link

"""Deletes next to other commits: the same rows conflict where one of the two does more than delete, others do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import CommitConflictError
from indextables.log import AddFile, DeletedRows, Snapshot, load_snapshot
from indextables.log.changes import ChangeRows, United
from indextables.log.snapshots import read_snapshot
from indextables.maintenance import MergeOptions, plan_merge, run_merge_task
from indextables.maintenance.merge_commits import commit_merge
from indextables.predicates import parse_where
from indextables.runtime import now_ms
from indextables.storage import open_store
from indextables.table import delete_where
from indextables.table.writes import row_deletes, upserts


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = str(tmp_path / "t")
    for n in range(2):
        it.write(place, pa.table({"id": list(range(n * 10, n * 10 + 10))}))
    return place


def delete(path: str, where: str, at: Snapshot) -> it.RowChange:
    """Delete the rows of an older snapshot, as a writer does that was overtaken by other commits."""
    return delete_where(open_store(path), at, parse_where(where, at.schema), Settings())


def newest(path: str) -> Snapshot:
    return load_snapshot(open_store(path))


def ids(path: str) -> list[int]:
    it.open(path).invalidate_cache()
    return sorted(it.open(path).to_arrow().column("id").to_pylist())


def delta_logs(path: str) -> set[str]:
    return {str(log.relative_to(path)) for log in Path(path).rglob("delta-*.parquet")}


def check_no_other_logs(path: str) -> None:
    """Every delta log in the store is that of some version."""
    named = set()
    for version in range(newest(path).version + 1):
        snapshot = load_snapshot(open_store(path), version)
        named |= {file.delta_log for file in snapshot.files.values() if file.delta_log is not None}
    assert delta_logs(path) <= named


def test_deletes_of_the_same_file_are_united(path: str):
    before = newest(path)
    it.open(path).delete("id IN (1, 2)")
    change = delete(path, "id IN (2, 3)", before)
    assert (change.version, ids(path)) == (3, [0, *range(4, 20)])
    assert {file.num_deleted for file in newest(path).files.values()} == {None, 3}
    check_no_other_logs(path)


def test_deletes_that_leave_no_row_together_remove_the_file(path: str):
    before = newest(path)
    it.open(path).delete("id < 5")
    delete(path, "id < 10 AND id >= 5", before)
    assert ids(path) == list(range(10, 20))
    assert len(newest(path).files) == 1
    check_no_other_logs(path)


def test_a_delete_after_one_that_removed_the_whole_file_has_nothing_to_do_there(path: str):
    before = newest(path)
    it.open(path).delete("id < 10")
    delete(path, "id IN (3, 13)", before)
    assert ids(path) == [10, 11, 12, *range(14, 20)]


def test_a_delete_keeps_rows_that_are_appended_at_the_same_time(path: str):
    before = newest(path)
    it.write(path, pa.table({"id": [5, 50]}))
    delete(path, "id = 5", before)
    assert ids(path) == sorted([*(n for n in range(20) if n != 5), 5, 50])


@pytest.mark.parametrize(
    "other",
    [
        lambda path: it.open(path).merge_splits(),
        lambda path: it.write(path, pa.table({"id": [1]}), mode="overwrite"),
        lambda path: it.open(path).restore(0),
    ],
)
def test_a_delete_conflicts_with_a_commit_that_removed_its_file(path: str, other: Callable[[str], object]):
    before = newest(path)
    other(path)
    expected = ids(path)
    with pytest.raises(CommitConflictError, match="has removed"):
        delete(path, "id IN (3, 13)", before)
    assert ids(path) == expected
    check_no_other_logs(path)


@pytest.mark.parametrize("kind", ["delete", "upsert"])
def test_a_change_is_repeated_if_a_merge_has_moved_its_rows(
    path: str, monkeypatch: pytest.MonkeyPatch, kind: str
):
    merges = iter([True, False])
    original = row_deletes.commit_deletes

    def merge_first(*args: object, **named: object) -> object:
        if next(merges):
            it.open(path).merge_splits()
        return original(*args, **named)

    for module in (row_deletes, upserts):
        monkeypatch.setattr(module, "commit_deletes", merge_first)
    table = it.open(path)
    if kind == "delete":
        assert table.delete("id IN (3, 13)").rows_deleted == 2
        assert ids(path) == [n for n in range(20) if n not in (3, 13)]
    else:
        assert table.upsert(pa.table({"id": [3, 13, 33]}), on=["id"]).rows_deleted == 2
        assert ids(path) == [*range(20), 33]
    assert next(merges, None) is None
    check_no_other_logs(path)


def test_a_delete_conflicts_with_a_restore_of_rows_that_it_saw_deleted(path: str):
    it.open(path).delete("id = 1")
    before = newest(path)
    it.open(path).restore(1)
    with pytest.raises(CommitConflictError, match="restored deleted rows"):
        delete(path, "id = 3", before)
    assert ids(path) == list(range(20))


def test_a_merge_does_not_bring_back_rows_that_were_deleted_at_the_same_time(path: str):
    store, settings = open_store(path), Settings()
    before = newest(path)
    (task,) = plan_merge(before, MergeOptions(), settings, now=now_ms())
    group = run_merge_task(task, store)
    it.open(path).delete("id = 7")
    committed = commit_merge(store, [group], metadata=task.metadata, base=before, settings=settings)
    assert (committed.merged, len(committed.dropped)) == ((), 1)
    assert ids(path) == [n for n in range(20) if n != 7]


def test_a_merge_of_a_file_with_deletes_is_dropped_if_more_rows_were_deleted(path: str):
    store, settings = open_store(path), Settings()
    it.open(path).delete("id = 7")
    before = newest(path)
    (task,) = plan_merge(before, MergeOptions(), settings, now=now_ms())
    group = run_merge_task(task, store)
    it.open(path).delete("id = 8")
    assert not commit_merge(store, [group], metadata=task.metadata, base=before, settings=settings).merged
    assert ids(path) == [n for n in range(20) if n not in (7, 8)]
    (again,) = plan_merge(newest(path), MergeOptions(), settings, now=now_ms())
    merged = commit_merge(
        store, [run_merge_task(again, store)], metadata=task.metadata, base=newest(path), settings=settings
    )
    assert len(merged.merged) == 1
    assert ids(path) == [n for n in range(20) if n not in (7, 8)]


def rows_of(key: str, log: str | None, new: str | None = "new", count: int = 1) -> DeletedRows:
    return DeletedRows(key, log, new, count)


def change(path: str, *, operation: str, overlap: bool) -> ChangeRows:
    snapshot = read_snapshot(open_store(path))
    key = min(snapshot.files)

    def unite(mine: DeletedRows, theirs: AddFile) -> United:
        return United(DeletedRows(mine.key, theirs.delta_log, "united", 3), overlap=overlap)

    return ChangeRows(
        rows=(rows_of(key, "an older log"),),
        metadata=snapshot.metadata,
        unite=unite,
        later=lambda _: [],
        operation=operation,
    )


@pytest.mark.parametrize("operation", ["DELETE", "UPSERT"])
def test_other_rows_of_one_file_never_conflict(path: str, operation: str):
    actions = change(path, operation=operation, overlap=False).actions(newest(path))
    assert [action.delta_log for action in actions if isinstance(action, AddFile)] == ["united"]


@pytest.mark.parametrize("operation", ["DELETE", "UPSERT"])
def test_the_same_rows_conflict_unless_all_commits_only_delete(path: str, operation: str):
    with pytest.raises(CommitConflictError, match="the same rows"):
        change(path, operation=operation, overlap=True).actions(newest(path))

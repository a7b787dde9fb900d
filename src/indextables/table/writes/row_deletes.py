"""Deleting rows: what is decided once, what each task does, and the one commit at the end.

plan_delete      (once)      finds the splits that may hold a row to delete
run_delete_task  (anywhere)  looks the rows up and stores a delta log for each split, which no version names yet
commit_deletes   (once)      publishes one version that names all the delta logs, or none
discard_deletes              deletes the delta logs of a change that certainly did not commit

A split all of whose rows match is removed from the table. No split is written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from indextables.config import Settings
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    IndexTablesError,
    StorageError,
)
from indextables.log import AddFile, ChangeRows, DeletedRows, Metadata, Restore, Snapshot, Txn, commit
from indextables.log.changes import DELETE, United
from indextables.log.versions import VersionActions, list_versions_after, read_versions, read_watermark
from indextables.notebook import result_html
from indextables.predicates import Constant, Predicate, bind, to_sql
from indextables.rows import RowIds
from indextables.split import DeltaLogRef, SplitReader, load_deleted_rows, store_delta_log
from indextables.stats import MAX_RECORDS
from indextables.storage import Store, open_store
from indextables.table.scans import ScanRequest, ScanTask, SplitLeases, SplitRef, count_rows, plan_scan

LookUp: TypeAlias = Callable[[SplitRef, SplitReader, Predicate], RowIds]
"""Returns rows of a split, given the condition with its partition values filled in."""


MOVED_TRIES: Final = 5
"""A merge of the same rows takes longer than a delete: two in a row are rare."""


@dataclass(frozen=True)
class RowChange:
    """The result of a change of rows: the version of the table that has it, and what it did.

    `files_removed` had no other rows, and `files_changed` have rows that are not deleted. Without a row to change,
    nothing is committed and `version` is that of the table.

    >>> import indextables as it, pyarrow as pa
    >>> _ = it.write("memory://doc-row-change", pa.table({"n": [1, 2, 3]}))
    >>> it.open("memory://doc-row-change").delete("n > 1")
    RowChange(version=1, rows_deleted=2, rows_added=0, files_removed=0, files_changed=1)
    """

    version: int
    rows_deleted: int = 0
    rows_added: int = 0
    files_removed: int = 0
    files_changed: int = 0

    def _repr_html_(self) -> str:
        return result_html("Change of rows", self)


@dataclass(frozen=True)
class TaskDeletes:
    """What one task looked up: the rows to delete by split, and how many they are."""

    rows: tuple[DeletedRows, ...] = ()
    count: int = 0


def plan_delete(
    uri: str, snapshot: Snapshot, predicate: Predicate, settings: Settings, *, parallelism: int = 1
) -> tuple[ScanTask, ...]:
    """Return the tasks that look up the rows for which the predicate is TRUE."""
    return plan_scan(uri, snapshot, ScanRequest((), predicate), settings, parallelism=parallelism).tasks


def run_delete_task(task: ScanTask) -> TaskDeletes:
    """Look up the rows of a task, and store a delta log for each split of which rows remain."""
    return delete_rows(task, lambda _, split, predicate: split.matching(predicate))


def delete_rows(task: ScanTask, look_up: LookUp) -> TaskDeletes:
    """Store delta logs for the rows of a task that `look_up` returns: ascending, and none of them deleted already."""
    store = open_store(task.uri, Settings(task.options))
    deletes: list[DeletedRows] = []
    count = 0
    try:
        for ref in task.splits:
            rows, num_found = _split_deletes(task, ref, store, look_up)
            count += num_found
            if rows is not None:
                deletes.append(rows)
    except BaseException:
        discard_deletes(store, [TaskDeletes(tuple(deletes))])
        raise
    return TaskDeletes(tuple(deletes), count)


def _split_deletes(
    task: ScanTask, ref: SplitRef, store: Store, look_up: LookUp
) -> tuple[DeletedRows | None, int]:
    predicate = bind(task.request.predicate, ref.partition_values)
    before = _log_key(ref)
    if isinstance(predicate, Constant) and not predicate.value:
        return None, 0
    with SplitLeases(task)(ref) as split:
        rows = look_up(ref, split, predicate)
        if not len(rows):
            return None, 0
        if len(rows) == split.num_live:
            return DeletedRows(ref.path, before, None), len(rows)
        log = store_delta_log(store, ref.path, np.union1d(split.deleted, rows))
        return DeletedRows(ref.path, before, log.key, log.num_deleted), len(rows)


def _log_key(ref: SplitRef) -> str | None:
    return None if ref.delta_log is None else ref.delta_log.key


def whole_files(task: ScanTask) -> tuple[TaskDeletes, ScanTask | None]:
    """Return the splits all of whose rows match by their partition values, and a task for the others, if any."""
    whole = [
        ref
        for ref in task.splits
        if bind(task.request.predicate, ref.partition_values) == Constant(value=True)
    ]
    others = tuple(ref for ref in task.splits if ref not in whole)
    rows = tuple(DeletedRows(ref.path, _log_key(ref), None) for ref in whole)
    lease = SplitLeases(task)
    deletes = TaskDeletes(rows, sum(count_rows(task, ref, lease) for ref in whole))
    rest = replace(task, splits=others, corpus=None)
    return deletes, rest if others else None


def delete_where(store: Store, snapshot: Snapshot, predicate: Predicate, settings: Settings) -> RowChange:
    """Delete the rows of a snapshot for which the predicate is TRUE, in this process."""
    deletes = look_up_deletes(store, snapshot, predicate, settings)
    return commit_deletes(store, snapshot, deletes, settings, parameters={"predicate": to_sql(predicate)})


def repeat_after_merges(change: Callable[[], RowChange]) -> RowChange:
    """Return what `change` does. It is repeated if a merge has moved its rows: automatic merges may run at any time."""
    for attempt in range(MOVED_TRIES):
        try:
            return change()
        except CommitConflictError as conflict:
            if not conflict.only_moved or attempt == MOVED_TRIES - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def look_up_deletes(
    store: Store, snapshot: Snapshot, predicate: Predicate, settings: Settings
) -> list[TaskDeletes]:
    """Return the rows of a snapshot for which the predicate is TRUE, looked up in this process."""
    deletes: list[TaskDeletes] = []
    try:
        for task in plan_delete(store.uri, snapshot, predicate, settings):
            whole, rest = whole_files(task)
            deletes.append(whole)
            if rest is not None:
                deletes.append(run_delete_task(rest))
    except BaseException:
        discard_deletes(store, deletes)
        raise
    return deletes


def commit_deletes(
    store: Store,
    snapshot: Snapshot,
    deletes: Sequence[TaskDeletes],
    settings: Settings,
    *,
    adds: tuple[AddFile, ...] = (),
    metadata: Metadata | None = None,
    check: Callable[[Snapshot], None] | None = None,
    txn: Txn | None = None,
    operation: str = DELETE,
    parameters: Mapping[str, str],
) -> RowChange:
    """Publish the deletes of all tasks, and files that were written for `metadata`, as one version.

    Raises CommitConflictError if concurrent commits have changed the same rows, or removed a file that has some. If
    another process has committed the same `txn` first, nothing is committed, and the result has no rows.
    """
    rows = tuple(each for task in deletes for each in task.rows)
    count, added = sum(task.count for task in deletes), sum(add.num_records or 0 for add in adds)
    if not rows and not adds and txn is None:
        return RowChange(snapshot.version)
    united = _StoredUnion(store, snapshot)
    change = ChangeRows(
        rows=rows,
        metadata=metadata or snapshot.metadata,
        unite=united,
        later=lambda current: versions_between(store, snapshot, current),
        adds=adds,
        check=check,
        txn=txn,
        operation=operation,
        parameters=parameters,
    )
    try:
        done = commit(store, change, base=snapshot, settings=settings)
    except CommitUnknownError:
        raise
    except IndexTablesError:
        discard_deletes(store, deletes)
        united.discard(())
        raise
    named = {action.delta_log for action in done.actions if isinstance(action, AddFile)}
    _delete(store, {log for each in rows if (log := each.new_log) is not None} - named)
    united.discard(named)
    if done.skipped:
        return RowChange(done.version)
    removed = sum(each.new_log is None for each in rows)
    return RowChange(
        version=done.version,
        rows_deleted=count,
        rows_added=added,
        files_removed=removed,
        files_changed=len(rows) - removed,
    )


def discard_deletes(store: Store, deletes: Iterable[TaskDeletes]) -> None:
    """Delete the delta logs of a change that certainly was not committed."""
    _delete(store, (rows.new_log for task in deletes for rows in task.rows if rows.new_log is not None))


def _delete(store: Store, keys: Iterable[str]) -> None:
    for key in keys:
        with contextlib.suppress(StorageError):  # a purge deletes what stays
            store.delete(key)


class _StoredUnion:
    """Unites deleted rows with those of concurrent commits, and stores the delta logs of that."""

    def __init__(self, store: Store, before: Snapshot) -> None:
        self._store = store
        self._before = before
        self._stored: list[str] = []

    def __call__(self, mine: DeletedRows, theirs: AddFile) -> United | None:
        was = self._rows(self._before.files[mine.key])
        now = self._rows(theirs)
        if len(np.setdiff1d(was, now)):
            return None
        if mine.new_log is None:
            return United(replace(mine, delta_log=theirs.delta_log), overlap=len(now) > len(was))
        positions = self._load(DeltaLogRef(mine.new_log, mine.num_deleted), theirs.num_records)
        overlap = bool(len(np.setdiff1d(np.intersect1d(positions, now), was)))
        rows = np.union1d(positions, now)
        if len(rows) == theirs.num_records:
            return United(replace(mine, delta_log=theirs.delta_log, new_log=None, num_deleted=0), overlap)
        log = store_delta_log(self._store, mine.key, rows)
        self._stored.append(log.key)
        return United(
            replace(mine, delta_log=theirs.delta_log, new_log=log.key, num_deleted=log.num_deleted), overlap
        )

    def discard(self, named: Collection[str | None]) -> None:
        """Delete the delta logs of attempts that were not committed; `named` are those of the commit."""
        _delete(self._store, [key for key in self._stored if key not in named])

    def _rows(self, file: AddFile) -> RowIds:
        log = DeltaLogRef.of(file.delta_log, file.num_deleted, file.num_records, file.path)
        return self._load(log, file.num_records)

    def _load(self, log: DeltaLogRef | None, num_rows: int | None) -> RowIds:
        try:
            return load_deleted_rows(self._store, log, MAX_RECORDS if num_rows is None else num_rows).rows
        except CorruptTableError:
            if log is None or self._store.exists(log.key):
                raise
            # Concurrent commits have replaced it, and a purge has deleted it. If the table still needs it, the next
            # look-up of the rows reports that it is missing.
            raise CommitConflictError(
                f"the delta log {self._store.uri}/{log.key} has been deleted since the rows to change were looked up; "
                f"read the table again and repeat the change"
            ) from None


def check_no_restore(store: Store, before: Snapshot, current: Snapshot, operation: str) -> None:
    """Raise CommitConflictError if a version between two snapshots restores an older one.

    A restore brings rows back in splits that the look-up has read: they are in no file that was added since.
    """
    for version in versions_between(store, before, current):
        info = version.commit_info
        if info is not None and info.operation == Restore.operation:
            raise CommitConflictError(
                f"version {version.version} of {store.uri} has restored an older version since this {operation} looked "
                f"its rows up in version {before.version}; read the table again and repeat the {operation}"
            )


def versions_between(store: Store, before: Snapshot, after: Snapshot) -> list[VersionActions]:
    """Return the versions after one snapshot, up to another. CommitConflictError if clean-up has deleted some."""
    files = [file for file in list_versions_after(store, before.version) if file.version <= after.version]
    cleaned_up = CommitConflictError(
        f"what concurrent commits did to {store.uri} since version {before.version} is not known any more: "
        f"clean-up has deleted version files; read the table again and repeat the change"
    )
    if [file.version for file in files] != list(range(before.version + 1, after.version + 1)):
        raise cleaned_up
    try:
        return list(read_versions(store, files))
    except CorruptTableError:
        if read_watermark(store) <= before.version:
            raise
        raise cleaned_up from None  # after it was listed

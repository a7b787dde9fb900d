"""Rows that a statement changes: UPDATE, MERGE INTO, and a DELETE whose rows Spark has found.

run_update_task     (anywhere)  stores the new rows as splits, and notes which rows of the table go
commit_row_updates  (once)      publishes one version that deletes the old rows and adds the new ones, or none
abort_row_updates               deletes the splits of a statement that certainly did not commit

A row of the table is named by the key of its split and its number in it, at the version that the statement has read.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    IndexTablesError,
    InputError,
    VersionNotFoundError,
)
from indextables.log import AddFile, Snapshot, load_snapshot
from indextables.log.actions import to_entries
from indextables.predicates import Predicate
from indextables.rows import RowIds
from indextables.runtime import current
from indextables.schema import conform
from indextables.split import SplitReader
from indextables.state import PrunedFiles
from indextables.storage import ScratchDirectory, Store, open_store
from indextables.table.scans import REQUESTS, ScanRequest, ScanTask, SplitRef, split_refs
from indextables.table.writes.moved_rows import StatementRows, follow_rows
from indextables.table.writes.partitioning import PartitionKey
from indextables.table.writes.row_deletes import (
    MOVED_TRIES,
    RowChange,
    TaskDeletes,
    commit_deletes,
    delete_rows,
    versions_between,
)
from indextables.table.writes.row_images import (
    count_by_partition,
    describe_updates,
    mark_updates,
    pack_rows,
    unpack_rows,
    without_marks,
)
from indextables.table.writes.write import TaskResult, abort_write, run_write_task
from indextables.table.writes.write_plan import WritePlan

DELETED: Final = 0
UPDATED: Final = 1
INSERTED: Final = 2
"""The kinds of changed rows, in the first column of the batches of a task."""

STATEMENTS: Final = ("DELETE", "UPDATE", "MERGE")
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True)
class RowUpdatePlan:
    """The plan that all tasks of one statement share. The statement has read the table at `version`."""

    write: WritePlan
    version: int
    statement: str


@dataclass(frozen=True)
class UpdatedRows:
    """What one task has done: the splits of its new rows, and the rows of the table that go, by the key of their split.

    The rows are packed (see `pack_rows`).
    """

    adds: tuple[AddFile, ...]
    deleted: Mapping[str, bytes]
    updated: Mapping[str, bytes]


def run_update_task(plan: RowUpdatePlan, batches: Iterable[pa.RecordBatch]) -> UpdatedRows:
    """Store the new rows of one task and return which rows they replace.

    A batch has four columns: the kind of change, the key of the old row's split, its number in it, and the new row as a
    struct. An inserted row has no old one, and a deleted row no new one.
    """
    with ScratchDirectory(Settings(plan.write.options)) as directory:
        changes = _TaskRows(plan, directory)
        written = run_write_task(plan.write, changes.new_rows(batches))
        return UpdatedRows(
            adds=mark_updates(written.adds, changes.updates, plan.write.partition_columns),
            deleted=changes.packed(DELETED),
            updated=changes.packed(UPDATED),
        )


class _TaskRows:
    """The changed rows of one task. Its updated rows come first, so that a split knows them by their number."""

    def __init__(self, plan: RowUpdatePlan, directory: Path) -> None:
        self._plan = plan.write
        self._spill = directory / "inserted.arrow"
        self._old: dict[int, dict[str, list[RowIds]]] = {DELETED: {}, UPDATED: {}}
        self.updates: Counter[PartitionKey] = Counter()

    def new_rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the updated rows as they come, and then the inserted ones, which wait in a local file."""
        schema = self._plan.schema.arrow
        spill: pa.ipc.RecordBatchStreamWriter | None = None
        try:
            for batch in batches:
                kinds = batch.column(0)
                for kind in self._old:
                    self._note(kind, batch.filter(pc.equal(kinds, kind)))
                updated = self._rows(batch.filter(pc.equal(kinds, UPDATED)))
                self.updates += count_by_partition([updated], self._plan.schema, self._plan.partition_columns)
                if updated.num_rows:
                    yield updated
                inserted = self._rows(batch.filter(pc.equal(kinds, INSERTED)))
                if inserted.num_rows:
                    spill = spill or pa.ipc.new_stream(str(self._spill), schema, options=_OPTIONS)
                    spill.write_batch(inserted)
        finally:
            if spill is not None:
                spill.close()
        if spill is not None:
            with pa.memory_map(str(self._spill)) as source, pa.ipc.open_stream(source) as reader:
                yield from reader

    def packed(self, kind: int) -> dict[str, bytes]:
        return {key: pack_rows(np.concatenate(rows)) for key, rows in self._old[kind].items()}

    def _rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        new = batch.column(3)
        columns = pa.RecordBatch.from_arrays(new.flatten(), names=[field.name for field in new.type])
        return conform(columns, self._plan.schema)

    def _note(self, kind: int, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        keys = pc.dictionary_encode(batch.column(1))
        codes = keys.indices.to_numpy(zero_copy_only=False)
        numbers = batch.column(2).to_numpy(zero_copy_only=False)
        for code, key in enumerate(keys.dictionary.to_pylist()):
            self._old[kind].setdefault(key, []).append(numbers[codes == code])


def commit_row_updates(plan: RowUpdatePlan, results: Sequence[UpdatedRows]) -> RowChange:
    """Commit what all tasks of a statement have done as one version.

    Raises CommitConflictError if concurrent commits have changed the same rows, or removed a file that has some. A
    merge is no conflict: the rows are changed where they are then (see `moved_rows`).
    """
    settings = Settings(plan.write.options)
    store = open_store(plan.write.uri, settings)
    try:
        return _commit(store, plan, results, settings)
    except CommitUnknownError:
        raise
    except IndexTablesError:
        abort_row_updates(plan, results)
        raise


def abort_row_updates(plan: RowUpdatePlan, results: Iterable[UpdatedRows]) -> None:
    """Delete the splits that the tasks stored. Only for a statement that certainly did not commit."""
    abort_write(plan.write, [TaskResult(result.adds) for result in results])


def _commit(
    store: Store, plan: RowUpdatePlan, results: Sequence[UpdatedRows], settings: Settings
) -> RowChange:
    try:
        snapshot = load_snapshot(store, plan.version, settings=settings)
    except VersionNotFoundError:
        raise CommitConflictError(
            f"version {plan.version} of {store.uri}, whose rows this {plan.statement} changes, has been cleaned up "
            f"since it began; repeat it"
        ) from None
    old = _old_rows(plan, results)
    adds = tuple(itertools.chain.from_iterable(result.adds for result in results))
    return change_where_moved(
        store,
        snapshot,
        old,
        lambda current, rows: _commit_rows(store, plan, current, rows, adds, settings),
        plan.statement,
        settings,
    )


def change_where_moved(
    store: Store,
    snapshot: Snapshot,
    rows: Mapping[str, StatementRows],
    change: Callable[[Snapshot, Mapping[str, StatementRows]], RowChange],
    statement: str,
    settings: Settings,
) -> RowChange:
    """Return what `change` does to rows of a snapshot, or to the same rows in a newer one.

    Automatic merges may run at any time, and change no row: the statement changes the rows that it has found where they
    are then. CommitConflictError if one of them is not what it was.
    """
    for attempt in range(MOVED_TRIES):
        try:
            return change(snapshot, rows)
        except CommitConflictError as conflict:
            if not conflict.by_file or attempt == MOVED_TRIES - 1:
                raise
        newest = load_snapshot(store, settings=settings)
        versions = versions_between(store, snapshot, newest)
        rows, snapshot = follow_rows(store, snapshot, versions, rows, statement), newest
    raise AssertionError("the last attempt returns or raises")


def _commit_rows(
    store: Store,
    plan: RowUpdatePlan,
    snapshot: Snapshot,
    old: Mapping[str, StatementRows],
    adds: tuple[AddFile, ...],
    settings: Settings,
) -> RowChange:
    """Commit the changes of rows, which are those of this snapshot."""
    images = {
        key: describe_updates(rows.updated, rows.deleted) for key, rows in old.items() if len(rows.updated)
    }
    if None in images.values():
        images, adds = {}, without_marks(adds)
    deletes = [
        TaskDeletes(tuple(replace(rows, updated=images.get(rows.key)) for rows in task.rows), task.count)
        for task in _store_deletes(store, snapshot, plan, old)
    ]
    return commit_deletes(
        store,
        snapshot,
        deletes,
        settings,
        adds=adds,
        metadata=plan.write.metadata,
        operation=plan.statement,
        parameters={
            "rowsUpdated": str(sum(len(rows.updated) for rows in old.values())),
            "rowsDeleted": str(sum(len(rows.deleted) for rows in old.values())),
        },
    )


def _old_rows(plan: RowUpdatePlan, results: Sequence[UpdatedRows]) -> dict[str, StatementRows]:
    """Return the rows of all tasks by split. InputError if a row is changed twice; deleting it twice is not that."""
    old = {}
    for key in dict.fromkeys(key for result in results for key in (*result.deleted, *result.updated)):
        updated = _unpack_all(result.updated.get(key) for result in results)
        deleted = np.unique(_unpack_all(result.deleted.get(key) for result in results))
        if len(np.unique(updated)) < len(updated) or len(np.intersect1d(updated, deleted)):
            raise InputError(
                f"the {plan.statement} would change one row of {plan.write.uri} more than once; a row of the target "
                f"must match at most one row of the source"
            )
        old[key] = StatementRows(deleted, updated)
    return old


def _unpack_all(packed: Iterable[bytes | None]) -> RowIds:
    rows = [unpack_rows(each) for each in packed if each is not None]
    return np.sort(np.concatenate(rows)) if rows else np.empty(0, np.int64)


def _store_deletes(
    store: Store, snapshot: Snapshot, plan: RowUpdatePlan, old: Mapping[str, StatementRows]
) -> list[TaskDeletes]:
    """Store a delta log for each split of which rows remain."""
    files = [(key, snapshot.files.get_added(key)) for key in old]
    unknown = [key for key, added in files if added is None]
    if unknown:
        raise InputError(f"version {snapshot.version} of {store.uri} has no file {unknown[0]!r:.200}")
    columns = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    live = [(key, added) for key, added in files if added is not None]
    if not live:
        return []
    refs = split_refs(PrunedFiles(to_entries(live), columns, {}))

    def look_up(ref: SplitRef, split: SplitReader, _: Predicate) -> RowIds:
        rows = old[ref.path].all
        if rows[0] < 0 or rows[-1] >= split.num_rows or len(np.intersect1d(rows, split.deleted)):
            raise InputError(
                f"version {snapshot.version} of {store.uri} does not have these rows in {ref.path}"
            )
        return rows

    def store_one(ref: SplitRef) -> TaskDeletes:
        task = ScanTask(
            uri=store.uri,
            options=plan.write.options,
            schema=snapshot.schema,
            mapping=snapshot.mapping,
            request=ScanRequest(()),
            splits=(ref,),
        )
        return delete_rows(task, look_up)

    return list(current().threads.map(store_one, refs, REQUESTS))

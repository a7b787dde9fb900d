"""Rows after merges: where the rows that a statement has found are in a later version, whose merges have moved them.

A merge writes the rows of its sources one after the other, in the order in which the log removes the sources, without
those that were deleted. So the place of a row in the new split follows from the log and the delta logs of the sources;
no split is opened. What another commit has done to the rows in between is still a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from indextables.errors import CommitConflictError, CorruptTableError
from indextables.log import AddFile, MergeSplits, RemoveFile, Snapshot, split_key
from indextables.log.changes import DELETE, MERGED_INTO
from indextables.log.versions import VersionActions
from indextables.rows import RowIds
from indextables.split import DeltaLogRef, load_deleted_rows
from indextables.storage import Store


@dataclass(frozen=True)
class StatementRows:
    """The rows of one split that a statement deletes, and those that it updates, each ascending."""

    deleted: RowIds
    updated: RowIds

    def without(self, rows: RowIds) -> StatementRows:
        """Return the rows that are not among these."""
        return StatementRows(np.setdiff1d(self.deleted, rows), np.setdiff1d(self.updated, rows))

    def union(self, others: StatementRows) -> StatementRows:
        """Return the rows of both."""
        return StatementRows(
            np.union1d(self.deleted, others.deleted), np.union1d(self.updated, others.updated)
        )

    @property
    def all(self) -> RowIds:
        """Both kinds of rows, ascending."""
        return np.union1d(self.deleted, self.updated)


def follow_rows(
    store: Store,
    before: Snapshot,
    versions: Iterable[VersionActions],
    rows: Mapping[str, StatementRows],
    statement: str,
) -> dict[str, StatementRows]:
    """Return where rows of a snapshot are after the versions that follow it, by the key of their split.

    Rows that a DELETE and another one delete both are left out. CommitConflictError if another commit has changed one
    of the rows, or if the log does not tell where it is.
    """
    walk = _Walk(store, before, statement, dict(rows))
    for version in versions:
        walk.apply(version)
    return {key: found for key, found in walk.rows.items() if len(found.all)}


@dataclass
class _Walk:
    """The rows at one version, and the number of rows of the files that were added on the way."""

    store: Store
    before: Snapshot
    statement: str
    rows: dict[str, StatementRows]
    counts: dict[str, int | None] = field(default_factory=dict)

    def apply(self, version: VersionActions) -> None:
        uri, info = self.store.uri, version.commit_info
        operation = None if info is None else info.operation
        removes = [action for action in version.actions if isinstance(action, RemoveFile)]
        adds = {split_key(a.path, uri): a for a in version.actions if isinstance(a, AddFile)}
        self.counts |= {key: add.num_records for key, add in adds.items()}
        moved: dict[str, StatementRows] = {}
        for key, remove in ((split_key(action.path, uri), action) for action in removes):
            if key not in self.rows:
                continue
            if key in adds:
                self._check(key, _delta_log(key, adds[key]), operation)
            elif operation == MergeSplits.operation and (target := (remove.tags or {}).get(MERGED_INTO)):
                self._check(key, self._log_of(key, remove), operation)
                new = split_key(target, uri)
                rows = self._follow_merge(key, removes, target, adds.get(new))
                moved[new] = rows.union(moved[new]) if new in moved else rows
                del self.rows[key]
            elif self.statement == DELETE == operation:
                del self.rows[key]
            else:
                raise self._conflict(f"a concurrent {operation or 'commit'} has removed {key}")
        self.rows |= moved

    def _check(self, key: str, log: DeltaLogRef | None, operation: str | None) -> None:
        """Leave out rows of a file that two deletes both delete. CommitConflictError for rows changed otherwise."""
        gone = np.intersect1d(self.rows[key].all, self._positions(log, key))
        if not len(gone):
            return
        if not self.statement == DELETE == operation:
            raise self._conflict(f"a concurrent commit has changed the same rows of {key}")
        self.rows[key] = self.rows[key].without(gone)

    def _follow_merge(
        self, key: str, removes: Sequence[RemoveFile], target: str, merged: AddFile | None
    ) -> StatementRows:
        """Return the rows of a source in the file that a merge has written."""
        start, total = 0, 0
        deleted = np.empty(0, np.int64)
        for remove in removes:
            if (remove.tags or {}).get(MERGED_INTO) != target:
                continue
            source = split_key(remove.path, self.store.uri)
            count, log = self._count(source), self._log_of(source, remove)
            if count is None:
                raise self._lost(key)
            if source == key:
                start, deleted = total, self._positions(log, key)
            total += count - (0 if log is None else log.num_deleted)
        if merged is None or merged.num_records != total:
            raise self._lost(key)
        rows = self.rows[key]
        return StatementRows(
            *(start + each - np.searchsorted(deleted, each) for each in (rows.deleted, rows.updated))
        )

    def _count(self, key: str) -> int | None:
        if key in self.counts:
            return self.counts[key]
        added = self.before.files.get_added(key)
        return None if added is None else added.file.num_records

    def _log_of(self, key: str, remove: RemoveFile) -> DeltaLogRef | None:
        return DeltaLogRef.of(remove.delta_log, remove.num_deleted, self._count(key), key)

    def _positions(self, log: DeltaLogRef | None, key: str) -> RowIds:
        count = self._count(key)
        if log is not None and count is None:
            raise self._lost(key)
        try:
            return load_deleted_rows(self.store, log, count or 0).rows
        except CorruptTableError:
            if log is None or self.store.exists(log.key):
                raise
            raise self._lost(key) from None  # a purge has deleted it since

    def _lost(self, key: str) -> CommitConflictError:
        return self._conflict(f"a merge has moved rows of {key}, and the log does not tell where they are")

    def _conflict(self, what: str) -> CommitConflictError:
        return CommitConflictError(
            f"{what} of {self.store.uri}; read the table again and repeat the {self.statement}"
        )


def _delta_log(key: str, add: AddFile) -> DeltaLogRef | None:
    return DeltaLogRef.of(add.delta_log, add.num_deleted, add.num_records, key)

"""What changed in a table since a version or a moment: files that came and went, and the rows that are new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError, VersionNotFoundError
from indextables.log import AddFile, RemoveFile, Snapshot
from indextables.log.diffs.changeset import FileChangeset
from indextables.log.diffs.diff import BEGINNING, diff_versions, files_added_since, version_at
from indextables.schema import decode_value
from indextables.storage import Store, options_for_tasks
from indextables.table.scan import ScanRequest, ScanTask, SplitRef, run_scan_task, scan_schema
from indextables.table.timestamps import to_millis

Since: TypeAlias = int | str | datetime
"""A version, or a moment as a datetime or its ISO text."""


@dataclass(frozen=True)
class ChangeSet:
    """The files that a table has and had not (`adds`), and those that it has no more (`removes`).

    It is net: what came and went in between is in neither list, and what went and came back is not either. Files
    whose `data_change` is False hold rows that were there before, in other files: a merge made them. The changes lie
    after version `since` (None: after a moment before all that is known) and go up to `new_version`.
    """

    adds: tuple[AddFile, ...]
    removes: tuple[RemoveFile, ...]
    new_version: int
    since: int | None
    _read: Callable[[Sequence[str] | None], pa.Table] = field(repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(self.adds or self.removes)

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows that were written since and are still there, whatever merges did with them, in order of the log.

        InputError where a merge has mixed them with older ones and the log no longer tells them apart.
        """
        return self._read(columns)


def changes(
    store: Store, snapshot: Snapshot, since: Since, settings: Settings, *, adds_only: bool = False
) -> ChangeSet:
    """The changes after `since` up to the snapshot. See `Table.changes`."""
    version: int | None
    if isinstance(since, bool) or not isinstance(since, int | str | datetime):
        raise InputError(
            f"since is {since!r}; it takes a version, a datetime or ISO text such as 2026-01-31T12:00:00Z"
        )
    if isinstance(since, int):
        version = since
        found = _found(store, version, snapshot, settings, adds_only=adds_only)
    else:
        moment = to_millis(since, "since")
        try:
            version = min(version_at(store, moment, settings), snapshot.version)
        except VersionNotFoundError:
            if not adds_only or snapshot.files.exact_from != BEGINNING:
                raise
            # The versions of that time are gone, but each file knows when it came.
            version, found = None, files_added_since(BEGINNING, snapshot, after_ms=moment)
        else:
            found = _found(store, version, snapshot, settings, adds_only=adds_only)

    def read(columns: Sequence[str] | None) -> pa.Table:
        return _rows(store, snapshot, found, columns, settings)

    return ChangeSet(found.adds, found.removes, snapshot.version, version, read)


def _found(
    store: Store, since: int, snapshot: Snapshot, settings: Settings, *, adds_only: bool
) -> FileChangeset:
    if adds_only:
        return files_added_since(since, snapshot)
    return diff_versions(store, since, snapshot, settings)


def _rows(
    store: Store, snapshot: Snapshot, found: FileChangeset, columns: Sequence[str] | None, settings: Settings
) -> pa.Table:
    if found.rows is None:
        raise InputError(
            f"splits of {snapshot.uri} were merged since, and which of their rows are new cannot be told any more; "
            f"ask for changes more often than version files are cleaned up"
        )
    names = (
        snapshot.schema.names if columns is None else [snapshot.schema.field(name).name for name in columns]
    )
    request = ScanRequest(tuple(names))
    partitions = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    refs = tuple(
        SplitRef(
            key,
            file.size,
            file.num_records,
            {c.name: decode_value(file.partition_values.get(c.name), c.type) for c in partitions},
        )
        for key, file in found.rows
    )
    options = options_for_tasks(store.uri, settings)
    task = ScanTask(store.uri, options, snapshot.schema, snapshot.mapping, request, refs)
    return pa.Table.from_batches(run_scan_task(task), schema=scan_schema(snapshot.schema, request))

"""The changes of a table since a version or a time: files added and removed, and the rows that are new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError, VersionNotFoundError
from indextables.log import AddFile, RemoveFile, Snapshot
from indextables.log.diffs import BEGINNING, FileChangeset, diff_versions, files_added_since, version_at
from indextables.notebook import table_html
from indextables.schema import decode_value
from indextables.split import DeltaLogRef
from indextables.storage import Store, options_for_tasks
from indextables.table.arguments import check_flag, to_columns, to_millis
from indextables.table.history.change_feed import read_feed
from indextables.table.scans import ScanRequest, ScanTask, SplitRef, run_scan_task, scan_schema

Since: TypeAlias = int | str | datetime
"""A version, or a time as a datetime or ISO text."""


@dataclass(frozen=True)
class ChangeSet:
    """The difference between two versions: the files added (`adds`) and the files removed (`removes`).

    It is net: a file that was added and removed again, or removed and added again, is in neither list. A file whose
    `data_change` is False holds rows that the table already had in other files: a merge wrote it. The changes are those
    after version `since` up to `new_version`. `since` is None if a time was given and the versions of that time are no
    longer in the log. `changed` are the files that are in neither list and of which rows were deleted since.

    >>> import indextables as it, pyarrow as pa
    >>> for n in (1, 2):
    ...     _ = it.write("memory://doc-changeset", pa.table({"n": [n]}))
    >>> changed = it.open("memory://doc-changeset").changes(since=0)
    >>> bool(changed), changed.since, changed.new_version, [add.num_records for add in changed.adds]
    (True, 0, 1, [1])
    """

    adds: tuple[AddFile, ...]
    removes: tuple[RemoveFile, ...]
    new_version: int
    since: int | None
    _read: Callable[[Sequence[str] | None], pa.Table] = field(repr=False, compare=False)
    _feed: Callable[[Sequence[str] | None], pa.Table] = field(repr=False, compare=False)
    changed: tuple[AddFile, ...] = ()

    def __bool__(self) -> bool:
        """Return True if a file was added or removed, or rows of it were deleted."""
        return bool(self.adds or self.removes or self.changed)

    def _repr_html_(self) -> str:
        files: list[tuple[object, ...]] = [
            ("added", add.path, add.num_records, add.size) for add in self.adds
        ]
        files += [("removed", gone.path, None, gone.size) for gone in self.removes]
        since = "a time before the log" if self.since is None else f"version {self.since}"
        caption = f"Changes after {since} up to version {self.new_version}"
        return table_html(caption, ("change", "file", "rows", "bytes"), files)

    def to_arrow(self, columns: Sequence[str] | None = None, *, feed: bool = False) -> pa.Table:
        """Return the rows that were written since and are still in the table, in the order of the log.

        Rows that a merge moved to another file are included. InputError if a merge mixed them with older rows and the
        log no longer tells them apart.

        With `feed`, return what each version changed instead, whether it is still so or not. Three columns say how, in
        which version and when: `_change_type` (`insert`, `delete`, and for rows of UPDATE, MERGE INTO and `upsert`
        `update_preimage` and `update_postimage`), `_commit_version` and `_commit_timestamp`.
        VersionNotFoundError if clean-up has deleted one of the versions, or a purge the rows. Rows have the columns of
        the newer version: null where the table did not have the column then. SchemaError if it had another type then.

        >>> import indextables as it, pyarrow as pa
        >>> for n in (1, 2):
        ...     _ = it.write("memory://doc-new-rows", pa.table({"n": [n]}))
        >>> it.open("memory://doc-new-rows").changes(since=0).to_arrow(columns=["n"]).to_pylist()
        [{'n': 2}]
        >>> changed = it.open("memory://doc-new-rows").changes(since=0).to_arrow(feed=True)
        >>> changed.drop_columns(["_commit_timestamp"]).to_pylist()
        [{'n': 2, '_change_type': 'insert', '_commit_version': 1}]
        """
        return self._feed(columns) if check_flag(feed, "feed") else self._read(columns)


def changes(
    store: Store, snapshot: Snapshot, since: Since, settings: Settings, *, adds_only: bool = False
) -> ChangeSet:
    """Return the changes after `since` up to the snapshot. See `Table.changes`."""
    version: int | None
    if isinstance(since, bool) or not isinstance(since, int | str | datetime):
        raise InputError(
            f"since is {since!r}; it takes a version, a datetime or ISO text such as 2026-01-31T12:00:00Z"
        )
    if isinstance(since, int):
        version = since
        diff = _diff(store, version, snapshot, settings, adds_only=adds_only)
    else:
        timestamp = to_millis(since, "since")
        try:
            version = min(version_at(store, timestamp, settings), snapshot.version)
        except VersionNotFoundError:
            if not adds_only or snapshot.files.exact_from != BEGINNING:
                raise
            # The versions of that time are deleted, but each file records when it was added.
            version, diff = None, files_added_since(BEGINNING, snapshot, after_ms=timestamp)
        else:
            diff = _diff(store, version, snapshot, settings, adds_only=adds_only)

    def read(columns: Sequence[str] | None) -> pa.Table:
        return _new_rows(store, snapshot, diff, columns, settings)

    def read_as_feed(columns: Sequence[str] | None) -> pa.Table:
        if version is None:
            raise VersionNotFoundError(
                f"the versions of {store.uri} at that time have been cleaned up; ask for changes since a later one"
            )
        return read_feed(store, snapshot, version, columns, settings)

    return ChangeSet(
        adds=diff.adds,
        removes=diff.removes,
        new_version=snapshot.version,
        since=version,
        _read=read,
        changed=diff.changed,
        _feed=read_as_feed,
    )


def _diff(
    store: Store, since: int, snapshot: Snapshot, settings: Settings, *, adds_only: bool
) -> FileChangeset:
    if adds_only:
        return files_added_since(since, snapshot)
    return diff_versions(store, since, snapshot, settings)


def _new_rows(
    store: Store, snapshot: Snapshot, diff: FileChangeset, columns: Sequence[str] | None, settings: Settings
) -> pa.Table:
    names = to_columns(columns, snapshot.schema)
    if diff.rows is None:
        raise InputError(
            f"splits of {snapshot.uri} were merged since then, and the log no longer tells which of their rows are "
            f"new; ask for changes more often than version files are cleaned up"
        )
    request = ScanRequest(names)
    partitions = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    refs = tuple(
        SplitRef(
            path=key,
            size=file.size,
            num_records=file.num_records,
            partition_values={
                column.name: decode_value(file.partition_values.get(column.name), column.type)
                for column in partitions
            },
            delta_log=DeltaLogRef.of(file.delta_log, file.num_deleted, file.num_records, key),
        )
        for key, file in diff.rows
    )
    task = ScanTask(
        uri=store.uri,
        options=options_for_tasks(store.uri, settings),
        schema=snapshot.schema,
        mapping=snapshot.mapping,
        request=request,
        splits=refs,
    )
    return pa.Table.from_batches(run_scan_task(task), schema=scan_schema(snapshot.schema, request))

"""The changes of a table as rows: what each version inserted and deleted, in the order of the log.

A changeset is net. A feed is not: a row that was inserted and deleted again is in it twice. A row that a statement or
an upsert updates is in it as it was (`update_preimage`) and as it is (`update_postimage`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings
from indextables.errors import CorruptTableError, InputError, VersionNotFoundError
from indextables.log import AddFile, RemoveFile, Snapshot, split_key
from indextables.log.diffs import read_range
from indextables.log.versions import VersionActions
from indextables.rows import RowIds
from indextables.schema import ROW_NUMBER, TableSchema, decode_value
from indextables.split import DeltaLogRef
from indextables.storage import Store, open_store, options_for_tasks
from indextables.table.arguments import to_columns
from indextables.table.history.past_columns import PastColumns
from indextables.table.scans import ScanRequest, ScanTask, SplitRef, run_scan_task, scan_schema
from indextables.table.writes import are_updates

CHANGE_TYPE: Final = "_change_type"
COMMIT_VERSION: Final = "_commit_version"
COMMIT_TIMESTAMP: Final = "_commit_timestamp"
_TIME: Final = pa.timestamp("us", tz="UTC")
_UPDATING: Final = frozenset({"UPDATE", "MERGE", "UPSERT"})
"""The operations whose files say which rows are updates. Others add files again that such an operation has added."""

_ADVICE: Final = (
    "Leave the column out with columns=, or read the changes up to that version on their own, with until="
)

FEED_FIELDS: Final = (
    pa.field(CHANGE_TYPE, pa.string()),
    pa.field(COMMIT_VERSION, pa.int64()),
    pa.field(COMMIT_TIMESTAMP, _TIME),
)


@dataclass(frozen=True)
class FileChange:
    """One file of which a version inserted or deleted rows: those that the delta log `log` leaves.

    `other` has one delta log if the version removes the file and adds it again: rows that it leaves are no change.
    `tags` say which of the rows are updates (see `row_images`); None: none of them.
    """

    kind: Literal["insert", "delete"]
    version: int
    timestamp_ms: int
    file: AddFile
    log: DeltaLogRef | None = None
    other: tuple[DeltaLogRef | None, ...] = ()
    tags: Mapping[str, str] | None = None


def file_changes(
    uri: str,
    versions: Iterable[VersionActions],
    *,
    is_partitioned: Callable[[int], bool] = lambda _: True,
) -> Iterator[FileChange]:
    """Yield the files that changed, deleted ones of a version first. Merges change no rows.

    `is_partitioned` says whether the table had partition columns in a version.

    >>> versions = [VersionActions(5, [AddFile("b", {}, 1), RemoveFile("a", size=1)], modified_ms=7)]
    >>> changes = file_changes("memory://t", versions, is_partitioned=lambda _: False)
    >>> [(change.kind, change.file.path, change.version) for change in changes]
    [('delete', 'a', 5), ('insert', 'b', 5)]
    """
    timestamp = 0
    for version in versions:
        timestamp = max(timestamp, version.raw_timestamp_ms)
        removes = {split_key(a.path, uri): a for a in version.actions if isinstance(a, RemoveFile)}
        adds = {split_key(a.path, uri): a for a in version.actions if isinstance(a, AddFile)}
        info = version.commit_info
        has_updates = info is not None and info.operation in _UPDATING
        inserts: list[FileChange] = []
        for key, remove in removes.items():
            old = DeltaLogRef.of(remove.delta_log, remove.num_deleted, None, key)
            if key in adds:  # the same rows, of which others are deleted now; a merge never adds a file again
                new = _delta_log(key, adds[key])
                if new != old:
                    change = FileChange(
                        "delete",
                        version.version,
                        timestamp_ms=timestamp,
                        file=adds[key],
                        log=old,
                        other=(new,),
                    )
                    yield replace(change, tags=remove.tags if has_updates else None)
                    inserts.append(replace(change, kind="insert", log=new, other=(old,)))
            elif remove.data_change:
                before = version.version - 1
                file = _removed_file(remove, version.version, is_partitioned=is_partitioned(before))
                tags = remove.tags if has_updates else None
                yield FileChange(
                    "delete", version.version, timestamp_ms=timestamp, file=file, log=old, tags=tags
                )
        yield from inserts
        for key, file in adds.items():
            if key not in removes and file.data_change:
                tags = file.tags if has_updates else None
                yield replace(insertion(key, file, version.version, timestamp), tags=tags)


def insertion(key: str, file: AddFile, version: int, timestamp_ms: int) -> FileChange:
    """Return the change that all rows of a file are new in a version."""
    return FileChange("insert", version, timestamp_ms=timestamp_ms, file=file, log=_delta_log(key, file))


def _delta_log(key: str, file: AddFile) -> DeltaLogRef | None:
    return DeltaLogRef.of(file.delta_log, file.num_deleted, file.num_records, key)


def read_feed(
    store: Store, snapshot: Snapshot, since: int, columns: Sequence[str] | None, settings: Settings
) -> pa.Table:
    """Return the rows that the versions after `since` inserted and deleted, up to the snapshot.

    Raises VersionNotFoundError if clean-up has deleted one of the versions, or a purge rows that were deleted.
    """
    check_feed(snapshot)
    names = (*to_columns(columns, snapshot.schema), *(field.name for field in FEED_FIELDS))
    past = PastColumns(store, snapshot, settings)
    versions = list(past.follow(read_range(store, snapshot.metadata.id, since + 1, snapshot.version)))
    tasks = (
        feed_task(store, past, [change], names, settings) for change in changes_of(store.uri, versions, past)
    )
    batches = (batch for task in tasks for batch in run_feed_task(task))
    return pa.Table.from_batches(batches, schema=feed_schema(snapshot.schema, names))


def changes_of(uri: str, versions: Iterable[VersionActions], past: PastColumns) -> Iterator[FileChange]:
    """Yield the files that changed in versions that `past` follows."""
    return file_changes(
        uri, versions, is_partitioned=lambda version: bool(past.at(version).partition_columns)
    )


@dataclass(frozen=True)
class FeedTask:
    """The changes of some files to read. It pickles, and runs anywhere. `scans` has a scan of each file."""

    changes: tuple[FileChange, ...]
    scans: tuple[ScanTask, ...]
    columns: tuple[str, ...]


def feed_task(
    store: Store,
    past: PastColumns,
    changes: Sequence[FileChange],
    columns: Sequence[str],
    settings: Settings,
) -> FeedTask:
    """Return the task of reading changes as rows with these columns, of the table that `past` is read as.

    Raises SchemaError if one of the columns cannot be read as it is now.
    """
    request = ScanRequest((*_own(columns), ROW_NUMBER))
    scans = tuple(_scan_of(store, past, change, request, settings) for change in changes)
    return FeedTask(tuple(changes), scans, tuple(columns))


def _scan_of(
    store: Store, past: PastColumns, change: FileChange, request: ScanRequest, settings: Settings
) -> ScanTask:
    # A file that is removed has the columns of the version before, in which it was still live.
    table = past.at(change.version if change.kind == "insert" else change.version - 1)
    table.check(request, _ADVICE)
    return _task(store, table.snapshot, table.file(change.file), request, change.log, settings)


def run_feed_task(task: FeedTask) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task. VersionNotFoundError if a purge has deleted them."""
    for change, scan in zip(task.changes, task.scans, strict=True):
        try:
            yield from _changed_rows(change, scan, task.columns)
        except CorruptTableError:
            store = open_store(scan.uri, Settings(scan.options))
            if store.exists(scan.splits[0].path):
                raise
            raise VersionNotFoundError(
                f"rows that version {change.version} of {scan.uri} {change.kind}s have been purged; ask for changes "
                f"since version {change.version}"
            ) from None


def feed_schema(schema: TableSchema, columns: Sequence[str]) -> pa.Schema:
    """Return the schema of changes as rows with these columns."""
    added = {field.name: field for field in FEED_FIELDS}
    own = scan_schema(schema, ScanRequest(_own(columns)))
    return pa.schema([added.get(name) or own.field(name) for name in columns])


def check_feed(snapshot: Snapshot) -> None:
    """Raise InputError if a column of the table has the name of one that its changes have."""
    clash = [field.name for field in FEED_FIELDS if snapshot.schema.get(field.name) is not None]
    if clash:
        raise InputError(
            f"{snapshot.uri} has a column {clash[0]!r} of its own; its changes cannot be read as rows"
        )


def _own(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the table among those of a feed."""
    return tuple(name for name in columns if name not in {field.name for field in FEED_FIELDS})


def _changed_rows(change: FileChange, scan: ScanTask, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    others = None
    if change.other:
        (ref,) = scan.splits
        left = replace(
            scan,
            request=replace(scan.request, columns=(ROW_NUMBER,)),
            splits=(replace(ref, delta_log=change.other[0]),),
        )
        schema = scan_schema(left.schema, left.request)
        others = pa.Table.from_batches(run_scan_task(left), schema=schema).column(0).combine_chunks()
    for batch in run_scan_task(scan):
        rows = batch
        if others is not None:
            rows = rows.filter(pc.invert(pc.is_in(rows.column(ROW_NUMBER), value_set=others)))
        numbers = rows.column(ROW_NUMBER).to_numpy()
        values = (
            pa.array(_change_types(change, numbers), pa.string()),
            pa.repeat(pa.scalar(change.version, pa.int64()), rows.num_rows),
            pa.repeat(pa.scalar(change.timestamp_ms * 1000, pa.int64()).cast(_TIME), rows.num_rows),
        )
        for field, value in zip(FEED_FIELDS, values, strict=True):
            rows = rows.append_column(field, value)
        yield rows.select(list(columns))


def _change_types(change: FileChange, numbers: RowIds) -> npt.NDArray[np.object_]:
    is_new = change.kind == "insert"
    is_update = are_updates(change.tags, numbers, change.file.path, is_new=is_new)
    return np.where(is_update, "update_postimage" if is_new else "update_preimage", change.kind).astype(
        object
    )


def _task(
    store: Store,
    snapshot: Snapshot,
    file: AddFile,
    request: ScanRequest,
    log: DeltaLogRef | None,
    settings: Settings,
) -> ScanTask:
    partitions = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    ref = SplitRef(
        path=split_key(file.path, store.uri),
        size=file.size,
        num_records=file.num_records,
        partition_values={
            column.name: decode_value(file.partition_values.get(column.name), column.type)
            for column in partitions
        },
        delta_log=log,
    )
    return ScanTask(
        uri=store.uri,
        options=options_for_tasks(store.uri, settings),
        schema=snapshot.schema,
        mapping=snapshot.mapping,
        request=request,
        splits=(ref,),
    )


def _removed_file(action: RemoveFile, version: int, *, is_partitioned: bool) -> AddFile:
    """Return the file that was removed, as far as reading it needs."""
    if action.size is None or (is_partitioned and action.partition_values is None):
        raise CorruptTableError(
            f"version {version} removes {action.path} and does not record its size and partition: another program has "
            "written it, and its rows cannot be read as changes"
        )
    return AddFile(action.path, action.partition_values or {}, size=action.size)

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
from indextables.schema import ROW_NUMBER, decode_value
from indextables.split import DeltaLogRef
from indextables.storage import Store, options_for_tasks
from indextables.table.arguments import to_columns
from indextables.table.history.past_columns import PastColumns, PastTable
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
                    change = FileChange("delete", version.version, timestamp, adds[key], old, other=(new,))
                    yield replace(change, tags=remove.tags if has_updates else None)
                    inserts.append(replace(change, kind="insert", log=new, other=(old,)))
            elif remove.data_change:
                before = version.version - 1
                file = _removed_file(remove, version.version, is_partitioned=is_partitioned(before))
                tags = remove.tags if has_updates else None
                yield FileChange("delete", version.version, timestamp, file, old, tags=tags)
        yield from inserts
        for key, file in adds.items():
            if key not in removes and file.data_change:
                tags = file.tags if has_updates else None
                yield FileChange("insert", version.version, timestamp, file, _delta_log(key, file), tags=tags)


def _delta_log(key: str, file: AddFile) -> DeltaLogRef | None:
    return DeltaLogRef.of(file.delta_log, file.num_deleted, file.num_records, key)


def read_feed(
    store: Store, snapshot: Snapshot, since: int, columns: Sequence[str] | None, settings: Settings
) -> pa.Table:
    """Return the rows that the versions after `since` inserted and deleted, up to the snapshot.

    Raises VersionNotFoundError if clean-up has deleted one of the versions, or a purge rows that were deleted.
    """
    clash = [field.name for field in FEED_FIELDS if snapshot.schema.get(field.name) is not None]
    if clash:
        raise InputError(
            f"{store.uri} has a column {clash[0]!r} of its own; its changes cannot be read as rows"
        )
    request = ScanRequest(to_columns(columns, snapshot.schema))
    schema = scan_schema(snapshot.schema, request)
    past = PastColumns(store, snapshot, settings)
    versions = list(past.follow(read_range(store, snapshot.metadata.id, since + 1, snapshot.version)))
    changes = file_changes(
        store.uri, versions, is_partitioned=lambda version: bool(past.at(version).partition_columns)
    )
    tables = []
    for change in changes:
        # A file that is removed has the columns of the version before, in which it was still live.
        table = past.at(change.version if change.kind == "insert" else change.version - 1)
        table.check(request, _ADVICE)
        try:
            rows = _changed_rows(store, table, change, request, settings)
        except CorruptTableError:
            if store.exists(split_key(change.file.path, store.uri)):
                raise
            raise VersionNotFoundError(
                f"rows that version {change.version} of {store.uri} {change.kind}s have been purged; ask for changes "
                f"since version {change.version}"
            ) from None
        tables.append(rows)
    empty = pa.schema([*schema, *FEED_FIELDS]).empty_table()
    return pa.concat_tables([empty, *tables])


def _changed_rows(
    store: Store, table: PastTable, change: FileChange, request: ScanRequest, settings: Settings
) -> pa.Table:
    file, snapshot = table.file(change.file), table.snapshot

    def scan(columns: tuple[str, ...], log: DeltaLogRef | None) -> pa.Table:
        narrowed = replace(request, columns=columns)
        task = _task(store, snapshot, file, narrowed, log, settings)
        return pa.Table.from_batches(run_scan_task(task), schema=scan_schema(snapshot.schema, narrowed))

    rows = scan((*request.columns, ROW_NUMBER), change.log)
    if change.other:
        others = scan((ROW_NUMBER,), change.other[0]).column(ROW_NUMBER)
        is_other = pc.is_in(rows.column(ROW_NUMBER), value_set=others.combine_chunks())
        rows = rows.filter(pc.invert(is_other))
    numbers = rows.column(ROW_NUMBER).to_numpy()
    rows = rows.drop_columns([ROW_NUMBER])
    values = (
        pa.array(_change_types(change, numbers), pa.string()),
        pa.repeat(pa.scalar(change.version, pa.int64()), rows.num_rows),
        pa.repeat(pa.scalar(change.timestamp_ms * 1000, pa.int64()).cast(_TIME), rows.num_rows),
    )
    for field, value in zip(FEED_FIELDS, values, strict=True):
        rows = rows.append_column(field, value)
    return rows


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
    return AddFile(action.path, action.partition_values or {}, action.size)

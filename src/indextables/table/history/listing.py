"""Live files and versions as Arrow tables: the answers of `Table.files` and `Table.history`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log import HistoryEntry
from indextables.schema import TableSchema
from indextables.state import KEY

_STRING_MAP: Final = pa.map_(pa.string(), pa.string())
_TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")

FILES_SCHEMA: Final = pa.schema(
    {
        "path": pa.string(),
        "partition_values": _STRING_MAP,
        "size": pa.int64(),
        "num_records": pa.int64(),
        "modification_time": _TIMESTAMP,
        "min_values": _STRING_MAP,
        "max_values": _STRING_MAP,
        "num_merge_ops": pa.int32(),
        "doc_mapping_ref": pa.string(),
        "num_deleted": pa.int64(),
    }
)
HISTORY_SCHEMA: Final = pa.schema(
    {
        "version": pa.int64(),
        "timestamp": _TIMESTAMP,
        "operation": pa.string(),
        "parameters": _STRING_MAP,
        "files_added": pa.int64(),
        "files_removed": pa.int64(),
        "rows_added": pa.int64(),
        "rows_removed": pa.int64(),
        "bytes_added": pa.int64(),
        "bytes_removed": pa.int64(),
        "engine": pa.string(),
        "txn_id": pa.string(),
        "read_version": pa.int64(),
    }
)


_SOURCES: Final = {
    "path": KEY,
    "partition_values": "partitionValues",
    "size": "size",
    "modification_time": "modificationTime",
    "min_values": "minValues",
    "max_values": "maxValues",
    "num_merge_ops": "numMergeOps",
    "doc_mapping_ref": "docMappingRef",
}


def files_table(entries: pa.Table) -> pa.Table:
    """Return one row for each entry; the path is the key in the store. `num_records` are the rows not deleted."""
    deleted = pc.fill_null(entries.column("numDeleted"), 0)
    sources = {
        **{name: entries.column(source) for name, source in _SOURCES.items()},
        "num_records": pc.subtract(entries.column("numRecords"), deleted),
        "num_deleted": deleted,
    }
    columns = [sources[field.name].cast(field.type) for field in FILES_SCHEMA]
    return pa.Table.from_arrays(columns, schema=FILES_SCHEMA)


def with_column_names(files: pa.Table, schema: TableSchema) -> pa.Table:
    """Return the files with minima and maxima under the names that columns have, without those of dropped columns."""
    if not schema.has_stored_names:
        return files
    names = {column.stored_name: column.name for column in schema}
    for column in ("min_values", "max_values"):
        place = files.schema.get_field_index(column)
        renamed = [
            None if values is None else [(names[key], value) for key, value in values if key in names]
            for values in files.column(column).to_pylist()
        ]
        files = files.set_column(
            place, files.schema.field(place), pa.array(renamed, files.schema.field(place).type)
        )
    return files


def history_table(entries: Sequence[HistoryEntry], *, up_to: int) -> pa.Table:
    """Return one row for each version up to `up_to`, in the order of `entries`."""
    rows = []
    for version, info, figures in entries:
        if version > up_to:
            continue
        parameters = (
            {key: _as_text(value) for key, value in (info.parameters or {}).items()} if info else None
        )
        rows.append(
            (
                version,
                figures.timestamp_ms,
                info.operation if info else None,
                parameters,
                figures.files_added,
                figures.files_removed,
                figures.rows_added,
                figures.rows_removed,
                figures.bytes_added,
                figures.bytes_removed,
                info.engine if info else None,
                info.txn_id if info else None,
                info.read_version if info else None,
            )
        )
    return _table(rows, HISTORY_SCHEMA)


def _table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [
        pa.array([_pairs(value) for value in column], field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _pairs(value: object) -> object:
    return list(value.items()) if isinstance(value, dict) else value


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()

"""Delta logs: which rows are deleted, by key, by position, or by value.

A delta log is a Parquet file below `_delta/`. It deletes from all rows of every version that lists it, whenever they
were appended: a manifest does not order rows and delta logs, and there are no timestamps here.

    PRIMARY_KEY   a column for each column of the key, of the same name; no nulls. Rows with these keys are deleted.
    POSITIONAL    `pos`, an int64: rows of the dataset from 0, in the order of a scan that deletes nothing.
                  With a column `file_path`, `pos` is a row of that file, and is deleted from every group.
    EQUALITY      any columns of the dataset. A row is deleted if one entry equals it in all of them; null equals null,
                  NaN equals NaN.

The name of a delta log that is written here ends with the CRC-32 of its bytes: a manifest has no other place for it.
"""

from __future__ import annotations

import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.columns.arguments import delta_log_type, expect
from indextables.columns.conformance import conform_table
from indextables.columns.keysets import KeySet
from indextables.columns.layout import DELTA_DIR, resolved_path
from indextables.columns.manifest import ColumnGroup, DeltaLog, DeltaLogType
from indextables.columns.stored_files import Files, as_settings
from indextables.columns.version_files import check_place
from indextables.config import Settings
from indextables.errors import CorruptTableError, InputError, SchemaError
from indextables.rows import TRAILER_BYTES, RowIds, check_footer, decoding, footer_size
from indextables.runtime import new_id
from indextables.storage import open_store, table_uri

_NO_ROWS: Final[RowIds] = np.empty(0, dtype=np.int64)

POSITION: Final = "pos"
FILE_PATH: Final = "file_path"

_POSITIONS: Final = pa.schema([pa.field(POSITION, pa.int64(), nullable=False)])
_CHECKSUM: Final = re.compile(r"\.crc32-([0-9a-f]{8})\.parquet\Z", re.ASCII)


def write_delta(
    base: str | os.PathLike[str],
    kind: DeltaLogType,
    entries: pa.Table | pa.RecordBatch,
    *,
    settings: Settings | Mapping[str, str] | None = None,
) -> DeltaLog:
    """Store a delta log; return its entry for `Transaction.add_delta_log`.

    >>> log = write_delta("memory:doc-write-delta", DeltaLogType.PRIMARY_KEY, pa.table({"id": [3, 5]}))
    >>> log.num_entries, log.type.name
    (2, 'PRIMARY_KEY')
    """
    kind = delta_log_type(kind, "the delta log")
    expect(
        entries, (pa.Table, pa.RecordBatch), "the entries of a delta log", "a pyarrow.Table or RecordBatch"
    )
    table = pa.Table.from_batches([entries]) if isinstance(entries, pa.RecordBatch) else entries
    match kind:
        case DeltaLogType.POSITIONAL:
            table = conform_table(table, _positional_schema(table.schema), "the positions to delete")
        case DeltaLogType.PRIMARY_KEY if any(column.null_count for column in table.columns):
            raise InputError("a primary key to delete is null; remove the nulls from the entries")
        case _ if not table.num_columns:
            raise InputError("a delta log needs at least one column")
    uri = table_uri(check_place(base))
    name, raw = _encode(table)
    key = f"{DELTA_DIR}/{name}"
    open_store(uri, as_settings(settings)).put(key, raw)
    return DeltaLog(f"{uri}/{key}", table.num_rows, kind)


def encode_positions(rows: RowIds) -> tuple[str, bytes]:
    """Return the name and the bytes of a POSITIONAL delta log of these rows.

    >>> name, raw = encode_positions(np.array([3, 5]))
    >>> decode_positions(raw, name, num_entries=2, num_rows=6)
    array([3, 5])
    """
    return _encode(pa.table({POSITION: pa.array(rows, pa.int64())}, schema=_POSITIONS))


def decode_positions(raw: bytes, path: str, *, num_entries: int, num_rows: int) -> RowIds:
    """Return the rows of a POSITIONAL delta log, ascending. CorruptTableError if they are not these many of a file."""

    def damaged(reason: object) -> CorruptTableError:
        return CorruptTableError(f"the delta log {path} cannot be read: {reason}")

    table = _decode(raw, path, num_entries, damaged)
    if (
        table.schema.names != [POSITION]
        or table.schema.field(0).type != pa.int64()
        or table.column(0).null_count
    ):
        raise damaged(f"it has {table.schema.to_string()!r:.200}, not one column {POSITION!r} of positions")
    rows: RowIds = table.column(POSITION).to_numpy()
    if len(rows) and (rows[0] < 0 or rows[-1] >= num_rows or bool((np.diff(rows) <= 0).any())):
        raise damaged(f"its positions are not ascending rows of a split of {num_rows} rows")
    return rows


def _encode(table: pa.Table) -> tuple[str, bytes]:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    raw = buffer.getvalue()
    return f"{new_id()}.crc32-{zlib.crc32(raw):08x}.parquet", raw


def _decode(
    raw: bytes, path: str, num_entries: int, damaged: Callable[[object], CorruptTableError]
) -> pa.Table:
    checksum = _CHECKSUM.search(path)
    if checksum is not None and int(checksum[1], 16) != zlib.crc32(raw):
        raise damaged("its checksum is wrong")
    with decoding(damaged):
        check_footer(raw[-footer_size(raw[-TRAILER_BYTES:], len(raw)) :], len(raw))
        file = pq.ParquetFile(pa.BufferReader(raw), page_checksum_verification=True)
        if file.metadata.num_rows != num_entries:
            raise CorruptTableError(
                f"the delta log {path} has {file.metadata.num_rows} entries, but the manifest declares {num_entries}"
            )
        entries = file.read()
        entries.validate(full=True)
    return entries


@dataclass(frozen=True)
class Deletes:
    """What the delta logs of a manifest delete, in memory: positions ascending, and keys by their columns."""

    positions: RowIds
    keys: tuple[KeySet, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have to be read to know which rows go."""
        return tuple(dict.fromkeys(name for keys in self.keys for name in keys.columns))

    def keep(self, start: int, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Return which of these rows stay; `start` is the position of the first."""
        stays = np.ones(rows.num_rows, dtype=np.bool_)
        low = np.searchsorted(self.positions, start)
        high = np.searchsorted(self.positions, start + rows.num_rows)
        stays[self.positions[low:high] - start] = False
        for keys in self.keys:
            stays &= ~keys.contains(rows)
        return stays


def load_deletes(
    logs: Iterable[DeltaLog],
    groups: Sequence[ColumnGroup],
    schema: pa.Schema,
    files: Files,
    *,
    base: str | None,
    primary_key: Sequence[str] | None,
) -> Deletes:
    """Read the delta logs. `primary_key` says which of the columns of a PRIMARY_KEY log are the key: by default all."""
    positions: list[RowIds] = []
    keys: list[KeySet] = []
    for log in logs:
        entries = _entries(log, files)
        match log.type:
            case DeltaLogType.POSITIONAL:
                positions.append(_positions(log, entries, groups, base))
            case DeltaLogType.PRIMARY_KEY:
                named = list(primary_key or entries.schema.names)
                _check_columns(log, named, entries.schema)
                keys.append(_key_set(log, entries.select(named), schema, nulls_match=False))
            case DeltaLogType.EQUALITY:
                keys.append(_key_set(log, entries, schema, nulls_match=True))
    deleted = np.unique(np.concatenate(positions)) if positions else _NO_ROWS
    return Deletes(deleted, tuple(keys))


def _entries(log: DeltaLog, files: Files) -> pa.Table:
    file = files.open(log.path)
    return _decode(file.range(0, file.size), log.path, log.num_entries, file.damaged)


def _positional_schema(given: pa.Schema) -> pa.Schema:
    fields = [pa.field(POSITION, pa.int64(), nullable=False)]
    if FILE_PATH in given.names:
        fields.insert(0, pa.field(FILE_PATH, pa.string(), nullable=False))
    return pa.schema(fields)


def _positions(log: DeltaLog, entries: pa.Table, groups: Sequence[ColumnGroup], base: str | None) -> RowIds:
    table = conform_table(entries, _positional_schema(entries.schema), f"the entries of {log.path}")
    rows: RowIds = table.column(POSITION).to_numpy()
    total = groups[0].num_rows if groups else 0
    if FILE_PATH not in table.schema.names:
        if len(rows) and (rows.min() < 0 or rows.max() >= total):
            raise CorruptTableError(
                f"the delta log {log.path} deletes rows {rows.min()} to {rows.max()}; the dataset has {total} rows"
            )
        return rows
    paths = np.array(
        [
            path if base is None else resolved_path(path, "_data", base)
            for path in table.column(FILE_PATH).to_pylist()
        ],
        dtype=object,
    )
    deleted = [_NO_ROWS]
    for group in groups:
        start = 0
        for file in group.files:
            inside = rows[(paths == file.path) & (rows >= file.start_index) & (rows < file.end_index)]
            deleted.append(inside - file.start_index + start)
            start += file.end_index - file.start_index
    return np.concatenate(deleted)


def _key_set(log: DeltaLog, entries: pa.Table, schema: pa.Schema, *, nulls_match: bool) -> KeySet:
    _check_columns(log, entries.schema.names, schema)
    typed = pa.schema([schema.field(name).with_nullable(True) for name in entries.schema.names])
    return KeySet.of(conform_table(entries, typed, f"the entries of {log.path}"), nulls_match=nulls_match)


def _check_columns(log: DeltaLog, columns: Sequence[str], schema: pa.Schema) -> None:
    for name in columns:
        if name not in schema.names:
            raise SchemaError(
                f"the delta log {log.path} deletes by column {name!r}, which the dataset does not have; "
                f"name the columns of its key with primary_key"
            )

"""File entries, the records of a manifest: Avro blocks to Arrow and back, from the schema of any release.

A field is identified by its id, whatever its name, and by its name where it has no id. A field that the writer did not
have takes its default, a field that this release does not know is skipped, and numbers may be wider or narrower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.avro import (
    Block,
    RecordSchema,
    check_utf8,
    decode_records,
    encode_records,
    parse_record_schema,
)
from indextables.errors import CorruptTableError
from indextables.state.entry_fields import AVRO_SCHEMA, ENTRY_SCHEMA, FIELDS, EntryField
from indextables.stats import EARLIEST_MS, LATEST_MS, MAX_RECORDS

BLOCK_BYTES: Final = 64_000
"""Blocks have about this size: smaller ones cost bytes and time, larger ones make a ranged read coarse."""

BATCH_ROWS: Final = 8192
"""So many entries are encoded at once; a block never holds entries of two batches."""

_RANGES: Final = (
    ("numRecords", 0, MAX_RECORDS),
    ("numDeleted", 0, MAX_RECORDS),
    ("modificationTime", EARLIEST_MS, LATEST_MS),
    ("addedAtTimestamp", EARLIEST_MS, LATEST_MS),
)
_NAMES: Final = frozenset(field.name for field in FIELDS)


def encode_entries(entries: pa.Table) -> Iterator[Block]:
    """Encode entries as blocks, in order, with the bytes of one batch in memory at a time."""
    for batch in entries.to_batches(max_chunksize=BATCH_ROWS):
        if batch.num_rows:
            records = encode_records(batch, AVRO_SCHEMA)
            ends = np.cumsum(np.asarray(pc.binary_length(records)))
            data = memoryview(records.buffers()[2])
            start = first = 0
            while first < len(ends):
                last = int(np.searchsorted(ends, start + BLOCK_BYTES))
                end = int(ends[min(last, len(ends) - 1)])
                count = min(last + 1, len(ends)) - first
                yield Block(count, bytes(data[start:end]))
                start, first = end, first + count


def decode_entries(schema: str, blocks: Iterable[Block], name: str) -> pa.Table:
    """Decode the entries of blocks that were written with the Avro schema `schema`, to ENTRY_SCHEMA.

    `name` is the name of the file in errors.

    >>> fields = '{"name":"path","type":"string"},{"name":"size","type":"int"}'
    >>> older = f'{{"type":"record","name":"FileEntry","fields":[{fields}]}}'
    >>> table = decode_entries(older, [Block(1, bytes.fromhex("026112"))], "manifest.avro")
    >>> table.select(["path", "size", "numRecords"]).to_pylist()
    [{'path': 'a', 'size': 9, 'numRecords': None}]
    """
    try:
        plan = _plan(schema)
        types = {s: f.type for f, s in zip(FIELDS, plan.sources, strict=True) if s is not None}
        batches = list(decode_records(plan.schema, blocks, types))
        if not batches:
            return pa.Table.from_batches([], ENTRY_SCHEMA)  # `empty_table` would load pandas
        table = _without_impossible_values(_resolve(pa.Table.from_batches(batches), plan.sources))
    except (ValueError, RecursionError) as reason:  # Arrow's and the decoders' own are of the first kind
        raise CorruptTableError(f"{name}: not a manifest that can be read: {reason}") from reason
    check_utf8(table, name)
    return table


class _Plan(NamedTuple):
    """How a writer's schema is read; `sources` are its names for FIELDS, None for those that it does not have."""

    schema: RecordSchema
    sources: tuple[str | None, ...]


@lru_cache(maxsize=64)
def _plan(schema: str) -> _Plan:
    document = parse_record_schema(schema)
    sources = tuple(_source(field, document["fields"]) for field in FIELDS)
    missing = [
        f.name for f, s in zip(FIELDS, sources, strict=True) if s is None and f.required and f.default is None
    ]
    if missing:
        raise ValueError(f"its entries have no {', '.join(missing)}")
    return _Plan(RecordSchema.of(document), sources)


def _source(field: EntryField, written: list[dict[str, Any]]) -> str | None:
    """Return the writer's name for one of the FIELDS.

    The same id is the same field, whatever its name. But if that name is the name of another field here, the writer
    numbers fields in its own way, and then only names count.
    """
    others = _NAMES - {field.name}
    same_id = (f["name"] for f in written if f.get("field-id") == field.id and f["name"] not in others)
    same_name = (f["name"] for f in written if f["name"] == field.name)
    return next(same_id, None) or next(same_name, None)


def _resolve(table: pa.Table, sources: tuple[str | None, ...]) -> pa.Table:
    """Return the entries in ENTRY_SCHEMA, from a table that has a column for each name among `sources`."""
    columns = []
    for field, source in zip(FIELDS, sources, strict=True):
        if source is None:
            columns.append(pa.repeat(pa.scalar(field.default, field.type), table.num_rows))
            continue
        column = table.column(source)
        if column.type != field.type:
            if not _may_cast(column.type, field.type):
                raise ValueError(f"field {source!r} has type {column.type}")
            column = column.cast(field.type)
        if field.required and column.null_count:
            raise ValueError(f"field {source!r} is null in an entry")
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=ENTRY_SCHEMA)


def _may_cast(written: pa.DataType, ours: pa.DataType) -> bool:
    """Return True if some values of the writer's type are values of our type; the cast says which."""
    if pa.types.is_integer(ours):
        return bool(pa.types.is_integer(written) or pa.types.is_floating(written))
    return bool(pa.types.is_null(written) or written.id == ours.id)


def _without_impossible_values(entries: pa.Table) -> pa.Table:
    """Replace counts and times that cannot be true: by null where the field may be null, by 0 elsewhere."""
    for name, low, high in _RANGES:
        column = entries.column(name)
        extremes = pc.min_max(column)
        smallest, largest = extremes["min"].as_py(), extremes["max"].as_py()
        if smallest is None or (low <= smallest and largest <= high):
            continue
        field = entries.schema.field(name)
        is_possible = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
        unknown = pa.scalar(None if field.nullable else 0, field.type)
        column = pc.if_else(is_possible, column, unknown)
        entries = entries.set_column(entries.schema.get_field_index(name), field, column)
    return entries

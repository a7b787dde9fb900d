"""File entries: the records of a manifest, as Avro and as Arrow, through one door.

pyruhvro decodes straight into Arrow: the payload of a block, with its count in front and a zero behind, is exactly
one Avro list of entries. fastavro stands in where pyruhvro is missing or does not know a type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import CorruptTableError
from indextables.runtime import PYRUHVRO
from indextables.state import fallback
from indextables.state.container import Block, encode_long
from indextables.state.entry_fields import AVRO_SCHEMA, ENTRY_SCHEMA, FIELDS
from indextables.state.record_schema import parse_schema
from indextables.state.resolution import is_plain, physical, resolved, source_of, with_possible_figures
from indextables.state.texts import check_texts

try:
    import pyruhvro
except ImportError:  # pragma: no cover - no wheel for this machine
    pyruhvro = None

__all__ = ["AVRO_SCHEMA", "BATCH_ROWS", "BLOCK_BYTES", "ENTRY_SCHEMA", "decode_entries", "encode_entries"]

BLOCK_BYTES: Final = 64_000
"""Blocks of about this size: smaller ones cost bytes and time, larger ones make a ranged read coarse."""

BATCH_ROWS: Final = 8192
"""So many entries are encoded at once; a block never holds entries of two batches."""

_DECODE_BYTES: Final = 64 << 20


def encode_entries(entries: pa.Table) -> Iterator[Block]:
    """The entries as blocks, in order, with the bytes of one batch in memory at a time."""
    for batch in entries.to_batches(max_chunksize=BATCH_ROWS):
        if batch.num_rows:
            datums = _encode(batch)
            ends = np.cumsum(np.asarray(pc.binary_length(datums)))
            data = memoryview(datums.buffers()[2])
            start = first = 0
            while first < len(ends):
                last = int(np.searchsorted(ends, start + BLOCK_BYTES))
                end = int(ends[min(last, len(ends) - 1)])
                count = min(last + 1, len(ends)) - first
                yield Block(count, bytes(data[start:end]))
                start, first = end, first + count


def _encode(batch: pa.RecordBatch) -> pa.BinaryArray:
    if pyruhvro is None or not PYRUHVRO.usable():
        return fallback.encode(batch, AVRO_SCHEMA)
    (datums,) = pyruhvro.serialize_record_batch(batch, AVRO_SCHEMA, 1)
    assert datums.offset == 0, "the encoder's own array begins at its first byte"
    return datums


def decode_entries(schema: str, blocks: Iterable[Block], name: str) -> pa.Table:
    """The entries of blocks that were written with the Avro schema `schema`, as ENTRY_SCHEMA has them.

    `name` is the file's, for errors.

    >>> fields = '{"name":"path","type":"string"},{"name":"size","type":"int"}'
    >>> older = f'{{"type":"record","name":"FileEntry","fields":[{fields}]}}'
    >>> table = decode_entries(older, [Block(1, encode_long(1) + b"a" + encode_long(9))], "manifest.avro")
    >>> table.select(["path", "size", "numRecords"]).to_pylist()
    [{'path': 'a', 'size': 9, 'numRecords': None}]
    """
    try:
        plan = _plan(schema)
        decode = _by_fallback if plan.list_schema is None else _by_pyruhvro
        batches = list(decode(plan, blocks))
        if not batches:
            return ENTRY_SCHEMA.empty_table()
        table = with_possible_figures(resolved(pa.Table.from_batches(batches), plan.sources))
    except (ValueError, RecursionError) as reason:  # Arrow's and the decoders' own are of the first kind
        raise CorruptTableError(f"{name}: not a manifest that can be read: {reason}") from reason
    check_texts(table, name)
    return table


def _by_pyruhvro(plan: _Plan, blocks: Iterable[Block]) -> Iterator[pa.RecordBatch]:
    messages: list[bytes] = []
    counts: list[int] = []
    size = 0
    for block in blocks:
        if block.count:
            # Framed while it is fresh from the decompressor: going over all of them later costs as much again.
            messages.append(b"".join((encode_long(block.count), block.data, b"\0")))
            counts.append(block.count)
            size += len(block.data)
        if size > _DECODE_BYTES:
            yield _decoded(messages, counts, plan)
            messages, counts, size = [], [], 0
    if messages:
        yield _decoded(messages, counts, plan)


def _decoded(messages: list[bytes], counts: list[int], plan: _Plan) -> pa.RecordBatch:
    lists = pyruhvro.deserialize_array(messages, plan.list_schema).column(0)
    entries = lists.values
    if lists.value_lengths().to_pylist() != counts or len(entries) != sum(counts):
        raise ValueError("a block does not hold as many entries as it claims")
    return pa.RecordBatch.from_struct_array(entries)


def _by_fallback(plan: _Plan, blocks: Iterable[Block]) -> Iterator[pa.RecordBatch]:
    kinds = {s: f.type for f, s in zip(FIELDS, plan.sources, strict=True) if s is not None}
    yield from fallback.decode(plan.record_schema, list(blocks), kinds).to_batches()


class _Plan(NamedTuple):
    """How a writer's schema is read: where each field of ours comes from, and the schema for either decoder."""

    sources: tuple[str | None, ...]
    record_schema: str
    list_schema: str | None


@lru_cache(maxsize=64)
def _plan(schema: str) -> _Plan:
    document = physical(parse_schema(schema))
    written = [f for f in document.get("fields") or () if isinstance(f, dict) and "name" in f]
    sources = tuple(source_of(field, written) for field in FIELDS)
    missing = [
        f.name for f, s in zip(FIELDS, sources, strict=True) if s is None and f.required and f.default is None
    ]
    if missing:
        raise ValueError(f"its entries have no {', '.join(missing)}")
    record = orjson.dumps(document).decode()
    if pyruhvro is None or not all(is_plain(field.get("type")) for field in written):
        return _Plan(sources, record, None)
    entries = {"name": "entries", "type": {"type": "array", "items": document}}
    wrapped = orjson.dumps({"type": "record", "name": "Entries", "fields": [entries]}).decode()
    try:
        pyruhvro.avro_to_arrow_schema(wrapped)
    except ValueError:
        return _Plan(sources, record, None)
    return _Plan(sources, record, wrapped)

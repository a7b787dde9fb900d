"""File entries: the records of a manifest, as Avro and as Arrow, through one door.

Written with the field ids that tables in the wild have. Read by field id, then by name, so that a file whose
writer knew more, fewer, renamed or narrower fields reads all the same. pyruhvro decodes straight into Arrow: the
payload of a block, with its count in front and a zero behind, is exactly one Avro list of entries. fastavro
stands in where pyruhvro is missing or does not know a type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import CorruptTableError
from indextables.state import fallback
from indextables.state.container import Block, encode_long, parse_schema
from indextables.state.texts import check_texts

try:
    import pyruhvro
except ImportError:  # pragma: no cover - no wheel for this machine
    pyruhvro = None

BLOCK_BYTES: Final = 64_000
"""Blocks of about this size: smaller ones cost bytes and time, larger ones make a ranged read coarse."""

_DECODE_BYTES: Final = 64 << 20
_TEXTS: Final = pa.map_(pa.string(), pa.string())
_LIST: Final = pa.list_(pa.string())
_AVRO: Final = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.bool_(): "boolean",
    _TEXTS: {"type": "map", "values": "string"},
    _LIST: {"type": "array", "items": "string"},
}


class EntryField(NamedTuple):
    """One field of an entry. A required one has no null; `default` is what files without it mean."""

    name: str
    id: int
    type: pa.DataType
    required: bool = False
    default: Any = None


FIELDS: Final = (
    EntryField("path", 100, pa.string(), required=True),
    EntryField("partitionValues", 101, _TEXTS, required=True, default=[]),
    EntryField("size", 102, pa.int64(), required=True),
    EntryField("modificationTime", 103, pa.int64(), required=True, default=0),
    EntryField("dataChange", 104, pa.bool_(), required=True, default=True),
    EntryField("stats", 110, pa.string()),
    EntryField("minValues", 111, _TEXTS),
    EntryField("maxValues", 112, _TEXTS),
    EntryField("numRecords", 113, pa.int64()),
    EntryField("footerStartOffset", 120, pa.int64()),
    EntryField("footerEndOffset", 121, pa.int64()),
    EntryField("hasFooterOffsets", 124, pa.bool_(), required=True, default=False),
    EntryField("deleteOpstamp", 123, pa.int64()),
    EntryField("splitTags", 132, _LIST),
    EntryField("numMergeOps", 134, pa.int32()),
    EntryField("docMappingJson", 133, pa.string()),
    EntryField("docMappingRef", 135, pa.string()),
    EntryField("uncompressedSizeBytes", 136, pa.int64()),
    EntryField("timeRangeStart", 137, pa.string()),
    EntryField("timeRangeEnd", 138, pa.string()),
    EntryField("addedAtVersion", 140, pa.int64(), required=True, default=0),
    EntryField("addedAtTimestamp", 141, pa.int64(), required=True, default=0),
    EntryField("companionSourceFiles", 150, _LIST),
    EntryField("companionDeltaVersion", 151, pa.int64()),
    EntryField("companionFastFieldMode", 152, pa.string()),
    # What the log's add action had beside all these, as JSON, so that no state ever loses a field.
    EntryField("extra", 159, pa.string()),
)
ENTRY_SCHEMA: Final = pa.schema([pa.field(f.name, f.type, nullable=not f.required) for f in FIELDS])


def _avro_field(field: EntryField) -> dict[str, Any]:
    kind = _AVRO[field.type]
    document: dict[str, Any] = {"name": field.name, "type": kind if field.required else ["null", kind]}
    if not field.required:
        document["default"] = None
    elif field.name == "hasFooterOffsets":
        document["default"] = False
    return document | {"field-id": field.id}


AVRO_SCHEMA: Final[str] = orjson.dumps(
    {
        "type": "record",
        "name": "FileEntry",
        "namespace": "io.indextables.state",
        "doc": "A live file of the table",
        "fields": [_avro_field(field) for field in FIELDS],
    }
).decode()


def encode_entries(entries: pa.Table) -> Iterator[Block]:
    """The entries as blocks, in order, with the bytes of one batch in memory at a time."""
    for batch in entries.to_batches(max_chunksize=8192):
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
    if pyruhvro is None:
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
        chunks = [_resolved(table, plan.sources) for table in decode(schema, plan, blocks)]
    except ValueError as reason:  # Arrow's and the decoders' own are of this kind
        raise CorruptTableError(f"{name}: not a manifest that can be read: {reason}") from reason
    for table in chunks:
        check_texts(table, name)
    return pa.concat_tables(chunks) if chunks else ENTRY_SCHEMA.empty_table()


def _by_pyruhvro(_: str, plan: _Plan, blocks: Iterable[Block]) -> Iterator[pa.Table]:
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


def _decoded(messages: list[bytes], counts: list[int], plan: _Plan) -> pa.Table:
    lists = pyruhvro.deserialize_array(messages, plan.list_schema).column(0)
    if lists.value_lengths().to_pylist() != counts:
        raise ValueError("a block does not hold as many entries as it claims")
    return pa.Table.from_struct_array(lists.flatten())


def _by_fallback(schema: str, plan: _Plan, blocks: Iterable[Block]) -> Iterator[pa.Table]:
    kinds = {s: f.type for f, s in zip(FIELDS, plan.sources, strict=True) if s is not None}
    yield fallback.decode(schema, list(blocks), kinds)


class _Plan(NamedTuple):
    """How a writer's schema is read: where each field of ours comes from, and the schema for the decoder."""

    sources: tuple[str | None, ...]
    list_schema: str | None


@lru_cache(maxsize=64)
def _plan(schema: str) -> _Plan:
    document = parse_schema(schema)
    written = [f for f in document.get("fields") or () if isinstance(f, dict) and "name" in f]
    sources = tuple(_source(field, written) for field in FIELDS)
    missing = [
        f.name for f, s in zip(FIELDS, sources, strict=True) if s is None and f.required and f.default is None
    ]
    if missing:
        raise ValueError(f"its entries have no {', '.join(missing)}")
    wrapped = orjson.dumps(
        {
            "type": "record",
            "name": "Entries",
            "fields": [{"name": "entries", "type": {"type": "array", "items": document}}],
        }
    ).decode()
    if pyruhvro is None:
        return _Plan(sources, None)
    try:
        pyruhvro.avro_to_arrow_schema(wrapped)
    except ValueError:
        return _Plan(sources, None)
    return _Plan(sources, wrapped)


_NAMES: Final = frozenset(field.name for field in FIELDS)


def _source(field: EntryField, written: list[dict[str, Any]]) -> str | None:
    """The writer's name for one of our fields.

    The same id is the same field, whatever its name; but a name that is another field of ours shows a writer
    that numbers fields in its own way, and then only names count.
    """
    others = _NAMES - {field.name}
    same_id = (f["name"] for f in written if f.get("field-id") == field.id and f["name"] not in others)
    same_name = (f["name"] for f in written if f["name"] == field.name)
    return next(same_id, None) or next(same_name, None)


def _resolved(table: pa.Table, sources: tuple[str | None, ...]) -> pa.Table:
    columns = []
    for field, source in zip(FIELDS, sources, strict=True):
        if source is None:
            columns.append(pa.repeat(pa.scalar(field.default, field.type), table.num_rows))
            continue
        column = table.column(source)
        if column.type != field.type:
            try:
                column = column.cast(field.type)
            except pa.ArrowNotImplementedError:
                raise ValueError(f"field {source!r} has type {column.type}") from None
        if field.required and column.null_count:
            raise ValueError(f"field {source!r} is null in an entry")
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=ENTRY_SCHEMA)

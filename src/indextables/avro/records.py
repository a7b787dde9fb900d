"""Avro records as Arrow tables.

pyruhvro decodes straight into Arrow: the records of a block, after their count and before a zero, are exactly one Avro
array. fastavro, which is slow and reads every schema on every machine, takes the place of pyruhvro where that is not
installed or does not support a type.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import fastavro
import numpy as np
import orjson
import pyarrow as pa

from indextables.avro.binary import encode_long
from indextables.avro.container import Block
from indextables.avro.resolution import Schema
from indextables.errors import CorruptTableError
from indextables.runtime import PYRUHVRO

try:
    import pyruhvro
except ImportError:  # pragma: no cover - no wheel for this machine
    pyruhvro = None

_DECODE_BYTES: Final = 64 << 20
_PLAIN: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "string"})


class RecordSchema(NamedTuple):
    """A record's schema as text; `array` is that of an array of them, or None if pyruhvro cannot decode it."""

    record: str
    array: str | None

    @classmethod
    def of(cls, document: Schema) -> RecordSchema:
        """Prepare a checked schema. Logical types are dropped: a timestamp is read as its number."""
        physical = _without_logical_types(document)
        record = orjson.dumps(physical).decode()
        if pyruhvro is None or not all(_is_plain(field.get("type")) for field in physical["fields"]):
            return cls(record, None)
        items = {"name": "items", "type": {"type": "array", "items": physical}}
        array = orjson.dumps({"type": "record", "name": "Items", "fields": [items]}).decode()
        try:
            pyruhvro.avro_to_arrow_schema(array)
        except ValueError:
            return cls(record, None)
        return cls(record, array)


def encode_records(batch: pa.RecordBatch, schema: str) -> pa.BinaryArray:
    """Encode each row as one record."""
    if pyruhvro is not None and PYRUHVRO.usable():
        (datums,) = pyruhvro.serialize_record_batch(batch, schema, 1)
        assert datums.offset == 0, "the encoder's own array begins at its first byte"
        return datums
    parsed = _parse(schema)
    maps = [field.name for field in batch.schema if pa.types.is_map(field.type)]
    encoded = []
    for row in batch.to_pylist():
        for name in maps:
            row[name] = None if row[name] is None else dict(row[name])
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, row)
        encoded.append(stream.getvalue())
    return pa.array(encoded, pa.binary())


def decode_records(
    schema: RecordSchema, blocks: Iterable[Block], types: Mapping[str, pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """Decode the records of blocks. ValueError for damaged ones.

    Every batch has the fields named in `types` and may have others, in the writer's types or in those of `types`. Text
    is not checked: see `check_utf8`.
    """
    if schema.array is None:
        yield from _decode_with_fastavro(schema.record, blocks, types).to_batches()
        return
    messages: list[bytes] = []
    counts: list[int] = []
    size = 0
    for block in blocks:
        if block.count:
            # Framed while it is in the CPU caches from its decompression: a second pass costs as much again.
            messages.append(b"".join((encode_long(block.count), block.data, b"\0")))
            counts.append(block.count)
            size += len(block.data)
        if size > _DECODE_BYTES:
            yield _decode_with_pyruhvro(schema.array, messages, counts)
            messages, counts, size = [], [], 0
    if messages:
        yield _decode_with_pyruhvro(schema.array, messages, counts)


def _decode_with_pyruhvro(array_schema: str, messages: list[bytes], counts: list[int]) -> pa.RecordBatch:
    arrays = pyruhvro.deserialize_array(messages, array_schema).column(0)
    records = arrays.values
    if arrays.value_lengths().to_pylist() != counts or len(records) != sum(counts):
        raise ValueError("a block does not hold as many records as it claims")
    return pa.RecordBatch.from_struct_array(records)


def _decode_with_fastavro(schema: str, blocks: Iterable[Block], types: Mapping[str, pa.DataType]) -> pa.Table:
    parsed = _parse(schema)
    rows: list[dict[str, Any]] = []
    for block in blocks:
        stream = io.BytesIO(block.data)
        try:
            rows += [fastavro.schemaless_reader(stream, parsed, None) for _ in range(block.count)]
        except Exception as reason:
            raise ValueError(f"a damaged record ({reason})") from reason
    try:
        return pa.table({name: _array([row[name] for row in rows], kind) for name, kind in types.items()})
    except pa.ArrowTypeError as reason:
        raise ValueError(f"a value of the wrong type ({reason})") from None


@lru_cache(maxsize=16)
def _parse(schema: str) -> Any:
    try:
        return fastavro.parse_schema(orjson.loads(schema))
    except Exception as reason:
        raise ValueError(f"an Avro schema that cannot be read ({reason!r})") from reason


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    values = [list(value.items()) if isinstance(value, dict) else value for value in values]
    # Arrow would drop the fraction of a float; a cast refuses to.
    is_wider = pa.types.is_integer(kind) and any(isinstance(value, float) for value in values)
    return pa.array(values, pa.float64()).cast(kind) if is_wider else pa.array(values, kind)


def _without_logical_types(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_logical_types(value) for key, value in node.items() if key != "logicalType"}
    return [_without_logical_types(item) for item in node] if isinstance(node, list) else node


def _is_plain(kind: Any) -> bool:
    """Return True if pyruhvro surely decodes the type: with some others, such as bytes, it aborts the process."""
    match kind:
        case str():
            return kind in _PLAIN
        case list():
            return len(kind) == 2 and "null" in kind and all(map(_is_plain, kind))
        case {"type": "map", "values": inner} | {"type": "array", "items": inner}:
            return _is_plain(inner)
        case {"type": str(name)}:
            return name in _PLAIN
        case _:
            return False


def check_utf8(table: pa.Table, name: str) -> None:
    """Raise CorruptTableError, with the name of the file, if a string of a decoded table is not UTF-8.

    >>> check_utf8(pa.table({"a": ["x", None, "ü"]}), "manifest.avro")
    """
    for column in table.columns:
        if column.null_count == len(column):
            continue
        for strings in (strings for chunk in column.chunks for strings in _strings(chunk)):
            if _is_ascii(strings):  # nearly all are, and this check takes a fraction of the time
                continue
            try:
                strings.validate(full=True)
            except pa.ArrowInvalid as reason:
                raise CorruptTableError(f"{name}: a string is not UTF-8 ({reason})") from None


def _strings(array: pa.Array) -> Iterator[pa.StringArray]:
    """Yield the string arrays in an array, the nested ones included."""
    if pa.types.is_string(array.type):
        yield array
    elif pa.types.is_map(array.type):
        yield from (*_strings(array.keys), *_strings(array.items))
    elif pa.types.is_list(array.type):
        yield from _strings(array.values)


def _is_ascii(strings: pa.StringArray) -> bool:
    data = strings.buffers()[2]
    return data is None or data.size == 0 or bool(np.frombuffer(data, np.int8).min() >= 0)

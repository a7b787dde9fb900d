"""Entries through fastavro: slow, sure, and there for every Avro schema and machine."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import fastavro
import orjson
import pyarrow as pa

from indextables.state.container import Block


@lru_cache(maxsize=16)
def _parsed(schema: str) -> Any:
    try:
        return fastavro.parse_schema(orjson.loads(schema))
    except Exception as reason:
        raise ValueError(f"an Avro schema that cannot be read ({reason!r})") from reason


def decode(schema: str, blocks: list[Block], kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """The fields in `kinds` of every record, in the types given there. ValueError for damaged records."""
    parsed = _parsed(schema)
    rows: list[dict[str, Any]] = []
    for block in blocks:
        stream = io.BytesIO(block.data)
        try:
            rows += [fastavro.schemaless_reader(stream, parsed, None) for _ in range(block.count)]
        except Exception as reason:
            raise ValueError(f"a damaged record ({reason})") from reason
    try:
        return pa.table(
            {name: _array([_pairs(row[name]) for row in rows], kind) for name, kind in kinds.items()}
        )
    except pa.ArrowTypeError as reason:
        raise ValueError(f"a value of the wrong type ({reason})") from None


def encode(batch: pa.RecordBatch, schema: str) -> pa.BinaryArray:
    """Each row as one record."""
    parsed = _parsed(schema)
    maps = [field.name for field in batch.schema if pa.types.is_map(field.type)]
    datums = []
    for row in batch.to_pylist():
        for name in maps:
            row[name] = None if row[name] is None else dict(row[name])
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, row)
        datums.append(stream.getvalue())
    return pa.array(datums, pa.binary())


def _pairs(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else value


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    # Arrow would cut off what is behind the point of a number; a cast refuses to.
    is_wider = pa.types.is_integer(kind) and any(isinstance(value, float) for value in values)
    return pa.array(values, pa.float64()).cast(kind) if is_wider else pa.array(values, kind)

"""Arrow rows as plain values with stable text: what JSON can hold, in the same form for every command."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Row = dict[str, Any]


def plain_rows(batches: Iterable[pa.RecordBatch] | pa.Table) -> Iterator[Row]:
    """Yield the rows as dictionaries of JSON values.

    Times are ISO text, binary values are base64, decimals are text with all of their digits, and floats that JSON does
    not have are `NaN`, `Infinity` and `-Infinity` as text. A map is an object, whose keys are text.
    """
    for batch in batches.to_batches() if isinstance(batches, pa.Table) else batches:
        names = batch.schema.names
        columns = [_plain(column) for column in batch.columns]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _plain(column: pa.Array) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        # Arrow writes the text: Python's datetime ends at the year 9999.
        return [text and text.replace(" ", "T", 1) for text in pc.cast(column, pa.string()).to_pylist()]
    if pa.types.is_date(kind):
        return list(pc.cast(column, pa.string()).to_pylist())
    if pa.types.is_decimal(kind):
        return [None if v is None else format(v, "f") for v in column.to_pylist()]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [None if v is None else base64.b64encode(v).decode() for v in column.to_pylist()]
    if pa.types.is_floating(kind):
        return [v if v is None or math.isfinite(v) else _float_text(v) for v in column.to_pylist()]
    if pa.types.is_nested(kind):
        return _plain_nested(column)
    return list(column.to_pylist())


def _plain_nested(column: pa.Array) -> list[Any]:
    kind, valid = column.type, column.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        fields = [_plain(field) for field in column.flatten()]
        names = [field.name for field in kind.fields]
        rows = zip(*fields, strict=True) if fields else [()] * len(column)
        return [
            dict(zip(names, row, strict=True)) if ok else None for row, ok in zip(rows, valid, strict=True)
        ]
    if pa.types.is_map(kind):
        pairs = list(zip(_plain(column.keys), _plain(column.items), strict=True))
        return [
            {_key_text(key): value for key, value in pairs[start:end]} if ok else None
            for start, end, ok in _spans(column, valid)
        ]
    values = _plain(column.values)
    return [values[start:end] if ok else None for start, end, ok in _spans(column, valid)]


def _spans(column: pa.Array, valid: list[bool]) -> Iterator[tuple[int, int, bool]]:
    """Yield where the elements of each list begin and end, and whether it is not null."""
    offsets = column.offsets.to_pylist()
    return zip(offsets[:-1], offsets[1:], valid, strict=True)


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"

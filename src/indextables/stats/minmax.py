"""Minimum and maximum of each column of a split, as the text that the transaction log keeps.

The text of a bound: integers in decimal; floats as `repr`; booleans `true` and `false`; dates in ISO form; timestamps
as microseconds since 1970 in decimal; decimals with all digits of their scale; strings cut to a number of characters, a
cut maximum rounded up so that it is still a maximum. A column without a usable bound is left out: binary and nested
columns, columns of nulls only, and float columns with a NaN, which Spark sorts above everything that a number could
bound.
"""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.runtime import EPOCH_DAY
from indextables.schema import TableSchema, is_orderable

Bound: TypeAlias = int | float | str | Decimal

_MAX_CODE_POINT: Final = 0x10FFFF
_FIRST_SURROGATE: Final = 0xD800
_AFTER_SURROGATES: Final = 0xE000


class MinMaxCollector:
    """Collects the bounds of a split batch by batch.

    >>> schema = TableSchema.from_arrow(pa.schema({"n": pa.int64(), "s": pa.string()}))
    >>> collector = MinMaxCollector(schema, columns=["n", "s"], max_length=2)
    >>> collector.add(pa.record_batch({"n": [3, None, -1], "s": ["abc", "b", None]}))
    >>> collector.min_values(), collector.max_values()
    ({'n': '-1', 's': 'ab'}, {'n': '3', 's': 'b'})
    """

    def __init__(self, schema: TableSchema, columns: list[str], max_length: int | None = None) -> None:
        self._types = {
            column.name: column.type
            for column in schema
            if column.name in columns and is_orderable(column.type)
        }
        self._max_length = max_length
        self._bounds: dict[str, tuple[Bound, Bound]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        for name in list(self._types):
            values = batch.column(name)
            if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
                self._leave_out(name)
                continue
            extremes = pc.min_max(_comparable(values))
            try:
                low, high = extremes["min"].as_py(), extremes["max"].as_py()
            except UnicodeDecodeError:  # no text has the order of bytes that are not UTF-8
                self._leave_out(name)
                continue
            if low is None:
                continue
            if name in self._bounds:
                low, high = min(low, self._bounds[name][0]), max(high, self._bounds[name][1])
            self._bounds[name] = (low, high)

    def _leave_out(self, name: str) -> None:
        del self._types[name]
        self._bounds.pop(name, None)

    def min_values(self) -> dict[str, str]:
        return _without_none(
            {name: self._text(name, low, upper=False) for name, (low, _) in self._bounds.items()}
        )

    def max_values(self) -> dict[str, str]:
        return _without_none(
            {name: self._text(name, high, upper=True) for name, (_, high) in self._bounds.items()}
        )

    def _text(self, name: str, bound: Bound, *, upper: bool) -> str | None:
        match self._types[name]:
            case "string":
                return cut_above(str(bound), self._max_length) if upper else str(bound)[: self._max_length]
            case "boolean":
                return "true" if bound else "false"
            case "date":
                return iso_date(int(bound))
            case "float" | "double":
                return repr(float(bound))
            case _:
                return format(bound, "f") if isinstance(bound, Decimal) else str(bound)


def cut_above(text: str, length: int | None) -> str | None:
    """Return a string of at most `length` characters that is not smaller; None if there is none.

    The last character that can be is moved up by one. Strings compare by code point, as UTF-8 bytes do.

    >>> cut_above("abcd", 3), cut_above("abc", 3), cut_above("a" + chr(0x10FFFF) * 3, 2)
    ('abd', 'abc', 'b')
    """
    if length is None or len(text) <= length:
        return text
    for keep in range(length, 0, -1):
        point = ord(text[keep - 1]) + 1
        if point == _FIRST_SURROGATE:  # surrogates are no characters and have no UTF-8
            point = _AFTER_SURROGATES
        if point <= _MAX_CODE_POINT:
            return text[: keep - 1] + chr(point)
    return None


def iso_date(days: int) -> str | None:
    """Return the date that many days after 1970-01-01, or None outside the years 1 to 9999."""
    try:
        return (EPOCH_DAY + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def _without_none(texts: dict[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text is not None}


def _comparable(values: pa.Array) -> pa.Array:
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    if pa.types.is_floating(values.type):
        # -0.0 and 0.0 are equal; adding zero gives both one sign, so that a bound is never the wrong twin
        return pc.add(values.cast(pa.float64()), math.copysign(0.0, 1.0))
    return values

"""Min/max texts of the log as typed bounds. A text that does not parse as its column's type is no bound.

This implementation rounds a truncated maximum up and leaves out columns with a NaN. The statistics of other writers are
weaker, and a file is pruned only by what all of their releases agree on:

- strings are cut to a length that is configured, minimum and maximum alike: any maximum may be the beginning of the
  true one. Some releases compare by UTF-16 units, in which characters beyond U+FFFF come before U+E000;
- the maximum of floats does not count NaN;
- dates come in ISO form from some and as microseconds from others;
- where the first releases could not compare, as with timestamps, minimum and maximum are both the first value; the
  bounds of decimals are not used, because some writers compare them as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

import numpy as np

from indextables.predicates import Bounds
from indextables.runtime import EPOCH
from indextables.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    TIME_TYPES,
    Field,
    Value,
    decimal_size,
    parse_decimal,
)

CUT_LENGTH: Final = 32
"""The length to which other writers truncate by default."""

_DAY_MICROS: Final = 86_400_000_000
_INTEGER: Final = re.compile(r"-?[0-9]+")
_HALF_CHARACTER: Final = "?\N{REPLACEMENT CHARACTER}"
"""What remains of a character beyond U+FFFF that was cut in two."""

_BEYOND_16_BITS: Final = re.compile("[\U00010000-\U0010ffff]")
_ABOVE_SURROGATES: Final = re.compile("[\ue000-\uffff]")


def bounds_of(
    column: Field,
    min_values: Mapping[str, str | None] | None,
    max_values: Mapping[str, str | None] | None,
    *,
    ours: bool = False,
) -> Bounds | None:
    """Return the bounds of one column by a file's statistics, or None. `ours`: this implementation wrote the file.

    >>> bounds_of(Field("n", "long"), {"n": "3"}, {"n": "7"}, ours=True)
    Bounds(low=3, high=7, high_is_prefix=False, nan_above=False)
    """
    low = _parse((min_values or {}).get(column.name), column.type)
    high = _parse((max_values or {}).get(column.name), column.type)
    if not ours:
        return _foreign_bounds(low, high, column.type)
    if low is None and high is None:
        return None
    return Bounds(low, high, high_is_prefix=isinstance(high, str) and len(high) >= CUT_LENGTH)


def _foreign_bounds(low: Value | None, high: Value | None, kind: str) -> Bounds | None:
    if (kind in TIME_TYPES and low == high) or decimal_size(kind) is not None:
        return None
    if isinstance(low, str):
        low = low.rstrip(_HALF_CHARACTER)
        low = None if _BEYOND_16_BITS.search(low) else low
    if isinstance(high, str):
        high = high.rstrip(_HALF_CHARACTER)
        high = None if _ABOVE_SURROGATES.search(high) else high
    if low is None and high is None:
        return None
    return Bounds(low, high, high_is_prefix=isinstance(high, str), nan_above=kind in FLOAT_TYPES)


def _parse(text: str | None, kind: str) -> Value | None:
    if text is None:
        return None
    try:
        if kind == "string":
            return text
        if kind in INTEGER_TYPES:
            return int(text)
        if kind in FLOAT_TYPES:
            return _number(text, kind)
        if kind == "boolean":
            return {"true": True, "false": False}[text.lower()]
        if kind == "date":
            return _date(text)
        if kind == "timestamp":
            return EPOCH + timedelta(microseconds=int(text))
        if kind == "timestamp_ntz":
            return EPOCH.replace(tzinfo=None) + timedelta(microseconds=int(text))
        if decimal_size(kind) is not None:
            return parse_decimal(text)
    except (ValueError, KeyError, OverflowError):
        return None
    return None


def _number(text: str, kind: str) -> float | None:
    with np.errstate(over="ignore"):
        # The shortest decimal of a 32-bit float is not its value as a 64-bit one.
        number = float(np.float32(text)) if kind == "float" else float(text)
    return None if math.isnan(number) else number


def _date(text: str) -> date | None:
    if not _INTEGER.fullmatch(text):
        return date.fromisoformat(text)
    days, rest = divmod(int(text), _DAY_MICROS)
    return None if rest else (EPOCH + timedelta(days=days)).date()

"""Min/max texts of the log as typed bounds. A text that does not read as its column's type bounds nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final

from indextables.predicates import Bounds, Value
from indextables.schema import Field
from indextables.schema.types import FLOAT_TYPES, INTEGER_TYPES

CUT_LENGTH: Final = 32
"""Other writers cut maxima to this many characters without rounding up: from here on a maximum is a prefix."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bounds_of(
    column: Field, min_values: Mapping[str, str] | None, max_values: Mapping[str, str] | None
) -> Bounds | None:
    """What a file's statistics say of one column, or None when they say nothing.

    >>> bounds_of(Field("n", "long"), {"n": "3"}, {"n": "7"})
    Bounds(low=3, high=7, high_is_prefix=False)
    """
    low = _typed((min_values or {}).get(column.name), column.type)
    high = _typed((max_values or {}).get(column.name), column.type)
    if low is None and high is None:
        return None
    return Bounds(low, high, high_is_prefix=isinstance(high, str) and len(high) >= CUT_LENGTH)


def _typed(text: str | None, kind: str) -> Value | None:
    if text is None:
        return None
    try:
        if kind == "string":
            return text
        if kind in INTEGER_TYPES:
            return int(text)
        if kind in FLOAT_TYPES:
            number = float(text)
            return None if math.isnan(number) else number
        if kind == "boolean":
            return {"true": True, "false": False}[text.lower()]
        if kind == "date":
            return date.fromisoformat(text)
        if kind == "timestamp":
            return _EPOCH + timedelta(microseconds=int(text))
    except (ValueError, KeyError, OverflowError):
        return None
    return None

"""The values in a query as the integers by which the index represents numbers, dates, timestamps and booleans."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np

from indextables.predicates import Value
from indextables.runtime import EPOCH_DAY
from indextables.schema import (
    INTEGER_TYPES,
    TimeError,
    decimal_size,
    holds_decimal,
    micros,
    parse_decimal,
    parse_time,
    parse_wall_time,
    shorten,
    unscaled,
)
from indextables.split.index import sortable_float

_I64_MIN, _I64_MAX = -(1 << 63), (1 << 63) - 1


class LiteralError(ValueError):
    """A text that is not a value of the column's type. The message says what is expected."""


def number(text: str, spark_type: str, zone: str = "UTC") -> int:
    """Return the integer of a text. LiteralError if it is no value of the type.

    A timestamp without an offset is in the time zone `zone`.

    >>> number("2024-01-02", "date") - number("2024-01-01", "date")
    1
    >>> number("maybe", "boolean")
    Traceback (most recent call last):
        ...
    indextables.split.query.numbers.LiteralError: 'maybe' is not true or false
    """
    try:
        return index_number(_value(text.strip(), spark_type, zone), spark_type)
    except LiteralError:
        raise
    except TimeError as reason:
        raise LiteralError(str(reason)) from None
    except (ValueError, OverflowError):
        expected = {
            "date": "a date such as 2024-01-31",
            "timestamp": "a timestamp such as 2024-01-31T12:00:00Z",
            "timestamp_ntz": "a timestamp such as 2024-01-31T12:00:00",
            "boolean": "true or false",
            **dict.fromkeys(INTEGER_TYPES, "a whole number of at most 64 bits"),
        }.get(spark_type, "a number")
        raise LiteralError(f"{shorten(text)!r} is not {expected}") from None


def index_number(value: Value, spark_type: str) -> int:
    """Return the integer in the index for a value of a column of that type."""
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, date):
        return (value - EPOCH_DAY).days
    if isinstance(value, Decimal):
        return unscaled(value, (decimal_size(spark_type) or (0, 0))[1])
    if spark_type in ("float", "double"):
        return sortable_float(float(value))
    return min(max(int(value), _I64_MIN), _I64_MAX)


def _value(text: str, spark_type: str, zone: str) -> Value:
    if "_" in text:  # Python allows it in numbers, Spark does not
        raise ValueError
    match spark_type:
        case "date":
            return date.fromisoformat(text)
        case "timestamp":
            return parse_time(text, zone)
        case "timestamp_ntz":
            return parse_wall_time(text)
        case "boolean":
            if text.lower() not in ("true", "false"):
                raise ValueError
            return text.lower() == "true"
        case "float":
            return float(np.float32(text))  # the column has the rounded value
        case "double":
            return float(text)
        case _ if (size := decimal_size(spark_type)) is not None:
            decimal = parse_decimal(text)
            if not holds_decimal(decimal, *size):
                raise LiteralError(f"{shorten(text)!r} has more digits than {spark_type}")
            return decimal
        case _:
            value = int(text)
            if not _I64_MIN <= value <= _I64_MAX:
                raise ValueError
            return value

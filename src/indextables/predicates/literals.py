"""Literals in the type of their column, from SQL text and from Spark's plan."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np

from indextables.errors import PredicateError
from indextables.runtime import EPOCH, EPOCH_DAY
from indextables.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    Field,
    TimeError,
    Value,
    decimal_size,
    is_nested,
    parse_decimal,
    parse_time,
    parse_wall_time,
    shorten,
)

NESTED_ADVICE = (
    "compare a field of a struct (column.field = value), use array_contains, or search it with INDEXQUERY"
)


def from_sql(text: str | float | bool, column: Field, zone: str = "UTC") -> Value:
    """Parse a literal of a SQL text as the type of the column that it is compared with.

    A time without an offset is in `zone`.

    >>> from_sql("2024-01-01", Field("d", "date"))
    datetime.date(2024, 1, 1)
    """
    try:
        if column.type in INTEGER_TYPES and not isinstance(text, bool):
            return _integer(text)
        if column.type in FLOAT_TYPES and not isinstance(text, bool):
            return _float(text)
        if column.type == "boolean":
            return _boolean(text)
        if column.type == "string" and isinstance(text, str):
            return text
        if column.type == "binary" and isinstance(text, str):
            return bytes.fromhex(text[2:-1]) if text[:2].upper() == "X'" else text.encode()
        if column.type == "date" and isinstance(text, str):
            return date.fromisoformat(text.strip())
        if column.type == "timestamp" and isinstance(text, str):
            return parse_time(text.strip(), zone)
        if column.type == "timestamp_ntz" and isinstance(text, str):
            return parse_wall_time(text)
        if decimal_size(column.type) is not None and not isinstance(text, bool):
            return parse_decimal(str(text))
    except TimeError as reason:
        raise PredicateError(f"column {column.name!r}: {reason}") from None
    except (ValueError, KeyError, OverflowError):
        pass
    if is_nested(column.type):
        raise PredicateError(
            f"column {column.name!r} is {column.type_name}, which has no literal: {NESTED_ADVICE}"
        )
    raise PredicateError(
        f"{shorten(str(text))!r} is not a {column.type_name}, which column {column.name!r} is"
    )


def from_catalyst(text: str, kind: str) -> Value | None:
    """Parse a literal of Spark's plan from its text and the simple name of its type; None for types left to Spark."""
    match kind:
        case "tinyint" | "smallint" | "int" | "bigint":
            return int(text)
        case "float":
            return float(np.float32(text))  # compare with what the column holds, not with the shorter decimal
        case "double":
            return float(text)
        case "boolean":
            return text == "true"
        case "string":
            return text
        case "binary":
            return bytes.fromhex(text)
        case "date":
            return _date_of_days(int(text))
        case "timestamp":
            return _timestamp_of_micros(int(text))
        case "timestamp_ntz":
            moment = _timestamp_of_micros(int(text))
            return None if moment is None else moment.replace(tzinfo=None)
        case _ if decimal_size(kind) is not None:
            return parse_decimal(text)
        case _:
            return None


def _float(text: str | float) -> float:
    if "_" in str(text):  # which Python takes in numbers, and Spark does not
        raise ValueError
    return float(text)


def _integer(text: str | float) -> int:
    if "_" in str(text):
        raise ValueError
    value = int(text)
    if value != float(text) and value != int(str(text)):
        raise ValueError
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError
    return value


def _boolean(text: str | float | bool) -> bool:
    if isinstance(text, bool):
        return text
    return {"true": True, "false": False}[str(text).strip().lower()]


def _date_of_days(days: int) -> date | None:
    try:
        return EPOCH_DAY + timedelta(days=days)
    except OverflowError:  # Spark's calendar goes further than Python's
        return None


def _timestamp_of_micros(micros: int) -> datetime | None:
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None

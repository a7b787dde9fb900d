"""Partition values: their text in the log, and the names of their directories, escaped as Spark does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final
from urllib.parse import unquote

from indextables.errors import SchemaError
from indextables.runtime import EPOCH
from indextables.schema.decimals import holds_decimal, parse_decimal
from indextables.schema.spark_types import INTEGER_TYPES, decimal_size
from indextables.schema.types import TableSchema, Value

NULL_DIRECTORY: Final = "__HIVE_DEFAULT_PARTITION__"
PARTITION_TYPES: Final = INTEGER_TYPES | {"string", "boolean", "date", "timestamp", "timestamp_ntz"}

_ESCAPED: Final = frozenset("\"#%'*/:=?\\\x7f{[]^") | {chr(c) for c in range(1, 0x20)}


def check_partition_columns(schema: TableSchema, names: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Return the partition columns by their names in the schema. SchemaError if one cannot partition a table."""
    columns = tuple(schema.field(name) for name in names)
    for column in columns:
        if column.type not in PARTITION_TYPES and decimal_size(column.type) is None:
            raise SchemaError(
                f"column {column.name!r} is {column.type_name} and cannot partition a table; "
                f"types that can: {', '.join(sorted({*PARTITION_TYPES, 'decimal'}))}"
            )
    resolved = tuple(column.name for column in columns)
    if len(set(resolved)) != len(resolved):
        raise SchemaError(f"a column appears twice among the partition columns: {', '.join(names)}")
    if resolved and len(resolved) == len(schema):
        raise SchemaError("every column is a partition column: a table needs at least one other column")
    return resolved


def encode_value(value: Value | None, kind: str) -> str | None:
    """Return a partition value as text of the log, or None for null, whose key the log leaves out.

    >>> encode_value(datetime(2024, 5, 1, 12, 0, 0, 5, tzinfo=UTC), "timestamp")
    '2024-05-01 12:00:00.000005'
    """
    if value is None:
        return None
    if kind == "boolean":
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return utc.isoformat(sep=" ", timespec="microseconds" if utc.microsecond else "seconds")
    if isinstance(value, date):
        return value.isoformat()
    if value == NULL_DIRECTORY:
        raise SchemaError(
            f"the partition value {NULL_DIRECTORY!r} is the name for null and would be read back as null: "
            "write null, or another value"
        )
    return str(value)


def decode_value(text: str | None, kind: str) -> Value | None:
    """Return the partition value of a text, the inverse of `encode_value`. SchemaError if it is not of that type.

    The name of the directory for null, which other writers put into the log, is null too.

    >>> decode_value("2024-05-01", "date")
    datetime.date(2024, 5, 1)
    """
    if text is None or text == NULL_DIRECTORY:
        return None
    try:
        if kind in INTEGER_TYPES:
            return int(text)
        if kind == "boolean":
            return {"true": True, "false": False}[text.lower()]
        if kind == "date":
            return date.fromisoformat(text)
        if kind == "timestamp":
            return _timestamp(text)
        if kind == "timestamp_ntz":
            return _wall_time(text)
        if (size := decimal_size(kind)) is not None:
            return _decimal(text, *size)
    except (ValueError, KeyError) as reason:
        raise SchemaError(f"the partition value {text!r} is not of type {kind}") from reason
    return text


def micros(value: datetime) -> int:
    """Return the microseconds since 1970, exactly: a float of seconds would round.

    A time without a zone counts as if it were in UTC, as Spark's TIMESTAMP_NTZ does.

    >>> micros(datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)), micros(datetime(1970, 1, 1, 0, 0, 1))
    (-1, 1000000)
    """
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return (value - EPOCH) // timedelta(microseconds=1)


def partition_path(values: Mapping[str, str | None], columns: tuple[str, ...]) -> str:
    """Return the directory of a file, `col=value/...`, escaped as Spark does. It is empty without columns.

    >>> partition_path({"date": "2024-01-01", "path": "a/b"}, ("date", "path"))
    'date=2024-01-01/path=a%2Fb'
    """
    return "/".join(f"{escape(name)}={_directory(values.get(name))}" for name in columns)


def escape(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def unescape(text: str) -> str:
    return unquote(text)


def _directory(value: str | None) -> str:
    # An empty value cannot name a directory. Like Spark, use that of null; the log tells the two apart.
    return NULL_DIRECTORY if value is None or value == "" else escape(value)


def _timestamp(text: str) -> datetime:
    parsed = datetime.fromisoformat(text)
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def _wall_time(text: str) -> datetime:
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is not None:
        raise ValueError
    return parsed


def _decimal(text: str, precision: int, scale: int) -> Decimal:
    """Return a decimal with the digits of its type. ValueError for one that the type cannot hold."""
    value = parse_decimal(text)
    if not holds_decimal(value, precision, scale):
        raise ValueError
    return value

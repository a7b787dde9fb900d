"""Defaults of columns as SQL, for Spark to evaluate: it fills in the columns that the rows of a write lack."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Final

from indextables.schema import Field, TableSchema, default_value

_ESCAPED: Final = frozenset("\\'")
"""What a string in SQL may not have as it is: how Spark reads a backslash depends on its configuration."""


def defaults(schema: TableSchema) -> dict[str, str]:
    """Return the default of each column that has one, as an expression in SQL.

    >>> key = "indextables.column.default"
    >>> defaults(TableSchema((Field("n", "long", {key: "7"}), Field("s", "string", {key: "eu"}), Field("a", "long"))))
    {'n': "CAST('7' AS long)", 's': "CAST('eu' AS string)"}
    """
    return {column.name: _expression(column) for column in schema if column.default is not None}


def _expression(column: Field) -> str:
    value = default_value(column)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        text = value.isoformat()
    if _ESCAPED & set(text) or not text.isprintable():
        return f"CAST(X'{text.encode().hex()}' AS string)"
    return f"CAST('{text}' AS {column.type})"

"""Predicates as Spark SQL text, which people and `parse_where` can read."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from indextables.predicates.tree import (
    ALL_FIELDS,
    And,
    Compare,
    Constant,
    HasElement,
    In,
    IsNull,
    MatchKind,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextQuery,
)
from indextables.schema import Value

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS: Final = frozenset({"TEXTSEARCH", "FIELDMATCH", "INDEXQUERY"})
_PATTERNS: Final[dict[MatchKind, str]] = {"starts_with": "{}%", "ends_with": "%{}", "contains": "%{}%"}
_FUNCTIONS: Final[dict[MatchKind, str]] = {
    "starts_with": "startswith",
    "ends_with": "endswith",
    "contains": "contains",
}


def to_sql(predicate: Predicate) -> str:
    """Format the predicate as an equivalent SQL condition.

    >>> to_sql(And((Compare(">=", "day", date(2024, 1, 1)), Or((IsNull("level"), In("level", ("low", None)))))))
    "day >= DATE '2024-01-01' AND (level IS NULL OR level IN ('low', NULL))"
    """
    match predicate:
        case Constant(value):
            return _literal(value)
        case Compare(op, column, value):
            return f"{_name(column)} {op} {_literal(value)}"
        case In(column, values):
            # SQL has no empty list; nothing is in one, not even null.
            return f"{_name(column)} IN ({', '.join(map(_literal, values))})" if values else "FALSE"
        case IsNull(column):
            return f"{_name(column)} IS NULL"
        case StringMatch(kind, column, value):
            return _string_match(kind, column, value)
        case HasElement(column, value):
            return f"array_contains({_name(column)}, {_literal(value)})"
        case TextQuery(op, column, query):
            return f"{'*' if column == ALL_FIELDS else _name(column)} {op} {_literal(query)}"
        case And(children):
            return " AND ".join(_inner(child) for child in children) or "TRUE"
        case Or(children):
            return " OR ".join(_inner(child) for child in children) or "FALSE"
        case Not(IsNull(column)):
            return f"{_name(column)} IS NOT NULL"
        case Not(child):
            return f"NOT {_inner(child)}"


def _inner(predicate: Predicate) -> str:
    """Format an operand, in parentheses where its operator would bind differently."""
    text = to_sql(predicate)
    return f"({text})" if isinstance(predicate, And | Or) else text


def _string_match(kind: MatchKind, column: str, value: str) -> str:
    if value and not any(c in value for c in "%_\\"):
        return f"{_name(column)} LIKE {_literal(_PATTERNS[kind].format(value))}"
    return f"{_FUNCTIONS[kind]}({_name(column)}, {_literal(value)})"


def _name(column: str) -> str:
    if _PLAIN_NAME.fullmatch(column) and column.upper() not in _OPERATORS:
        import sqlglot  # noqa: PLC0415 - slow to import, and tasks never write SQL
        from sqlglot.tokens import TokenType  # noqa: PLC0415

        (token,) = sqlglot.tokenize(column, read="spark")
        if token.token_type == TokenType.VAR:
            return column
    return f"`{column.replace('`', '``')}`"


def _literal(value: Value | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime) and value.tzinfo is None:
        return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, float) and not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{name}' AS DOUBLE)"
    return repr(value)

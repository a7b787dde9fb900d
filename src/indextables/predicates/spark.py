"""Predicates from Spark's plan, as the shim serialises them. What is not wholly understood is left to Spark.

Nodes: {"col": [name]}, {"lit": text, "type": simple name}, {"op": name, "args": [...]}, {"udf": name, "args": [...]}.
"""

from __future__ import annotations

from typing import Any, Final

from indextables.predicates.literals import from_catalyst
from indextables.predicates.tree import (
    ALL_FIELDS,
    UTC,
    And,
    Compare,
    CompareOp,
    Constant,
    In,
    IsNull,
    MatchKind,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextOp,
    TextQuery,
)
from indextables.schema import ALL_COLUMN, Field, TableSchema, Value

MAX_DEPTH: Final = 200
"""A filter nested more deeply is left to Spark: predicates travel to tasks, and Python pickles to a depth of 250."""

_FLIPPED: Final[dict[str, CompareOp]] = {
    "=": "=",
    "<=>": "<=>",
    "<>": "<>",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
_MATCHES: Final[dict[str, MatchKind]] = {
    "STARTS_WITH": "starts_with",
    "ENDS_WITH": "ends_with",
    "CONTAINS": "contains",
}
_TEXT_OPS: Final[dict[str, TextOp]] = {
    "textsearch": "TEXTSEARCH",
    "fieldmatch": "FIELDMATCH",
    "indexquery": "INDEXQUERY",
}


_ARGUMENTS: Final[dict[str | None, int]] = {
    **dict.fromkeys(("NOT", "BOOLEAN_EXPRESSION", "IS_NULL", "IS_NOT_NULL", "IN"), 1),
    **dict.fromkeys((*_FLIPPED, *_MATCHES), 2),
}
"""How many arguments an operator has at least."""


class _NotOursError(Exception):
    """A node that Spark must decide itself."""


def from_spark(node: dict[str, Any], schema: TableSchema, zone: str = UTC) -> Predicate | None:
    """Translate a filter of Spark; None if a part of it is left to Spark, or it is nested too deeply.

    Times in search queries that name no zone are in `zone`; Spark itself has placed those of its literals.

    >>> schema = TableSchema((Field("n", "integer"),))
    >>> from_spark({"op": ">", "args": [{"col": ["n"]}, {"lit": "5", "type": "int"}]}, schema)
    Compare(op='>', column='n', value=5)
    >>> from_spark({"op": "=", "args": [{"op": "+", "args": []}, {"lit": "5", "type": "int"}]}, schema)
    """
    if _depth(node) > MAX_DEPTH:
        return None
    try:
        return _predicate(node, schema, zone)
    except (_NotOursError, RecursionError):  # what is nested too deep for us is left to Spark too
        return None


def _depth(node: dict[str, Any]) -> int:
    """How many operators stand inside each other at most. Without recursion, of which a deep tree takes too much."""
    depth, level = 0, [node]
    while level:
        depth += 1
        level = [arg for inner in level for arg in inner.get("args", [])]
    return depth


def _predicate(node: dict[str, Any], schema: TableSchema, zone: str) -> Predicate:
    if "udf" in node:
        return _text_query(node, schema, zone)
    if "col" in node:  # a boolean column stands as a predicate by itself
        column = _column(node, schema)
        if column.type != "boolean":
            raise _NotOursError
        return Compare("=", column.name, True)
    if "lit" in node:
        if node["type"] not in ("boolean", "void"):
            raise _NotOursError
        return Constant(None if node["lit"] is None else node["lit"] == "true")
    op, args = node.get("op"), node.get("args", [])
    if len(args) < _ARGUMENTS.get(op, 0):
        raise _NotOursError
    match op:
        case "AND":
            return And(tuple(_predicate(arg, schema, zone) for arg in args))
        case "OR":
            return Or(tuple(_predicate(arg, schema, zone) for arg in args))
        case "NOT":
            return Not(_predicate(args[0], schema, zone))
        case "BOOLEAN_EXPRESSION":
            return _predicate(args[0], schema, zone)
        case "ALWAYS_TRUE":
            return Constant(value=True)
        case "ALWAYS_FALSE":
            return Constant(value=False)
        case "IS_NULL":
            return IsNull(_column(args[0], schema).name)
        case "IS_NOT_NULL":
            return Not(IsNull(_column(args[0], schema).name))
        case "IN":
            column = _column(args[0], schema)
            return In(column.name, tuple(_literal(arg, column) for arg in args[1:]))
        case "STARTS_WITH" | "ENDS_WITH" | "CONTAINS":
            column = _column(args[0], schema)
            value = _literal(args[1], column)
            if not isinstance(value, str):
                raise _NotOursError
            return StringMatch(_MATCHES[op], column.name, value)
        case str() if op in _FLIPPED:
            return _comparison(op, args, schema)
        case _:
            raise _NotOursError


def _comparison(op: str, args: list[dict[str, Any]], schema: TableSchema) -> Compare:
    left, right = args[:2]
    if "lit" in left and "col" in right:
        left, right, op = right, left, _FLIPPED[op]
    column = _column(left, schema)
    return Compare(_FLIPPED[_FLIPPED[op]], column.name, _literal(right, column))


def _text_query(node: dict[str, Any], schema: TableSchema, zone: str) -> TextQuery:
    args, op = node.get("args", []), _TEXT_OPS.get(node["udf"])
    if op is None or len(args) != 2 or "col" not in args[0] or args[1].get("lit") is None:
        raise _NotOursError
    target, query = args
    if target["col"] == [ALL_COLUMN]:
        name = ALL_FIELDS
    else:
        name = _column(target, schema).name
    return TextQuery(op, name, query["lit"], zone)


def _column(node: dict[str, Any], schema: TableSchema) -> Field:
    path = node.get("col")
    column = schema.resolve(".".join(path)) if path else None
    if column is None:
        raise _NotOursError
    return column


_CATALYST_NAMES: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def _literal(node: dict[str, Any], column: Field) -> Value | None:
    """Return a literal of exactly the column's type; a literal of another type is left to Spark."""
    if "lit" not in node or node["type"] != _CATALYST_NAMES.get(column.type, column.type):
        raise _NotOursError
    if node["lit"] is None:
        return None
    try:
        value = from_catalyst(node["lit"], node["type"])
    except ValueError:
        value = None
    if value is None:
        raise _NotOursError
    return value

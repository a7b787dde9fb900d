"""Which part of a predicate the index decides, exactly, and which is left for the rows.

The question is always for which rows a predicate is TRUE. With negations at the leaves (`normalize`), the rows
of an AND or OR are those of its parts, so a part is the index's if all its leaves are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indextables.predicates import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    TextQuery,
    Value,
    conjunction,
    conjuncts,
    normalize,
)
from indextables.schema import FieldMapping, MappedField
from indextables.split.index import MAX_TERM_BYTES

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands in the index for bytes that are not UTF-8, so a term with it says nothing certain."""


@dataclass(frozen=True)
class Plan:
    """`indexed` AND `residual` is the predicate. `indexed` is empty when the index would not narrow the rows."""

    indexed: tuple[Predicate, ...]
    residual: Predicate


def plan_predicate(
    predicate: Predicate,
    mapping: FieldMapping,
    decides_text: Callable[[TextQuery], bool] = lambda _: True,
    *,
    counting: bool = False,
) -> Plan:
    """Search the index, or scan the rows? The index pays when it narrows, or when only a number is wanted.

    `decides_text` tells whether the index is enough for a text query; otherwise it is left for the rows.
    """
    parts = conjuncts(normalize(predicate))
    exact = [part for part in parts if _decides(part, mapping, decides_text)]
    if not any(_narrows(part, mapping) for part in exact) and not (counting and len(exact) == len(parts)):
        return Plan((), conjunction(parts))
    return Plan(tuple(exact), conjunction([part for part in parts if part not in exact]))


def positive_text_queries(predicate: Predicate) -> list[TextQuery]:
    """The text queries that can make a row match, and so give it its score."""
    match predicate:
        case TextQuery():
            return [predicate]
        case And(children) | Or(children):
            return [query for child in children for query in positive_text_queries(child)]
        case _:
            return []


def _decides(predicate: Predicate, mapping: FieldMapping, decides_text: Callable[[TextQuery], bool]) -> bool:
    match predicate:
        case Constant():
            return True
        case (TextQuery() as query) | Not(TextQuery() as query):
            return decides_text(query)
        case And(children) | Or(children):
            return all(_decides(child, mapping, decides_text) for child in children)
        case IsNull(column) | Not(IsNull(column)):
            return mapping.get(column) is not None
        case Compare(op, column, value) | Not(Compare("<=>" as op, column, value)):
            return value is None or _decides_compare(op, mapping.get(column), value)
        case In(column, values) | Not(In(column, values)):
            found = mapping.get(column)
            return all(value is None or _decides_compare("=", found, value) for value in values)
        case _:
            return False


def _decides_compare(op: str, column: MappedField | None, value: Value) -> bool:
    if column is None:
        return False
    if column.kind == "string":
        return op in ("=", "<=>", "<>") and isinstance(value, str) and _is_term(value)
    return column.kind in ("i64", "f64", "bool")


def _is_term(value: str) -> bool:
    try:
        return len(value.encode()) <= MAX_TERM_BYTES and REPLACEMENT not in value
    except UnicodeEncodeError:
        return False


def _narrows(predicate: Predicate, mapping: FieldMapping) -> bool:
    match predicate:
        case TextQuery() | Constant():
            return True
        case And(children):
            return any(_narrows(child, mapping) for child in children)
        case Or(children):
            return all(_narrows(child, mapping) for child in children)
        case Compare("=" | "<=>", column, value) if value is not None:
            found = mapping.get(column)
            return found is not None and found.kind == "string"
        case In(column):
            found = mapping.get(column)
            return found is not None and found.kind == "string"
        case _:
            return False

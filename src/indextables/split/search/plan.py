"""Planning a predicate: which part the index decides exactly, and which is evaluated on rows.

Only the rows for which a predicate is TRUE matter. With negations at the leaves (`normalize`), the rows of an AND or OR
follow from those of its operands: the index decides an operand if it decides all of its leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from indextables.predicates import (
    And,
    Compare,
    Constant,
    HasElement,
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
from indextables.schema import FieldMapping, MappedField, decimal_size, holds_decimal
from indextables.split.index import MAX_TERM_BYTES

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Replaces bytes that are not UTF-8 in the index: different values may have the same term with it."""


@dataclass(frozen=True)
class Plan:
    """`indexed` AND `residual` is the predicate. `indexed` is empty if the index would not reduce the rows."""

    indexed: tuple[Predicate, ...]
    residual: Predicate


def plan_predicate(
    predicate: Predicate,
    mapping: FieldMapping,
    decides_text: Callable[[TextQuery], bool] = lambda _: True,
    *,
    counting: bool = False,
) -> Plan:
    """Split a predicate into the part for the index and the part for the rows.

    The index is used if it reduces the rows, or, when `counting`, if it decides the whole predicate. `decides_text`
    says whether the index alone answers a text query.
    """
    parts = conjuncts(normalize(predicate))
    exact = [part for part in parts if _decides(part, mapping, decides_text)]
    if not any(_narrows(part, mapping) for part in exact) and not (counting and len(exact) == len(parts)):
        return Plan((), conjunction(parts))
    return Plan(tuple(exact), conjunction([part for part in parts if part not in exact]))


def positive_text_queries(predicate: Predicate) -> list[TextQuery]:
    """Return the text queries that are not negated: their scores add up to the score of a row."""
    match predicate:
        case TextQuery():
            return [predicate]
        case And(children) | Or(children):
            return [query for child in children for query in positive_text_queries(child)]
        case _:
            return []


def _decides(predicate: Predicate, mapping: FieldMapping, decides_text: Callable[[TextQuery], bool]) -> bool:
    """Return True if the index finds exactly the rows for which the predicate is TRUE."""
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
        case HasElement(
            column, value
        ):  # its negation depends on null elements, which the index does not have
            return value is None or _decides_compare("=", mapping.get(column), value)
        case In(column, values) | Not(In(column, values)):
            mapped = mapping.get(column)
            return all(value is None or _decides_compare("=", mapped, value) for value in values)
        case _:
            return False


def _decides_compare(op: str, column: MappedField | None, value: Value) -> bool:
    if column is None:
        return False
    if column.kind == "string":
        return op in ("=", "<=>", "<>") and isinstance(value, str) and _is_term(value)
    if isinstance(value, Decimal):
        size = decimal_size(column.value_type)
        return size is not None and holds_decimal(value, *size)
    return column.kind in ("i64", "f64", "bool")


def _is_term(value: str) -> bool:
    """Return True if the index has a term for exactly this value."""
    try:
        return len(value.encode()) <= MAX_TERM_BYTES and REPLACEMENT not in value
    except UnicodeEncodeError:
        return False


def _narrows(predicate: Predicate, mapping: FieldMapping) -> bool:
    """Return True if a search for the predicate is likely to exclude many rows."""
    match predicate:
        case TextQuery() | Constant():
            return True
        case And(children):
            return any(_narrows(child, mapping) for child in children)
        case Or(children):
            return all(_narrows(child, mapping) for child in children)
        case Compare("=" | "<=>", column, value) if value is not None:
            mapped = mapping.get(column)
            return mapped is not None and mapped.kind == "string"
        case In(column) | HasElement(column):
            mapped = mapping.get(column)
            return mapped is not None and mapped.kind == "string"
        case _:
            return False

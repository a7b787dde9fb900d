"""Rewriting predicates: push negations to the leaves, fold constants, substitute known values of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from indextables.predicates.evaluation import holds
from indextables.predicates.tree import (
    And,
    Compare,
    CompareOp,
    Constant,
    HasElement,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
)
from indextables.schema import Value

_OPPOSITE: Final[dict[CompareOp, CompareOp]] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}


def bind(predicate: Predicate, known: Mapping[str, Value | None]) -> Predicate:
    """Substitute values: return the predicate for rows in which each column of `known` has that one value.

    >>> bind(And((Compare("=", "day", 1), IsNull("x"))), {"day": 1})
    IsNull(column='x')
    >>> bind(And((Compare("=", "day", 2), IsNull("x"))), {"day": 1})
    Constant(value=False)
    """
    match predicate:
        case Compare(_, column) | In(column) | IsNull(column) | StringMatch(_, column) if column in known:
            return Constant(holds(predicate, known[column]))
        case And(children):
            return _fold_and([bind(child, known) for child in children])
        case Or(children):
            return _fold_or([bind(child, known) for child in children])
        case Not(child):
            return _fold_not(bind(child, known))
        case _:
            return predicate


def with_names(predicate: Predicate, name_of: Callable[[str], str]) -> Predicate:
    """Return the predicate with other names for the columns whose values decide it. Text queries stay as they are.

    >>> with_names(And((IsNull("a"), Not(Compare("=", "b", 1)))), str.upper)
    And(children=(IsNull(column='A'), Not(child=Compare(op='=', column='B', value=1))))
    """
    match predicate:
        case Compare() | In() | IsNull() | StringMatch() | HasElement():
            return replace(predicate, column=name_of(predicate.column))
        case And(children):
            return And(tuple(with_names(child, name_of) for child in children))
        case Or(children):
            return Or(tuple(with_names(child, name_of) for child in children))
        case Not(child):
            return Not(with_names(child, name_of))
        case _:
            return predicate


def normalize(predicate: Predicate) -> Predicate:
    """Return an equivalent predicate with NOT only in front of leaves that have no opposite.

    >>> normalize(Not(And((Compare("<", "a", 1), IsNull("b")))))
    Or(children=(Compare(op='>=', column='a', value=1), Not(child=IsNull(column='b'))))
    """
    match predicate:
        case And(children):
            return _fold_and([normalize(child) for child in children])
        case Or(children):
            return _fold_or([normalize(child) for child in children])
        case Not(And(children)):
            return _fold_or([normalize(Not(child)) for child in children])
        case Not(Or(children)):
            return _fold_and([normalize(Not(child)) for child in children])
        case Not(Not(child)):
            return normalize(child)
        case Not(Compare(op, column, value)) if op in _OPPOSITE:
            return Compare(_OPPOSITE[op], column, value)
        case Not(child):
            return _fold_not(child)
        case _:
            return predicate


def _fold_and(children: list[Predicate]) -> Predicate:
    if any(child == Constant(value=False) for child in children):
        return Constant(value=False)
    return _combine(And, [child for child in children if child != Constant(value=True)], Constant(value=True))


def _fold_or(children: list[Predicate]) -> Predicate:
    if any(child == Constant(value=True) for child in children):
        return Constant(value=True)
    return _combine(
        Or, [child for child in children if child != Constant(value=False)], Constant(value=False)
    )


def _fold_not(child: Predicate) -> Predicate:
    match child:
        case Constant(None):
            return child
        case Constant(value):
            return Constant(not value)
        case _:
            return Not(child)


def _combine(kind: type[And | Or], children: list[Predicate], empty: Constant) -> Predicate:
    flat: list[Predicate] = []
    for child in children:
        flat.extend(child.children if isinstance(child, kind) else [child])
    if not flat:
        return empty
    return flat[0] if len(flat) == 1 else kind(tuple(flat))

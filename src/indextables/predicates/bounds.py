"""Bounds of columns, and the test whether any row within them can satisfy a predicate.

Bounds may be loose: a lower bound that is too low or an upper bound that is too high only costs a read. Whatever cannot
be decided may match.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from indextables.predicates.fold import normalize
from indextables.predicates.tree import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Or,
    Predicate,
    StringMatch,
)
from indextables.schema import Value


class Members(Protocol):
    """Knowledge of single values, such as a Bloom filter has."""

    def may_contain(self, value: Value) -> bool:
        """Return False only if no row has this value."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every non-null value of a column is between `low` and `high`; None is no bound.

    `high_is_prefix`: the true maximum may go on after the characters of `high`. `nan_above`: NaN, which sorts above
    all numbers, may be there as well. `members` knows values within the bounds that do not occur.
    """

    low: Value | None = None
    high: Value | None = None
    high_is_prefix: bool = False
    nan_above: bool = False
    members: Members | None = field(default=None, repr=False)

    def excludes_below(self, value: Value) -> bool:
        """Return True if all values of the column are above `value`."""
        return self.low is not None and _comparable(self.low, value) and value < self.low  # type: ignore[operator]

    def excludes_above(self, value: Value) -> bool:
        """Return True if all values of the column are below `value`."""
        if self.high is None or not _comparable(self.high, value):
            return False
        if self.high_is_prefix and isinstance(value, str) and isinstance(self.high, str):
            return value[: len(self.high)] > self.high
        return self.high < value  # type: ignore[operator]

    def excludes(self, value: Value) -> bool:
        """Return True if `value` does not occur, although it may be within the bounds."""
        return self.members is not None and not self.members.may_contain(value)


def may_match(predicate: Predicate, bounds: Callable[[str], Bounds | None]) -> bool:
    """Return False only if no row within the bounds can satisfy the predicate.

    >>> level = {"n": Bounds(low=10, high=20)}.get
    >>> may_match(Compare("=", "n", 15), level), may_match(Compare("=", "n", 25), level)
    (True, False)
    """
    return _may_match(normalize(predicate), bounds)


def _may_match(predicate: Predicate, bounds: Callable[[str], Bounds | None]) -> bool:
    match predicate:
        case Constant(value):
            return value is True
        case And(children):
            return all(_may_match(child, bounds) for child in children)
        case Or(children):
            return any(_may_match(child, bounds) for child in children)
        case Compare(op, column, value):
            return _compare_may_match(op, value, bounds(column))
        case In(column, values):
            return any(v is not None and _compare_may_match("=", v, bounds(column)) for v in values)
        case StringMatch("starts_with", column, prefix):
            return _prefix_may_match(prefix, bounds(column))
        case IsNull():
            return True  # bounds do not cover nulls
        case _:
            return True


def _compare_may_match(op: str, value: Value | None, bounds: Bounds | None) -> bool:
    if value is None:
        return op == "<=>"
    if bounds is None or value != value:  # noqa: PLR0124 - NaN is above every bound there is
        return True
    match op:
        case "=" | "<=>":
            return not (
                bounds.excludes_below(value) or bounds.excludes_above(value) or bounds.excludes(value)
            )
        case "<":
            return not (bounds.excludes_below(value) or _equal(bounds.low, value))
        case "<=":
            return not bounds.excludes_below(value)
        case ">" | ">=" if bounds.nan_above:
            return True
        case ">":
            above = bounds.excludes_above(value) or (not bounds.high_is_prefix and _equal(bounds.high, value))
            return not above
        case ">=":
            return not bounds.excludes_above(value)
        case _:  # "<>"
            return True


def _prefix_may_match(prefix: str, bounds: Bounds | None) -> bool:
    if bounds is None:
        return True
    # Below: every value is above all strings that begin with the prefix. Above: every value is below them.
    too_high = isinstance(bounds.low, str) and bounds.low[: len(prefix)] > prefix
    return not too_high and not bounds.excludes_above(prefix)


def _equal(bound: Value | None, value: Value) -> bool:
    return bound is not None and _comparable(bound, value) and bound == value


def _comparable(left: Value, right: Value) -> bool:
    if isinstance(left, (bool, int, float)) and isinstance(right, (bool, int, float)):
        return True
    if isinstance(left, datetime) or isinstance(right, datetime):
        return (
            isinstance(left, datetime)
            and isinstance(right, datetime)
            and (left.tzinfo is None) == (right.tzinfo is None)
        )
    return type(left) is type(right)

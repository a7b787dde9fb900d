"""The one predicate tree, to which SQL `where` strings, Spark's pushed filters and Python callers are translated.

A predicate is TRUE, FALSE or NULL for a row, as in SQL; a scan keeps the rows for which it is TRUE.
Literals are Python values that fit the column: str, int, float, bool, bytes, decimal.Decimal, datetime.date, and for
timestamps a timezone-aware datetime.datetime in UTC, or one without a zone for TIMESTAMP_NTZ. A column may be a field
of a struct, by its path `column.field`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from indextables.runtime import now_ms
from indextables.schema import Value

CompareOp = Literal["=", "<>", "<", "<=", ">", ">=", "<=>"]
MatchKind = Literal["starts_with", "ends_with", "contains"]
TextOp = Literal["TEXTSEARCH", "FIELDMATCH", "INDEXQUERY"]

UTC = "UTC"
ALL_FIELDS = "*"
"""As `TextQuery.column`: every column that the operator can search."""


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or (None) NULL for every row."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Compare:
    """`column op value`. Only `<=>` may have a null value; it is the one that is never NULL itself."""

    op: CompareOp
    column: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class In:
    """`column IN (values)`. A None among the values turns "not found" into NULL, as SQL wants."""

    column: str
    values: tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    column: str


@dataclass(frozen=True, slots=True)
class StringMatch:
    """A plain substring test, as `LIKE 'x%'` becomes; no wildcards in `value`."""

    kind: MatchKind
    column: str
    value: str


@dataclass(frozen=True, slots=True)
class HasElement:
    """`array_contains(column, value)`. NULL for an array without the value that has a null element."""

    column: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class TextQuery:
    """`column TEXTSEARCH 'query'` and its siblings; only the index can answer it. NULL where the column is.

    `zone` is the time zone of times in the query that name none: the session's in Spark, UTC in Python. `now` is what
    the query calls so, in microseconds since 1970, if it has this word. It is the moment at which the query was made,
    and travels with it, so that all splits and tasks agree.
    """

    op: TextOp
    column: str
    query: str
    zone: str = UTC
    now: int | None = None

    def __post_init__(self) -> None:
        if self.now is None and "now" in self.query:
            object.__setattr__(self, "now", now_ms() * 1000)


@dataclass(frozen=True, slots=True)
class And:
    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    child: Predicate


Predicate: TypeAlias = (
    Constant | Compare | In | IsNull | StringMatch | HasElement | TextQuery | And | Or | Not
)

TRUE = Constant(value=True)


def conjunction(predicates: Iterator[Predicate] | list[Predicate] | tuple[Predicate, ...]) -> Predicate:
    """Combine predicates by AND, flattened: no And is directly inside the And that is returned.

    >>> conjunction([])
    Constant(value=True)
    >>> conjunction([IsNull("a")])
    IsNull(column='a')
    """
    flat: list[Predicate] = []
    for predicate in predicates:
        flat.extend(conjuncts(predicate))
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def conjuncts(predicate: Predicate) -> list[Predicate]:
    """Return the predicates that must all be TRUE.

    >>> conjuncts(And((IsNull("a"), And((IsNull("b"), TRUE)))))
    [IsNull(column='a'), IsNull(column='b')]
    """
    match predicate:
        case And(children):
            return [leaf for child in children for leaf in conjuncts(child)]
        case Constant(True):
            return []
        case _:
            return [predicate]


def columns_of(predicate: Predicate) -> set[str]:
    """Return the columns whose *values* decide it. A TextQuery is decided by the index and names none.

    >>> sorted(columns_of(And((IsNull("a"), Not(Compare("=", "b", 1)), TextQuery("TEXTSEARCH", "c", "x")))))
    ['a', 'b']
    """
    match predicate:
        case Compare(_, column) | In(column) | IsNull(column) | StringMatch(_, column) | HasElement(column):
            return {column}
        case And(children) | Or(children):
            return set().union(*(columns_of(child) for child in children))
        case Not(child):
            return columns_of(child)
        case _:
            return set()


def at_one_moment(predicate: Predicate, now: int | None = None) -> Predicate:
    """Return the predicate with the same `now` in all its text queries: the one given, or that of the first.

    >>> both = And((TextQuery("INDEXQUERY", "a", "<now", now=1), TextQuery("INDEXQUERY", "b", ">now", now=2)))
    >>> [query.now for query in text_queries(at_one_moment(both))]
    [1, 1]
    """
    moments = [query.now for query in text_queries(predicate) if query.now is not None]
    return _at(predicate, moments[0] if now is None else now) if moments else predicate


def _at(predicate: Predicate, now: int) -> Predicate:
    match predicate:
        case TextQuery() if predicate.now is not None:
            return replace(predicate, now=now)
        case And(children):
            return And(tuple(_at(child, now) for child in children))
        case Or(children):
            return Or(tuple(_at(child, now) for child in children))
        case Not(child):
            return Not(_at(child, now))
        case _:
            return predicate


def text_queries(predicate: Predicate) -> list[TextQuery]:
    """Return every text query in it, from left to right."""
    match predicate:
        case TextQuery():
            return [predicate]
        case And(children) | Or(children):
            return [leaf for child in children for leaf in text_queries(child)]
        case Not(child):
            return text_queries(child)
        case _:
            return []

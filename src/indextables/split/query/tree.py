"""The syntax tree of the query language, before columns are resolved and words are tokenised.

A leaf has its position in the query, for error messages. Positions do not count in comparisons.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from indextables.split.query.regexes import Expression


class Occur(Enum):
    """Whether a child of a clause is required, optional or excluded."""

    MUST = "+"
    SHOULD = ""
    MUST_NOT = "-"


class Wildcard(Enum):
    """`*` for any characters, `?` for exactly one."""

    ANY = "*"
    ONE = "?"


Pieces: TypeAlias = tuple[str | Wildcard, ...]


@dataclass(frozen=True)
class Literal:
    """A word or, in quotes, a phrase.

    `slop` is how far its words may be apart. With `prefix`, the last word is a prefix. With `minus`, a `-`
    directly before it excludes it, and both together read as a negative number.
    """

    text: str
    field: str | None = None
    quote: str = ""
    slop: int = 0
    prefix: bool = False
    position: int = dataclasses.field(default=0, compare=False)
    minus: bool = dataclasses.field(default=False, compare=False)


@dataclass(frozen=True)
class Pattern:
    """A word with wildcards or, in quotes, a phrase whose words have some.

    `slop` is as in `Literal`. With `prefix`, the last `*` stood after the quotes.
    """

    pieces: Pieces
    field: str | None = None
    quote: str = ""
    slop: int = 0
    position: int = dataclasses.field(default=0, compare=False)
    prefix: bool = False


@dataclass(frozen=True)
class Regex:
    """The words that match a regular expression, `/err(or)?/`."""

    expression: Expression
    field: str | None = None
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Fuzzy:
    """A word with at most `distance` edits."""

    text: str
    distance: int
    field: str | None = None
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Limit:
    """One end of a range."""

    text: str
    inclusive: bool


@dataclass(frozen=True)
class Range:
    """The values between two limits; None is no limit."""

    lower: Limit | None
    upper: Limit | None
    field: str | None = None
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class OneOf:
    """A set of values, `IN [a b]`."""

    values: tuple[str, ...]
    field: str | None = None
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Exists:
    """The rows in which a column has a value, `col:*`."""

    field: str
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Everything:
    """All rows, `*`."""


@dataclass(frozen=True)
class Boost:
    """A node whose score is multiplied."""

    node: Node
    factor: float


@dataclass(frozen=True)
class Clause:
    """A Boolean combination. Children without an `Occur` are alternatives, of which `least` must match: `(a b c)@2`."""

    children: tuple[tuple[Occur | None, Node], ...]
    least: int = 0
    position: int = dataclasses.field(default=0, compare=False)


Leaf: TypeAlias = Literal | Pattern | Regex | Fuzzy | Range | OneOf | Exists | Everything
Node: TypeAlias = Leaf | Boost | Clause


def with_default_field(node: Node, name: str, position: int) -> Node:
    """Return the node of `name:(...)`: every leaf below that names no column gets this one."""
    match node:
        case Clause(children):
            named = tuple((o, with_default_field(child, name, position)) for o, child in children)
            return replace(node, children=named)
        case Boost(child, factor):
            return Boost(with_default_field(child, name, position), factor)
        case Everything():
            return Exists(name, position)
        case Literal() | Pattern() | Regex() | Fuzzy() | Range() | OneOf() if node.field is None:
            return replace(node, field=name)
        case _:
            return node


def without_repeats(node: Node) -> Node:
    """Drop repeated children and redundant nesting, as Tantivy does: `a a` scores as `a`."""
    if not isinstance(node, Clause):
        return node
    distinct = dict.fromkeys((occur, without_repeats(child)) for occur, child in node.children)
    return replace(node, children=tuple(_unwrap(occur, child) for occur, child in distinct))


def _unwrap(occur: Occur | None, child: Node) -> tuple[Occur | None, Node]:
    if occur is None and isinstance(child, Clause) and len(child.children) == 1 and not child.least:
        return child.children[0]
    return occur, child

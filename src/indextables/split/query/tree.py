"""The query language as a tree: what a person wrote, before columns and tokenizers come into it.

Leaves carry the position in the query where they begin, for error messages; it plays no part in equality.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias


class Occur(Enum):
    MUST = "+"
    SHOULD = ""
    MUST_NOT = "-"


class Wildcard(Enum):
    ANY = "*"
    ONE = "?"


Pieces: TypeAlias = tuple[str | Wildcard, ...]


@dataclass(frozen=True)
class Literal:
    """A word or, quoted, a phrase. `slop`: how far its words may be apart; `prefix`: the last one goes on."""

    text: str
    field: str | None = None
    quote: str = ""
    slop: int = 0
    prefix: bool = False
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Pattern:
    """A word with wildcards."""

    pieces: Pieces
    field: str | None = None
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Fuzzy:
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
    lower: Limit | None
    upper: Limit | None
    field: str | None = None
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class OneOf:
    values: tuple[str, ...]
    field: str | None = None
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Exists:
    field: str
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Everything:
    pass


@dataclass(frozen=True)
class Boost:
    node: Node
    factor: float


@dataclass(frozen=True)
class Clause:
    """Children without an occur of their own are alternatives."""

    children: tuple[tuple[Occur | None, Node], ...]


Leaf: TypeAlias = Literal | Pattern | Fuzzy | Range | OneOf | Exists | Everything
Node: TypeAlias = Leaf | Boost | Clause


def with_default_field(node: Node, name: str, position: int) -> Node:
    """`name:(...)`: the field of every leaf below that names none itself."""
    match node:
        case Clause(children):
            return Clause(tuple((o, with_default_field(child, name, position)) for o, child in children))
        case Boost(child, factor):
            return Boost(with_default_field(child, name, position), factor)
        case Everything():
            return Exists(name, position)
        case Literal() | Pattern() | Fuzzy() | Range() | OneOf() if node.field is None:
            return replace(node, field=name)
        case _:
            return node


def without_repeats(node: Node) -> Node:
    """Drop repeated children and needless nesting, as Tantivy does: `a a` scores as `a`."""
    if not isinstance(node, Clause):
        return node
    distinct = dict.fromkeys((occur, without_repeats(child)) for occur, child in node.children)
    return Clause(tuple(_unwrapped(occur, child) for occur, child in distinct))


def _unwrapped(occur: Occur | None, child: Node) -> tuple[Occur | None, Node]:
    if occur is None and isinstance(child, Clause) and len(child.children) == 1:
        return child.children[0]
    return occur, child

"""The bound query: columns are resolved, words are those of the index, and each part is one Tantivy query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar

from indextables.schema import MappedField
from indextables.split.query.regexes import Expression
from indextables.split.query.tree import Limit, Occur, Pieces


@dataclass(frozen=True)
class Terms:
    """One word, or several at their positions, at most `slop` apart. With `prefix`, the last one is a prefix."""

    column: MappedField
    words: tuple[tuple[int, str], ...]
    slop: int = 0
    prefix: bool = False


@dataclass(frozen=True)
class Regexes:
    """One pattern for a word, or several for consecutive words, at most `slop` apart."""

    column: MappedField
    patterns: tuple[Pieces, ...]
    slop: int = 0


@dataclass(frozen=True)
class Matching:
    """The words that match a regular expression."""

    column: MappedField
    expression: Expression


@dataclass(frozen=True)
class Near:
    """The words that become `word` by at most `distance` edits."""

    column: MappedField
    word: str
    distance: int


@dataclass(frozen=True)
class Numbers:
    """A range of the integers in the index; both bounds are inclusive."""

    column: MappedField
    low: int | None
    high: int | None


@dataclass(frozen=True)
class TermRange:
    """The words between two limits."""

    column: MappedField
    lower: Limit | None
    upper: Limit | None


@dataclass(frozen=True)
class TermSet:
    """Any of these words."""

    column: MappedField
    words: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """The maps with an entry whose term is between two, which are the same for one value. `column` has the key."""

    column: MappedField
    low: str
    high: str


@dataclass(frozen=True)
class Present:
    """The rows in which the column is not null."""

    column: MappedField


@dataclass(frozen=True)
class All:
    """All rows."""


@dataclass(frozen=True)
class Scaled:
    """A part whose score is multiplied."""

    part: Part
    factor: float


@dataclass(frozen=True)
class Parts:
    """A Boolean combination. Without children it matches nothing, and its parent ignores it.

    `least` optional children must match; with 0, one if none is required.
    """

    children: tuple[tuple[Occur, Part], ...] = ()
    least: int = 0


WordLeaf: TypeAlias = Terms | Regexes | Matching | Near | TermRange | TermSet
"""The parts that match words, or whole values, of one column."""

Leaf: TypeAlias = WordLeaf | Numbers | Entry | Present
"""The parts that match values of one column."""

Part: TypeAlias = Leaf | All | Scaled | Parts

NOTHING: Final = Parts()

Built = TypeVar("Built")


def build_clauses(
    parts: Parts, build: Callable[[Part], Built | None], everything: Callable[[], Built]
) -> list[tuple[Occur, Built]] | None:
    """Build the clauses of a Boolean query. None if it matches nothing, and its parent must ignore it.

    `build` returns None for parts that match nothing. In Tantivy, a query of negations only matches no row. Here it
    means all other rows, so that `everything` is added to the clauses.
    """
    parts = flatten(parts)
    clauses = [(occur, built) for occur, child in parts.children if (built := build(child)) is not None]
    if all(occur is Occur.MUST_NOT for occur, _ in clauses):
        if not parts.children or (
            not clauses and any(occur is not Occur.MUST_NOT for occur, _ in parts.children)
        ):
            return None
        clauses.append((Occur.MUST, everything()))
    return clauses


def flatten(parts: Parts) -> Parts:
    """Merge nested combinations of the same kind, as Tantivy does: this affects how scores are summed."""
    children: list[tuple[Occur, Part]] = []
    for occur, child in parts.children:
        inner = flatten(child) if isinstance(child, Parts) else child
        if (
            isinstance(inner, Parts)
            and not parts.least
            and not inner.least
            and occur is not Occur.MUST_NOT
            and all(o is occur for o, _ in inner.children)
        ):
            children.extend(inner.children)
        else:
            children.append((occur, inner))
    return Parts(tuple(children), parts.least)


def with_default_tokenizer(part: Part) -> Part:
    """Return the part as if its columns had the default tokenizer, to compare queries of different splits."""
    match part:
        case Parts(children):
            return replace(part, children=tuple((o, with_default_tokenizer(child)) for o, child in children))
        case Scaled(inner):
            return replace(part, part=with_default_tokenizer(inner))
        case All():
            return part
        case _:
            return replace(part, column=replace(part.column, tokenizer=""))


def leaves(part: Part) -> list[Part]:
    """Return the parts without children."""
    match part:
        case Parts(children):
            return [leaf for _, child in children for leaf in leaves(child)]
        case Scaled(inner):
            return leaves(inner)
        case _:
            return [part]


@dataclass(frozen=True)
class BoundQuery:
    """A query bound to columns.

    `column` is set if the query depends on one column only: then it is NULL in rows where the column is null.
    `columns` are all that it searches.
    """

    part: Part
    column: MappedField | None
    columns: tuple[MappedField, ...]

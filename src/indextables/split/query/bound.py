"""A query whose columns are known and whose words are the index's own: one part for one Tantivy query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from indextables.schema import MappedField
from indextables.split.query.tree import Limit, Occur, Pieces


@dataclass(frozen=True)
class Terms:
    """One token, or several at their positions (`slop` apart). With `prefix`, the last one may go on."""

    column: MappedField
    words: tuple[tuple[int, str], ...]
    slop: int = 0
    prefix: bool = False


@dataclass(frozen=True)
class Regexes:
    """One pattern for a term, or several for terms that follow one another."""

    column: MappedField
    patterns: tuple[Pieces, ...]


@dataclass(frozen=True)
class Near:
    column: MappedField
    word: str
    distance: int


@dataclass(frozen=True)
class Numbers:
    """Inclusive bounds in the integers of the index."""

    column: MappedField
    low: int | None
    high: int | None


@dataclass(frozen=True)
class TermRange:
    column: MappedField
    lower: Limit | None
    upper: Limit | None


@dataclass(frozen=True)
class TermSet:
    column: MappedField
    words: tuple[str, ...]


@dataclass(frozen=True)
class Present:
    column: MappedField


@dataclass(frozen=True)
class All:
    pass


@dataclass(frozen=True)
class Scaled:
    part: Part
    factor: float


@dataclass(frozen=True)
class Parts:
    """Without any, it matches nothing, and is left out of what it stands in."""

    children: tuple[tuple[Occur, Part], ...] = ()


WordLeaf: TypeAlias = Terms | Regexes | Near | TermRange | TermSet
"""The parts that ask for words or whole values of one column."""

Part: TypeAlias = WordLeaf | Numbers | Present | All | Scaled | Parts

NOTHING: Final = Parts()

Built = TypeVar("Built")


def clauses(
    parts: Parts, build: Callable[[Part], Built | None], everything: Callable[[], Built]
) -> list[tuple[Occur, Built]] | None:
    """Build the clauses of a Boolean query; None if it is nothing, to be left out of what it stands in.

    `build` returns None for parts that are nothing. Tantivy matches no row by negations alone; here they mean
    all rows but those, so that `everything` joins them.
    """
    parts = _flattened(parts)
    kept = [(occur, built) for occur, child in parts.children if (built := build(child)) is not None]
    if all(occur is Occur.MUST_NOT for occur, _ in kept):
        if not parts.children or (
            not kept and any(occur is not Occur.MUST_NOT for occur, _ in parts.children)
        ):
            return None
        kept.append((Occur.MUST, everything()))
    return kept


def _flattened(parts: Parts) -> Parts:
    """Pull up children that are joined the same way, as Tantivy does: it decides how scores add up."""
    children: list[tuple[Occur, Part]] = []
    for occur, child in parts.children:
        inner = _flattened(child) if isinstance(child, Parts) else child
        if (
            isinstance(inner, Parts)
            and occur is not Occur.MUST_NOT
            and all(o is occur for o, _ in inner.children)
        ):
            children.extend(inner.children)
        else:
            children.append((occur, inner))
    return Parts(tuple(children))


def leaves(part: Part) -> list[Part]:
    """Return the parts that have no parts themselves."""
    match part:
        case Parts(children):
            return [leaf for _, child in children for leaf in leaves(child)]
        case Scaled(inner):
            return leaves(inner)
        case _:
            return [part]


@dataclass(frozen=True)
class BoundQuery:
    """`column` is the one column that decides the query, which is NULL where the column is; else None."""

    part: Part
    column: MappedField | None
    columns: tuple[MappedField, ...]

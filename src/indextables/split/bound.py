"""A query whose columns are known and whose words are the index's own: one part for one Tantivy query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from indextables.schema import MappedField
from indextables.split.query import Limit, Occur


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
    patterns: tuple[str, ...]


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


Part: TypeAlias = Terms | Regexes | Near | Numbers | TermRange | TermSet | Present | All | Scaled | Parts

NOTHING: Final = Parts()


@dataclass(frozen=True)
class BoundQuery:
    """`column` is the one column that decides the query, which is NULL where the column is; else None."""

    part: Part
    column: MappedField | None
    columns: tuple[MappedField, ...]

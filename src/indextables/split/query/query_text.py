"""Queries as text: the parts of a bound one for explanations, and one for a text that is looked for as it is."""

from __future__ import annotations

from typing import Final

from indextables.errors import QueryError
from indextables.split.query import bound as kinds
from indextables.split.query.regexes import engine_form
from indextables.split.query.scanner import FIELD_STOPS
from indextables.split.query.tree import Limit, Pieces

_SHOWN_WORDS: Final = 5
_ESCAPED: Final = frozenset('"\\*?')


def clause_text(column: str, text: str) -> str:
    r"""Return the query that looks for a text, without wildcards, in a column.

    QueryError for a column whose name the query language cannot say.

    >>> print(clause_text("my column", 'say "a*b"'))
    my\ column:"say \"a\*b\""
    """
    if not column or column[0] == "-" or any(c.isspace() and c != " " for c in column):
        raise QueryError(
            f"a query cannot name the column {column!r}: search it with where, by an operator of SQL"
        )
    name = "".join(f"\\{character}" if character in FIELD_STOPS else character for character in column)
    quoted = "".join(f"\\{character}" if character in _ESCAPED else character for character in text)
    return f'{name}:"{quoted}"'


def part_text(part: kinds.Part) -> str:
    """Return what a part of a query without other parts in it looks for, without the name of its column."""
    match part:
        case kinds.Terms(_, words, slop, prefix):
            return _phrase([word for _, word in words], slop) + ("*" if prefix else "")
        case kinds.Regexes(_, patterns, slop):
            return _phrase([_pattern(pieces) for pieces in patterns], slop)
        case kinds.Matching(_, expression):
            return f"/{engine_form(expression)}/"
        case kinds.Near(_, word, distance):
            return f"{word}~{distance}"
        case kinds.TermSet(_, words):
            more = " ..." if len(words) > _SHOWN_WORDS else ""
            return f"IN [{' '.join(words[:_SHOWN_WORDS])}{more}]"
        case kinds.TermRange(_, lower, upper):
            opening = "[" if lower is None or lower.inclusive else "{"
            closing = "]" if upper is None or upper.inclusive else "}"
            return f"{opening}{_limit(lower)} TO {_limit(upper)}{closing}"
        case kinds.Numbers():
            return "a range of values"
        case kinds.Entry():
            return "an entry of the map"
        case _:
            return "*"


def _phrase(words: list[str], slop: int) -> str:
    if len(words) == 1:
        return words[0]
    return f'"{" ".join(words)}"' + (f"~{slop}" if slop else "")


def _pattern(pieces: Pieces) -> str:
    return "".join(piece if isinstance(piece, str) else piece.value for piece in pieces)


def _limit(limit: Limit | None) -> str:
    return "*" if limit is None else limit.text

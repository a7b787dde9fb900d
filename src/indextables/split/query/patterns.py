"""Words with wildcards: the words that a pattern spans, and each as a regular expression of Tantivy."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import Final

from indextables.split.index import analyzer
from indextables.split.query.tree import Pieces, Wildcard

_ANY: Final = r"[\s\S]*"
_ONE: Final = r"[\s\S]"
_SPECIAL: Final = frozenset(r"\.+*?()|[]{}^$#&-~")


def pattern_words(pieces: Pieces) -> tuple[Pieces, ...]:
    """Return the pattern of each word that a pattern over a text column spans.

    >>> pattern_words(("Web-conn", Wildcard.ANY))
    (('web',), ('conn', <Wildcard.ANY: '*'>))
    """
    words: list[list[str | Wildcard]] = [[]]
    for piece in pieces:
        if isinstance(piece, Wildcard):
            words[-1].append(piece)
            continue
        for is_word, run in groupby(map(_token_character, piece), bool):
            if is_word:
                words[-1].append("".join(run))
            elif words[-1]:
                words.append([])
    return tuple(tuple(word) for word in words if word)


def regex(pieces: Pieces) -> str:
    wild = {Wildcard.ANY: _ANY, Wildcard.ONE: _ONE}
    return "".join(escape(piece) if isinstance(piece, str) else wild[piece] for piece in pieces)


def prefix_regex(text: str) -> str:
    return escape(text) + _ANY


def escape(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


@lru_cache(maxsize=4096)
def _token_character(character: str) -> str:
    """The character as it stands in a word, lower case; empty if words end at it."""
    found = analyzer().analyze(character)
    return found[0] if found else ""

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
    """Split a pattern over a text column into one pattern for each word.

    >>> pattern_words(("Web-conn", Wildcard.ANY))
    (('web',), ('conn', <Wildcard.ANY: '*'>))
    """
    words: list[list[str | Wildcard]] = [[]]
    for piece in pieces:
        if isinstance(piece, Wildcard):
            words[-1].append(piece)
            continue
        for is_word, run in groupby(map(token_characters, piece), bool):
            if is_word:
                words[-1].append("".join(run))
            elif words[-1]:
                words.append([])
    return tuple(tuple(word) for word in words if word)


def regex(pieces: Pieces) -> str:
    """Return the regular expression of a pattern."""
    wild = {Wildcard.ANY: _ANY, Wildcard.ONE: _ONE}
    return "".join(escape(piece) if isinstance(piece, str) else wild[piece] for piece in pieces)


def prefix_regex(text: str) -> str:
    """Return the regular expression for words with a prefix."""
    return escape(text) + _ANY


def escape(text: str) -> str:
    """Escape the special characters of Tantivy's regular expressions."""
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


@lru_cache(maxsize=4096)
def token_characters(character: str) -> str:
    """Return a character as words have it, in lower case; empty if it separates words."""
    words = analyzer().analyze(character)
    return words[0] if words else ""

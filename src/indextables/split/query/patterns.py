"""Words with wildcards: the words that a pattern spans, and each as a regular expression of Tantivy."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

from indextables.schema import TOKENIZER
from indextables.split.index import tokenizer
from indextables.split.query.tree import Pieces, Wildcard

_ANY: Final = r"[\s\S]*"
_ONE: Final = r"[\s\S]"
_SPECIAL: Final = frozenset(r"\.+*?()|[]{}^$#&-~")


class PatternError(ValueError):
    """A pattern that the words of a column cannot answer. The message says what to write."""


def pattern_words(pieces: Pieces, name: str = TOKENIZER) -> tuple[Pieces, ...]:
    """Split a pattern over a text column into one pattern for each word.

    PatternError if a wildcard stands for characters that are words of their own, or the column has no whole words.

    >>> pattern_words(("Web-conn", Wildcard.ANY))
    (('web',), ('conn', <Wildcard.ANY: '*'>))
    """
    used = tokenizer(name)
    if used.recipe.grams:
        raise PatternError(
            "the column is indexed by runs of characters: write the characters without wildcards to find them anywhere"
        )
    words: list[list[str | Wildcard]] = [[]]
    for piece in _without_outer_stars(pieces, name):
        if isinstance(piece, Wildcard):
            words[-1].append(piece)
            continue
        characters = [token_characters(character, name) for character in used.separate(piece)]
        for is_word, run in groupby(characters, bool):
            if is_word:
                words[-1].append("".join(run))
            elif words[-1]:
                words.append([])
    return tuple(tuple(word) for word in words if word)


def _without_outer_stars(pieces: Pieces, name: str) -> Pieces:
    """Drop a `*` next to a character that is a word of its own, where the text may go on anyway."""
    is_single = tokenizer(name).is_single
    if (
        len(pieces) > 1
        and pieces[-1] is Wildcard.ANY
        and isinstance(pieces[-2], str)
        and is_single(pieces[-2][-1])
    ):
        pieces = pieces[:-1]
    if (
        len(pieces) > 1
        and pieces[0] is Wildcard.ANY
        and isinstance(pieces[1], str)
        and is_single(pieces[1][0])
    ):
        pieces = pieces[1:]
    for before, after in pairwise(pieces):
        for text, wildcard, edge in ((before, after, -1), (after, before, 0)):
            if isinstance(text, str) and isinstance(wildcard, Wildcard) and is_single(text[edge]):
                raise PatternError(
                    f"{text[edge]!r} is a word of its own, as all characters of Chinese, Japanese and Thai: write the "
                    "parts without wildcards and join them by AND, or put them in quotes with ~"
                )
    return pieces


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


@lru_cache(maxsize=8192)
def token_characters(character: str, name: str = TOKENIZER) -> str:
    """Return a character as words have it, as a rule in lower case; empty if it separates words."""
    return tokenizer(name).character(character)

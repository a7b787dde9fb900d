"""Text into the words that the index holds, and patterns over them."""

from __future__ import annotations

from functools import cache, lru_cache

import tantivy

from indextables.split.fields import MAX_TOKEN_BYTES, analyzer
from indextables.split.query import Pieces, Wildcard

_ANY = r"[\s\S]*"
_ONE = r"[\s\S]"
_SPECIAL = frozenset(r"\.+*?()|[]{}^$#&-~")


def tokens(text: str) -> tuple[tuple[int, str], ...]:
    """The words of a text at their positions.

    >>> tokens("Timed-out, twice")
    ((0, 'timed'), (1, 'out'), (2, 'twice'))
    """
    return tuple((token.position, token.text) for token in analyzer().pre_tokenize(text).tokens)


def too_long(text: str) -> str | None:
    """The first word that the tokenizer would drop for its length."""
    if len(text) <= MAX_TOKEN_BYTES // 4:
        return None
    words = _uncut().analyze(text)
    return next((word for word in words if len(word.encode()) > MAX_TOKEN_BYTES), None)


def pattern_words(pieces: Pieces) -> tuple[str, ...]:
    r"""A pattern over a text column, as one regular expression for each word that it spans.

    >>> pattern_words(("Web-conn", Wildcard.ANY))
    ('web', 'conn[\\s\\S]*')
    """
    words: list[list[str | Wildcard]] = [[]]
    for piece in pieces:
        if isinstance(piece, Wildcard):
            words[-1].append(piece)
            continue
        for character in piece:
            if lowered := _token_character(character):
                words[-1].append(lowered)
            elif words[-1]:
                words.append([])
    return tuple(regex(tuple(word)) for word in words if word)


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


@cache
def _uncut() -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).build()

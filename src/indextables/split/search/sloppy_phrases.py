"""Phrases with slop, as Lucene defines them, by the words of a text.

Each word of the phrase is moved to a place where the text has it. The phrase matches if the words are moved by amounts
that differ by at most `slop`: `"a b"~1` matches `a x b`, and `"a b"~2` also matches `b a`. The words of the phrase,
also repeated ones and patterns that match the same word, are different words of the text.

Tantivy decides this exactly for two different words. For three and more it adds the slop of each pair, and it matches a
repeated word with itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from indextables.split.query import Regexes, Terms, WordTest, accepted_words


def index_decides_slop(leaf: Terms | Regexes) -> bool:
    """Return True if Tantivy finds exactly the rows that match a phrase."""
    if isinstance(leaf, Regexes):
        return not leaf.slop or len(leaf.patterns) == 1
    words = [word for _, word in leaf.words]
    return not leaf.slop or len(words) == 1 or (len(words) == 2 and words[0] != words[1])


def has_sloppy_phrase(
    tests: Sequence[tuple[int, WordTest]], slop: int, row: Sequence[tuple[int, str]]
) -> bool:
    """Return True if the words of a text, with their positions, contain the phrase of some tests."""
    return next(sloppy_matches(tests, slop, row), None) is not None


def sloppy_matches(
    tests: Sequence[tuple[int, WordTest]], slop: int, row: Sequence[tuple[int, str]]
) -> Iterator[list[int]]:
    """Yield the positions of the words of each match of a phrase.

    For each least move of a word, the others must have different places within the slop.
    """
    accepted = {test: accepted_words(test, (word for _, word in row)) for _, test in tests}
    places = [[at for at, word in row if word in accepted[test]] for _, test in tests]
    if not all(places):
        return
    offsets = [offset for offset, _ in tests]
    moves = {at - offset for offset, here in zip(offsets, places, strict=True) for at in here}
    for least in moves:
        match = _fit(offsets, places, least, slop)
        if match is not None:
            yield match


def _fit(offsets: list[int], places: list[list[int]], least: int, slop: int) -> list[int] | None:
    """Return a place for every word that moves it by `least` to `least + slop`; None if there are no such places.

    This is a matching of words and places, found by augmenting paths.
    """
    allowed = []
    for offset, here in zip(offsets, places, strict=True):
        first = bisect_left(here, offset + least)
        last = bisect_left(here, offset + least + slop + 1)
        if first == last:
            return None
        allowed.append(here[first:last])
    taken: dict[int, int] = {}

    def place(word: int, tried: set[int]) -> bool:
        for at in allowed[word]:
            if at not in tried:
                tried.add(at)
                if at not in taken or place(taken[at], tried):
                    taken[at] = word
                    return True
        return False

    return list(taken) if all(place(word, set()) for word in range(len(allowed))) else None

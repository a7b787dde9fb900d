"""Phrases with slop, as Lucene defines them, by the words of a text.

Each word of the phrase is moved to a place where the text has it. The phrase matches if the words are moved by amounts
that differ by at most `slop`: `"a b"~1` matches `a x b`, and `"a b"~2` also matches `b a`. Repeated words of the phrase
are different words of the text.

Tantivy decides this exactly for two different words. For three and more it adds the slop of each pair, and it matches a
repeated word with itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from indextables.split.query import Terms


def index_decides_slop(leaf: Terms) -> bool:
    """Return True if Tantivy finds exactly the rows that match a phrase."""
    words = [word for _, word in leaf.words]
    return not leaf.slop or len(words) == 1 or (len(words) == 2 and words[0] != words[1])


def has_sloppy_phrase(leaf: Terms, row: Sequence[tuple[int, str]]) -> bool:
    """Return True if the words of a text, with their positions, contain the phrase.

    For each least move, the words take the first free place that their slop allows. All words have the same slop, so
    that no later choice is better.
    """
    sought = {word for _, word in leaf.words}
    places: dict[str, list[int]] = {word: [] for word in sought}
    for at, word in row:
        if word in sought:
            places[word].append(at)
    if not all(places.values()):
        return False
    moves = {at - offset for offset, word in leaf.words for at in places[word]}
    return any(_fits(leaf, places, least) for least in moves)


def _fits(leaf: Terms, places: dict[str, list[int]], least: int) -> bool:
    """Return True if every word has a place that moves it by `least` to `least + slop`."""
    free: dict[str, int] = {}
    for offset, word in leaf.words:
        first = max(free.get(word, 0), bisect_left(places[word], offset + least))
        if first == len(places[word]) or places[word][first] > offset + least + leaf.slop:
            return False
        free[word] = first + 1
    return True

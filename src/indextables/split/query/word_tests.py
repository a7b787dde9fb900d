"""Tests of single words without an index.

A leaf of a bound query matches one word, or several at positions. For words that the index lacks, these tests give the
answer that Tantivy gives for words in the index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from indextables.runtime import lazy_property
from indextables.split.index import bytes_as_written
from indextables.split.query.bound import Matching, Near, Regexes, TermRange, Terms, TermSet, WordLeaf
from indextables.split.query.regexes import Expression, longest_match, matching_words
from indextables.split.query.tree import Limit, Pieces, Wildcard

Run: TypeAlias = str | list[str | None]
"""The characters between two `*`; None is any character."""

_CHARACTER_BYTES: Final = 4
"""The most bytes of one character in UTF-8."""


class WordTest(Protocol):
    """A condition on one word."""

    def accepts(self, word: str) -> bool: ...

    @property
    def longest(self) -> float:
        """The most bytes that an accepted word can have, as it is written in the row."""


@dataclass(frozen=True)
class OneOf:
    """Accepts some words."""

    words: frozenset[str]

    def accepts(self, word: str) -> bool:
        return word in self.words

    @property
    def longest(self) -> float:
        return max(map(bytes_as_written, self.words), default=0)


@dataclass(frozen=True)
class Begins:
    """Accepts words with a prefix."""

    prefix: str
    longest: float = float("inf")

    def accepts(self, word: str) -> bool:
        return word.startswith(self.prefix)


@dataclass(frozen=True)
class Between:
    """Accepts a range of words, in the order of their bytes, which is also the order of Python's strings."""

    lower: Limit | None
    upper: Limit | None
    longest: float = float("inf")

    def accepts(self, word: str) -> bool:
        low, high = self.lower, self.upper
        return (low is None or low.text < word or (low.inclusive and low.text == word)) and (
            high is None or word < high.text or (high.inclusive and high.text == word)
        )


@dataclass(frozen=True)
class Fits:
    """Accepts words that match a pattern.

    Each run between two `*` is matched at the first possible place, since a later place leaves fewer characters for the
    runs after it.
    """

    pieces: Pieces

    def accepts(self, word: str) -> bool:
        first, *middle, last = self._runs if len(self._runs) > 1 else ("", *self._runs)
        end = len(word) - len(last)
        if len(self._runs) == 1:
            return end == 0 and _fits_at(last, word, 0)
        if end < len(first) or not _fits_at(first, word, 0) or not _fits_at(last, word, end):
            return False
        at = len(first)
        for run in middle:
            start = _first_fit(run, word, at, end)
            if start < 0:
                return False
            at = start + len(run)
        return True

    @property
    def longest(self) -> float:
        if Wildcard.ANY in self.pieces:
            return float("inf")
        return sum(
            bytes_as_written(piece) if isinstance(piece, str) else _CHARACTER_BYTES for piece in self.pieces
        )

    @lazy_property
    def _runs(self) -> list[Run]:
        runs: list[list[str | None]] = [[]]
        for piece in self.pieces:
            if piece is Wildcard.ANY:
                runs.append([])
            else:
                runs[-1].extend(piece if isinstance(piece, str) else [None])
        return [run if None in run else "".join(filter(None, run)) for run in runs]


@dataclass(frozen=True)
class Alike:
    """Accepts words at most `distance` edits away; a swap of two adjacent characters is one edit."""

    word: str
    distance: int

    def accepts(self, word: str) -> bool:
        return _edits(self.word, word, self.distance) <= self.distance

    @property
    def longest(self) -> float:
        return bytes_as_written(self.word) + self.distance * _CHARACTER_BYTES


@dataclass(frozen=True)
class Matches:
    """Accepts words that match a regular expression."""

    expression: Expression

    def accepts(self, word: str) -> bool:
        return bool(matching_words(self.expression, [word]))

    @property
    def longest(self) -> float:
        return longest_match(self.expression) * _CHARACTER_BYTES


def accepted_words(test: WordTest, words: Iterable[str]) -> set[str]:
    """Return the words that a test accepts; many at once cost less than one by one."""
    if isinstance(test, Matches):
        return matching_words(test.expression, list(set(words)))
    return {word for word in set(words) if test.accepts(word)}


def positioned_tests(leaf: WordLeaf) -> list[tuple[int, WordTest]]:
    """Return the tests that the words of a match pass, each with the position of the word."""
    match leaf:
        case Terms(_, words, _, prefix):
            tests: list[tuple[int, WordTest]] = [(at, OneOf(frozenset({word}))) for at, word in words]
            if prefix:
                tests[-1] = (words[-1][0], Begins(words[-1][1]))
            return tests
        case Regexes(_, patterns):
            return [(at, _fits(pieces)) for at, pieces in enumerate(patterns)]
        case Matching(_, expression):
            return [(0, Matches(expression))]
        case Near(_, word, distance):
            return [(0, Alike(word, distance))]
        case TermSet(_, words):
            return [(0, OneOf(frozenset(words)))]
        case TermRange(_, lower, upper):
            return [(0, Between(lower, upper))]


def _fits(pieces: Pieces) -> WordTest:
    match pieces:
        case (str(prefix), Wildcard.ANY):
            return Begins(prefix)
        case _:
            return Fits(pieces)


def _fits_at(run: Run, word: str, at: int) -> bool:
    if isinstance(run, str):
        return word.startswith(run, at)
    return all(character is None or character == word[at + i] for i, character in enumerate(run))


def _first_fit(run: Run, word: str, start: int, end: int) -> int:
    """Return the first position between two others at which the run matches, or -1."""
    if isinstance(run, str):
        return word.find(run, start, end)
    return next((at for at in range(start, end - len(run) + 1) if _fits_at(run, word, at)), -1)


def _edits(a: str, b: str, most: int) -> int:
    """Return the number of edits between two words, or any number above `most`.

    Only the cells of the table that are at most `most` away from the diagonal are computed.
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    far = most + 1
    before: dict[int, int] = {}
    row = {j: j for j in range(min(most, len(b)) + 1)}
    for i in range(1, len(a) + 1):
        current: dict[int, int] = {}
        for j in range(max(0, i - most), min(len(b), i + most) + 1):
            if j == 0:
                current[j] = i
                continue
            same = a[i - 1] == b[j - 1]
            best = min(
                row.get(j, far) + 1,
                current.get(j - 1, far) + 1,
                row.get(j - 1, far) + (not same),
            )
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, before.get(j - 2, far) + 1)
            current[j] = best
        before, row = row, current
    return row.get(len(b), far)

"""What scores the rows of a split can have, to tell rows of equal score apart from those that only seem equal.

The engine returns rows in the order of 32-bit bounds, and equal bounds in the order of positions. Rows of templated
text have the same bound by the thousand, and equal bounds need not be equal scores. But a score follows from the length
of each column in the row and from how often the row has each word. A split has few lengths, and no word is in a text
more often than the text has words. So all possible scores can be listed without looking at a row. If a row whose bound
is at most that of the last row seen cannot have a greater score than a row of the answer, no further row is scored.

Rows with the same lengths and frequencies have the same bound if the engine always adds the same numbers in the same
order. It does so for words that all must match. It adds those of alternatives in any order, which makes no difference
for two of them: see `Weighting.stable`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from indextables.schema import MappedField
from indextables.split.index import longest, shortest
from indextables.split.query import Occur, Part, Parts, Regexes, Scaled, Terms
from indextables.split.search.global_ranking import Corpus, Weighting, bm25

Numbers: TypeAlias = npt.NDArray[np.float64]
Bounds: TypeAlias = npt.NDArray[np.float32]

_MOST: Final = 1 << 15
"""Beyond this many combinations of lengths and frequencies, which long texts and many words have, none are listed."""

_MOST_EXACT: Final = 100
"""Of at most so many combinations is the score calculated to the last digit."""

_BOUND_ERROR: Final = 2.5 * 2**-23
"""How far a bound of the engine may be from the one calculated here, as a fraction. Both calculate in 32 bits in the
same order: the last bit of a logarithm may differ, and then the three roundings after it.
"""

_ORDER_ERROR: Final = 2**-24
"""How much the order in which numbers of 32 bits are added can change their sum, for each of them."""

_SUM_ERROR: Final = 1e-12
"""The same of a sum of a few numbers of 64 bits."""


@dataclass(frozen=True)
class _Leaf:
    """A word, phrase or constant in a query: what it adds to scores and bounds."""

    part: Part
    boost: float

    @property
    def terms(self) -> Terms | None:
        """The word or phrase; None for a constant."""
        return self.part if isinstance(self.part, Terms) and not self.part.prefix else None

    @property
    def column(self) -> MappedField | None:
        return None if self.terms is None else self.terms.column


@dataclass(frozen=True)
class Ceiling:
    """The greatest score that rows with at most some bound can have; `is_sole` if only rows with one bound have it."""

    score: float
    is_sole: bool


class PossibleScores:
    """All scores that rows of one split can have for a query, with their bounds.

    `addends` has a row for each combination and a column for each part of the query. `kinds` says which columns are
    alike.
    """

    def __init__(self, bounds: Bounds, addends: Numbers, kinds: Sequence[int], *, is_stable: bool) -> None:
        order = np.argsort(bounds)
        self._bounds, self._addends, self._kinds = bounds[order].astype(np.float64), addends[order], kinds
        self._scores = self._addends.sum(axis=1)
        self._greatest = np.maximum.accumulate(self._scores)
        self.is_stable = is_stable
        self._error = _BOUND_ERROR + len(kinds) * _ORDER_ERROR
        self._is_trusted = True
        self._observed: set[tuple[float, float]] = set()
        self._soles: dict[float, float | None] = {}

    def observe(self, bound: float, score: float) -> None:
        """Compare with a row that was scored. If no combination has both its bound and its score, trust none."""
        if (bound, score) in self._observed:
            return
        self._observed.add((bound, score))
        start, end = self._places(bound)
        exact = (math.fsum(addends) for addends in self._addends[start:end].tolist())
        self._is_trusted = self._is_trusted and score in exact

    def _places(self, bound: float) -> tuple[int, int]:
        """Return the first and the last place, exclusive, of the combinations with about this bound."""
        start = int(np.searchsorted(self._bounds, bound * (1 - self._error), side="left"))
        return start, int(np.searchsorted(self._bounds, bound * (1 + self._error), side="right"))

    def ceiling(self, bound: float) -> Ceiling | None:
        """Return the greatest score of the rows with at most this bound; None if it cannot be told exactly."""
        _, end = self._places(bound)
        if not end or not self._is_trusted:
            return None
        near = np.flatnonzero(self._scores[:end] >= self._greatest[end - 1] * (1 - _SUM_ERROR))
        if len(near) > _MOST_EXACT:
            return None
        exact = [math.fsum(self._addends[at].tolist()) for at in near]
        score = max(exact)
        alike = {self._signature(int(at)) for at, one in zip(near, exact, strict=True) if one == score}
        return Ceiling(score, self.is_stable and len(alike) == 1)

    def sole(self, bound: float) -> float | None:
        """Return the score of all rows with a bound; None if they may have several."""
        if not self._is_trusted:
            return None
        if bound not in self._soles:
            start, end = self._places(bound)
            near = self._addends[start : min(end, start + _MOST_EXACT + 1)].tolist()
            scores = set(map(math.fsum, near)) if len(near) <= _MOST_EXACT else set()
            self._soles[bound] = scores.pop() if len(scores) == 1 else None
        return self._soles[bound]

    def _signature(self, at: int) -> tuple[float, tuple[tuple[int, float], ...]]:
        """Return what decides the bound of a combination: combinations of like words may differ in their order."""
        addends = self._addends[at].tolist()
        added = [(kind, value) for kind, value in zip(self._kinds, addends, strict=True) if value]
        return float(self._bounds[at]), tuple(sorted(added) if len(added) <= 2 else added)


def possible_scores(
    parts: Sequence[Part],
    weighting: Weighting,
    lengths: Callable[[MappedField], Sequence[int] | None],
    *,
    segments: int,
) -> PossibleScores | None:
    """Return the scores that rows can have for some queries; None if they are too many, or not known.

    `lengths` has the codes of the lengths of a column in the split.
    """
    split, corpus = weighting.split, weighting.corpus
    leaves = [leaf for part in parts for leaf in _leaves(part, 1.0, split)]
    if not all(_is_known(leaf.part) for leaf in leaves):
        return None
    columns = dict.fromkeys(leaf.column for leaf in leaves if leaf.column is not None)
    bounds, addends = np.zeros(1, np.float32), np.zeros((1, 0))
    order: list[_Leaf] = []
    for column in [*columns, None]:
        own = [leaf for leaf in leaves if leaf.column == column]
        codes = (0,) if column is None else lengths(column)
        if codes is None or (listed := _of_column(own, codes, weighting)) is None:
            return None
        if len(bounds) * len(listed[0]) > _MOST:
            return None
        first, second = (grid.ravel() for grid in np.indices((len(bounds), len(listed[0]))))
        bounds = (bounds[first] + listed[0][second]).astype(np.float32)
        addends = np.hstack([addends[first], listed[1][second]])
        order += own
    kinds = [_kind(leaf, corpus, split) for leaf in order]
    alive = len(leaves)
    is_stable = alive <= 2 or (
        segments == 1 and len(parts) == 1 and all(_is_stable(part, weighting) for part in parts)
    )
    return PossibleScores(bounds, addends, [kinds.index(kind) for kind in kinds], is_stable=is_stable)


def _leaves(part: Part, boost: float, split: Corpus) -> Iterator[_Leaf]:
    """Yield the parts that can add to a score in the split."""
    match part:
        case Scaled(inner, factor):
            yield from _leaves(inner, boost * factor, split)
        case Parts(children):
            for occur, child in children:
                if occur is not Occur.MUST_NOT:
                    yield from _leaves(child, boost, split)
        case Terms(prefix=False):
            if all(split.frequencies[(part.column.name, word)] for _, word in part.words):
                yield _Leaf(part, boost)
        case _:
            yield _Leaf(part, boost)


def _is_known(part: Part) -> bool:
    """Return True for what scores by BM25, and for what adds 1. The engine scores some phrases of patterns itself."""
    match part:
        case Terms():
            return not part.prefix or len(part.words) == 1
        case Regexes():
            return len(part.patterns) == 1
        case _:
            return True


def _of_column(
    leaves: Sequence[_Leaf], codes: Sequence[int], weighting: Weighting
) -> tuple[Bounds, Numbers] | None:
    """Return the bounds and addends of all combinations of a length of the column and frequencies of its words.

    Combinations of all lengths are listed together: `of` has the number of the length of each.
    """
    most = np.array([min(longest(code), _MOST) for code in codes], np.int64)
    lengths = np.array([shortest(code) for code in codes], np.float64)
    of = np.arange(len(codes))
    bounds, addends = np.zeros(len(codes), np.float32), np.zeros((len(codes), 0))
    used = np.zeros(len(codes), np.int64)
    words: set[tuple[tuple[int, str], ...]] = set()
    for leaf in leaves:
        values = most[of] + 1 if leaf.terms is not None else np.full(len(of), 2)
        if values.sum() > 16 * _MOST:
            return None
        first = np.repeat(np.arange(len(of)), values)
        times = np.arange(len(first)) - np.repeat(np.cumsum(values) - values, values)
        of, used = of[first], used[first]
        fits: slice | npt.NDArray[np.bool_] = slice(None)
        if leaf.terms is not None and len(leaf.terms.words) == 1 and leaf.terms.words not in words:
            words.add(leaf.terms.words)
            used = used + times  # different words are at different places
            fits = used <= most[of]
        first, times, of, used = first[fits], times[fits], of[fits], used[fits]
        if len(of) > _MOST:
            return None
        score, bound = _addend(leaf, times, lengths[of], weighting)
        bounds = (bounds[first] + bound).astype(np.float32)
        addends = np.column_stack([addends[first], score])
    return bounds, addends


def _addend(
    leaf: _Leaf, times: npt.NDArray[np.int64], lengths: Numbers, weighting: Weighting
) -> tuple[Numbers, Bounds]:
    """Return what a part adds to score and bound if it matches texts of some lengths so many times."""
    if leaf.terms is None:
        constant = np.where(times, leaf.boost, 0.0)
        return constant, constant.astype(np.float32)
    column, idf = leaf.terms.column.name, weighting.corpus.weight(leaf.terms)
    whole = weighting.corpus.statistics.average_length(column)
    frequencies = times.astype(np.float64)
    score = leaf.boost * bm25(idf, frequencies, lengths, whole)
    return score, weighting.engine_scores(leaf.terms, leaf.boost, frequencies, lengths)


def _kind(leaf: _Leaf, corpus: Corpus, split: Corpus) -> tuple[object, ...]:
    """Return what decides how the engine calculates what a part adds, apart from length and frequency."""
    if leaf.terms is None:
        return (leaf.boost,)
    column, words = leaf.terms.column.name, [word for _, word in leaf.terms.words]
    frequencies = [of.frequencies[(column, word)] for of in (corpus, split) for word in words]
    return (column, leaf.boost, len(words), *frequencies)


def _is_stable(part: Part, weighting: Weighting) -> bool:
    """Return True if the engine adds the scores of the parts of each row in the same order, or of two in any order."""
    match part:
        case Scaled(inner):
            return _is_stable(inner, weighting)
        case Parts():
            children = weighting.arrange(part).children
            scored = [(occur, child) for occur, child in children if occur is not Occur.MUST_NOT]
            optional = [
                child
                for occur, child in scored
                if occur is Occur.SHOULD and any(_leaves(child, 1.0, weighting.split))
            ]
            return len(optional) <= 2 and all(_is_stable(child, weighting) for _, child in scored)
        case _:
            return True

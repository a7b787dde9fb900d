"""Ranking the rows of several splits by their statistics together.

Each split returns candidates with upper bounds of their scores, best first. Candidates are scored exactly in the order
of their bounds, until the next bound is below the k-th exact score. A split whose candidates run out is asked for more.

Rows of templated text tie by the thousand. Scoring ends before the ties do where the scores that rows can have at all
show that no further row can be among the best: see `PossibleScores`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from indextables.predicates import Predicate
from indextables.runtime import lazy_property
from indextables.split import Corpus, Hits, PossibleScores, RankingStatistics, SplitReader, Weighting
from indextables.table.arguments import MAX_ROWS
from indextables.table.scans.paging import RankKey
from indextables.table.scans.scan import SplitRef

_SLACK: Final = 1 + 1e-4
"""Bounds are sums of 32-bit numbers: what their rounding can take away, with room to spare."""

_MORE: Final = 4
"""How many times more candidates a split is asked for when they run out."""

_MAX_SCORED: Final = 5_000
"""Beyond this many candidates and 20 for each row of the answer, which only many rows of about equal score reach, a
split is not asked for more, and its rows with the same bound count as equal.
"""

_MANY: Final = 50
"""Listing the possible scores of a split takes about as long as scoring twenty rows."""

_Use: TypeAlias = Callable[[SplitRef], AbstractContextManager[SplitReader]]


@dataclass(frozen=True)
class Searched:
    """A split, and the condition with its partition values filled in."""

    ref: SplitRef
    predicate: Predicate


def total_corpus(splits: Sequence[Searched], use: _Use) -> Corpus | None:
    """Return the statistics of all splits together, by which other processes can rank some of them.

    Returns None if the splits cannot be ranked together, as `rank_together` does.
    """
    corpora = _corpora(splits, use)
    return None if corpora is None else _total([split for split in corpora if split is not None])


@dataclass(frozen=True)
class JointRanking:
    """The hits of each split with exact scores, and the statistics that they follow from."""

    hits: list[Hits]
    corpus: Corpus


def rank_together(
    splits: Sequence[Searched],
    use: _Use,
    top: int | None,
    after: RankKey | None = None,
    corpus: Corpus | None = None,
) -> JointRanking | None:
    """Return the hits of each split that can be among the best `top`, those after `after` if it is given; None: all.

    A hit that is certainly before `after` may have the score infinity. `corpus` has the statistics to rank by; without
    it, they are those of the splits. Returns None if the splits cannot be ranked together: one has no statistics, or
    they do not agree on the words.
    """
    corpora = _corpora(splits, use)
    if corpora is None:
        return None
    own_corpora = [split for split in corpora if split is not None]
    if corpus is None:
        corpus = _total(own_corpora)
    elif any(split.frequencies.keys() - corpus.frequencies.keys() for split in own_corpora):
        return None
    asked = top if top is None or after is None else min(top + after.rank, MAX_ROWS)
    ranking = [
        _Candidates(split, use, corpus, own, asked) for split, own in zip(splits, corpora, strict=True)
    ]
    if not all(np.isfinite(candidates.hits.scores).all() for candidates in ranking):
        return None
    _score(ranking, top, after)
    return JointRanking([candidates.scored() for candidates in ranking], corpus)


def _corpora(splits: Sequence[Searched], use: _Use) -> list[Corpus | None] | None:
    """Return the statistics of each split, None in it for one that cannot match; None if they cannot be added."""
    corpora: list[Corpus | None] = []
    queries = None
    for split in splits:
        with use(split.ref) as reader:
            if not reader.may_match(split.predicate):
                corpora.append(None)
                continue
            parts_and_corpus = reader.corpus(split.predicate)
        if parts_and_corpus is None or (queries is not None and parts_and_corpus[0] != queries):
            return None
        queries = parts_and_corpus[0]
        corpora.append(parts_and_corpus[1])
    return corpora


def _total(corpora: Sequence[Corpus]) -> Corpus:
    frequencies: dict[tuple[str, str], int] = {}
    for corpus in corpora:
        for word, count in corpus.frequencies.items():
            frequencies[word] = frequencies.get(word, 0) + count
    return Corpus(RankingStatistics.total(corpus.statistics for corpus in corpora), frequencies)


class _Place(NamedTuple):
    """The place of a row in an answer: a greater one comes earlier, so that `split` and `position` are negative."""

    score: float
    split: int
    position: int
    bound: float


class _Candidates:
    """The candidates of one split, of which the first `len(exact)` are scored."""

    def __init__(
        self, split: Searched, use: _Use, corpus: Corpus, own: Corpus | None, top: int | None
    ) -> None:
        self._split, self._use, self._corpus, self._own = split, use, corpus, own
        self._asked = top
        self.exact: list[float] = []
        self._by_bound: dict[float, float] = {}
        self._weighting = None if own is None else Weighting(corpus, own)
        self._scores: dict[int, float] = {}
        self._possible: dict[bool, PossibleScores | None] = {}
        self._checked: tuple[float, float, int] | None = None
        self.hits = self._ask()

    def _ask(self) -> Hits:
        top = 0 if self._own is None else self._asked
        with self._use(self._split.ref) as reader:
            return reader.best(self._split.predicate, top, self._weighting)

    def bound(self) -> float | None:
        """Return the bound of the next candidate; None if there is no further one."""
        at = len(self.exact)
        return float(self.hits.scores[at]) * _SLACK if at < len(self.hits.rows) else None

    def score(self, *, trusting: bool) -> None:
        """Score the next candidate. If `trusting`, rows with the same bound count as equal."""
        at = len(self.exact)
        bound = float(self.hits.scores[at])
        if bound not in self._by_bound or not (trusting or self._all_have(bound, self._by_bound[bound])):
            self._by_bound[bound] = self._rescore(at)
        self.exact.append(self._by_bound[bound])

    def _rescore(self, at: int) -> float:
        position = int(self.hits.positions[at])
        if position not in self._scores:
            self._look_at(np.arange(at, at + 1))
        possible = self._possible_scores()
        if possible is not None:
            possible.observe(float(self.hits.scores[at]), self._scores[position])
        return self._scores[position]

    def look_ahead(self, count: int) -> None:
        """Compute the exact scores of the first candidates together, which will be scored whatever they are.

        With the possible scores, one candidate of each bound is enough in most cases: `score` finds out. They will be
        needed if the split may have more candidates.
        """
        places = np.arange(min(count, len(self.hits.rows)))
        if self._possible_scores(at_once=len(places) == count) is not None:
            _, places = np.unique(self.hits.scores[places], return_index=True)
        self._look_at(places)

    def _look_at(self, places: npt.NDArray[np.intp]) -> None:
        hits = self.hits.take(places)
        with self._use(self._split.ref) as reader:
            scores = reader.rescore(self._split.predicate, hits, self._corpus)
        self._scores.update(zip(hits.positions.tolist(), scores.tolist(), strict=True))

    def _possible_scores(self, *, at_once: bool = False) -> PossibleScores | None:
        """Return the scores that rows of the split can have, `at_once` or once it is worth while to list them."""
        if self._weighting is None or self._asked is None:
            return None
        is_stable, is_exhausted = self._weighting.stable, len(self.exact) == len(self.hits.rows)
        if is_stable not in self._possible and (at_once or is_exhausted or self._asked >= _MANY):
            with self._use(self._split.ref) as reader:
                possible = reader.possible_scores(self._split.predicate, self._weighting)
            self._possible[is_stable] = possible
            if possible is not None:
                for bound, score in self._by_bound.items():
                    possible.observe(bound, score)
        return self._possible.get(is_stable)

    def _all_have(self, bound: float, score: float) -> bool:
        """Return True if no row with this bound can have another score."""
        possible = self._possible_scores()
        return possible is not None and possible.sole(bound) == score

    def is_settled(self, number: int, worst: _Place) -> bool:
        """Return True if no candidate after the scored ones, seen or not, comes before `worst`.

        `worst` is the last row of an answer that is full, and `number` says which split this is. Further rows have at
        most the bound of the next one. If the greatest score that they can have is less than that of `worst`, they
        come later. If it is the same, they do in a split after that of `worst`, and in its own if rows of this score
        have one bound: the engine returns those in the order of their positions, and `worst` was among them.
        """
        at = min(len(self.exact), len(self.hits.rows) - 1)
        bound = float(self.hits.scores[at])
        state, possible = (bound, worst.score, worst.split), self._possible_scores()
        if self._checked == state or possible is None:
            return False
        self._checked = state
        ceiling = possible.ceiling(bound)
        if ceiling is None or ceiling.score > worst.score:
            return False
        if ceiling.score < worst.score or -worst.split < number:
            return True
        return -worst.split == number and ceiling.is_sole and worst.bound == bound

    def place(self, number: int) -> _Place:
        """Return the place of the candidate that was scored last."""
        at = len(self.exact) - 1
        return _Place(self.exact[at], -number, -int(self.hits.positions[at]), float(self.hits.scores[at]))

    @lazy_property
    def _tightness(self) -> float:
        return 1.0 if self._weighting is None else self._weighting.tightness

    def skip(self, score: float) -> bool:
        """Pass over the next candidate, without scoring it, if its score must be greater than this one."""
        bound = float(self.hits.scores[len(self.exact)])
        is_greater = bound * self._tightness > score * _SLACK
        if is_greater:
            self.exact.append(math.inf)
        return is_greater

    def is_after(self, key: RankKey) -> bool:
        """Return True if the candidate that was scored last comes after a key."""
        at = len(self.exact) - 1
        return key.precedes(self.exact[at], self._split.ref.path, int(self.hits.positions[at]))

    def score_all(self) -> None:
        """Score every candidate. If they are very many, rows with the same bound count as equal."""
        which = copies = np.arange(len(self.hits.rows))
        if len(which) > _MAX_SCORED:
            _, which, copies = np.unique(self.hits.scores, return_index=True, return_inverse=True)
        with self._use(self._split.ref) as reader:
            scores = reader.rescore(self._split.predicate, self.hits.take(which), self._corpus)
        self.exact = scores[copies].tolist()

    def more(self) -> bool:
        """Ask for more candidates when all are scored. Return False if there are none.

        The first time, they may be asked for by stable bounds, which show where ties end. Then `exact` is empty: the
        order is another, and scoring begins again with the scores that are known.
        """
        if self._asked is None or len(self.hits.rows) < self._asked:
            return False
        possible = self._possible_scores()
        is_stable = possible is None or possible.is_stable
        if self._weighting is not None and not is_stable and not self._weighting.stable:
            self._weighting = replace(self._weighting, stable=True)
            self.hits, self.exact, self._by_bound, self._checked = self._ask(), [], {}, None
            return True
        before = len(self.hits.rows)
        self._checked = None
        self._asked *= _MORE
        self.hits = self._ask()
        return len(self.hits.rows) > before

    def scored(self) -> Hits:
        """Return the candidates that were scored, with their exact scores."""
        count = len(self.exact)
        return Hits(self.hits.rows[:count], np.array(self.exact, np.float64), self.hits.positions[:count])


def _score(ranking: Sequence[_Candidates], top: int | None, after: RankKey | None) -> None:
    """Score candidates until no other can be among the best `top`, after a key if one is given.

    Two things hold at the start of each round. `best` has the best `top` places of all candidates that were scored and
    come after the key. `heap` has a bound for each split that may still have a row among the best: no row of it that
    was not scored or passed over has a greater score. So scoring ends when the greatest of the bounds is below the
    worst of `top` places.

    It does end: a round scores or passes over one candidate, or drops a split. A split has no more candidates than
    rows, and begins again with its first one at most once.
    """
    if top is None:
        for candidates in ranking:
            candidates.score_all()
        return
    if top == 0:
        return
    best: list[_Place] = []
    heap = [(-bound, number) for number, of in enumerate(ranking) if (bound := of.bound()) is not None]
    heapq.heapify(heap)
    if len(heap) == 1 and after is None and top < _MANY:
        ranking[heap[0][1]].look_ahead(top)
    scored, most = 0, _MAX_SCORED + 20 * top
    while heap and not (len(best) == top and -heap[0][0] < best[0].score):
        _, number = heapq.heappop(heap)
        candidates = ranking[number]
        if len(best) == top and candidates.is_settled(number, best[0]):
            continue
        if after is None or not candidates.skip(after.score):
            candidates.score(trusting=scored >= most)
            scored += 1
            if after is None or candidates.is_after(after):
                heapq.heappush(best, candidates.place(number))
                if len(best) > top:
                    heapq.heappop(best)
        # Candidates that were passed over say nothing about those after them, however many were scored.
        may_ask = scored < most or (after is not None and len(best) < top)
        bound = _next_bound(candidates, number, best, top, may_ask=may_ask)
        if bound is not None:
            heapq.heappush(heap, (-bound, number))


def _next_bound(
    candidates: _Candidates, number: int, best: list[_Place], top: int, *, may_ask: bool
) -> float | None:
    """Return the bound of a split's next candidate; None if no further row of it can be among the best.

    When the candidates run out, the split is asked for more, if it may be and one of them can be among the best. If the
    split then begins again, in another order, its places in `best` are given up. They come back before scoring ends:
    the bounds of those rows are at least their scores, and what they displaced before has lower ones.
    """
    bound = candidates.bound()
    if bound is not None or not may_ask:
        return bound
    if len(best) == top:
        last = float(candidates.hits.scores[-1]) * _SLACK
        if last < best[0].score or candidates.is_settled(number, best[0]):
            return None
    if not candidates.more():
        return None
    if not candidates.exact:
        best[:] = [place for place in best if place.split != -number]
        heapq.heapify(best)
    return candidates.bound()

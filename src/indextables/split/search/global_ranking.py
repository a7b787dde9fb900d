"""Ranking by the statistics of several splits together, so that scores do not depend on how rows are split.

The engine ranks with the statistics of one split. Here a word or phrase counts

    2.2 * idf * tf / (tf + 1.2 * (0.25 + 0.75 * dl / avgdl))

with `idf` and `avgdl` of all splits of the search, in 64 bits. `tf`, how often the row has it, and `dl`, the length of
the column in the row as the index stores it, are read from the engine's explanation of a hit. That is done for
candidates only. The engine finds them by a query in which each word is boosted by `idf / idf of the split`, and by
`max(1, avgdl / avgdl of the split)`: the largest ratio that the two lengths can make. So the engine's score is an
upper bound of the score of a row.

Patterns, ranges and other parts without words have a constant score in the engine, which is the same in each split.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import orjson
import tantivy
from tantivy import Query

from indextables.split.index import RankingStatistics
from indextables.split.query import Occur, Part, Parts, Scaled, Terms, flatten

Frequency = TypeVar("Frequency", float, npt.NDArray[np.float64])

Word: TypeAlias = tuple[str, str]
"""A column and one of its words."""

_K1: Final = 1.2
_B: Final = 0.75
_NO_MATCH: Final = ("does not match", "Document does not exist")
"""What the engine says of a document that a query does not match; the second of patterns and fuzzy words."""

_FACTORS: Final = (1e-9, 1e12)
"""The boosts for which the engine's 32-bit scores keep their precision."""


@dataclass(frozen=True)
class Corpus:
    """The statistics of the splits of one search: documents, words of each column, and rows that have each word."""

    statistics: RankingStatistics
    frequencies: Mapping[Word, int]

    def weight(self, terms: Terms) -> float:
        """Return the idf of a word, or the sum of those of a phrase."""
        return sum(_idf(self.statistics.documents, self.frequencies[word]) for word in _words(terms))


@dataclass(frozen=True)
class Weighting:
    """A corpus, and the statistics of one split of it.

    The engine adds the scores of alternatives in an order that differs from row to row, so that three 32-bit numbers
    may have several sums. If `stable`, alternatives are nested in pairs: rows with the same addends have the same
    bound. That is slower, as the engine skips rows by the bounds of alternatives that are not nested.
    """

    corpus: Corpus
    split: Corpus
    stable: bool = False

    def bound(self, part: Part) -> Part:
        """Return the part boosted so that the score of each row in this split is at least its score in the corpus."""
        match part:
            case Terms() if not part.prefix:
                return self._bound_terms(part)
            case Scaled(inner, factor):
                return Scaled(self.bound(inner), factor)
            case Parts():
                arranged = self.arrange(part)
                return Parts(
                    tuple(
                        (occur, child if occur is Occur.MUST_NOT else self.bound(child))
                        for occur, child in arranged.children
                    ),
                    arranged.least,
                )
            case _:
                return part

    def arrange(self, part: Parts) -> Parts:
        """Return a combination as the engine adds it: flat, or if `stable`, with at most two alternatives at a time."""
        part = flatten(part)
        optional = [child for occur, child in part.children if occur is Occur.SHOULD]
        if not self.stable or part.least or len(optional) <= 2:
            return part
        while len(optional) > 2:
            optional = [_pair(optional[at : at + 2]) for at in range(0, len(optional), 2)]
        others = [(occur, child) for occur, child in part.children if occur is not Occur.SHOULD]
        return Parts((*others, *((Occur.SHOULD, child) for child in optional)))

    @property
    def tightness(self) -> float:
        """The least that a score in the corpus can be, as a fraction of its bound."""
        columns = {column for column, _ in self.corpus.frequencies}
        averages = [
            [corpus.statistics.average_length(column) for column in columns]
            for corpus in (self.corpus, self.split)
        ]
        ratios = [whole / here for whole, here in zip(*averages, strict=True) if whole and here]
        return min((min(ratio, 1 / ratio) for ratio in ratios), default=1.0)

    def _bound_terms(self, terms: Terms) -> Part:
        if not all(self.split.frequencies[word] for word in _words(terms)):
            return terms  # no row of the split has it
        return Scaled(terms, self._correction(terms))

    def _correction(self, terms: Terms) -> float:
        """Return the boost that makes the engine's score of a word or phrase in this split a bound."""
        column = terms.column.name
        average, here = (corpus.statistics.average_length(column) for corpus in (self.corpus, self.split))
        return self.corpus.weight(terms) / engine_idf(self.split, terms) * max(1.0, average / here)

    def engine_scores(
        self,
        terms: Terms,
        boost: float,
        frequencies: npt.NDArray[np.float64],
        lengths: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float32]:
        """Return the bounds of a word or phrase by its frequency in rows, in 32 bits as the engine calculates them."""
        f32, statistics = np.float32, self.split.statistics
        average = f32(statistics.tokens[terms.column.name]) / f32(statistics.documents)
        relative: npt.NDArray[np.float32] = f32(_B) * lengths.astype(f32) / average
        norm: npt.NDArray[np.float32] = f32(_K1) * (f32(1) - f32(_B) + relative)
        idf, factor = f32(engine_idf(self.split, terms)), f32(boost) * f32(self._correction(terms))
        times = frequencies.astype(f32)
        scores: npt.NDArray[np.float32] = idf * (f32(1) + f32(_K1)) * factor * (times / (times + norm))
        return scores


def _pair(alternatives: Sequence[Part]) -> Part:
    """Return alternatives as one; the boost keeps them from being merged into the alternatives around them."""
    return Scaled(Parts(tuple((Occur.SHOULD, child) for child in alternatives)), 1.0)


def scored_words(part: Part) -> set[Word] | None:
    """Return the words whose statistics rank a query; None if a boost is too extreme for bounds of 32 bits."""
    words: set[Word] = set()
    return words if _collect(part, 1.0, words) else None


def engine_idf(split: Corpus, terms: Terms) -> float:
    """Return the weight that the engine gives a word or phrase of one split, with the precision that it uses."""
    documents, total = split.statistics.documents, np.float32(0)
    one, half = np.float32(1), np.float32(0.5)
    for word in _words(terms):
        frequency = split.frequencies[word]
        rest = np.float32(documents - frequency) + half
        total += np.log(one + rest / (np.float32(frequency) + half))
    return float(total)


def bm25(idf: float, frequency: Frequency, length: Frequency, average_length: float) -> Frequency:
    """Return the score of a word or phrase in a row, or in many rows."""
    relative = length / average_length
    return 2.2 * idf * frequency / (frequency + _K1 * (1 - _B + _B * relative))


class Weight(NamedTuple):
    """What the score of a word or phrase in a row follows from, by BM25."""

    idf: float
    frequency: float
    length: float
    average_length: float

    @property
    def score(self) -> float:
        return bm25(self.idf, self.frequency, self.length, self.average_length)


class Summand(NamedTuple):
    """What a part of a query without other parts in it adds to the score of a row; no weight: a constant."""

    part: Part
    boost: float
    score: float
    weight: Weight | None = None


class Scorer:
    """Computes the exact scores of hits in one split. `compiled` has the queries of `parts_to_explain`.

    Without a corpus, the summands of a score are the engine's, by the statistics of the split.
    """

    def __init__(self, corpus: Corpus | None, searcher: tantivy.Searcher) -> None:
        self.corpus = corpus
        self.compiled: dict[Part, Query] = {}
        self._searcher = searcher
        self._weights: dict[Terms, tuple[float, float]] = {}

    def score(self, parts: Sequence[Part], address: tantivy.DocAddress) -> float:
        """Return the score of a document, which at least one of the parts matches."""
        return math.fsum(summand.score for summand in self.summands(parts, address))

    def summands(self, parts: Sequence[Part], address: tantivy.DocAddress) -> Iterator[Summand]:
        """Yield the summands of a score. Their sum is rounded once, so that it does not depend on their order."""
        for part in parts:
            yield from self._summands(part, address, 1.0, matches=len(parts) == 1)

    def _summands(
        self, part: Part, address: tantivy.DocAddress, boost: float, *, matches: bool
    ) -> Iterator[Summand]:
        """Yield those of one part; none if it does not match. `matches` says that it does."""
        match part:
            case Scaled(inner, factor):
                yield from self._summands(inner, address, boost * factor, matches=matches)
                return
            case Parts(children):
                if matches or self._explain(self.compiled[part], address) is not None:
                    for occur, child in children:
                        if occur is not Occur.MUST_NOT:
                            yield from self._summands(child, address, boost, matches=False)
                return
        explanation = self._explain(self.compiled[part], address)
        if explanation is None:
            return
        if not isinstance(part, Terms) or part.prefix:
            yield Summand(part, boost, boost * float(explanation["value"]))
            return
        weight = _figures(explanation)
        if self.corpus is None:
            yield Summand(part, boost, boost * float(explanation["value"]), weight)
            return
        idf, average = self._weight(part)
        weight = Weight(idf, weight.frequency, weight.length, average)
        yield Summand(part, boost, boost * weight.score, weight)

    def _weight(self, terms: Terms) -> tuple[float, float]:
        if terms not in self._weights and self.corpus is not None:
            average = self.corpus.statistics.average_length(terms.column.name)
            self._weights[terms] = (self.corpus.weight(terms), average)
        return self._weights[terms]

    def _explain(self, query: Query, address: tantivy.DocAddress) -> dict[str, Any] | None:
        try:
            explanation: dict[str, Any] = orjson.loads(query.explain(self._searcher, address).to_json())
        except ValueError as reason:
            if any(words in str(reason) for words in _NO_MATCH):
                return None
            raise
        return explanation


def parts_to_explain(part: Part) -> Iterable[Part]:
    """Yield the parts of a query that `Scorer.score` needs compiled."""
    match part:
        case Scaled(inner):
            yield from parts_to_explain(inner)
        case Parts(children):
            yield part
            for occur, child in children:
                if occur is not Occur.MUST_NOT:
                    yield from parts_to_explain(child)
        case _:
            yield part


def _collect(part: Part, factor: float, words: set[Word]) -> bool:
    match part:
        case Terms() if not part.prefix:
            words.update(_words(part))
            return factor == 0 or _FACTORS[0] <= factor <= _FACTORS[1]
        case Scaled(inner, more):
            return _collect(inner, factor * more, words)
        case Parts(children):
            return all(
                _collect(child, factor, words) for occur, child in children if occur is not Occur.MUST_NOT
            )
        case _:
            return factor == 0 or _FACTORS[0] <= factor <= _FACTORS[1]


def _words(terms: Terms) -> list[Word]:
    return [(terms.column.name, word) for _, word in terms.words]


def _idf(documents: int, frequency: int) -> float:
    return math.log1p((documents - frequency + 0.5) / (frequency + 0.5))


def _figures(explanation: dict[str, Any]) -> Weight:
    while not explanation["description"].startswith("TermQuery"):
        explanation = explanation["details"][0]
    _, idf, saturation = explanation["details"]
    values = {d["description"].split(",")[0]: d["value"] for d in saturation["details"]}
    return Weight(idf["value"], values["freq"], values["dl"], values["avgdl"])

"""Reading one split: the rows for which a predicate is TRUE, in row order or best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.predicates import TRUE, Constant, Predicate, TextQuery
from indextables.rows import RowIds
from indextables.runtime import current
from indextables.schema import POSITION, SCORE, FieldMapping, TableSchema
from indextables.split.container import MANIFEST, MAPPING, open_bundle
from indextables.split.contents import Contents, SplitContents
from indextables.split.decoded_columns import DecodedColumns, take
from indextables.split.deleted_rows import DeltaLogRef, load_deleted_rows
from indextables.split.foreign import ForeignContents, is_foreign
from indextables.split.index import RankingStatistics
from indextables.split.index_cache import open_remote_bundle
from indextables.split.output import WITHOUT_HIT, Output, RowRequest, ScoreBook, matching_rows
from indextables.split.query import Part, with_default_tokenizer
from indextables.split.rows import WINDOW_ROWS
from indextables.split.search import (
    NO_HITS,
    Corpus,
    Hits,
    Plan,
    PossibleScores,
    Scores,
    Weighting,
    Word,
    explanation,
    positive_text_queries,
    scored_words,
)
from indextables.storage import Store, is_on_this_machine

BLOOM_SKIPS: Final = "splits.bloom_skips"
"""Counter of a process: splits whose Bloom filters show that no row can match."""

_FETCHED_AT_ONCE: Final = 10_000
"""How many rows of a ranked answer are read together."""


_COUNTED_AT_ONCE: Final = 1 << 20
"""How many rows of decoded columns are handed out together."""

_MORE_HITS: Final = 16
"""How many hits more than needed are asked for at least, if rows are deleted."""


def open_split(
    store: Store,
    key: str,
    size: int | None = None,
    *,
    settings: Settings | None = None,
    schema: TableSchema | None = None,
    mapping: FieldMapping | None = None,
    keep_end: bool = False,
    delta_log: DeltaLogRef | None = None,
) -> SplitReader:
    """Open a split by reading its end, and its delta log. Nothing else is read before rows are requested.

    `keep_end` keeps the end of a split in an object store in the disk cache, and opens the split from there the next
    time. It is for scans; an operation that checks or rewrites splits reads them as they are.

    `mapping`, or at least `schema`, has the table's columns without the partition columns. Splits of other writers need
    it because they do not record the types of their columns. A split of this package is read as these columns if those
    of the table were changed (see `split_columns`), and otherwise as its own. CorruptTableError if the file is not a
    split.
    """
    resolved = settings or Settings()
    if keep_end and size is not None and not is_on_this_machine(store.uri):
        bundle = open_remote_bundle(store, key, size, resolved)
    else:
        bundle = open_bundle(store, key, size)
    contents: SplitContents | ForeignContents | None = None
    if MAPPING in bundle.members and MANIFEST in bundle.members:
        contents = SplitContents(bundle, resolved, mapping)
    elif is_foreign(bundle):
        contents = ForeignContents(bundle, resolved, schema, mapping)
    if contents is not None:
        contents.deleted = load_deleted_rows(store, delta_log, contents.num_rows)
        return SplitReader(contents, resolved.get(keys.AGGREGATION_COLUMN_CACHE))
    raise CorruptTableError(
        f"{bundle.name} is not a split of a table: it has neither a member {MANIFEST} nor an index"
    )


class SplitReader:
    """An open split, and a context manager that closes it. Deleted rows are in none of its answers.

    `num_rows` is the number of rows in the file, and `num_live` that of the rows that are not deleted.
    """

    def __init__(self, contents: Contents, column_cache: int = 0) -> None:
        self._contents = contents
        self._decoded = DecodedColumns(contents, column_cache)
        self.mapping = contents.mapping
        self.schema = contents.schema
        self.num_rows = contents.num_rows
        self.num_live = contents.num_rows - len(contents.deleted)
        self._kept: tuple[tuple[Predicate, ...], RowIds] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._contents.close()

    @property
    def ranking(self) -> RankingStatistics | None:
        """The ranking statistics, without a further request to the store; None if the split's writer kept none.

        CorruptTableError if they are not those of its rows and columns.
        """
        return self._contents.ranking

    def count(self, predicate: Predicate = TRUE) -> int:
        """Return the number of rows that match, from the footer or the index alone if possible."""
        hits = self.hits(predicate, counting=True)
        if hits is not None:
            return hits
        return sum(batch.num_rows for batch in self.rows(RowRequest((), predicate)))

    def hits(self, predicate: Predicate, *, counting: bool = False, keep: int = 0) -> int | None:
        """Return the number of rows that match, or None if rows must be read to find out.

        Without `counting`, it is also None for a predicate for which `rows` would not use the index. If there are at
        most `keep` hits, they are kept, so that `rows` need not search again.
        """
        if isinstance(predicate, Constant):
            return self.num_live if predicate.value else 0
        if not self._may_match(predicate):
            return 0
        planned = self._contents.plan(predicate, counting=counting)
        if not planned.indexed or planned.residual != TRUE:
            return None
        search = self._contents.search
        query = search.conjunction(planned.indexed, scored=False)
        if len(self._contents.deleted):
            alive = self._contents.deleted.without(search.rows(query, search.count(query)))
            self._kept = (planned.indexed, alive) if len(alive) <= keep else None
            return len(alive)
        if not keep:
            return search.count(query)
        count, rows = search.count_and_rows(query, keep)
        self._kept = None if rows is None else (planned.indexed, rows)
        return count

    @property
    def deleted(self) -> RowIds:
        """The deleted rows, ascending."""
        return self._contents.deleted.rows

    def matching(self, predicate: Predicate) -> RowIds:
        """Return the rows that match, ascending."""
        if self.num_rows == 0 or not self._may_match(predicate):
            return np.empty(0, np.int64)
        planned = self._contents.plan(predicate)
        search = None if not planned.indexed else lambda most: self._search(planned.indexed, most)
        rows = self._matches(planned, search, None)
        return self._contents.deleted.without(np.arange(self.num_rows)) if rows is None else rows

    def values_of(self, rows: RowIds, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of rows, which are ascending, for aggregates. Strings may be dictionary arrays.

        The columns are kept in memory where most of them would be decoded for these rows.
        """
        held = {name: self._decoded.get(name, len(rows)) for name in columns}
        in_memory = {name: values for name, values in held.items() if values is not None}
        rest = [name for name in columns if name not in in_memory]
        step = WINDOW_ROWS if rest else _COUNTED_AT_ONCE
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            read = dict(zip(rest, self._contents.rows.fetch(part, rest).columns, strict=True)) if rest else {}
            arrays = [take(in_memory[name], part) if name in in_memory else read[name] for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def columns_of(self, rows: RowIds, columns: Sequence[str]) -> Iterator[tuple[RowIds, pa.RecordBatch]]:
        """Yield some columns of rows, which are ascending, with the rows that a batch has."""
        for start in range(0, len(rows), WINDOW_ROWS):
            part = rows[start : start + WINDOW_ROWS]
            yield part, self._contents.rows.fetch(part, columns)

    def is_ready(self, predicate: Predicate, *, may_extract: bool) -> bool:
        """Return True if reading can start now, without building an index and, unless allowed, extracting one."""
        searching = not isinstance(predicate, Constant)
        return self._contents.is_ready(searching=searching, may_extract=may_extract) and (
            may_extract or self._contents.answers.is_ready(predicate)
        )

    def load_index(self) -> None:
        """Bring the index into the cache: extract it from the split, or build it for a split of another writer."""
        if self.num_rows:
            _ = self._contents.search

    def prepare(self, predicate: Predicate) -> None:
        """Bring the index into the cache if a search for these rows needs it."""
        if self.may_match(predicate) and self._contents.plan(predicate).indexed:
            self.load_index()

    def rows(self, request: RowRequest) -> Iterator[pa.RecordBatch]:
        """Yield the rows that match, in batches of about ten thousand rows."""
        if request.limit == 0 or request.top == 0 or self.num_rows == 0:
            return
        if not self._may_match(request.predicate):
            return
        scoring = positive_text_queries(request.predicate)
        planned = self._contents.plan(request.predicate)
        if request.top is not None and scoring:
            yield from self._best(request, planned, scoring)
        else:
            limit = min((n for n in (request.limit, request.top) if n is not None), default=None)
            yield from self._in_order(request, planned, scoring, limit)

    def _may_match(self, predicate: Predicate) -> bool:
        may_match = self._contents.may_match(predicate)
        if not may_match:
            current().counters.add(BLOOM_SKIPS)
        return may_match

    def _in_order(
        self, request: RowRequest, planned: Plan, scoring: list[TextQuery], limit: int | None
    ) -> Iterator[pa.RecordBatch]:
        output = Output(self._contents, request, scoring)
        rows: RowIds | None = None
        if planned.indexed:
            enough = limit if planned.residual == TRUE else None
            if scoring and not {SCORE, POSITION}.isdisjoint(request.columns):
                rows = self._live(lambda most: output.scores.search(planned, most), enough)
            else:
                rows = self._live(lambda most: self._search(planned.indexed, most), enough)
        elif limit is not None and planned.residual == TRUE:
            rows = self._contents.deleted.first_alive(limit, self.num_rows)
        remaining = self.num_rows if limit is None else limit
        for window in self._contents.rows.windows(rows, planned.residual):
            batch = output.batch(window, planned.residual, remaining)
            if batch.num_rows:
                remaining -= batch.num_rows
                yield batch
            if remaining <= 0:
                return

    def _live(self, search: Callable[[int | None], RowIds], enough: int | None) -> RowIds:
        """Return the rows that a search finds and that are not deleted: at least `enough`, if there are as many."""
        deleted = self._contents.deleted
        if enough is None or not len(deleted):
            return deleted.without(search(enough))
        # About as many of the hits are deleted as of all rows.
        most = enough + min(len(deleted), _MORE_HITS + 2 * enough * len(deleted) // self.num_rows)
        while True:
            rows = search(most)
            alive = deleted.without(rows)
            if len(alive) >= enough or len(rows) < most:
                return alive
            most = min(16 * most, enough + len(deleted))  # of so many, enough are not deleted

    def _search(self, indexed: tuple[Predicate, ...], limit: int | None) -> RowIds:
        """Return the rows of the indexed part, from `hits` if it has kept them."""
        hits, self._kept = self._kept, None
        if hits is not None and hits[0] == indexed:
            return hits[1][:limit]
        search = self._contents.search
        return search.rows(search.conjunction(indexed, scored=False), limit)

    def _best(self, request: RowRequest, planned: Plan, scoring: list[TextQuery]) -> Iterator[pa.RecordBatch]:
        top = request.top if request.limit is None else min(request.top or 0, request.limit)
        hits = self._rank(planned, scoring, top)
        if len(hits.rows):
            ascending = hits.by_row()
            batches = list(self._fetch(request, ascending, scoring))
            batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
            yield batch.take(pa.array(np.searchsorted(ascending.rows, hits.rows)))

    def corpus(self, predicate: Predicate) -> tuple[tuple[Part, ...], Corpus] | None:
        """Return the bound text queries that rank a predicate, and this split's statistics of their words.

        None if the split has no ranking statistics, or the queries cannot be ranked by those of several splits.
        """
        statistics, scoring = self.ranking, positive_text_queries(predicate)
        if statistics is None or not scoring:
            return None
        search = self._contents.search
        bound = [search.bound(query) for query in dict.fromkeys(scoring)]
        constants = self._contents.constants
        if any(constants.get(column.name) is not None for query in bound for column in query.columns):
            return None  # its words are not in the index
        parts = tuple(query.part for query in bound)
        words: set[Word] = set()
        for part in parts:
            scored = scored_words(part)
            if scored is None:
                return None
            words |= scored
        if not words:
            return None  # all scores are constants, which are the same in each split
        parts = tuple(
            map(with_default_tokenizer, parts)
        )  # splits of two tokenizers that have the same words agree
        return parts, Corpus(statistics, search.frequencies(sorted(words)))

    def frequencies(self, words: Iterable[Word]) -> dict[Word, int]:
        """Return in how many rows each word of a column is. Deleted rows count until a merge."""
        return self._contents.search.frequencies(words) if self.num_rows else dict.fromkeys(words, 0)

    def may_match(self, predicate: Predicate) -> bool:
        """Return False if the split has no rows, or its Bloom filters show that none can match."""
        return self.num_rows > 0 and self._may_match(predicate)

    def rescore(self, predicate: Predicate, hits: Hits, corpus: Corpus) -> Scores:
        """Return the exact scores of hits by the statistics of the corpus; 0 for a row that no text query matches."""
        scores: Scores = np.zeros(len(hits.rows))
        matched = hits.positions < WITHOUT_HIT
        scoring = positive_text_queries(predicate)
        scores[matched] = self._contents.search.rescore(scoring, corpus, hits.positions[matched])
        return scores

    def possible_scores(self, predicate: Predicate, weighting: Weighting) -> PossibleScores | None:
        """Return all scores that rows can have, with their bounds in `best`; None if they are not known."""
        return self._contents.search.possible_scores(positive_text_queries(predicate), weighting)

    def explain(self, predicate: Predicate, hits: Hits, corpus: Corpus | None) -> list[list[dict[str, Any]]]:
        """Return the parts of the score of each hit, whose scores are by the corpus, or else by this split alone."""
        matched = np.flatnonzero(hits.positions < WITHOUT_HIT)
        parts: list[list[dict[str, Any]]] = [[] for _ in hits.rows]
        scoring = positive_text_queries(predicate)
        summands = self._contents.search.summands(scoring, corpus, hits.positions[matched])
        for at, of_row in zip(matched.tolist(), summands, strict=True):
            parts[at] = explanation(of_row, float(hits.scores[at]))
        return parts

    def best(self, predicate: Predicate, top: int | None = None, weighting: Weighting | None = None) -> Hits:
        """Return the rows that match, best first, with ties in the order of their positions; at most `top`.

        No column is read for it but those of conditions that the index does not decide. The score of a row is NaN if
        the predicate has no text query. With a weighting, scores are upper bounds of those of `rescore`.
        """
        if top == 0 or self.num_rows == 0 or not self._may_match(predicate):
            return NO_HITS
        return self._rank(self._contents.plan(predicate), positive_text_queries(predicate), top, weighting)

    def fetch(self, request: RowRequest, hits: Hits) -> Iterator[pa.RecordBatch]:
        """Yield the requested columns of some hits, which are in the order of the rows, with the scores they have."""
        yield from self._fetch(request, hits, positive_text_queries(request.predicate))

    def _fetch(self, request: RowRequest, hits: Hits, scoring: list[TextQuery]) -> Iterator[pa.RecordBatch]:
        output = Output(self._contents, request, scoring, hits)
        for start in range(0, len(hits.rows), _FETCHED_AT_ONCE):
            rows = hits.rows[start : start + _FETCHED_AT_ONCE]
            yield output.assemble(rows, self._contents.rows.fetch(rows, output.reads))

    def _rank(
        self, planned: Plan, scoring: list[TextQuery], top: int | None, weighting: Weighting | None = None
    ) -> Hits:
        scores = ScoreBook(self._contents, scoring, weighting=weighting)
        search = None if not planned.indexed else lambda most: scores.search(planned, most)
        rows = self._matches(planned, search, top)
        if rows is None:
            rows = self._contents.deleted.without(np.arange(self.num_rows))
        hits = Hits(rows, scores.of(rows), scores.positions(rows))
        return hits.take(np.lexsort((hits.positions, -hits.scores))[:top])

    def _matches(
        self, planned: Plan, search: Callable[[int | None], RowIds] | None, top: int | None
    ) -> RowIds | None:
        """Return the rows that match, those of the index by `search`; None: all that are not deleted."""
        rows: RowIds | None = None
        if search is not None:
            rows = self._live(search, top if planned.residual == TRUE else None)
        if planned.residual != TRUE:
            matching = [
                matching_rows(self._contents, window, planned.residual)[0]
                for window in self._contents.rows.windows(rows, planned.residual)
            ]
            rows = np.concatenate(matching) if matching else np.empty(0, dtype=np.int64)
        return rows

"""The output of a read: from matching rows to batches with the requested columns, scores and snippets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicates import TRUE, Predicate, TextQuery, columns_of, evaluate
from indextables.rows import RowIds
from indextables.schema import POSITION, ROW_NUMBER, SCORE, SNIPPET, TableSchema
from indextables.split.contents import Contents
from indextables.split.rows import Window, empty_batch
from indextables.split.search import Highlighter, Hits, Plan, Positions, Scores, Snippet, Weighting

COMPUTED: Final[dict[str, pa.DataType]] = {
    SCORE: pa.float64(),
    SNIPPET: pa.string(),
    POSITION: pa.int64(),
    ROW_NUMBER: pa.int64(),
}
"""The columns that are computed and not stored."""

WITHOUT_HIT: Final = 1 << 62
"""Added to the positions of rows without a hit: they come after those with one, in the order of the split."""


@dataclass(frozen=True)
class RowRequest:
    """What to read from a split. `columns` may include `_score` and `_snippet`.

    `limit` is the most rows to return, any that match. `top` returns only the best rows by score, best first, with ties
    in the order of `POSITION`.
    """

    columns: tuple[str, ...]
    predicate: Predicate = TRUE
    limit: int | None = None
    top: int | None = None
    snippet: Snippet | None = None


class ScoreBook:
    """The scores of rows, which are sums over the text queries that match, and their positions, which break ties."""

    def __init__(
        self,
        contents: Contents,
        scoring: list[TextQuery],
        hits: Hits | None = None,
        weighting: Weighting | None = None,
    ) -> None:
        self._contents = contents
        self._weighting = weighting
        self._scoring = scoring
        self._hits = hits

    def search(self, planned: Plan, limit: int | None) -> RowIds:
        """Return the rows of the indexed part, and remember their scores if the search has all the text queries."""
        search = self._contents.search
        if not self._scoring:
            return search.rows(search.conjunction(planned.indexed, scored=False), limit)
        indexed = [part for part in planned.indexed if isinstance(part, TextQuery)]
        if indexed != self._scoring:
            return search.rows(search.conjunction(planned.indexed, scored=False))
        query = search.conjunction(planned.indexed, scored=True, weighting=self._weighting)
        self._hits = search.hits(query, limit).by_row()
        return self._hits.rows

    def of(self, rows: RowIds) -> Scores:
        """Return the score of each row, 0 for a row without a hit; NaN without a text query."""
        if not self._scoring:
            return np.full(len(rows), np.nan)
        hits = self._all_hits()
        if not len(hits.rows):
            return np.zeros(len(rows))
        at, has_hit = _look_up(hits.rows, rows)
        return np.where(has_hit, hits.scores[at], 0.0)

    def positions(self, rows: RowIds) -> Positions:
        """Return what orders rows of equal score."""
        without_hit: Positions = rows + WITHOUT_HIT
        if not self._scoring:
            return without_hit
        hits = self._all_hits()
        if not len(hits.rows):
            return without_hit
        at, has_hit = _look_up(hits.rows, rows)
        return np.where(has_hit, hits.positions[at], without_hit)

    def _all_hits(self) -> Hits:
        if self._hits is None:
            search = self._contents.search
            self._hits = search.hits(search.any_of(self._scoring, self._weighting)).by_row()
        return self._hits


class Output:
    """Turns windows of row groups into batches with the requested columns.

    `hits`, in the order of the rows, are given if the rows and their scores are known before.
    """

    def __init__(
        self, contents: Contents, request: RowRequest, scoring: list[TextQuery], hits: Hits | None = None
    ) -> None:
        self._contents = contents
        self._request = request
        self._scoring = scoring
        self._store = contents.rows
        self.scores = ScoreBook(contents, scoring, hits)
        self._plain = [name for name in request.columns if name not in COMPUTED]
        self._highlighter: Highlighter | None = None
        if SNIPPET in request.columns and scoring:
            self._highlighter = Highlighter(contents.mapping, scoring, request.snippet or Snippet())
        texts = self._highlighter.columns if self._highlighter else []
        self.reads = list(dict.fromkeys([*self._plain, *texts]))

    def batch(self, window: Window, residual: Predicate, limit: int) -> pa.RecordBatch:
        """Return the output for the rows of a window that match, at most `limit`."""
        rows, evaluated = matching_rows(self._contents, window, residual)
        if len(rows) > limit:
            rows = rows[:limit]
            evaluated = None if evaluated is None else evaluated.slice(0, limit)
        if not len(rows):
            return empty_batch(0)
        names = [] if evaluated is None else evaluated.schema.names
        missing = [name for name in self.reads if name not in names]
        is_whole = window.wanted is None and residual == TRUE and len(rows) < limit
        rest = self._read_whole(window, missing) if is_whole else self._store.fetch(rows, missing)
        return self.assemble(rows, rest, evaluated)

    def _read_whole(self, window: Window, columns: list[str]) -> pa.RecordBatch:
        batch, deleted = self._store.read(window.groups, columns), self._contents.deleted
        if not len(deleted):
            return batch
        alive = deleted.alive(self._store.row_ids(window.groups))
        return batch.filter(pa.array(alive)) if columns else empty_batch(int(alive.sum()))

    def assemble(
        self, rows: RowIds, batch: pa.RecordBatch, evaluated: pa.RecordBatch | None = None
    ) -> pa.RecordBatch:
        """Return the requested columns of some rows; `batch` and `evaluated` have those that were read."""
        if not self._request.columns:
            return empty_batch(len(rows))
        columns = {name: batch.column(name) for name in batch.schema.names}
        if evaluated is not None:
            columns |= {name: evaluated.column(name) for name in evaluated.schema.names}
        arrays: list[pa.Array] = []
        for name in self._request.columns:
            if name == SCORE:
                arrays.append(self._score_column(rows))
            elif name == POSITION:
                arrays.append(pa.array(self.scores.positions(rows), pa.int64()))
            elif name == ROW_NUMBER:
                arrays.append(pa.array(rows, pa.int64()))
            elif name == SNIPPET:
                texts = (
                    self._highlighter.snippets(columns, len(rows))
                    if self._highlighter
                    else [None] * len(rows)
                )
                arrays.append(pa.array(texts, pa.string()))
            else:
                arrays.append(columns[name])
        return pa.RecordBatch.from_arrays(
            arrays, schema=output_schema(self._contents.schema, self._request.columns)
        )

    def _score_column(self, rows: RowIds) -> pa.Array:
        if not self._scoring:
            return pa.nulls(len(rows), pa.float64())
        return pa.array(self.scores.of(rows), pa.float64())


def matching_rows(
    contents: Contents, window: Window, residual: Predicate
) -> tuple[RowIds, pa.RecordBatch | None]:
    """Return the rows of a window that match, and the columns that were read to evaluate the predicate.

    Deleted rows do not match.
    """
    store = contents.rows
    rows = store.row_ids(window.groups) if window.wanted is None else window.wanted
    if residual == TRUE:
        return contents.deleted.without(rows), None
    columns = sorted({contents.schema.root(name) for name in columns_of(residual)})
    batch = store.read(window.groups, columns) if window.wanted is None else store.fetch(rows, columns)
    answers = evaluate(residual, batch, lambda query: contents.answers.answer(query, rows))
    keep = answers.fill_null(fill_value=False)
    if len(contents.deleted):
        keep = pc.and_(keep, pa.array(contents.deleted.alive(rows)))
    return rows[keep.to_numpy(zero_copy_only=False)], batch.filter(keep)


@lru_cache(maxsize=64)
def output_schema(schema: TableSchema, columns: tuple[str, ...]) -> pa.Schema:
    """Return the Arrow schema of a read."""
    return pa.schema([output_field(schema, name) for name in columns])


def output_field(schema: TableSchema, name: str) -> pa.Field:
    """Return the field of one column of a read."""
    kind = COMPUTED.get(name) or schema.field(name).arrow_type
    return pa.field(name, kind, nullable=name != ROW_NUMBER)


def _look_up(known: RowIds, rows: RowIds) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return the index of each row in `known`, which is ascending and not empty, and whether the row is in it."""
    at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    return at, known[at] == rows

"""From matching rows to the batches that were asked for, scores and snippets included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.predicates import TRUE, Predicate, TextQuery, columns_of, evaluate
from indextables.rows import RowIds
from indextables.schema import SCORE, SNIPPET, TableSchema
from indextables.split.contents import Contents
from indextables.split.rows import Window, empty_batch
from indextables.split.search import Highlighter, Hits, Plan, Positions, Scores

POSITION: Final = "__split_position"
"""Orders the rows of a split that have the same score; the same for every query of the same searches."""

COMPUTED: Final[dict[str, pa.DataType]] = {SCORE: pa.float64(), SNIPPET: pa.string(), POSITION: pa.int64()}
"""Columns that no row holds."""

_UNFOUND: Final = 1 << 62
"""Rows that no search has found come after those that one has, in the order of the split."""


@dataclass(frozen=True)
class RowRequest:
    """What is wanted of a split. `columns` may have `_score` and `_snippet` among them.

    `limit`: no more rows than this, any that match. `top`: only the best this many by score, best first; equal scores
    in the order of `POSITION`.
    """

    columns: tuple[str, ...]
    predicate: Predicate = TRUE
    limit: int | None = None
    top: int | None = None
    snippet_column: str | None = None
    snippet_chars: int = 150


class ScoreBook:
    """The scores of rows: the sum over the text queries that a row satisfies. And what orders equal scores."""

    def __init__(self, contents: Contents, scoring: list[TextQuery]) -> None:
        self._contents = contents
        self._scoring = scoring
        self._known: Hits | None = None

    def search(self, planned: Plan, limit: int | None) -> RowIds:
        """Find the rows of the indexed part, and their scores in the same search where it has all the queries."""
        search = self._contents.search
        indexed = [part for part in planned.indexed if isinstance(part, TextQuery)]
        if indexed != self._scoring:
            return search.rows(search.conjunction(planned.indexed, scored=False))
        self._known = search.hits(search.conjunction(planned.indexed, scored=True), limit).by_row()
        return self._known.rows

    def of(self, rows: RowIds) -> Scores:
        known = self._searched()
        if not len(known.rows):
            return np.zeros(len(rows))
        at, is_known = _look_up(known.rows, rows)
        return np.where(is_known, known.scores[at], 0.0)

    def positions(self, rows: RowIds) -> Positions:
        """What orders rows of equal score."""
        unfound: Positions = rows + _UNFOUND
        if not self._scoring:
            return unfound
        known = self._searched()
        if not len(known.rows):
            return unfound
        at, is_known = _look_up(known.rows, rows)
        return np.where(is_known, known.positions[at], unfound)

    def _searched(self) -> Hits:
        if self._known is None:
            search = self._contents.search
            self._known = search.hits(search.any_of(self._scoring)).by_row()
        return self._known


class Output:
    """Turns windows of row groups into the batches that were asked for."""

    def __init__(self, contents: Contents, request: RowRequest, scoring: list[TextQuery]) -> None:
        self._contents = contents
        self._request = request
        self._scoring = scoring
        self._store = contents.rows
        self.scores = ScoreBook(contents, scoring)
        self._plain = [name for name in request.columns if name not in COMPUTED]
        self._highlighter: Highlighter | None = None
        if SNIPPET in request.columns and scoring:
            self._highlighter = Highlighter(
                contents.search,
                scoring,
                request.snippet_column,
                request.snippet_chars,
            )
        texts = self._highlighter.columns if self._highlighter else []
        self.reads = list(dict.fromkeys([*self._plain, *texts]))

    def matching(self, window: Window, residual: Predicate) -> tuple[RowIds, pa.RecordBatch | None]:
        """The rows of the window that match, and the columns that were read to find that out."""
        rows = self._store.row_ids(window.groups) if window.wanted is None else window.wanted
        if residual == TRUE:
            return rows, None
        columns = sorted(columns_of(residual))
        batch = (
            self._store.read(window.groups, columns)
            if window.wanted is None
            else self._store.fetch(rows, columns)
        )
        answers = evaluate(residual, batch, lambda query: self._contents.answers.answer(query, rows))
        keep = answers.fill_null(fill_value=False)
        return rows[keep.to_numpy(zero_copy_only=False)], batch.filter(keep)

    def batch(self, window: Window, residual: Predicate, limit: int) -> pa.RecordBatch:
        rows, known = self.matching(window, residual)
        if len(rows) > limit:
            rows = rows[:limit]
            known = None if known is None else known.slice(0, limit)
        if not len(rows):
            return empty_batch(0)
        names = [] if known is None else known.schema.names
        missing = [name for name in self.reads if name not in names]
        is_whole = window.wanted is None and residual == TRUE and len(rows) < limit
        rest = self._store.read(window.groups, missing) if is_whole else self._store.fetch(rows, missing)
        return self.finished(rows, rest, known)

    def finished(
        self, rows: RowIds, batch: pa.RecordBatch, known: pa.RecordBatch | None = None
    ) -> pa.RecordBatch:
        if not self._request.columns:
            return empty_batch(len(rows))
        columns = {name: batch.column(name) for name in batch.schema.names}
        if known is not None:
            columns |= {name: known.column(name) for name in known.schema.names}
        made: list[pa.Array] = []
        for name in self._request.columns:
            if name == SCORE:
                made.append(self._score_column(rows))
            elif name == POSITION:
                made.append(pa.array(self.scores.positions(rows), pa.int64()))
            elif name == SNIPPET:
                texts = (
                    self._highlighter.snippets(columns, len(rows))
                    if self._highlighter
                    else [None] * len(rows)
                )
                made.append(pa.array(texts, pa.string()))
            else:
                made.append(columns[name])
        return pa.RecordBatch.from_arrays(
            made, schema=output_schema(self._contents.schema, self._request.columns)
        )

    def _score_column(self, rows: RowIds) -> pa.Array:
        if not self._scoring:
            return pa.nulls(len(rows), pa.float64())
        return pa.array(self.scores.of(rows), pa.float64())


def output_schema(schema: TableSchema, columns: tuple[str, ...]) -> pa.Schema:
    return pa.schema(
        [pa.field(name, COMPUTED.get(name) or schema.field(name).arrow_type) for name in columns]
    )


def _look_up(known: RowIds, rows: RowIds) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Where each row stands in `known`, ascending and not empty, and whether it does."""
    at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    return at, known[at] == rows

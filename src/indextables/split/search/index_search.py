"""Searching one open index: predicates are the queries, row ordinals the hits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tantivy
from tantivy import Query

from indextables.predicates import (
    And,
    Compare,
    Constant,
    HasElement,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    TextQuery,
    Value,
)
from indextables.rows import RowIds
from indextables.schema import MappedField
from indextables.split.container import Bundle
from indextables.split.index import ROW, IndexFields, RowRuns, engine_call, engine_errors
from indextables.split.index_cache import OpenIndex
from indextables.split.query import (
    BoundQuery,
    Compiler,
    Occur,
    Part,
    Regexes,
    Terms,
    bind_query,
    boolean,
    index_number,
    unscored,
)
from indextables.split.search.global_ranking import (
    Corpus,
    Scorer,
    Summand,
    Weighting,
    Word,
    parts_to_explain,
)
from indextables.split.search.possible_scores import PossibleScores, possible_scores
from indextables.split.split_columns import SplitColumns

Bitmap: TypeAlias = npt.NDArray[np.bool_]
Scores: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.int64]

# Most splits of a table have the same mapping, and one query searches all of them.
_fields = lru_cache(maxsize=64)(IndexFields)
bound_query = lru_cache(maxsize=256)(bind_query)

_HITS_AT_ONCE: Final = 1 << 20
"""Every hit is a Python object at first: beyond this many, hits are taken from one range of rows at a time."""


class Hits(NamedTuple):
    """Rows with their scores and their positions in the index.

    Tantivy ranks by score and, among equal scores, by position, so that results with different limits agree. Positions
    may differ from the order of the rows, because segments may.
    """

    rows: RowIds
    scores: Scores
    positions: Positions

    def by_row(self) -> Hits:
        """Return the hits in the order of the rows."""
        return self.take(np.argsort(self.rows))

    def take(self, order: npt.NDArray[np.intp]) -> Hits:
        """Return the hits at these places."""
        return Hits(self.rows[order], self.scores[order], self.positions[order])


NO_HITS: Final = Hits(np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.int64))


class IndexSearch:
    """Searches the index of one split, and caches the rows of text queries while the split is open.

    `row_runs` says which rows the ids in the index name. Without it, ids are the ordinals of the rows.
    """

    def __init__(
        self, opened: OpenIndex, columns: SplitColumns, bundle: Bundle, row_runs: RowRuns | None = None
    ) -> None:
        self._searcher = opened.searcher
        self._opened = opened
        self.mapping = columns.mapping
        self._bundle = bundle
        self._bitmaps: dict[TextQuery | Part | str, Bitmap] = {}
        self.searcher = opened.searcher
        self._scorer: Scorer | None = None
        with engine_errors(bundle):
            names = None if columns.is_plain else tuple(columns.names.items())
            self.fields = _fields(columns.stored, names)
            self._compiler = Compiler(opened.index, opened.searcher, self.fields, columns.constants)
            self.schema = opened.index.schema
            self.num_docs = int(opened.searcher.num_docs)
        self._row_runs = row_runs or RowRuns.single(0, self.num_docs)

    @property
    def bundle(self) -> Bundle:
        return self._bundle

    def bound(self, query: TextQuery) -> BoundQuery:
        """Return the query bound to the columns of this split."""
        return bound_query(query, self.mapping)

    @engine_call
    def text(self, query: TextQuery, weighting: Weighting | None = None) -> Query:
        """Compile a text query; with a weighting, its scores are upper bounds of those in the corpus."""
        bound = self.bound(query)
        if weighting is not None:
            bound = replace(bound, part=weighting.bound(bound.part))
        return self._compiler.query(bound)

    @engine_call
    def frequencies(self, words: Iterable[Word]) -> dict[Word, int]:
        """Return in how many rows each word is."""
        return {word: self._frequency(*word) for word in words}

    def _frequency(self, column: str, word: str) -> int:
        field = self.fields.get(self._column(column))
        return 0 if field is None else int(self._searcher.doc_freq(field.name, word))

    @engine_call
    def rescore(self, queries: list[TextQuery], corpus: Corpus, positions: Positions) -> Scores:
        """Return the exact score of the rows at these positions."""
        if self._scorer is None or self._scorer.corpus is not corpus:
            self._scorer = Scorer(corpus, self._searcher)
        scorer, parts = self._scorer, self._parts(queries, self._scorer)
        return np.array([scorer.score(parts, address) for address in _addresses(positions)], np.float64)

    @engine_call
    def possible_scores(self, queries: list[TextQuery], weighting: Weighting) -> PossibleScores | None:
        """Return all scores that rows can have, with their bounds by a weighting; None if they are not known."""
        lengths = self._opened.lengths

        def lengths_of(column: MappedField) -> Sequence[int] | None:
            field = self.fields.get(column)
            return None if field is None else lengths.get(field.name)

        parts = [self.bound(query).part for query in dict.fromkeys(queries)]
        return possible_scores(parts, weighting, lengths_of, segments=self._searcher.num_segments)

    @engine_call
    def summands(
        self, queries: list[TextQuery], corpus: Corpus | None, positions: Positions
    ) -> list[list[Summand]]:
        """Return the summands of the score of the rows at these positions; without a corpus, the engine's."""
        scorer = Scorer(corpus, self._searcher)
        parts = self._parts(queries, scorer)
        return [list(scorer.summands(parts, address)) for address in _addresses(positions)]

    def _parts(self, queries: list[TextQuery], scorer: Scorer) -> list[Part]:
        """Return the bound queries, and compile for the scorer what it needs of them."""
        parts = [self.bound(query).part for query in dict.fromkeys(queries)]
        for part in (inner for whole in parts for inner in parts_to_explain(whole)):
            if part not in scorer.compiled:
                scorer.compiled[part] = self._compiler.part(part) or Query.empty_query()
        return parts

    @engine_call
    def conjunction(
        self, predicates: tuple[Predicate, ...], *, scored: bool, weighting: Weighting | None = None
    ) -> Query:
        """Return the query for the rows where all predicates are TRUE; `scored` adds the scores of text queries."""
        if len(predicates) == 1 and scored and isinstance(predicates[0], TextQuery):
            return self.text(predicates[0], weighting)
        clauses = [
            (
                Occur.MUST,
                self.text(part, weighting)
                if scored and isinstance(part, TextQuery)
                else unscored(self.holds(part)),
            )
            for part in predicates
        ]
        return boolean(clauses) if scored else unscored(boolean(clauses))

    @engine_call
    def any_of(self, queries: list[TextQuery], weighting: Weighting | None = None) -> Query:
        """Return the query for the rows where at least one is TRUE, with the sum of their scores."""
        return boolean([(Occur.SHOULD, self.text(query, weighting)) for query in dict.fromkeys(queries)])

    @engine_call
    def count(self, query: Query) -> int:
        """Return the number of rows that match."""
        return int(self._search(query, limit=1, count=True).count)

    @engine_call
    def count_and_rows(self, query: Query, limit: int) -> tuple[int, RowIds | None]:
        """Return the number of rows that match, and the rows if there are at most `limit`, by one search."""
        most = max(1, min(limit, self.num_docs))  # Tantivy allocates space for this many hits
        result = self._search(unscored(query), limit=most, count=True)
        count = int(result.count)
        if count > limit:
            return count, None
        return count, np.sort(self._rows_at([address for _, address in result.hits]))

    @engine_call
    def hits(self, query: Query, limit: int | None = None) -> Hits:
        """Return the rows that match, in no order. With a limit, only the best, with ties broken by position."""
        if limit is not None or self.num_docs <= _HITS_AT_ONCE:
            return self._hits(query, self.num_docs if limit is None else min(limit, self.num_docs))
        pieces = [
            self._hits(self._compiler.among_rows(query, low, high), _HITS_AT_ONCE)
            for low, high in self._row_runs.intervals(_HITS_AT_ONCE)
        ]
        return Hits(*map(np.concatenate, zip(*pieces, strict=True)))

    def _hits(self, query: Query, limit: int) -> Hits:
        ranked = self._search(query, limit=max(1, limit), count=False).hits
        if not ranked:
            return NO_HITS
        scores, addresses = zip(*ranked, strict=True)
        positions = [(address.segment_ord << 32) + address.doc for address in addresses]
        return Hits(
            self._rows_at(list(addresses)), np.array(scores, np.float64), np.array(positions, np.int64)
        )

    def _rows_at(self, addresses: list[tantivy.DocAddress]) -> RowIds:
        """Return the rows of documents. CorruptTableError if one has no row, or one that the split does not have."""
        try:
            ids = np.array(self._searcher.fast_field_values(ROW, addresses), dtype=np.int64)
        except TypeError as reason:
            raise self._bundle.damaged("its index has a document without a row id") from reason
        return self._to_rows(ids)

    def _to_rows(self, ids: RowIds) -> RowIds:
        try:
            return self._row_runs.rows(ids)
        except ValueError as reason:
            raise self._bundle.damaged(f"its index has {reason}") from reason

    @engine_call
    def rows(self, query: Query, limit: int | None = None) -> RowIds:
        """Return the rows that match, ascending; with a limit, any that many."""
        query = unscored(query)
        if limit is not None:
            return np.sort(self._hits(query, min(limit, self.num_docs)).rows)
        count = self.count(query)
        if count <= _HITS_AT_ONCE:
            return self._row_numbers(query, count)
        pieces = [
            self._row_numbers(self._compiler.among_rows(query, low, high), _HITS_AT_ONCE)
            for low, high in self._row_runs.intervals(_HITS_AT_ONCE)
        ]
        return np.sort(np.concatenate(pieces))

    def _row_numbers(self, query: Query, limit: int) -> RowIds:
        """Return the rows that match, ascending. Ordered by the row id, each hit comes with the id."""
        hits = self._searcher.search(query, limit=max(1, limit), count=False, order_by_field=ROW).hits
        try:
            ids = np.fromiter((number for number, _ in hits), np.int64, len(hits))
        except TypeError as reason:
            raise self._bundle.damaged("its index has a document without a row id") from reason
        return np.sort(self._to_rows(ids))

    @engine_call
    def answer(self, query: TextQuery, rows: RowIds) -> pa.BooleanArray:
        """Return TRUE, FALSE or NULL for each of these rows."""
        column = self.bound(query).column
        nulls = None if column is None else self._bitmap(column.name, self._compiler.is_null(column))[rows]
        return pa.array(self._bitmap(query, self.text(query))[rows], mask=nulls)

    @engine_call
    def part(self, part: Part, rows: RowIds) -> Bitmap:
        """Return for each of these rows whether a part of a query matches it by the index."""
        return self._bitmap(part, self._compiler.part(part) or Query.empty_query())[rows]

    @engine_call
    def rows_with_all(self, phrase: Terms | Regexes) -> RowIds:
        """Return the rows that have all words of a phrase, anywhere in its column."""
        column = phrase.column
        if isinstance(phrase, Terms):
            words = [self._compiler.term(column, word) for word in {word for _, word in phrase.words}]
        else:
            words = [self._compiler.pattern(column, pieces) for pieces in set(phrase.patterns)]
        return self.rows(boolean([(Occur.MUST, word) for word in words]))

    @engine_call
    def rows_beyond(self, phrase: Terms | Regexes) -> RowIds:
        """Return the rows among which the index finds too many for a phrase; none if it finds the right ones."""
        if self._compiler.is_exact(phrase):
            return np.empty(0, dtype=np.int64)
        return self.rows(self._compiler.part(phrase) or Query.empty_query())

    @engine_call
    def unindexed(self, column: MappedField) -> RowIds:
        """Return the rows in which a word of the column, or a value of a string column, is too long for Tantivy.

        Splits written before the field `UNINDEXED` do not record them. In these, a value of a string column that is not
        null and has no term must be too long. Their text columns lack all words of 40 bytes and more: see
        `MissingWords`.
        """
        recorded = self._compiler.unindexed(column)
        if recorded is None:
            recorded = self._all_but(self._null(column), self._compiler.any_term(column))
        return self.rows(recorded)

    def _bitmap(self, key: TextQuery | Part | str, query: Query) -> Bitmap:
        if key not in self._bitmaps:
            bitmap: Bitmap = np.zeros(self.num_docs, dtype=np.bool_)
            bitmap[self.rows(query)] = True
            self._bitmaps[key] = bitmap
        return self._bitmaps[key]

    def _search(self, query: Query, *, limit: int, count: bool) -> tantivy.SearchResult:
        return self._searcher.search(query, limit=limit, count=count)

    def holds(self, predicate: Predicate) -> Query:
        """Return the query for the rows where a predicate is TRUE. The index must decide the predicate."""
        match predicate:
            case Constant(value):
                return Query.all_query() if value else Query.empty_query()
            case And(children):
                return boolean([(Occur.MUST, self.holds(child)) for child in children])
            case Or(children):
                return boolean([(Occur.SHOULD, self.holds(child)) for child in children])
            case TextQuery():
                return self.text(predicate)
            case Not(TextQuery() as query):
                column = self.bound(query).column
                return self._all_but(self.text(query), *([] if column is None else [self._null(column)]))
            case IsNull(column):
                return self._null(self._column(column))
            case Not(IsNull(column)) | Not(Compare("<=>", column, None)):
                return self._all_but(self._null(self._column(column)))
            case Compare("<=>", column, None):
                return self._null(self._column(column))
            case Compare(_, _, None):
                return Query.empty_query()
            case Compare("<>", column, value) if value is not None:
                mapped = self._column(column)
                return self._all_but(self._equal(mapped, value), self._null(mapped))
            case Not(Compare(_, column, value)) if value is not None:
                return self._all_but(self._equal(self._column(column), value))
            case Compare(op, column, value) if value is not None:
                return self._compare(op, self._column(column), value)
            case HasElement(column, value) if value is not None:
                return self._equal(self._column(column), value)
            case In(column, values):
                return self._in(self._column(column), values)
            case Not(In(column, values)) if None not in values:
                mapped = self._column(column)
                return self._all_but(self._in(mapped, values), self._null(mapped))
            case _:
                return Query.empty_query()  # NOT IN with a null among the values is never TRUE

    def _column(self, name: str) -> MappedField:
        column = self.mapping.get(name)
        if column is None:
            raise KeyError(name)
        return column

    def _null(self, column: MappedField) -> Query:
        return self._compiler.is_null(column)

    def _all_but(self, *queries: Query) -> Query:
        return boolean([(Occur.MUST, Query.all_query()), *((Occur.MUST_NOT, query) for query in queries)])

    def _equal(self, column: MappedField, value: Value) -> Query:
        if isinstance(value, str):
            return self._compiler.term(column, value)
        number = index_number(value, column.value_type)
        return self._compiler.numbers(column, number, number)

    def _compare(self, op: str, column: MappedField, value: Value) -> Query:
        if op in ("=", "<=>"):
            return self._equal(column, value)
        number = index_number(value, column.value_type)
        match op:
            case "<":
                return self._compiler.numbers(column, None, number - 1)
            case "<=":
                return self._compiler.numbers(column, None, number)
            case ">":
                return self._compiler.numbers(column, number + 1, None)
            case _:
                return self._compiler.numbers(column, number, None)

    def _in(self, column: MappedField, values: tuple[Value | None, ...]) -> Query:
        present = [value for value in values if value is not None]
        if not present:
            return Query.empty_query()
        if column.kind == "string":
            return self._compiler.term_set(column, [str(value) for value in present])
        return boolean([(Occur.SHOULD, self._equal(column, value)) for value in present])


def _addresses(positions: Positions) -> Iterator[tantivy.DocAddress]:
    return (tantivy.DocAddress(position >> 32, position & 0xFFFFFFFF) for position in positions.tolist())

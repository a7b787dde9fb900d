"""Text queries where the index lacks words or is not exact: read the text of the rows whose answer may differ.

For a row without missing words, or with none that the query could match, the answer of the index is right, except for
some phrases with slop (see `sloppy_phrases`) and with a `*` for any word of a column with many words. The other rows,
usually none, are decided by their text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicates import TRUE, Predicate, TextQuery, text_queries
from indextables.rows import RowIds
from indextables.schema import FieldMapping, MappedField, path_values
from indextables.split.index import engine_errors, strings, tokens
from indextables.split.query import (
    Occur,
    Part,
    Parts,
    Regexes,
    Scaled,
    Terms,
    WordLeaf,
    WordTest,
    accepted_words,
    build_clauses,
    leaves,
    positioned_tests,
)
from indextables.split.search.index_search import Bitmap, IndexSearch, bound_query
from indextables.split.search.missing_words import MissingWords, Texts
from indextables.split.search.sloppy_phrases import has_sloppy_phrase, index_decides_slop

Tokens: TypeAlias = Sequence[tuple[int, str]]


class FetchedTexts(Texts, Protocol):
    """Rows that can also be fetched by ordinal."""

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch: ...


class TextAnswers:
    """Answers text queries about the rows of one split."""

    def __init__(
        self,
        mapping: FieldMapping,
        search: Callable[[], IndexSearch],
        rows: Callable[[], FetchedTexts],
        missing: MissingWords,
    ) -> None:
        self._mapping = mapping
        self._search = search
        self._rows = rows
        self._missing = missing
        self._wrong: dict[TextQuery, RowIds] = {}

    def index_decides(self, query: TextQuery) -> bool:
        """Return True if the index alone finds exactly the rows for which the query is TRUE."""
        return len(self._wrong_rows(query)) == 0

    def answer(self, query: TextQuery, rows: RowIds) -> pa.BooleanArray:
        """Return TRUE, FALSE or NULL for each of these rows."""
        indexed = self._search().answer(query, rows)
        wrong = self._wrong_rows(query)
        # A row for which the index is wrong has a word in a column that the query names, so that its answer is not
        # NULL.
        return pc.xor(indexed, pa.array(np.isin(rows, wrong))) if len(wrong) else indexed

    def is_ready(self, predicate: Predicate) -> bool:
        """Return True if the words that the index lacks are known without reading the text."""
        return all(
            self._missing.is_ready(column)
            for query in text_queries(predicate)
            for column in self._unsure(bound_query(query, self._mapping).part)
        )

    def _wrong_rows(self, query: TextQuery) -> RowIds:
        """Return the rows for which the answer of the index is the opposite of the true one."""
        if query not in self._wrong:
            part = bound_query(query, self._mapping).part
            unsure = self._unsure(part)
            candidates = [self._missing.rows_with(column, tests) for column, tests in unsure.items()]
            for leaf in leaves(part):
                if isinstance(leaf, Terms | Regexes) and not index_decides_slop(leaf):
                    candidates.append(self._search().rows_with_all(leaf))
                    unsure.setdefault(leaf.column, [])
                elif isinstance(leaf, Regexes) and len(found := self._search().rows_beyond(leaf)):
                    candidates.append(found)
                    unsure.setdefault(leaf.column, [])
            rows = np.unique(np.concatenate(candidates)) if candidates else np.empty(0, dtype=np.int64)
            if len(rows):
                indexed = self._search().answer(query, rows).fill_null(fill_value=False)
                rows = rows[self._truth(part, rows, unsure) != indexed.to_numpy(zero_copy_only=False)]
            self._wrong[query] = rows
        return self._wrong[query]

    def _unsure(self, part: Part) -> dict[MappedField, list[WordTest]]:
        """Return, by column, the tests of the query that may accept a missing word."""
        unsure: dict[MappedField, list[WordTest]] = {}
        for leaf in leaves(part):
            if isinstance(leaf, WordLeaf):
                tests = [
                    test for _, test in positioned_tests(leaf) if self._missing.may_lack(leaf.column, test)
                ]
                if tests:
                    unsure.setdefault(leaf.column, []).extend(tests)
        return unsure

    def _truth(self, part: Part, rows: RowIds, unsure: dict[MappedField, list[WordTest]]) -> Bitmap:
        """Return whether a query matches each row, by the text of the columns in `unsure`."""
        pieces: list[Bitmap] = []
        store = self._rows()
        for window in store.windows(rows, TRUE):
            window_rows = store.row_ids(window.groups) if window.wanted is None else window.wanted
            batch = store.fetch(window_rows, list({column.column: None for column in unsure}))
            words = {column: _words(column, path_values(batch, column.name)) for column in unsure}
            truth = _RowCheck(self._search(), window_rows, words).holds(part)
            pieces.append(np.zeros(len(window_rows), dtype=np.bool_) if truth is None else truth)
        return np.concatenate(pieces)


class _RowCheck:
    """Decides a bound query for some rows. `words` has their words in the columns where the index may lack one."""

    def __init__(self, search: IndexSearch, rows: RowIds, words: dict[MappedField, list[Tokens]]) -> None:
        self._search = search
        self._rows = rows
        self._words = words

    def holds(self, part: Part) -> Bitmap | None:
        """Return whether a part matches each row; None if it matches nothing and its parent must ignore it."""
        match part:
            case Parts():
                clauses = build_clauses(part, self.holds, lambda: np.ones(len(self._rows), dtype=np.bool_))
                return None if clauses is None else _combine(clauses, part.least)
            case Scaled(inner):
                truth = self.holds(inner)
                return np.zeros(len(self._rows), dtype=np.bool_) if truth is None else truth
            case _ if isinstance(part, WordLeaf) and part.column in self._words:
                with engine_errors(self._search.bundle):
                    return _matches(part, self._words[part.column])
            case _:
                return self._search.part(part, self._rows)


def _combine(clauses: list[tuple[Occur, Bitmap]], least: int) -> Bitmap:
    """Combine clauses as Tantivy does.

    `least` alternatives must match; with 0, one of them, or none if another clause is required.
    """
    required = [truth for occur, truth in clauses if occur is Occur.MUST]
    if least or not required:
        alternatives = [truth for occur, truth in clauses if occur is Occur.SHOULD]
        required.append(np.add.reduce(alternatives, dtype=np.int64) >= max(1, least))
    excluded = [~truth for occur, truth in clauses if occur is Occur.MUST_NOT]
    truth: Bitmap = np.logical_and.reduce([*required, *excluded])
    return truth


def _words(column: MappedField, values: pa.Array) -> list[Tokens]:
    """Return the words of each value with their positions; a value of a string column is one word."""
    if pa.types.is_list(values.type):
        elements = values.flatten()
        flat = iter(zip(_words(column, elements), elements.is_valid().to_pylist(), strict=True))
        return [
            _one_after_the_other(words for words, is_valid in islice(flat, n or 0) if is_valid)
            for n in pc.list_value_length(values).to_pylist()
        ]
    if column.kind == "string":
        return [[] if value is None else [(0, value)] for value in strings(values)]
    return [[] if value is None else tokens(value, column.tokenizer) for value in strings(values)]


def _one_after_the_other(elements: Iterable[Tokens]) -> Tokens:
    """Return the words of all elements of an array at the positions that Tantivy gives them: with a gap of one.

    The index has no nulls: they are not among the elements.
    """
    words: list[tuple[int, str]] = []
    start = 0
    for element in elements:
        words.extend((start + at, word) for at, word in element)
        start += 1 + max((at + 1 for at, _ in element), default=0)
    return words


def _matches(leaf: WordLeaf, rows: list[Tokens]) -> Bitmap:
    """Return whether a leaf matches the words of each row."""
    tests = positioned_tests(leaf)
    if isinstance(leaf, Terms | Regexes) and leaf.slop and len(tests) > 1:
        return np.array([has_sloppy_phrase(tests, leaf.slop, row) for row in rows], dtype=np.bool_)
    if len(tests) == 1:
        accepted = accepted_words(tests[0][1], (word for row in rows for _, word in row))
        return np.array([any(word in accepted for _, word in row) for row in rows], dtype=np.bool_)
    return np.array([_has_phrase(tests, row) for row in rows], dtype=np.bool_)


def _has_phrase(tests: list[tuple[int, WordTest]], row: Tokens) -> bool:
    """Return True if words that pass the tests stand at their relative positions."""
    starts: set[int] | None = None
    for offset, test in tests:
        here = {at - offset for at, word in row if test.accepts(word)}
        starts = here if starts is None else starts & here
        if not starts:
            return False
    return True

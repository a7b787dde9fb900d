"""The words that are in the rows of a split but not in its index.

Tantivy has no terms of more than 65,530 bytes: the index records the rows with longer words. Splits written before
words of any length were indexed lack all words of 40 bytes and more: these are found by reading the text once, and are
kept in the disk cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings
from indextables.predicates import TRUE, Predicate
from indextables.rows import RowIds
from indextables.schema import MappedField
from indextables.split.container import Bundle
from indextables.split.index import MAX_CUT_BYTES, MAX_TERM_BYTES, cut_words
from indextables.split.index_cache import checksum, entry_name, is_cached, read_cached
from indextables.split.query import WordTest, accepted_words
from indextables.split.rows import Window
from indextables.split.search.index_search import IndexSearch

_FILE: Final = "words.arrow"
_SCHEMA: Final = pa.schema({"row": pa.int64(), "word": pa.string()})
_BATCH_ROWS: Final = 1 << 16


class Texts(Protocol):
    """The access to the rows of a split that finding missing words needs."""

    def windows(self, wanted: RowIds | None, predicate: Predicate, /) -> Iterator[Window]: ...

    def row_ids(self, groups: Sequence[int]) -> RowIds: ...

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch: ...


@dataclass(frozen=True)
class MissingWords:
    """The words that the index of one split lacks.

    `cut` are the text columns whose words of 40 bytes and more are not in the index, by their stored names, which
    `stored_name` returns.
    """

    search: Callable[[], IndexSearch]
    rows: Callable[[], Texts]
    bundle: Bundle
    settings: Settings
    cut: frozenset[str] = frozenset()
    stored_name: Callable[[str], str] = str

    def may_lack(self, column: MappedField, test: WordTest) -> bool:
        """Return False if the index has every word that the test accepts."""
        return test.longest > (MAX_CUT_BYTES if self._is_cut(column) else MAX_TERM_BYTES)

    def rows_with(self, column: MappedField, tests: Sequence[WordTest]) -> RowIds:
        """Return the rows with a missing word that one of the tests may accept."""
        if not self._is_cut(column):
            return self.search().unindexed(column)  # words of this length are rare: take them all
        rows: list[int] = []
        for batch in self._cut_words(column):
            words = batch.column("word").to_pylist()
            texts = {word for word in words if word is not None}
            accepted = {None}.union(*(accepted_words(test, texts) for test in tests))
            rows += [
                row
                for row, word in zip(batch.column("row").to_pylist(), words, strict=True)
                if word in accepted
            ]
        return np.unique(np.array(rows, dtype=np.int64))

    def is_ready(self, column: MappedField) -> bool:
        """Return True if `rows_with` need not read the text."""
        return not self._is_cut(column) or is_cached(self._entry(column), self.settings)

    def _cut_words(self, column: MappedField) -> Iterator[pa.RecordBatch]:
        """Yield the missing words of a column with their rows, from the disk cache or from the text."""

        def fill(directory: Path) -> dict[str, int]:
            with pa.ipc.new_file(directory / _FILE, _SCHEMA) as file:
                for batch in self._scan_text(column):
                    file.write_batch(batch)
            return {_FILE: checksum(directory / _FILE)}

        def read(directory: Path) -> pa.ipc.RecordBatchFileReader:
            file = pa.ipc.open_file(pa.memory_map(str(directory / _FILE)))
            if file.schema != _SCHEMA:
                raise ValueError(f"{_FILE} has the columns {file.schema.names}, not {_SCHEMA.names}")
            for i in range(file.num_record_batches):
                _check_words(file.get_batch(i), self.search().num_docs)
            return file

        try:
            file = read_cached(self._entry(column), fill, read, self.settings)
        except ValueError as reason:
            raise self.bundle.damaged(reason) from reason
        for i in range(file.num_record_batches):
            yield file.get_batch(i)

    def _scan_text(self, column: MappedField) -> Iterator[pa.RecordBatch]:
        rows = self.rows()
        for window in rows.windows(None, TRUE):
            ids = rows.row_ids(window.groups)
            words = cut_words(rows.read(window.groups, [column.name]).column(0))
            while piece := list(islice(words, _BATCH_ROWS)):
                # A word that is too long for Tantivy too is stored as null: every query that may match it reads the
                # row.
                texts = [word if len(word) <= MAX_TERM_BYTES else None for _, word in piece]
                yield pa.record_batch(
                    [pa.array(ids[[row for row, _ in piece]]), pa.array(texts, pa.string())], schema=_SCHEMA
                )

    def _entry(self, column: MappedField) -> str:
        return entry_name(self.bundle, "words of 40 bytes and more", self.stored_name(column.name))

    def _is_cut(self, column: MappedField) -> bool:
        return self.stored_name(column.name) in self.cut


def _check_words(batch: pa.RecordBatch, num_rows: int) -> None:
    """Raise ValueError if a word belongs to a row that the split does not have."""
    batch.validate(full=True)
    rows = batch.column("row")
    bounds = pc.min_max(rows).as_py()
    if rows.null_count or (batch.num_rows and not 0 <= bounds["min"] <= bounds["max"] < num_rows):
        raise ValueError(f"{_FILE} has words of rows outside the {num_rows} rows of the split")

"""Rows kept as documents: read by their place in the store, a bounded run of them at a time.

A row's ordinal is its place among the documents that are not deleted, segment by segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tantivy
from tantivy import Query

from indextables.predicates import Predicate
from indextables.rows import RowIds
from indextables.split.container import Bundle
from indextables.split.foreign.document_fields import DocumentFields
from indextables.split.index import engine_errors
from indextables.split.index_cache import OpenIndex
from indextables.split.rows import Window, empty_batch

Document: TypeAlias = dict[str, list[Any]]
Ordinals: TypeAlias = npt.NDArray[np.uint32]

RUN_ROWS: Final = 8192
_RUN_BYTES: Final = 32 << 20
_INFLATES: Final = 8
"""Stored documents are taken to grow this much when they become Python objects: it only sizes the runs."""

_HITS_AT_ONCE: Final = 1 << 20


class Addresses(NamedTuple):
    """Where each row is: the segment, and the document in it."""

    segments: Ordinals
    documents: Ordinals


class DocumentRows:
    """The rows of an index that stores its documents. A row group is a run of neighbours."""

    def __init__(self, opened: OpenIndex, fields: DocumentFields, num_rows: int, bundle: Bundle) -> None:
        self._searcher = opened.searcher
        self._fields = fields
        self._bundle = bundle
        with engine_errors(bundle):
            if opened.searcher.num_docs != num_rows:
                raise bundle.damaged(f"it holds {opened.searcher.num_docs} documents for {num_rows} rows")
            self._addresses = _addresses(opened.searcher, bundle)
        self._num_rows = num_rows
        self._run_rows = _run_rows(bundle, num_rows)
        self._held: tuple[int, list[Document]] | None = None

    def windows(self, wanted: RowIds | None, _predicate: Predicate) -> Iterator[Window]:
        """All runs, or those with wanted rows: documents have no statistics that could rule one out."""
        if wanted is None:
            yield from (Window((run,), None) for run in range(-(-self._num_rows // self._run_rows)))
            return
        runs = wanted // self._run_rows
        yield from (Window((int(run),), wanted[runs == run]) for run in np.unique(runs))

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        spans: list[RowIds] = [np.arange(*self._span(run), dtype=np.int64) for run in groups]
        return np.concatenate(spans) if spans else np.empty(0, dtype=np.int64)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
        if not columns:
            return empty_batch(len(self.row_ids(groups)))
        return self._batch([document for run in groups for document in self._run(run)], columns)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Just these rows, ascending."""
        if not columns:
            return empty_batch(len(rows))
        return self._batch([self._document(row) for row in rows.tolist()], columns)

    def _batch(self, documents: list[Document], columns: Sequence[str]) -> pa.RecordBatch:
        arrays = [self._fields.column(name, documents) for name in columns]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _span(self, run: int) -> tuple[int, int]:
        return run * self._run_rows, min((run + 1) * self._run_rows, self._num_rows)

    def _run(self, run: int) -> list[Document]:
        """The documents of a run. The last one is kept: a filter reads some of its columns, the output others."""
        if self._held is None or self._held[0] != run:
            self._held = None
            self._held = run, [self._load(row) for row in range(*self._span(run))]
        return self._held[1]

    def _document(self, row: int) -> Document:
        run, place = divmod(row, self._run_rows)
        if self._held is not None and self._held[0] == run:
            return self._held[1][place]
        return self._load(row)

    def _load(self, row: int) -> Document:
        segment, document = 0, row
        if self._addresses is not None:
            segment, document = int(self._addresses.segments[row]), int(self._addresses.documents[row])
        with engine_errors(self._bundle, f"row {row} cannot be read"):
            found: Document = self._searcher.doc(tantivy.DocAddress(segment, document)).to_dict()
        return found


def _run_rows(bundle: Bundle, num_rows: int) -> int:
    stored = sum(member.length for member in bundle.members.values() if member.name.endswith(".store"))
    return int(max(1, min(RUN_ROWS, _RUN_BYTES * num_rows // max(1, stored * _INFLATES))))


def _addresses(searcher: tantivy.Searcher, bundle: Bundle) -> Addresses | None:
    """The living documents in order, or None when they are all those of one segment: then row is document."""
    if searcher.num_segments == 1 and not any(name.endswith(".del") for name in bundle.members):
        return None
    pieces: list[npt.NDArray[np.uint32]] = []
    for start in range(0, searcher.num_docs, _HITS_AT_ONCE):
        # Hits of one score come in the order of their addresses, so that pages fit together.
        everything = Query.const_score_query(Query.all_query(), 1.0)
        hits = searcher.search(everything, limit=_HITS_AT_ONCE, offset=start, count=False).hits
        pieces.append(np.array([(at.segment_ord, at.doc) for _, at in hits], dtype=np.uint32))
    found = np.unique(np.concatenate(pieces), axis=0) if pieces else np.empty((0, 2), np.uint32)
    if len(found) != searcher.num_docs:
        raise bundle.damaged(f"{len(found)} of its {searcher.num_docs} documents could be found")
    return Addresses(found[:, 0], found[:, 1])

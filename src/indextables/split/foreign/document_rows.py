"""Reading rows from stored documents, in runs of bounded size.

The ordinal of a row is its position among the documents that are not deleted, segment by segment.
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
"""How much larger documents are assumed to be as Python objects. It affects the size of runs only."""

_HITS_AT_ONCE: Final = 1 << 20


class Addresses(NamedTuple):
    """The segment of each row, and its document in the segment."""

    segments: Ordinals
    documents: Ordinals


class DocumentRows:
    """The rows of an index with stored documents. A row group is a run of consecutive rows."""

    def __init__(self, opened: OpenIndex, fields: DocumentFields, num_rows: int, bundle: Bundle) -> None:
        self._searcher = opened.searcher
        self._fields = fields
        self._bundle = bundle
        with engine_errors(bundle):
            if opened.searcher.num_docs != num_rows:
                raise bundle.damaged(
                    f"its index has {opened.searcher.num_docs} documents, but its metadata declares {num_rows} rows"
                )
            self._addresses = _addresses(opened.searcher, bundle)
        self._num_rows = num_rows
        self._run_rows = _run_rows(bundle, num_rows)
        self._held: tuple[int, list[Document]] | None = None

    def windows(self, wanted: RowIds | None, _predicate: Predicate) -> Iterator[Window]:
        """Yield all runs, or those with wanted rows. Documents have no statistics that could exclude a run."""
        if wanted is None:
            yield from (Window((run,), None) for run in range(-(-self._num_rows // self._run_rows)))
            return
        runs = wanted // self._run_rows
        yield from (Window((int(run),), wanted[runs == run]) for run in np.unique(runs))

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        """Return the rows of some runs."""
        spans: list[RowIds] = [np.arange(*self._span(run), dtype=np.int64) for run in groups]
        return np.concatenate(spans) if spans else np.empty(0, dtype=np.int64)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
        """Return all rows of some runs."""
        if not columns:
            return empty_batch(len(self.row_ids(groups)))
        return self._batch([document for run in groups for document in self._run(run)], columns)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Return some rows, which must be ascending."""
        if not columns:
            return empty_batch(len(rows))
        return self._batch([self._document(row) for row in rows.tolist()], columns)

    def _batch(self, documents: list[Document], columns: Sequence[str]) -> pa.RecordBatch:
        arrays = [self._fields.column(name, documents) for name in columns]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _span(self, run: int) -> tuple[int, int]:
        return run * self._run_rows, min((run + 1) * self._run_rows, self._num_rows)

    def _run(self, run: int) -> list[Document]:
        """Return the documents of a run. The last run is cached: a filter reads some columns, the output others."""
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
            content: Document = self._searcher.doc(tantivy.DocAddress(segment, document)).to_dict()
        return content


def _run_rows(bundle: Bundle, num_rows: int) -> int:
    stored = sum(member.length for member in bundle.members.values() if member.name.endswith(".store"))
    return int(max(1, min(RUN_ROWS, _RUN_BYTES * num_rows // max(1, stored * _INFLATES))))


def _addresses(searcher: tantivy.Searcher, bundle: Bundle) -> Addresses | None:
    """Return the addresses of the documents that are not deleted, in order.

    None if there is one segment without deletes: then the row is the number of the document.
    """
    if searcher.num_segments == 1 and not any(name.endswith(".del") for name in bundle.members):
        return None
    pieces: list[npt.NDArray[np.uint32]] = []
    for start in range(0, searcher.num_docs, _HITS_AT_ONCE):
        # Hits of equal score are in the order of their addresses, so that the pages of the result are consistent.
        everything = Query.const_score_query(Query.all_query(), 1.0)
        hits = searcher.search(everything, limit=_HITS_AT_ONCE, offset=start, count=False).hits
        pieces.append(np.array([(at.segment_ord, at.doc) for _, at in hits], dtype=np.uint32))
    addresses = np.unique(np.concatenate(pieces), axis=0) if pieces else np.empty((0, 2), np.uint32)
    if len(addresses) != searcher.num_docs:
        raise bundle.damaged(
            f"a search for all documents returned {len(addresses)} of its {searcher.num_docs} documents"
        )
    return Addresses(addresses[:, 0], addresses[:, 1])

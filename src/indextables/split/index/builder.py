"""Building the Tantivy index of a split.

One writer with one thread keeps the documents in the order of the rows.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
import pyarrow as pa
import tantivy

from indextables.split.index.documents import json_documents
from indextables.split.index.engine import building_errors
from indextables.split.index.fields import IndexFields, register_tokenizers
from indextables.split.index.ranking import RankingStatistics, index_statistics

MIN_HEAP_BYTES: Final = 15_000_000
_CHUNK_ROWS: Final = 8192
_CHUNK_BYTES: Final = 16 << 20
"""Rows become Python objects on their way to the engine: at most this many rows and bytes at a time."""

META: Final = "meta.json"


@dataclass(frozen=True)
class BuiltIndex:
    """The files of a finished index, `meta.json` among them, and what ranking needs to know of it."""

    files: tuple[Path, ...]
    ranking: RankingStatistics


class IndexBuilder:
    """Writes rows to an index in a directory, with row ids from `base` on.

    Memory is bounded by the heap size, however many rows there are.
    """

    def __init__(self, fields: IndexFields, directory: Path, heap_size: int, base: int = 0) -> None:
        self._base = base
        self._fields = fields
        self._directory = directory
        self._rows = 0
        with building_errors(directory):
            directory.mkdir(parents=True)
            self._index = tantivy.Index(fields.tantivy_schema(), str(directory))
            register_tokenizers(self._index, fields, building=True)
            self._writer = self._index.writer(max(heap_size, MIN_HEAP_BYTES), 1)

    def add(self, batch: pa.RecordBatch) -> None:
        """Index the rows of a batch, after those of earlier batches."""
        step = max(1, min(_CHUNK_ROWS, batch.num_rows * _CHUNK_BYTES // max(1, batch.nbytes)))
        for start in range(0, batch.num_rows, step):
            self._add_chunk(batch.slice(start, step))

    def finish(self) -> BuiltIndex:
        """Commit, and return the finished index."""
        with building_errors(self._directory):
            self._writer.commit()
            self._writer.wait_merging_threads()
            return built_index(self._directory, self._fields, self._rows)

    def abort(self) -> None:
        """Stop the writer. Failures do not matter: the caller deletes the directory."""
        with contextlib.suppress(Exception), building_errors(self._directory):
            self._writer.rollback()
            self._writer.wait_merging_threads()

    def _add_chunk(self, chunk: pa.RecordBatch) -> None:
        documents = json_documents(self._fields, chunk, self._base + self._rows)
        add = self._writer.add_json
        with building_errors(self._directory):
            for document in documents:
                add(document)
        self._rows += chunk.num_rows


def built_index(directory: Path, fields: IndexFields, rows: int) -> BuiltIndex:
    """Return the index in a directory, without the files that belong to none of its segments.

    ValueError if it has deleted documents, another number of documents than rows, or files that cannot be read.
    """
    meta = orjson.loads((directory / META).read_bytes())
    documents = sum(segment["max_doc"] for segment in meta["segments"])
    if documents != rows or any(segment.get("deletes") for segment in meta["segments"]):
        raise ValueError(f"the index has {documents} documents for {rows} rows, or some of them are deleted")
    segments = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
    files = sorted(path for path in directory.iterdir() if path.name.split(".")[0] in segments)
    return BuiltIndex((*files, directory / META), index_statistics(files, meta, fields))

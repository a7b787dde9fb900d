"""Building the Tantivy index of a split.

One writer with one thread keeps the documents in the order of the rows.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.schema import path_values
from indextables.split.index.engine import building_errors
from indextables.split.index.fields import (
    NULLS,
    ROW,
    UNINDEXED,
    IndexField,
    IndexFields,
    register_tokenizers,
)
from indextables.split.index.ranking import RankingStatistics, index_statistics
from indextables.split.index.values import index_values
from indextables.split.index.words import unindexed_rows

MIN_HEAP_BYTES: Final = 15_000_000
_CHUNK_ROWS: Final = 4096
_CHUNK_BYTES: Final = 16 << 20
"""Rows become Python objects on their way to the engine: at most this many rows and bytes at a time."""

META: Final = "meta.json"
_WITHOUT_VALUES: Final = ("struct", "none")
"""Of columns of these kinds, the index knows only whether they are null."""


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
        first = self._base + self._rows
        keys, columns, sparse = [ROW], [list(range(first, first + chunk.num_rows))], []
        for field in self._fields.all:
            values = path_values(chunk, field.mapped.name)
            if values.null_count:
                sparse.append((field, values))
            elif field.mapped.kind not in _WITHOUT_VALUES:
                keys.append(field.name)
                columns.append(index_values(field.mapped, values))
        documents = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
        for field, values in sparse:
            _add_sparse(documents, field, values)
        for field in self._fields.all:
            if field.mapped.kind in ("text", "string"):
                for row in unindexed_rows(field.mapped, path_values(chunk, field.mapped.name)):
                    documents[row].setdefault(UNINDEXED, []).append(field.unindexed_term)
        add, dumps = self._writer.add_json, orjson.dumps
        with building_errors(self._directory):
            for document in documents:
                add(dumps(document).decode())
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


def _add_sparse(documents: list[dict[str, Any]], field: IndexField, values: pa.Array) -> None:
    """Add a column with nulls. Tantivy has no nulls: a null is an absent key, and listed in the field of nulls."""
    for position in np.flatnonzero(pc.is_null(values).to_numpy(zero_copy_only=False)).tolist():
        documents[position].setdefault(NULLS, []).append(field.null_term)
    if field.mapped.kind in _WITHOUT_VALUES:
        return
    for document, value in zip(documents, index_values(field.mapped, values), strict=True):
        if value is not None:
            document[field.name] = value

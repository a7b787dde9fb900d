"""A column group by chunks, for callers that cache or schedule reads themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indextables.columns.arguments import check_parallelism, expect, positions
from indextables.columns.conformance import empty_rows
from indextables.columns.group_rows import Chunk, GroupRows
from indextables.errors import InputError
from indextables.runtime import current, lazy_property


@dataclass(frozen=True)
class ChunkMetadata:
    """Rows of a chunk, and about how many bytes they take in memory with all columns of the group."""

    num_rows: int
    memory_size: int


class ChunkReader:
    """Chunks are numbered through all files of the group: row groups of Parquet, cut to the rows that are the group's.

    >>> from indextables.columns import Reader, Writer
    >>> rows = pa.table({"id": [1, 2, 3]})
    >>> with Writer("memory:doc-chunk-reader", rows.schema) as writer:
    ...     writer.write(rows)
    ...     groups = writer.close()
    >>> chunks = Reader(groups, rows.schema).get_chunk_reader(0)
    >>> chunks.get_number_of_chunks(), chunks.get_chunk_indices([2]), chunks.get_chunk(0).num_rows
    (1, [0], 3)
    """

    def __init__(self, group: GroupRows, columns: Sequence[str]) -> None:
        self._group = group
        self._columns = tuple(columns)

    @lazy_property
    def _chunks(self) -> list[Chunk]:
        return list(self._group.chunks(0, self._group.num_rows))

    def get_number_of_chunks(self) -> int:
        return len(self._chunks)

    def get_chunk_indices(self, rows: Sequence[int]) -> list[int]:
        """Return the chunks that hold these rows, each once, ascending."""
        row_ids = positions(rows)
        if len(row_ids) and not (row_ids.min() >= 0 and row_ids.max() < self._group.num_rows):
            raise InputError(f"rows of the group are 0 to {self._group.num_rows - 1}")
        starts = np.array([chunk.start for chunk in self._chunks])
        indices: list[int] = np.unique(np.searchsorted(starts, row_ids, side="right") - 1).tolist()
        return indices

    def get_chunk(self, index: int) -> pa.RecordBatch:
        chunk = self._chunk(index)
        if not self._columns:
            return empty_rows(chunk.stop - chunk.start).to_batches()[0]
        table = self._group.read(chunk.start, chunk.stop, self._columns).combine_chunks()
        batches: list[pa.RecordBatch] = table.to_batches()
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)

    def get_chunks(self, indices: Sequence[int], *, parallelism: int = 1) -> list[pa.RecordBatch]:
        """Return these chunks, in the order given."""
        check_parallelism(parallelism)
        for index in indices:
            self._chunk(index)
        return list(current().threads.map(self.get_chunk, indices, parallelism))

    def get_chunk_metadatas(self) -> list[ChunkMetadata]:
        """Return the metadata of all chunks. The size of a chunk that is cut is that of its remaining rows."""
        metadatas = []
        for chunk in self._chunks:
            file = self._group.opened(chunk.file)
            whole = int(file.starts[chunk.number + 1] - file.starts[chunk.number])
            rows = chunk.stop - chunk.start
            metadatas.append(ChunkMetadata(rows, file.memory(chunk.number) * rows // whole))
        return metadatas

    def _chunk(self, index: int) -> Chunk:
        expect(index, int, "the number of a chunk", "an int")
        if not 0 <= index < len(self._chunks):
            raise InputError(
                f"there is no chunk {index}; the column group has {len(self._chunks)}, numbered from 0"
            )
        return self._chunks[index]

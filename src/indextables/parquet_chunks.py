"""Checksums of the column chunks of a Parquet member, each checked before it is decoded.

Parquet's own page checksums leave the page headers out, and a flipped bit there can turn into other values. So
a split carries the CRC-32 of every column chunk, row group by row group, as little-endian 32-bit numbers.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq


class Chunk(NamedTuple):
    """A stretch of a Parquet file, as one column of one row group: where it lies, and what its bytes must sum to."""

    start: int
    length: int
    crc32: int | None

    @property
    def end(self) -> int:
        return self.start + self.length

    def is_whole(self, data: memoryview) -> bool:
        return len(data) == self.length and (self.crc32 is None or zlib.crc32(data) == self.crc32)


def chunk_checksums(path: Path) -> bytes:
    """The checksums of a finished Parquet file."""
    metadata = pq.read_metadata(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        view = memoryview(mapped)
        spans = [chunk_span(metadata, group, column) for group, column in _all_chunks(metadata)]
        sums = [zlib.crc32(view[start : start + length]) for start, length in spans]
        view.release()
    return bytes(np.array(sums, dtype="<u4").tobytes())


def chunks_of(
    metadata: pq.FileMetaData, checksums: bytes | None, groups: Sequence[int], columns: Sequence[int]
) -> list[Chunk]:
    """The chunks of these columns in these row groups. Raises ValueError if the checksums are not this file's."""
    known: npt.NDArray[np.uint32] | None = None
    if checksums is not None:
        known = np.frombuffer(checksums, dtype="<u4")
        if len(known) != metadata.num_row_groups * metadata.num_columns:
            raise ValueError("it has a different number of column chunks than of their checksums")
    chunks = []
    for group in groups:
        for column in columns:
            start, length = chunk_span(metadata, group, column)
            crc = None if known is None else int(known[group * metadata.num_columns + column])
            chunks.append(Chunk(start, length, crc))
    return chunks


def chunk_span(metadata: pq.FileMetaData, group: int, column: int) -> tuple[int, int]:
    chunk = metadata.row_group(group).column(column)
    start = chunk.data_page_offset
    if chunk.has_dictionary_page:
        start = min(start, chunk.dictionary_page_offset)
    return start, chunk.total_compressed_size


def _all_chunks(metadata: pq.FileMetaData) -> Iterator[tuple[int, int]]:
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            yield group, column

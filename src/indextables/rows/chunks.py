"""The column chunks of a Parquet file and their checksums.

Parquet's own page checksums leave the page headers out, and a flipped bit there can turn into other values. So the
writer computes the CRC-32 of every column chunk: little-endian 32-bit numbers, row group by row group. A split keeps
them in a member of its own, a file of a dataset before its footer.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow.parquet as pq

U32: Final = np.dtype("<u4")


class Span(NamedTuple):
    """A range of bytes of a file, and the CRC-32 of these bytes where it is known."""

    start: int
    length: int
    crc32: int | None = None

    @property
    def end(self) -> int:
        return self.start + self.length

    def is_whole(self, data: bytes | memoryview) -> bool:
        return len(data) == self.length and (self.crc32 is None or zlib.crc32(data) == self.crc32)


def chunk_spans(
    metadata: pq.FileMetaData, checksums: bytes | None, groups: Sequence[int], leaves: Sequence[int]
) -> list[Span]:
    """Return the chunks of these Parquet columns in these row groups.

    Raises ValueError if the checksums are not one for each column chunk of the file.
    """
    sums = None if checksums is None else np.frombuffer(checksums, U32)
    count = metadata.num_row_groups * metadata.num_columns
    if sums is not None and len(sums) != count:
        raise ValueError(f"it has {count} column chunks and checksums of {len(sums)}")
    return [
        chunk_span(
            metadata, group, leaf, None if sums is None else int(sums[group * metadata.num_columns + leaf])
        )
        for group in groups
        for leaf in leaves
    ]


def chunk_span(metadata: pq.FileMetaData, group: int, leaf: int, crc32: int | None = None) -> Span:
    chunk = metadata.row_group(group).column(leaf)
    start = chunk.data_page_offset
    if chunk.has_dictionary_page:
        start = min(start, chunk.dictionary_page_offset)
    return Span(start, chunk.total_compressed_size, crc32)

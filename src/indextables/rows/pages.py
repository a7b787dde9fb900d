"""The page directory of a Parquet file: where its pages are, so that a row costs a page and not a row group.

Every column of the file has its pages at the same rows: a page has `page_rows` of them, the last one of a row group
perhaps fewer. The directory is little-endian 32-bit numbers: `page_rows`, then the lengths of all pages, then their
CRC-32s. Both run over row groups, in one over Parquet columns, in one over its pages, of which the first is the
dictionary (length 0 where there is none). The bytes of a column chunk are its pages without a gap. A file that was
joined from others may have another `page_rows` in each row group: then the first number is 0, and those of all row
groups follow it.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.rows.chunks import U32, Span, chunk_span
from indextables.rows.footer_check import TRAILER_BYTES, footer_size
from indextables.rows.offset_index import PageLocations, read_offset_indexes
from indextables.runtime import lazy_property

RowIds: TypeAlias = npt.NDArray[np.int64]


def checksums_and_pages(path: Path, page_rows: int) -> tuple[bytes, bytes | None]:
    """Return the checksums of the column chunks of a finished file, and its page directory.

    Parquet's offset index says where the pages are. The directory is None if the file has no such index, or if the
    pages are not where `page_rows` has them.
    """
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
    ):
        footer_start = len(view) - footer_size(bytes(view[-TRAILER_BYTES:]), len(view))
        footer = bytes(view[footer_start:])
        metadata = pq.read_metadata(pa.BufferReader(footer))
        groups, leaves = range(metadata.num_row_groups), range(metadata.num_columns)
        chunks = [chunk_span(metadata, group, leaf) for group in groups for leaf in leaves]
        checksums = _pack(_crc32s(view, [(chunk.start, chunk.end) for chunk in chunks]))
        indexes = read_offset_indexes(view, footer_start, footer, len(chunks))
        rows = [metadata.row_group(group).num_rows for group in groups for _ in leaves]
        pages = None if indexes is None else _page_bounds(chunks, rows, indexes, page_rows)
        if pages is None:
            return checksums, None
        lengths = [end - start for start, end in pages]
        return checksums, _pack([page_rows, *lengths, *_crc32s(view, pages)])


def _page_bounds(
    chunks: Sequence[Span], rows: Sequence[int], indexes: Sequence[PageLocations], page_rows: int
) -> list[tuple[int, int]] | None:
    """Return where the dictionary and the data pages of each chunk begin and end, or None if they are elsewhere."""
    bounds: list[tuple[int, int]] = []
    for chunk, num_rows, (starts, lengths, first_rows) in zip(chunks, rows, indexes, strict=True):
        cuts = [chunk.start, *starts, chunk.end]
        pages = list(pairwise(cuts))
        is_regular = (
            first_rows == list(range(0, num_rows, page_rows))
            and [end - start for start, end in pages[1:]] == lengths
            and cuts[0] <= cuts[1]
        )
        if not is_regular:
            return None
        bounds += pages
    return bounds


def _crc32s(data: memoryview, bounds: Sequence[tuple[int, int]]) -> list[int]:
    return [zlib.crc32(data[start:end]) for start, end in bounds]


def page_directory(page_rows: RowIds, lengths: RowIds, checksums: RowIds) -> bytes:
    """Encode the directory of a file with so many rows a page in each row group."""
    sizes = np.unique(page_rows)
    first = sizes if len(sizes) == 1 else np.concatenate([[0], page_rows])
    return _pack(np.concatenate([first, lengths, checksums]))


def _pack(numbers: Sequence[int] | RowIds) -> bytes:
    return bytes(np.array(numbers, U32).tobytes())


class PickedPages(NamedTuple):
    """The pages that hold some rows: those of each row group, and how many rows they have.

    `places` is where the rows stand among the rows of these pages; `share` says which part of the pages of their row
    groups was picked.
    """

    groups: dict[int, list[int]]
    group_rows: list[int]
    places: RowIds
    share: float


@dataclass(frozen=True)
class PageDirectory:
    """The directory of an open file. Raises ValueError where it contradicts the file's footer."""

    raw: bytes
    metadata: pq.FileMetaData

    @lazy_property
    def page_rows(self) -> RowIds:
        """The number of rows of a page in each row group."""
        groups = self.metadata.num_row_groups
        first = int(np.frombuffer(self.raw, U32, 1)[0])
        if first:
            return np.full(groups, first, dtype=np.int64)
        rows = np.frombuffer(self.raw, U32, groups, offset=U32.itemsize).astype(np.int64)
        if not groups or not rows.all():
            raise ValueError("its page directory has pages of no rows")
        return rows

    @lazy_property
    def longest(self) -> int:
        """The number of rows of the largest page."""
        return int(self.page_rows.max(initial=0))

    @lazy_property
    def _first_page(self) -> RowIds:
        """The number of data pages before each row group."""
        return np.concatenate([[0], np.cumsum(self._counts)])

    @lazy_property
    def _group_rows(self) -> RowIds:
        groups = range(self.metadata.num_row_groups)
        return np.array([self.metadata.row_group(group).num_rows for group in groups], dtype=np.int64)

    @lazy_property
    def _counts(self) -> RowIds:
        """The number of data pages that a column has in each row group."""
        return -(-self._group_rows // self.page_rows)

    @lazy_property
    def _starts(self) -> RowIds:
        """The first entry of each row group, and one past the last: a dictionary and the data pages of each column."""
        return np.concatenate([[0], np.cumsum((self._counts + 1) * self.metadata.num_columns)])

    @lazy_property
    def entries(self) -> tuple[RowIds, RowIds]:
        """The lengths and checksums of all pages."""
        has_one_size = bool(np.frombuffer(self.raw, U32, 1)[0])
        before = 1 if has_one_size else 1 + len(self.page_rows)
        numbers = np.frombuffer(self.raw, U32, offset=before * U32.itemsize).astype(np.int64)
        total = int(self._starts[-1])
        if len(numbers) != 2 * total:
            raise ValueError(f"its page directory has {len(numbers)} entries, and its pages need {2 * total}")
        return numbers[:total], numbers[total:]

    def decoded_rows(self, rows: RowIds, group_starts: RowIds) -> int:
        """Return how many rows the pages have that hold these rows."""
        return sum(self.pick(rows, group_starts).group_rows)

    def pick(self, rows: RowIds, group_starts: RowIds) -> PickedPages:
        """Return the pages that hold these rows, which are ascending."""
        first_page = self._first_page
        group = np.searchsorted(group_starts, rows, side="right") - 1
        page_rows = self.page_rows[group]
        page = (rows - group_starts[group]) // page_rows
        picked, index = np.unique(first_page[group] + page, return_inverse=True)
        of_group = np.searchsorted(first_page, picked, side="right") - 1
        in_group = picked - first_page[of_group]
        sizes = self.page_rows[of_group]
        lengths = np.minimum(sizes, self._group_rows[of_group] - in_group * sizes)
        before = np.cumsum(lengths) - lengths
        places = before[index] + (rows - group_starts[group]) % page_rows
        groups, cuts = np.unique(of_group, return_index=True)
        pages = [part.tolist() for part in np.split(in_group, cuts[1:])]
        return PickedPages(
            groups=dict(zip(groups.tolist(), pages, strict=True)) if len(picked) else {},
            group_rows=np.add.reduceat(lengths, cuts).tolist() if len(picked) else [],
            places=places,
            share=len(picked) / max(1, int(self._counts[groups].sum())),
        )

    def spans(self, group: int, leaf: int, pages: Sequence[int]) -> tuple[Span | None, list[Span]]:
        """Return the dictionary of a column chunk, if it has one, and these of its data pages."""
        entries = self._chunk_entries.get((group, leaf))
        if entries is None:
            entries = self._chunk_entries[group, leaf] = self._locate(group, leaf)
        return entries[0] if entries[0].length else None, [entries[page + 1] for page in pages]

    @lazy_property
    def _chunk_entries(self) -> dict[tuple[int, int], list[Span]]:
        """The entries of the column chunks that were asked for before."""
        return {}

    def _locate(self, group: int, leaf: int) -> list[Span]:
        count = int(self._counts[group]) + 1
        first = int(self._starts[group]) + leaf * count
        lengths, sums = (numbers[first : first + count] for numbers in self.entries)
        chunk = chunk_span(self.metadata, group, leaf)
        if int(lengths.sum()) != chunk.length:
            raise ValueError("its page directory has other lengths than its footer")
        starts = np.cumsum(lengths) - lengths + chunk.start
        return [Span(*entry) for entry in zip(starts.tolist(), lengths.tolist(), sums.tolist(), strict=True)]

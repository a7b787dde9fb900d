"""Where the pages of a Parquet member lie, so that a row costs the page it is in and not its row group.

Every column of a member has its pages at the same rows: a page has `page_rows` of them, the last one of a row group
perhaps fewer. The directory is little-endian 32-bit numbers: `page_rows`, then the lengths of all pages, then their
CRC-32s. Both run over row groups, in one over columns, in one over its pages, of which the first is the dictionary
(length 0 where there is none). The bytes of a column chunk are its pages without a gap.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from indextables.parquet_chunks import Chunk, chunk_span
from indextables.thrift import I32, read_field, read_number, skip

_DATA_PAGE: Final = 0
_DICTIONARY_PAGE: Final = 2
_U32: Final = np.dtype("<u4")

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Page:
    kind: int
    length: int
    num_values: int


def page_directory(path: Path, page_rows: int) -> bytes | None:
    """The directory of a finished Parquet file; None if its pages are not where `page_rows` has them."""
    metadata = pq.read_metadata(path)
    lengths: list[int] = []
    sums: list[int] = []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for group in range(metadata.num_row_groups):
            expected = _rows_of_pages(metadata.row_group(group).num_rows, page_rows)
            for column in range(metadata.num_columns):
                at, length = chunk_span(metadata, group, column)
                pages = list(_pages(mapped[at : at + length]))
                if not pages or pages[0].kind != _DICTIONARY_PAGE:
                    pages.insert(0, _Page(_DICTIONARY_PAGE, 0, 0))
                if [page.num_values for page in pages[1:]] != expected:
                    return None
                for page in pages:
                    lengths.append(page.length)
                    sums.append(zlib.crc32(mapped[at : at + page.length]))
                    at += page.length
    return bytes(np.array([page_rows, *lengths, *sums], dtype=_U32).tobytes())


def _rows_of_pages(rows: int, page_rows: int) -> list[int]:
    return [min(page_rows, rows - start) for start in range(0, rows, page_rows)]


def _pages(chunk: bytes) -> Iterator[_Page]:
    """The pages of a column chunk, by their headers."""
    at = 0
    while at < len(chunk):
        start, field_id = at, 0
        kind = size = values = -1
        while True:
            field_id, of, at = read_field(chunk, at, field_id)
            if not of:
                break
            if field_id == 1:
                kind, at = read_number(chunk, at)
            elif field_id == 3:
                size, at = read_number(chunk, at)
            elif field_id in (5, 7, 8):  # the header of a data page, a dictionary, a data page of version 2
                values = _first_number(chunk, at)
                at = skip(chunk, at, of)
            else:
                at = skip(chunk, at, of)
        at += size
        yield _Page(kind, at - start, values)


def _first_number(data: bytes, at: int) -> int:
    field_id, kind, at = read_field(data, at, 0)
    return read_number(data, at)[0] if (field_id, kind) == (1, I32) else -1


@dataclass(frozen=True)
class PageDirectory:
    """The directory of an open member. Raises ValueError if it is not that member's."""

    raw: bytes
    metadata: pq.FileMetaData

    @cached_property
    def page_rows(self) -> int:
        rows = int(np.frombuffer(self.raw, _U32, 1)[0])
        if rows == 0:
            raise ValueError("its page directory has pages of no rows")
        return rows

    @cached_property
    def group_rows(self) -> Numbers:
        groups = range(self.metadata.num_row_groups)
        return np.array([self.metadata.row_group(group).num_rows for group in groups], dtype=np.int64)

    @cached_property
    def _entries(self) -> Numbers:
        """How many entries a column has in each row group: its dictionary, and its pages."""
        return 1 - (-self.group_rows // self.page_rows)

    @cached_property
    def _starts(self) -> Numbers:
        return np.concatenate([[0], np.cumsum(self._entries * self.metadata.num_columns)])

    @cached_property
    def _numbers(self) -> tuple[Numbers, Numbers]:
        numbers = np.frombuffer(self.raw, _U32, offset=_U32.itemsize).astype(np.int64)
        total = int(self._starts[-1])
        if len(numbers) != 2 * total:
            raise ValueError("its page directory is of another number of pages")
        return numbers[:total], numbers[total:]

    def rows_in(self, group: int, pages: Sequence[int]) -> int:
        """How many rows these pages of a row group have."""
        last = int(self.group_rows[group]) - (int(self._entries[group]) - 2) * self.page_rows
        has_last = bool(pages) and pages[-1] == self._entries[group] - 2
        return len(pages) * self.page_rows - (self.page_rows - last if has_last else 0)

    def chunks(self, group: int, column: int, pages: Sequence[int]) -> tuple[Chunk | None, list[Chunk]]:
        """The dictionary of a column chunk, if it has one, and these of its pages."""
        places = self._places.get((group, column))
        if places is None:
            places = self._places[group, column] = self._placed(group, column)
        starts, lengths, sums = places
        head = Chunk(starts[0], lengths[0], sums[0]) if lengths[0] else None
        return head, [Chunk(starts[page + 1], lengths[page + 1], sums[page + 1]) for page in pages]

    @cached_property
    def _places(self) -> dict[tuple[int, int], tuple[list[int], list[int], list[int]]]:
        """What has been looked up before: start, length and checksum of each entry of a column chunk."""
        return {}

    def _placed(self, group: int, column: int) -> tuple[list[int], list[int], list[int]]:
        count = int(self._entries[group])
        first = int(self._starts[group]) + column * count
        lengths, sums = (numbers[first : first + count] for numbers in self._numbers)
        start, length = chunk_span(self.metadata, group, column)
        if int(lengths.sum()) != length:
            raise ValueError("its page directory has other lengths than its footer")
        starts = np.cumsum(lengths) - lengths + start
        return starts.tolist(), lengths.tolist(), sums.tolist()

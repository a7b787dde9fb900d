"""The page directory of a Parquet file: where its pages are, so that a row costs a page and not a row group.

Every column of the file has its pages at the same rows: a page has `page_rows` of them, the last one of a row group
perhaps fewer. The directory is little-endian 32-bit numbers: `page_rows`, then the lengths of all pages, then their
CRC-32s. Both run over row groups, in one over Parquet columns, in one over its pages, of which the first is the
dictionary (length 0 where there is none). The bytes of a column chunk are its pages without a gap.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from indextables.rows.chunks import U32, Span, chunk_span
from indextables.rows.thrift import I32, read_field, read_number, skip

_DICTIONARY_PAGE: Final = 2
_HEADERS: Final = {5: 1, 7: 1, 8: 3}
"""Fields of a page header that describe a data page, a dictionary, a data page of version 2, and in each the field
that has the number of rows. Version 1 has the number of values there, which is the same unless the column has lists."""

RowIds: TypeAlias = npt.NDArray[np.int64]


class _Page(NamedTuple):
    kind: int
    length: int
    num_rows: int


def checksums_and_pages(path: Path, page_rows: int) -> tuple[bytes, bytes | None]:
    """Return the checksums of the column chunks of a finished file, and its page directory.

    The directory is None if the pages are not where `page_rows` has them.
    """
    metadata = pq.read_metadata(path)
    chunk_sums: list[int] = []
    lengths: list[int] = []
    page_sums: list[int] = []
    is_regular = True
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for group in range(metadata.num_row_groups):
            expected = _rows_of_pages(metadata.row_group(group).num_rows, page_rows)
            for leaf in range(metadata.num_columns):
                span = chunk_span(metadata, group, leaf)
                chunk = mapped[span.start : span.end]
                chunk_sums.append(zlib.crc32(chunk))
                pages = list(_pages(chunk)) if is_regular else []
                if not pages or pages[0].kind != _DICTIONARY_PAGE:
                    pages.insert(0, _Page(_DICTIONARY_PAGE, 0, 0))
                is_regular = is_regular and [page.num_rows for page in pages[1:]] == expected
                at = 0
                for page in pages:
                    lengths.append(page.length)
                    page_sums.append(zlib.crc32(chunk[at : at + page.length]))
                    at += page.length
    directory = _packed([page_rows, *lengths, *page_sums]) if is_regular else None
    return _packed(chunk_sums), directory


def _packed(numbers: Sequence[int]) -> bytes:
    return bytes(np.array(numbers, U32).tobytes())


def _rows_of_pages(rows: int, page_rows: int) -> list[int]:
    return [min(page_rows, rows - start) for start in range(0, rows, page_rows)]


def _pages(chunk: bytes) -> Iterator[_Page]:
    """Yield the pages of a column chunk, by their headers."""
    at = 0
    while at < len(chunk):
        start, field_id = at, 0
        kind = size = rows = -1
        while True:
            field_id, of, at = read_field(chunk, at, field_id)
            if not of:
                break
            if field_id == 1:
                kind, at = read_number(chunk, at)
            elif field_id == 3:
                size, at = read_number(chunk, at)
            else:
                if field_id in _HEADERS:
                    rows = _number_in(chunk, at, _HEADERS[field_id])
                at = skip(chunk, at, of)
        at += size
        yield _Page(kind, at - start, rows)


def _number_in(data: bytes, at: int, wanted_id: int) -> int:
    """Return a number of the struct that begins here, or -1."""
    field_id = 0
    while True:
        field_id, kind, at = read_field(data, at, field_id)
        if not kind or field_id > wanted_id:
            return -1
        if field_id == wanted_id:
            return read_number(data, at)[0] if kind == I32 else -1
        at = skip(data, at, kind)


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

    @cached_property
    def page_rows(self) -> int:
        rows = int(np.frombuffer(self.raw, U32, 1)[0])
        if rows == 0:
            raise ValueError("its page directory has pages of no rows")
        return rows

    @cached_property
    def _group_rows(self) -> RowIds:
        groups = range(self.metadata.num_row_groups)
        return np.array([self.metadata.row_group(group).num_rows for group in groups], dtype=np.int64)

    @cached_property
    def _counts(self) -> RowIds:
        """The number of data pages that a column has in each row group."""
        return -(-self._group_rows // self.page_rows)

    @cached_property
    def _starts(self) -> RowIds:
        """The first entry of each row group, and one past the last: a dictionary and the data pages of each column."""
        return np.concatenate([[0], np.cumsum((self._counts + 1) * self.metadata.num_columns)])

    @cached_property
    def _entries(self) -> tuple[RowIds, RowIds]:
        """The lengths and checksums of all pages."""
        numbers = np.frombuffer(self.raw, U32, offset=U32.itemsize).astype(np.int64)
        total = int(self._starts[-1])
        if len(numbers) != 2 * total:
            raise ValueError(f"its page directory has {len(numbers)} entries, and its pages need {2 * total}")
        return numbers[:total], numbers[total:]

    def pick(self, rows: RowIds, group_starts: RowIds) -> PickedPages:
        """Return the pages that hold these rows, which are ascending."""
        first_page = np.concatenate([[0], np.cumsum(self._counts)])
        group = np.searchsorted(group_starts, rows, side="right") - 1
        page = (rows - group_starts[group]) // self.page_rows
        picked, index = np.unique(first_page[group] + page, return_inverse=True)
        of_group = np.searchsorted(first_page, picked, side="right") - 1
        in_group = picked - first_page[of_group]
        lengths = np.minimum(self.page_rows, self._group_rows[of_group] - in_group * self.page_rows)
        before = np.cumsum(lengths) - lengths
        places = before[index] + (rows - group_starts[group]) % self.page_rows
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
        entries = self._located.get((group, leaf))
        if entries is None:
            entries = self._located[group, leaf] = self._locate(group, leaf)
        return entries[0] if entries[0].length else None, [entries[page + 1] for page in pages]

    @cached_property
    def _located(self) -> dict[tuple[int, int], list[Span]]:
        """The entries of the column chunks that were asked for before."""
        return {}

    def _locate(self, group: int, leaf: int) -> list[Span]:
        count = int(self._counts[group]) + 1
        first = int(self._starts[group]) + leaf * count
        lengths, sums = (numbers[first : first + count] for numbers in self._entries)
        chunk = chunk_span(self.metadata, group, leaf)
        if int(lengths.sum()) != chunk.length:
            raise ValueError("its page directory has other lengths than its footer")
        starts = np.cumsum(lengths) - lengths + chunk.start
        return [Span(*entry) for entry in zip(starts.tolist(), lengths.tolist(), sums.tolist(), strict=True)]

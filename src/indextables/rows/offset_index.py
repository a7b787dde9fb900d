"""Parquet's offset index: where the data pages of each column chunk begin, and with which row.

Arrow writes the offset indexes of a file one after the other, row group by row group and in each column by column,
right before the footer. The footer is asked for the first one only: an index says itself where it ends, and its pages
say which column chunk it belongs to. All numbers are decoded in one pass of NumPy, since a file has many small pages.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from indextables.rows.thrift import LISTS, STRUCT, StructFields, read_field, read_list, read_number

_Numbers: TypeAlias = npt.NDArray[np.int64]

_TOKENS: Final = 7
"""Of a page: the headers of three fields, each with its number (offset, length, first row), and the struct's end."""

_SHAPE: Final = ((2, 0x15), (4, 0x16), (6, 0x00))
"""Which of these tokens are always the same, and their last bytes. The first one may follow a list's header without a
boundary between them."""

_ROW_GROUPS: Final = 4
_COLUMNS: Final = 1
_OFFSET_INDEX_OFFSET: Final = 4
"""Fields of a footer, of a row group, of a column chunk."""


class PageLocations(NamedTuple):
    """The data pages of one column chunk: where they begin, their lengths with their headers, their first rows."""

    starts: list[int]
    lengths: list[int]
    first_rows: list[int]


def read_offset_indexes(
    file: memoryview, footer_start: int, footer: bytes, chunks: int
) -> list[PageLocations] | None:
    """Return the offset index of each column chunk, or None if a file has none or has them in another layout."""
    if not chunks:
        return []
    start = _first_index(footer)
    if start is None:
        return None
    try:
        return _read(bytes(file[start:footer_start]), chunks)
    except (ValueError, IndexError):
        return None


def _read(raw: bytes, chunks: int) -> list[PageLocations]:
    """Return so many offset indexes, which must fill these bytes."""
    region = np.frombuffer(raw, np.uint8)
    is_end = region < 0x80
    ends = np.flatnonzero(is_end)
    # The token of each byte. Tokens are numbers of one byte or more; a field's header is a token of one byte.
    tokens: _Numbers = np.cumsum(is_end) - is_end
    counts, firsts = [], []
    at = 0
    for _ in range(chunks):
        field_id, kind, at = read_field(raw, at, 0)
        if field_id != 1 or kind not in LISTS:
            raise ValueError("an offset index that does not begin with its pages")
        count, of, at = read_list(raw, at)
        if not count or of != STRUCT:
            raise ValueError("an offset index without pages")
        counts.append(count)
        firsts.append(int(tokens[at]))
        at = _end_of_struct(raw, int(ends[firsts[-1] + _TOKENS * count - 1]) + 1, tokens, ends)
    if at != len(raw):
        raise ValueError(f"offset indexes that end {len(raw) - at} bytes before the footer")
    stops = np.cumsum(counts)
    pages: _Numbers = np.repeat(np.array(firsts) - _TOKENS * (stops - counts), counts)
    pages += _TOKENS * np.arange(len(pages))
    if any((region[ends[pages + place]] != byte).any() for place, byte in _SHAPE):
        raise ValueError("an offset index with pages of another shape")
    starts, lengths, first_rows = (_numbers(region, ends, pages + place).tolist() for place in (1, 3, 5))
    return [
        PageLocations(starts[first:stop], lengths[first:stop], first_rows[first:stop])
        for first, stop in pairwise([0, *stops.tolist()])
    ]


def _end_of_struct(raw: bytes, at: int, tokens: _Numbers, ends: _Numbers) -> int:
    """Return where the offset index ends whose pages end at `at`: for texts it has a number of each page too."""
    fields = StructFields(raw, at, last_id=1)
    for field_id, kind in fields:
        if field_id == 2 and kind in LISTS:
            count, _, at = read_list(raw, fields.at)
            fields.at = int(ends[int(tokens[at]) + count - 1]) + 1 if count else at
    return fields.at


def _numbers(region: npt.NDArray[np.uint8], ends: _Numbers, tokens: _Numbers) -> _Numbers:
    """Return these tokens as the numbers that they are."""
    begins = ends[tokens - 1] + 1
    sizes = ends[tokens] + 1 - begins
    values = np.zeros(len(tokens), np.int64)
    for place in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > place)
        values[rows] |= (region[begins[rows] + place].astype(np.int64) & 0x7F) << 7 * place
    return values >> 1  # zigzag, of numbers that are not negative


def _first_index(footer: bytes) -> int | None:
    """Return where the offset index of the first column chunk begins."""
    at: int | None = 0
    for field in (_ROW_GROUPS, _COLUMNS):
        at = _find_field(footer, at or 0, field)
        if at is None:
            return None
        count, _, at = read_list(footer, at)
        if not count:
            return None
    at = _find_field(footer, at or 0, _OFFSET_INDEX_OFFSET)
    return None if at is None else read_number(footer, at)[0]


def _find_field(data: bytes, at: int, field_id: int) -> int | None:
    """Return where the value of a field of the struct at `at` begins."""
    fields = StructFields(data, at)
    return next((fields.at for each, _ in fields if each == field_id), None)

"""Columns of open splits, decoded in memory for aggregates that are asked for again and again.

A split never changes, so a decoded column stays valid. Strings are dictionary arrays: codes are counted faster than
texts. A column is decoded as a whole only where fetching the rows page by page would decode most of it anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from indextables.rows import RowIds
from indextables.runtime import CacheSpec, current
from indextables.split.contents import Contents
from indextables.split.rows import WINDOW_ROWS

_PAGE_ROWS: Final = 2048
"""The rows of a page, about: with one hit in each, all pages are decoded."""

_SHARE: Final = 4
"""One column may take this part of the memory of all."""


class _Decoded(NamedTuple):
    values: pa.Array | None
    """None: the column is too large to keep."""


_COLUMNS: Final = CacheSpec[tuple[str, str], _Decoded]("decoded columns of splits", entries=1 << 14)


class DecodedColumns:
    """The decoded columns of one split. All splits of a process together take at most about `max_bytes`."""

    def __init__(self, contents: Contents, max_bytes: int) -> None:
        self._contents = contents
        self._max_bytes = max_bytes

    def get(self, column: str, num_wanted: int) -> pa.Array | None:
        """Return the values of all rows of the split; None if the wanted ones are better fetched by page."""
        if not self._max_bytes:
            return None
        cache = current().cache(_COLUMNS)
        key = self._contents.identity, column
        decoded = cache.get(key)
        if decoded is None:
            if num_wanted * _PAGE_ROWS < self._contents.num_rows:
                return None
            decoded = _Decoded(self._decode(column))
            size = 0 if decoded.values is None else decoded.values.nbytes
            cache.put(key, decoded, weight=size, max_weight=self._max_bytes)
        return decoded.values

    def _decode(self, column: str) -> pa.Array | None:
        """Return a whole column; None if it takes too much memory."""
        chunks: list[pa.Array] = []
        size = 0
        num_rows = self._contents.num_rows
        for start in range(0, num_rows, WINDOW_ROWS):
            rows: RowIds = np.arange(start, min(start + WINDOW_ROWS, num_rows))
            values = self._contents.rows.fetch(rows, [column]).column(0)
            if _is_bytes(values.type):
                values = values.dictionary_encode()
            chunks.append(values)
            size += values.nbytes
            if size > self._max_bytes // _SHARE:
                return None
        return _one_array(chunks)


def take(values: pa.Array, rows: RowIds) -> pa.Array:
    """Return the values of some rows, ascending; all rows are not copied."""
    return values if len(rows) == len(values) else values.take(pa.array(rows))


def _is_bytes(kind: pa.DataType) -> bool:
    tests: tuple[Callable[[pa.DataType], bool], ...] = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
    )
    return any(test(kind) for test in tests)


def _one_array(chunks: list[pa.Array]) -> pa.Array:
    """Return the chunks as one array, with the shortest codes that hold all values."""
    if not pa.types.is_dictionary(chunks[0].type):
        return pa.concat_arrays(chunks)
    whole = pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
    values = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    most = len(values.dictionary)
    codes = pa.uint8() if most <= 1 << 8 else pa.uint16() if most <= 1 << 16 else pa.int32()
    return pa.DictionaryArray.from_arrays(values.indices.cast(codes), values.dictionary)

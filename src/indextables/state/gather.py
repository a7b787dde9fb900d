"""Gather kernel: some rows of a chunked table at the cost of those rows. Arrow's `take` would copy the table first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_ROWS_A_RUN: Final = 64
"""Runs of rows of at least this mean length are sliced; shorter ones are taken row by row."""


_FEW_GAPS: Final = 64
"""Up to so many rows are dropped by slicing; for more, the table is copied, so that it does not fall into chunks."""


def drop_rows(table: pa.Table, mask: npt.NDArray[np.bool_]) -> pa.Table:
    """Return the table without the rows that the mask marks.

    >>> drop_rows(pa.table({"n": [0, 1, 2, 3]}), np.array([False, True, False, False])).column("n").to_pylist()
    [0, 2, 3]
    """
    count = np.count_nonzero(mask)
    if count == 0:
        return table
    if count > _FEW_GAPS:
        return table.filter(pa.array(~mask))
    return Gatherer(table).pieces(np.flatnonzero(~mask))


class Gatherer:
    """A table of which some rows are gathered many times."""

    def __init__(self, table: pa.Table) -> None:
        self._schema = table.schema
        self._batches: list[pa.RecordBatch] = table.to_batches()
        ends = np.cumsum([0, *(batch.num_rows for batch in self._batches)])
        self._ends: npt.NDArray[np.int64] = ends.astype(np.int64)

    def rows(self, places: npt.NDArray[np.int64]) -> pa.Table:
        """Return the given rows, each at most once, in this order, in one chunk.

        >>> table = pa.concat_tables([pa.table({"n": [0, 1, 2]}), pa.table({"n": [3, 4]})])
        >>> Gatherer(table).rows(np.array([4, 2, 3, 0])).column("n").to_pylist()
        [4, 2, 3, 0]
        """
        if _run_count(places) * _ROWS_A_RUN <= len(places):
            return self._concat(self._slices(places))
        in_order = np.sort(places)
        gathered = self._concat(self._take(in_order))
        return gathered.take(pa.array(np.searchsorted(in_order, places)))

    def pieces(self, places: npt.NDArray[np.int64]) -> pa.Table:
        """Return the given rows without a copy, in one chunk for each run of consecutive rows."""
        return pa.Table.from_batches(self._slices(places), self._schema)

    def _concat(self, batches: Iterator[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches(batches, self._schema).combine_chunks()

    def _slices(self, places: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """Yield the slices of each run of consecutive rows, batch by batch."""
        breaks: list[int] = (np.flatnonzero(np.diff(places) != 1) + 1).tolist()
        for start, stop in itertools.pairwise([0, *breaks, len(places)]):
            if start < stop:
                yield from self._slice(int(places[start]), int(places[stop - 1]) + 1)

    def _slice(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        number = int(np.searchsorted(self._ends, first, side="right")) - 1
        while first < end:
            begin, stop = int(self._ends[number]), min(int(self._ends[number + 1]), end)
            if first < stop:
                yield self._batches[number].slice(first - begin, stop - first)
            first, number = stop, number + 1

    def _take(self, in_order: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        cuts: npt.NDArray[np.int64] = np.searchsorted(in_order, self._ends)
        for number, (start, stop) in enumerate(itertools.pairwise(cuts.tolist())):
            if start < stop:
                yield self._batches[number].take(pa.array(in_order[start:stop] - self._ends[number]))


def _run_count(places: npt.NDArray[np.int64]) -> int:
    return int(np.count_nonzero(np.diff(places) != 1)) + 1

"""Some rows of a table in a given order, at the price of those rows: Arrow's own `take` joins the whole table first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_ROWS_A_RUN: Final = 64
"""Runs of rows that are at least so long on average are cut out; shorter ones are picked row by row."""


_FEW_GAPS: Final = 64
"""So many rows are left out by cutting; for more, the others are copied, lest the table falls to pieces."""


def without(table: pa.Table, gone: npt.NDArray[np.bool_]) -> pa.Table:
    """The table without the rows that are marked.

    >>> without(pa.table({"n": [0, 1, 2, 3]}), np.array([False, True, False, False])).column("n").to_pylist()
    [0, 2, 3]
    """
    count = np.count_nonzero(gone)
    if count == 0:
        return table
    if count > _FEW_GAPS:
        return table.filter(pa.array(~gone))
    return Gatherer(table).pieces(np.flatnonzero(~gone))


class Gatherer:
    """A table whose rows are taken many times, a part of them each time."""

    def __init__(self, table: pa.Table) -> None:
        self._schema = table.schema
        self._batches: list[pa.RecordBatch] = table.to_batches()
        ends = np.cumsum([0, *(batch.num_rows for batch in self._batches)])
        self._ends: npt.NDArray[np.int64] = ends.astype(np.int64)

    def rows(self, places: npt.NDArray[np.int64]) -> pa.Table:
        """The rows at these places, each at most once, in this order, in one chunk.

        >>> table = pa.concat_tables([pa.table({"n": [0, 1, 2]}), pa.table({"n": [3, 4]})])
        >>> Gatherer(table).rows(np.array([4, 2, 3, 0])).column("n").to_pylist()
        [4, 2, 3, 0]
        """
        if _run_count(places) * _ROWS_A_RUN <= len(places):
            return self._joined(self._cut_out(places))
        in_order = np.sort(places)
        found = self._joined(self._picked(in_order))
        return found.take(pa.array(np.searchsorted(in_order, places)))

    def pieces(self, places: npt.NDArray[np.int64]) -> pa.Table:
        """The same without a copy, in a chunk for each run of rows that follow each other."""
        return pa.Table.from_batches(self._cut_out(places), self._schema)

    def _joined(self, batches: Iterator[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches(batches, self._schema).combine_chunks()

    def _cut_out(self, places: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """Run by run of places that follow each other, and of those, batch by batch."""
        breaks: list[int] = (np.flatnonzero(np.diff(places) != 1) + 1).tolist()
        for start, stop in itertools.pairwise([0, *breaks, len(places)]):
            if start < stop:
                yield from self._between(int(places[start]), int(places[stop - 1]) + 1)

    def _between(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        number = int(np.searchsorted(self._ends, first, side="right")) - 1
        while first < end:
            begin, stop = int(self._ends[number]), min(int(self._ends[number + 1]), end)
            if first < stop:
                yield self._batches[number].slice(first - begin, stop - first)
            first, number = stop, number + 1

    def _picked(self, in_order: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        cuts: npt.NDArray[np.int64] = np.searchsorted(in_order, self._ends)
        for number, (start, stop) in enumerate(itertools.pairwise(cuts.tolist())):
            if start < stop:
                yield self._batches[number].take(pa.array(in_order[start:stop] - self._ends[number]))


def _run_count(places: npt.NDArray[np.int64]) -> int:
    return int(np.count_nonzero(np.diff(places) != 1)) + 1

"""Row ids: how the index of a split names rows, so that the names stay valid when the index is merged with others.

A split numbers its rows from a base of its own, a random number: the id of a row is the base plus the ordinal of the
row. A merged split keeps the ids of its sources. It lists their runs in the order of its rows: the base of each, the
ordinal of its first row, and the number of its rows. Splits written before there were bases have no list, and ids that
are ordinals: one run of base 0.

Runs neither overlap nor wrap: every id belongs to one row, and is less than 2^63. Ids are unsigned 64-bit integers for
the engine and signed ones for numpy, so that both have the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import orjson

from indextables.rows import RowIds
from indextables.runtime import lazy_property, new_id

_BASE_BITS: Final = 62
_END: Final = 1 << 63


class RowRun(NamedTuple):
    """Some rows: ordinals from `start` on, ids from `base` on."""

    base: int
    start: int
    length: int

    @property
    def end(self) -> int:
        return self.base + self.length


@dataclass(frozen=True)
class RowRuns:
    """The runs of a split in the order of its rows. ValueError if they overlap, wrap, or leave a row out.

    >>> runs = RowRuns.concat([RowRuns.single(700, 2), RowRuns.single(50, 3)])
    >>> runs.runs
    (RowRun(base=700, start=0, length=2), RowRun(base=50, start=2, length=3))
    >>> runs.rows(np.array([50, 701, 52])).tolist()
    [2, 1, 4]
    """

    runs: tuple[RowRun, ...]

    def __post_init__(self) -> None:
        start = 0
        for run in self.runs:
            if run.start != start or run.length < 1 or run.base < 0 or run.end > _END:
                raise ValueError(f"a run of {run.length} row ids from {run.base} on at row {run.start}")
            start += run.length
        by_base = sorted(self.runs)
        for lower, upper in pairwise(by_base):
            if lower.end > upper.base:
                raise ValueError(f"two runs have the row id {upper.base}")

    @classmethod
    def single(cls, base: int, rows: int) -> RowRuns:
        """Return the runs of a split that was not merged."""
        return cls((RowRun(base, 0, rows),) if rows else ())

    @classmethod
    def concat(cls, parts: Iterable[RowRuns]) -> RowRuns:
        """Return the runs of the rows of several splits, one after the other."""
        runs: list[RowRun] = []
        start = 0
        for part in parts:
            runs += [run._replace(start=start + run.start) for run in part.runs]
            start += part.num_rows
        return cls(tuple(runs))

    @classmethod
    def from_bytes(cls, data: bytes) -> RowRuns:
        """Decode the list of a split. ValueError if it is not one."""
        runs: Any = orjson.loads(data)
        if not isinstance(runs, list) or not all(_is_run(run) for run in runs):
            raise ValueError("its list of row ids is not a list of three numbers each")
        return cls(tuple(RowRun(*run) for run in runs))

    def to_bytes(self) -> bytes:
        return orjson.dumps([list(run) for run in self.runs])

    @lazy_property
    def num_rows(self) -> int:
        return sum(run.length for run in self.runs)

    def rows(self, ids: RowIds) -> RowIds:
        """Return the ordinals of rows from their ids. ValueError if a run has no such id."""
        if len(self.runs) == 1:
            rows = ids - self.runs[0].base
            outside = len(rows) > 0 and not 0 <= rows.min() <= rows.max() < self.num_rows
        else:
            bases, starts, lengths = self._by_base
            if not len(bases) and len(ids):
                raise ValueError("a row id where there are no rows")
            run = np.searchsorted(bases, ids, side="right") - 1
            offsets = ids - bases[run]  # negative for an id below all bases, whose run is the last one
            rows = starts[run] + offsets
            outside = bool(np.any((offsets < 0) | (offsets >= lengths[run])))
        if outside:
            raise ValueError(f"a row id among {ids.min()} to {ids.max()} that none of its runs has")
        return rows

    def intervals(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield intervals of ids, ends included, that together have all rows, and each at most `most` of them."""
        bases, _, lengths = self._by_base
        ends = np.cumsum(lengths)
        before = ends - lengths
        for first in range(0, self.num_rows, most):
            last = min(first + most, self.num_rows) - 1
            low, high = np.searchsorted(ends, [first, last], side="right")
            yield (
                int(bases[low] + (first - before[low])),
                int(bases[high] + (last - before[high])),
            )

    @lazy_property
    def _by_base(self) -> tuple[RowIds, RowIds, RowIds]:
        """The bases, starts and lengths of the runs, ordered by base."""
        runs = np.array(sorted(self.runs), dtype=np.int64).reshape(-1, 3)
        return runs[:, 0].copy(), runs[:, 1].copy(), runs[:, 2].copy()


def new_base() -> int:
    """Return a base for the row ids of a new split. Those of two splits overlap with a probability of about 2^-40."""
    return new_id().int % (1 << _BASE_BITS)


def _is_run(run: object) -> bool:
    return isinstance(run, list) and len(run) == 3 and all(type(number) is int for number in run)

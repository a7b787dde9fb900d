"""When an import commits: for so many rows, so many seconds after the first of them, or at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

import pyarrow as pa

_MOST_BYTES: Final = 256 << 20
"""What is kept in memory until its time has come; more than that is committed earlier."""


class Commits:
    """Divides the batches of files into commits. A batch without rows gives it an occasion to look at the clock.

    >>> batches = [pa.RecordBatch.from_pydict({"n": list(range(5))})]
    >>> [sum(batch.num_rows for batch in part) for part in Commits(rows=2).parts(iter(batches))]
    [2, 2, 1]
    """

    def __init__(
        self,
        rows: int | None = None,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rows, self._seconds, self._clock = rows, seconds, clock
        self._due: float | None = None

    @property
    def are_divided(self) -> bool:
        """True if a file may be several commits."""
        return self._rows is not None or self._seconds is not None

    def patience(self) -> float | None:
        """Return the seconds until rows that have come are due; None if there are none."""
        return None if self._due is None else max(self._due - self._clock(), 0.0)

    def parts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Iterator[pa.RecordBatch]]:
        """Yield the batches of each commit, which has rows. What comes before a failure or an interrupt is one too."""
        if not self.are_divided:
            rows = (batch for batch in batches if batch.num_rows)
            first = next(rows, None)
            if first is not None:
                yield chain([first], rows)
            return
        part: list[pa.RecordBatch] = []
        count = size = 0
        while True:
            try:
                batch = next(batches, None)
            except (Exception, KeyboardInterrupt):
                if part:
                    self._due = None
                    yield iter(part)
                raise
            if batch is None:
                break
            rest = batch
            while True:
                piece = rest if self._rows is None else rest.slice(0, self._rows - count)
                rest = rest.slice(piece.num_rows)
                if piece.num_rows:
                    part.append(piece)
                    count, size = count + piece.num_rows, size + piece.nbytes
                    if self._due is None and self._seconds is not None:
                        self._due = self._clock() + self._seconds
                if part and (count == self._rows or self._is_late(size)):
                    self._due = None
                    yield iter(part)
                    part, count, size = [], 0, 0
                if not rest.num_rows:
                    break
        if part:
            self._due = None
            yield iter(part)

    def _is_late(self, size: int) -> bool:
        return self._due is not None and (self._clock() >= self._due or size > _MOST_BYTES)

"""Admission: how many files a batch takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from indextables.streams.options import Limits


class Budget:
    """What is left of the limits of one batch. The first file is always taken, so that a stream advances.

    >>> budget = Budget(Limits(max_files=3, max_bytes=100))
    >>> [budget.take(size) for size in (90, 20, 5)]
    [True, False, False]
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._files = 0
        self._bytes = 0
        self._is_spent = False

    def take(self, size: int) -> bool:
        """Take a file of that size if the limits allow it. After a file that they do not allow, none is taken."""
        limits = self._limits
        over_files = limits.max_files is not None and self._files >= limits.max_files
        over_bytes = (
            limits.max_bytes is not None and self._files > 0 and self._bytes + size > limits.max_bytes
        )
        self._is_spent = self._is_spent or over_files or over_bytes
        if not self._is_spent:
            self._files += 1
            self._bytes += size
        return not self._is_spent

    def take_whole(self, sizes: Sequence[int]) -> bool:
        """Take files together, or none of them. The first files are always taken, so that a stream advances.

        >>> budget = Budget(Limits(max_files=3))
        >>> [budget.take_whole([1, 1]), budget.take_whole([1, 1]), budget.take_whole([1])]
        [True, False, False]
        """
        limits, files, size = self._limits, self._files + len(sizes), self._bytes + sum(sizes)
        over_files = limits.max_files is not None and files > limits.max_files
        over_bytes = limits.max_bytes is not None and size > limits.max_bytes
        self._is_spent = self._is_spent or (self._files > 0 and bool(sizes) and (over_files or over_bytes))
        if not self._is_spent:
            self._files, self._bytes = files, size
        return not self._is_spent

    def take_all(self, sizes: Iterable[int]) -> int:
        """Take files in order while the limits allow it; return how many were taken."""
        count = 0
        for size in sizes:
            if not self.take(size):
                break
            count += 1
        return count

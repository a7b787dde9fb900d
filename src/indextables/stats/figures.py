"""Counts, sizes and times of files in a log or state: which of them are plausible, and their sums.

Nothing checks what a writer puts into the log. A number that cannot be true is unknown, like a missing one: where an
answer depends on it, it is read from the file, and no sum includes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MAX_LONG: Final = (1 << 63) - 1

MAX_RECORDS: Final = 1 << 40
"""More rows than any split can hold. Counts below it sum up to 64 bits for eight million files."""

EARLIEST_MS: Final = -62_135_596_800_000
LATEST_MS: Final = 253_402_300_799_999
"""The first and last millisecond of the years 1 to 9999, which Python, Arrow and Spark can all show."""


def is_count(value: int) -> bool:
    return 0 <= value <= MAX_RECORDS


def is_moment(value: int) -> bool:
    return EARLIEST_MS <= value <= LATEST_MS


def total(values: Iterable[int | None]) -> int | None:
    """Return the sum; None if a value is unknown or the sum does not fit into 64 bits.

    >>> total([1, 2]), total([1, None]), total([MAX_LONG, 1])
    (3, None, None)
    """
    result = 0
    for value in values:
        if value is None:
            return None
        result += value
    return result if -MAX_LONG <= result <= MAX_LONG else None


def total_bytes(sizes: Iterable[int]) -> int:
    """Return the sum of sizes as far as 64 bits go; a negative size counts as nothing.

    >>> total_bytes([5, -1]), total_bytes([MAX_LONG, 1]) == MAX_LONG
    (5, True)
    """
    return min(sum(size for size in sizes if size > 0), MAX_LONG)

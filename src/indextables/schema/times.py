"""Times as people write them: one rule for search queries and for conditions.

A time with an offset says which moment it is. One without an offset is a time of day in a zone that the caller names:
the session's in Spark, UTC in Python. A table keeps microseconds, so a finer fraction that is not zero is an error.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo


class TimeError(ValueError):
    """A text that is a time, but not one that a table can hold or that this process can place."""


_FRACTION: Final = re.compile(r"(?<=[.,])(\d{6})(\d+)")
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?([0-5]\d))?(?::?([0-5]\d))?")


def parse_time(text: str, zone: str = "UTC") -> datetime:
    """The moment in UTC; ValueError when the text is none, TimeError when a table cannot hold it.

    >>> str(parse_time("2024-01-31 12:00", "Asia/Kolkata"))
    '2024-01-31 06:30:00+00:00'
    >>> parse_time("2024-01-31T12:00:00.123456789Z")
    Traceback (most recent call last):
        ...
    indextables.schema.times.TimeError: a table keeps microseconds, and '2024-01-31T12:00:00.123456789Z' is finer
    """
    finer = _FRACTION.search(text)
    if finer and finer[2].strip("0"):
        raise TimeError(f"a table keeps microseconds, and {shortened(text)!r} is finer")
    moment = datetime.fromisoformat(_FRACTION.sub(r"\1", text.strip()))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=_zone(zone))
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise TimeError(f"{shortened(text)!r} is not between the years 1 and 9999 in UTC") from None


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    """A zone by the names that Spark's sessions take: a region, or an offset such as +05:30 or UTC+1."""
    if name in ("UTC", "Z", "GMT"):
        return UTC
    if found := _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0), seconds=int(found[4] or 0))
        return timezone(-offset if found[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise TimeError(
            f"the session's time zone {name!r} is unknown to Python here: write times with an offset, "
            "such as 2024-01-31T12:00:00Z, or install tzdata"
        ) from None


def shortened(text: str) -> str:
    """A value as an error repeats it.

    >>> len(shortened("x" * 10_000))
    103
    """
    return text if len(text) <= 100 else f"{text[:100]}..."

"""Parsing dates and timestamps: one rule for search queries and for conditions.

A date is `2024-05-01`. Other forms that Python reads are errors: `20240501`, and `2024-W18`, the Monday of a week.

A timestamp with an offset is exact. One without an offset is in the time zone that the caller passes: the session's in
Spark, UTC in Python. A table keeps microseconds, so that a finer fraction that is not zero is an error.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo


class TimeError(ValueError):
    """A timestamp that a table cannot hold, or whose time zone is unknown here."""


_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME: Final = re.compile(
    rf"{_DATE.pattern}(?:[T ]\d{{2}}(?::\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?)?(?:Z|[-+][\d:.]+)?)?", re.ASCII
)
_FRACTION: Final = re.compile(r"(?<=[.,])(\d{6})(\d+)")
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?([0-5]\d))?(?::?([0-5]\d))?")


def parse_date(text: str) -> date:
    """Return the date of a text. TimeError if it is none, with the form of a date.

    >>> parse_date("2024-05-01")
    datetime.date(2024, 5, 1)
    >>> parse_date("2024-W18")
    Traceback (most recent call last):
        ...
    indextables.schema.times.TimeError: '2024-W18' is not a date such as 2024-01-31
    """
    text = text.strip()
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise TimeError(f"{shorten(text)!r} is not a date such as 2024-01-31")


def parse_time(text: str, zone: str = "UTC") -> datetime:
    """Return the timestamp in UTC. ValueError if the text is not a timestamp, TimeError if a table cannot hold it.

    >>> str(parse_time("2024-01-31 12:00", "Asia/Kolkata"))
    '2024-01-31 06:30:00+00:00'
    >>> parse_time("2024-01-31T12:00:00.123456789Z")
    Traceback (most recent call last):
        ...
    indextables.schema.times.TimeError: a table keeps microseconds: '2024-01-31T12:00:00.123456789Z' is finer
    """
    timestamp = _parse(text)
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=time_zone(zone))
    try:
        return timestamp.astimezone(UTC)
    except OverflowError:
        raise TimeError(f"{shorten(text)!r} is not between the years 1 and 9999 in UTC") from None


def parse_wall_time(text: str) -> datetime:
    """Return a time without a zone. ValueError if the text is not a time, TimeError if it has an offset.

    >>> str(parse_wall_time("2024-01-31 12:00"))
    '2024-01-31 12:00:00'
    """
    timestamp = _parse(text)
    if timestamp.tzinfo is not None:
        raise TimeError(
            f"{shorten(text)!r} has an offset, and the column has times without a zone: leave it out"
        )
    return timestamp


def _parse(text: str) -> datetime:
    if not _TIME.fullmatch(text.strip()):
        raise ValueError(f"{shorten(text)!r} is not a time such as 2024-01-31T12:00:00")
    fraction = _FRACTION.search(text)
    if fraction and fraction[2].strip("0"):
        raise TimeError(f"a table keeps microseconds: {shorten(text)!r} is finer")
    return datetime.fromisoformat(_FRACTION.sub(r"\1", text.strip()))


@lru_cache(maxsize=64)
def time_zone(name: str) -> tzinfo:
    """Return the time zone of a name as Spark accepts it: a region, or an offset such as +05:30 or UTC+1."""
    if name in ("UTC", "Z", "GMT"):
        return UTC
    if match := _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0), seconds=int(match[4] or 0))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise TimeError(
            f"the session's time zone {name!r} is unknown to this Python: write timestamps with an offset, "
            "such as 2024-01-31T12:00:00Z, or install tzdata"
        ) from None


def shorten(text: str) -> str:
    """Return the beginning of a value, for an error message.

    >>> len(shorten("x" * 10_000))
    103
    """
    return text if len(text) <= 100 else f"{text[:100]}..."

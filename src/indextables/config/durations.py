"""Durations as users write them: one grammar for arguments, settings and SQL commands."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

HOUR_MS: Final = 3_600_000

_DURATION: Final = re.compile(r"(\d{1,9})\s*(hour|day)s?", re.IGNORECASE)

EXPECTED: Final = "whole hours or days, as in '36 hours' or '7 days'"
"""What a duration looks like, for error messages."""


def parse_duration(text: str) -> timedelta:
    """Parse a number and a unit; ValueError says what is expected.

    >>> parse_duration("7 days") == parse_duration("168 HOURS")
    True
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(EXPECTED)
    number = int(match[1])
    return timedelta(days=number) if match[2].lower() == "day" else timedelta(hours=number)


def in_hours(duration: timedelta) -> int:
    """Return a duration as whole hours; ValueError for a part of an hour or a negative duration.

    >>> in_hours(timedelta(days=2))
    48
    """
    hours, remainder = divmod(duration, timedelta(hours=1))
    if hours < 0 or remainder:
        raise ValueError(EXPECTED)
    return hours


def hours(text: str) -> int:
    """Parse the value of a setting in hours: a number, or a duration.

    >>> hours("168"), hours("7 days")
    (168, 168)
    """
    return _number_of(text, timedelta(hours=1), "hours")


def milliseconds(text: str) -> int:
    """Parse the value of a setting in milliseconds: a number, or a duration.

    >>> milliseconds("1000"), milliseconds("1 hour")
    (1000, 3600000)
    """
    return _number_of(text, timedelta(milliseconds=1), "milliseconds")


def _number_of(text: str, unit: timedelta, units: str) -> int:
    if text.strip().isdecimal():
        return int(text)
    try:
        return parse_duration(text) // unit
    except ValueError:
        raise ValueError(f"a whole number of {units}, or {EXPECTED}") from None

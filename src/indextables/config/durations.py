"""Durations as users write them: one grammar for arguments, settings and SQL commands."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

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
    if text.strip().isdecimal():
        return int(text)
    try:
        return in_hours(parse_duration(text))
    except ValueError:
        raise ValueError(f"a whole number of hours, or {EXPECTED}") from None


def milliseconds(text: str) -> int:
    """Parse the value of a setting in milliseconds: a number, or a duration.

    >>> milliseconds("1000"), milliseconds("1 hour")
    (1000, 3600000)
    """
    if text.strip().isdecimal():
        return int(text)
    try:
        return parse_duration(text) // timedelta(milliseconds=1)
    except ValueError:
        raise ValueError(f"a whole number of milliseconds, or {EXPECTED}") from None

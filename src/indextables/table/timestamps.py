"""Moments as callers write them."""

from __future__ import annotations

from datetime import UTC, datetime

from indextables.errors import InputError


def to_millis(moment: str | datetime, argument: str) -> int:
    """Milliseconds since 1970, of a datetime or its ISO text; UTC unless it says.

    >>> to_millis("1970-01-01T00:00:01", "as_of"), to_millis("1970-01-01T01:00:01+01:00", "as_of")
    (1000, 1000)
    """
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise InputError(
                f"{argument} is {moment!r}; it takes a time such as 2026-01-31T12:00:00Z"
            ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)

"""Rows of the tables that tests of the command line read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

START = datetime(2026, 1, 1, tzinfo=UTC)


def rows(first: int, *messages: str) -> pa.Table:
    numbers = range(first, first + len(messages))
    return pa.table(
        {
            "id": list(numbers),
            "at": pa.array([START + timedelta(minutes=n) for n in numbers], pa.timestamp("us", "UTC")),
            "level": ["ERROR" if "full" in message else "INFO" for message in messages],
            "message": list(messages),
        }
    )

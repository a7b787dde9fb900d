"""A request of the JVM to Python, and checks of what comes with it (see `request_json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from indextables.errors import InputError
from indextables.streams import StreamOptions


@dataclass(frozen=True)
class Request:
    """A command on a table or dataset. `arguments` are those that only some commands have.

    `options` are the session's settings, overridden by the options of the read or write. `warnings` are about both.
    """

    command: str
    path: str
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    arguments: Mapping[str, Any] = field(repr=False)
    version: int | None = None
    as_of: datetime | None = None
    warnings: tuple[str, ...] = ()
    zone: str = "UTC"  # of the session; the zone of times that name none
    txn: tuple[str, int] | None = None  # the application and the number of a write that is made once
    merges_schema: bool = False  # whether the option of a write asks for the columns that the table lacks
    stream: StreamOptions | None = None  # the options that only streams have, if any were given

    @property
    def is_of_dataset(self) -> bool:
        """True for a request about a dataset of column groups, False for one about a table."""
        return "column_groups" in self.arguments


def refused(reason: str) -> InputError:
    """Return the error for a request, or a part of one, that the jar did not make."""
    return InputError(f"not a request of the Spark jar: {reason}")


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Return True for a whole number of 64 bits that is not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def bounded_object(text: str, limit: int, subject: str) -> dict[str, Any]:
    """Return the JSON object in a text of at most `limit` characters. InputError for other text, about `subject`."""
    if len(text) > limit:
        raise refused(f"{subject} has {len(text)} characters; the maximum is {limit}")
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as reason:
        raise refused(f"{subject} is not JSON ({reason})") from None
    if not isinstance(document, dict):
        raise refused(f"{subject} is not a JSON object")
    return document

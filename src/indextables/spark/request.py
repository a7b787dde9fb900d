"""What the JVM asks of Python: one option that holds JSON, since Spark folds the case of option keys.

Without that option the source is used directly, by a session that lacks the jar.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

OPTION: Final = "__request"
MAX_CARRIED_BYTES: Final = 1 << 20
"""A plan up to this size travels in an option; Spark's schema JSON, which carries answers, takes a few times more."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Request:
    """A command on a table. `arguments` are those that only some commands have."""

    command: str
    path: str
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    arguments: Mapping[str, Any] = field(repr=False)  # and a plan, which holds the options too
    version: int | None = None
    as_of: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> Request:
        """The request in the JSON that the jar sends.

        >>> request = Request.parse('{"command":"describe","path":"/t","options":{"A":"1"},"timestamp":1500000}')
        >>> request.command, request.options, str(request.as_of)
        ('describe', {'A': '1'}, '1970-01-01 00:00:01.500000+00:00')
        """
        fields = orjson.loads(text)
        micros = fields.pop("timestamp", None)
        return cls(
            command=fields.pop("command"),
            path=fields.pop("path", ""),  # a command in SQL names its table itself
            options=fields.pop("options"),
            version=fields.pop("version", None),
            as_of=None if micros is None else _EPOCH + timedelta(microseconds=micros),
            arguments=fields,
        )


def carried(plan: object) -> str | None:
    """A plan as text for an option, or None when it is too large for one."""
    pickled = pickle.dumps(plan)
    return base64.b64encode(pickled).decode() if len(pickled) <= MAX_CARRIED_BYTES else None


def uncarried(text: str) -> Any:
    """The inverse of `carried`. Only ever given what this driver itself has sent through the JVM."""
    return pickle.loads(base64.b64decode(text))  # noqa: S301

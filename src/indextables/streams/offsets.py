"""Offsets: how far a stream has read a table. Spark stores them in the checkpoint of the query, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from indextables.errors import InputError

FORMAT: Final = 1
"""The number of the form of an offset. A later release may write another, which this one refuses."""


@dataclass(frozen=True)
class Position:
    """A place in a table, before file number `index` of a version.

    The files are those that the version adds; with `is_starting_version`, all that are live in it.
    """

    version: int
    index: int = 0
    is_starting_version: bool = False


@dataclass(frozen=True)
class Offset:
    """The position up to which a stream has read, and what makes the stream what it is.

    `origin` is where the stream began. Spark stores only where batches end, and asks again where the first batch began
    when it runs that batch again; by then, the newest version may be another. `options` are those that decide which
    rows a stream has.

    >>> offset = Offset("id", Position(3, 2), origin=Position(1, is_starting_version=True), options={"where": "n > 1"})
    >>> Offset.parse(offset.to_json()) == offset
    True
    """

    table_id: str
    position: Position
    origin: Position
    options: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the offset as JSON. Equal offsets have equal texts."""
        document = {
            "sourceVersion": FORMAT,
            "tableId": self.table_id,
            **_document(self.position),
            "origin": _document(self.origin),
            "options": dict(self.options),
        }
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def parse(cls, text: str) -> Offset:
        """Return the offset in a JSON text. InputError for anything else.

        >>> Offset.parse('{"version":1}')
        Traceback (most recent call last):
            ...
        indextables.errors.InputError: the checkpoint holds '{"version":1}', which is not an offset of a stream of \
indextables; start the query with a new checkpointLocation
        """
        try:
            document = orjson.loads(text)
            if document["sourceVersion"] != FORMAT:
                raise ValueError
            return cls(
                table_id=_check_type(document["tableId"], str),
                position=_position(document),
                origin=_position(document["origin"]),
                options={
                    _check_type(key, str): _check_type(value, str)
                    for key, value in document["options"].items()
                },
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                f"the checkpoint holds {text[:200]!r}, which is not an offset of a stream of indextables; start the "
                "query with a new checkpointLocation"
            ) from None


def _document(position: Position) -> dict[str, Any]:
    return {
        "version": position.version,
        "index": position.index,
        "isStartingVersion": position.is_starting_version,
    }


def _position(document: Any) -> Position:
    version, index = (_check_type(document[name], int) for name in ("version", "index"))
    if version < 0 or index < 0:
        raise ValueError
    return Position(version, index, _check_type(document["isStartingVersion"], bool))


def _check_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value

"""Counts of the requests to stores, and of the bytes in both directions, since the process started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from indextables.runtime import current

Operation: TypeAlias = Literal["get", "get_range", "head", "list", "create", "put", "delete", "map"]
"""What a process asks of a store. `map` reads a local file through memory: its bytes are those that were used."""

OPERATIONS: Final[tuple[str, ...]] = get_args(Operation)
_PREFIX: Final = "storage"


@dataclass(frozen=True)
class RequestFigures:
    """The requests of one kind, and the bytes that they fetched from stores and sent to them."""

    operation: str
    requests: int
    bytes_fetched: int
    bytes_sent: int


def count_request(operation: Operation, *, fetched: int = 0, sent: int = 0) -> None:
    """Count one request that a store has answered."""
    name = f"{_PREFIX}.{operation}"
    current().counters.add_all({f"{name}.requests": 1, f"{name}.fetched": fetched, f"{name}.sent": sent})


def request_figures(counts: Mapping[str, int]) -> list[RequestFigures]:
    """Return the figures of every kind of request, from the counters of one process or the sum of several.

    >>> counts = {"storage.head.requests": 2, "storage.get.requests": 1, "storage.get.fetched": 512}
    >>> [(figures.operation, figures.bytes_fetched) for figures in request_figures(counts) if figures.requests]
    [('get', 512), ('head', 0)]
    """
    return [
        RequestFigures(
            operation=operation,
            requests=counts.get(f"{_PREFIX}.{operation}.requests", 0),
            bytes_fetched=counts.get(f"{_PREFIX}.{operation}.fetched", 0),
            bytes_sent=counts.get(f"{_PREFIX}.{operation}.sent", 0),
        )
        for operation in OPERATIONS
    ]

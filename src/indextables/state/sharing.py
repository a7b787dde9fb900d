"""Work that is shared out among threads, where there is enough of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from indextables.runtime import LimitedThreads

Item = TypeVar("Item")
Result = TypeVar("Result")


def shared_out(
    workers: LimitedThreads | None, work: Callable[[Item], Result], items: Sequence[Item]
) -> Iterable[Result]:
    """The results in the order of the items; without workers, or for one item, they are made here as they are taken.

    >>> list(shared_out(None, str, [1, 2]))
    ['1', '2']
    """
    return map(work, items) if workers is None or len(items) < 2 else workers.map(work, items)

"""Counts of what a process has done since it started: requests, bytes, cache hits. They only grow."""

from __future__ import annotations

from collections.abc import Mapping

from indextables.runtime.forking import ForkSafeLock, generation


class Counters:
    """Whole numbers by name, all 0 at first. Threads may share them. A forked child starts at 0 again.

    >>> counters = Counters()
    >>> counters.add("requests")
    >>> counters.add_all({"requests": 1, "bytes": 512})
    >>> counters.values()
    {'requests': 2, 'bytes': 512}
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._generation = generation()
        self._counts: dict[str, int] = {}

    def add(self, name: str, amount: int = 1) -> None:
        """Add to one count."""
        self.add_all({name: amount})

    def add_all(self, amounts: Mapping[str, int]) -> None:
        """Add to several counts at once: no reader sees a part of it."""
        with self._lock:
            counts = self._current()
            for name, amount in amounts.items():
                counts[name] = counts.get(name, 0) + amount

    def values(self) -> dict[str, int]:
        """Return a copy of all counts."""
        with self._lock:
            return dict(self._current())

    def _current(self) -> dict[str, int]:
        if self._generation != generation():
            self._counts, self._generation = {}, generation()
        return self._counts


def difference(later: Mapping[str, int], earlier: Mapping[str, int]) -> dict[str, int]:
    """Return what was counted between two copies of one process's counts, without the zeros.

    >>> difference({"requests": 3, "bytes": 512}, {"requests": 3})
    {'bytes': 512}
    """
    changes = {name: count - earlier.get(name, 0) for name, count in later.items()}
    return {name: change for name, change in changes.items() if change}

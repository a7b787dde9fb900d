"""Opened things that stay open for the next use: a bounded number of them, chosen so that a scan does not empty it.

A table is read split by split, again and again in the same order. The least recently used of too few places is then
always the one that is needed next, so that one split too many would make every access a miss. A random victim keeps
about as many hits as there are places.
"""

from __future__ import annotations

import random
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Retained(Generic[K, V]):
    """At most `most` values by key. The caller does the locking.

    >>> kept = Retained[str, int](most=2)
    >>> _ = kept.put("a", 1), kept.put("b", 2), kept.put("c", 3)
    >>> len(kept), kept.get("c"), kept.get("d")
    (2, 3, None)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, V] = {}
        self._keys: list[K] = []
        self._places: dict[K, int] = {}
        self._rng = random.Random(0)  # noqa: S311 - no secret

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def pop(self, key: K) -> V | None:
        """Take a value out."""
        if key not in self._values:
            return None
        last = self._keys.pop()
        place = self._places.pop(key)
        if last != key:
            self._keys[place], self._places[last] = last, place
        return self._values.pop(key)

    def put(self, key: K, value: V) -> V | None:
        """Keep a value, and return the one that made way for it: let go of that outside of the lock."""
        replaced = self.pop(key)
        if replaced is None and len(self._keys) >= self._most:
            replaced = self.pop(self._rng.choice(self._keys))
        self._places[key] = len(self._keys)
        self._keys.append(key)
        self._values[key] = value
        return replaced

    def clear(self) -> None:
        self._values.clear()
        self._keys.clear()
        self._places.clear()

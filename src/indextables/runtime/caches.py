"""The one kind of cache: bounded, shared by threads, safe after a fork, and counted.

`functools.lru_cache` is for pure functions of small values, such as a parsed pattern. Their results never expire, hold
no file, thread or lock, and are as good in a forked child.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from indextables.runtime.forking import ForkSafeLock, generation

K = TypeVar("K")
V = TypeVar("V")

Eviction: TypeAlias = Literal["lru", "random"]
"""Which entry a full cache gives up: the least recently used, or any.

`random` is for values that scans use in turn, such as the splits of a table. When those are one more than the entries,
the least recently used is always the one that is needed next, and every access is a miss. A random victim keeps about
as many hits as there are entries.
"""

AfterFork: TypeAlias = Literal["keep", "drop", "abandon"]
"""What a forked child does with the entries that it inherits.

`keep` is for plain data. `drop` is for values that have threads, or share a file position with the parent. `abandon` is
for values that must not even be closed in the child: they leave the cache and are never freed.
"""


@dataclass(frozen=True)
class CacheFigures:
    """How often a look into a cache was a hit or a miss.

    >>> CacheFigures(hits=3, misses=1).hit_rate
    0.75
    """

    hits: int = 0
    misses: int = 0

    @property
    def hit_rate(self) -> float | None:
        """The share of hits; None before the first look."""
        looks = self.hits + self.misses
        return self.hits / looks if looks else None


@dataclass(frozen=True, eq=False)
class CacheSpec(Generic[K, V]):
    """A cache that every runtime has one of: `current().cache(spec)`. The module that fills it declares it.

    >>> CacheSpec[str, int]("word counts", entries=100).name
    'word counts'
    """

    name: str
    entries: int
    eviction: Eviction = "lru"
    after_fork: AfterFork = "keep"


class _Entry(NamedTuple, Generic[V]):
    value: V
    weight: int


class Cache(Generic[K, V]):
    """At most `entries` values by key. None is not a value.

    Threads may share it. Evicted values are freed after the lock is released, because freeing them may take time.

    >>> cache = Cache[str, int](entries=2)
    >>> cache.put("a", 1), cache.put("b", 2), cache.get("a"), cache.put("c", 3)
    (None, None, 1, None)
    >>> cache.keys(), cache.get("b"), cache.figures
    (['a', 'c'], None, CacheFigures(hits=1, misses=1))
    """

    def __init__(self, *, entries: int, eviction: Eviction = "lru", after_fork: AfterFork = "keep") -> None:
        self.entries = entries
        self._eviction = eviction
        self._after_fork = after_fork
        self._lock = ForkSafeLock()
        self._making = ForkSafeLock()
        self._generation = generation()
        self._stored: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._weight = 0
        self._hits = 0
        self._misses = 0
        self._abandoned: list[object] = []
        self._rng = random.Random(0)  # noqa: S311 - chooses victims, not secrets

    def __len__(self) -> int:
        with self._lock:
            return len(self._current())

    def __contains__(self, key: K) -> bool:
        with self._lock:
            return key in self._current()

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    @property
    def figures(self) -> CacheFigures:
        """How often `get` found a value, and how often not."""
        return CacheFigures(self._hits, self._misses)

    def keys(self) -> list[K]:
        """Return the keys, the least recently used first."""
        with self._lock:
            return list(self._current())

    def get(self, key: K) -> V | None:
        """Return the value, or None."""
        with self._lock:
            entry = self._current().get(key)
            if entry is None:
                self._misses += 1
                return None
            self._hits += 1
            self._stored.move_to_end(key)
            return entry.value

    def put(
        self,
        key: K,
        value: V,
        *,
        weight: int = 0,
        max_weight: int | None = None,
        max_entries: int | None = None,
    ) -> None:
        """Store a value, and evict others until the cache is within its limits again.

        `max_entries` is for callers with a limit of their own, and `max_weight` limits the weight of all values
        together. The value itself goes last, if it alone is too much.
        """
        evicted: list[object] = []  # freed on return, when the lock is free
        with self._lock:
            self._store(key, value, weight, evicted)
            most = self.entries if max_entries is None else max_entries
            while len(self._stored) > most or (max_weight is not None and self._weight > max_weight):
                evicted.append(self._take(self._victim(spare=key)))

    def pop(self, key: K) -> V | None:
        """Take the value out, and return it or None."""
        with self._lock:
            entry = self._take(key)
        return None if entry is None else entry.value

    def update(self, key: K, change: Callable[[V | None], V]) -> None:
        """Replace the value by what `change` makes of it, while no other thread can; `change` must be quick."""
        evicted: list[object] = []
        with self._lock:
            entry = self._current().get(key)
            value, weight = (None, 0) if entry is None else entry
            self._store(key, change(value), weight, evicted)
            while len(self._stored) > self.entries:
                evicted.append(self._take(self._victim(spare=key)))

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """Return the value; make it if it is missing. Threads that miss it at the same time each make one."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    def make_once(self, key: K, make: Callable[[], V]) -> V:
        """Return the value; make it if it is missing. Threads that miss it at the same time wait for the first."""
        value = self.get(key)
        if value is not None:
            return value
        with self._making:
            return self.get_or_make(key, make)

    def discard(self, doomed: Callable[[K], bool]) -> int:
        """Drop the values of all keys for which `doomed` is true. Return how many."""
        return self.discard_entries(lambda key, _: doomed(key))

    def discard_entries(self, doomed: Callable[[K, V], bool]) -> int:
        """Drop the values for which `doomed`, given the key and the value, is true. Return how many."""
        with self._lock:
            keys = [key for key, entry in self._current().items() if doomed(key, entry.value)]
            evicted = [self._take(key) for key in keys]
        return len(evicted)  # the values are freed on return, when the lock is free

    def clear(self) -> int:
        """Drop all values, and return how many. The figures go on."""
        return self.discard(lambda _: True)

    def _store(self, key: K, value: V, weight: int, evicted: list[object]) -> None:
        evicted.append(self._take(key))
        self._stored[key] = _Entry(value, weight)
        self._weight += weight

    def _take(self, key: K) -> _Entry[V] | None:
        entry = self._current().pop(key, None)
        if entry is not None:
            self._weight -= entry.weight
        return entry

    def _victim(self, spare: K) -> K:
        if self._eviction == "random":
            return self._rng.choice([key for key in self._stored if key != spare] or [spare])
        return next(iter(self._stored))

    def _current(self) -> OrderedDict[K, _Entry[V]]:
        """Return the entries; call it with the lock held, before anything else.

        In a forked child the first call starts over: the thread that held the lock in the parent may have been in the
        middle of an update, so that the order or the weight of what was inherited may be wrong.
        """
        if self._generation != generation():
            inherited = self._stored
            if self._after_fork == "abandon":
                self._abandoned.append(inherited)
            entries = inherited.items() if self._after_fork == "keep" else ()
            self._stored = OrderedDict(entries)
            self._weight = sum(entry.weight for entry in self._stored.values())
            self._generation = generation()
        return self._stored

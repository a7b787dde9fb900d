"""The state of a process in one object: its clock, its source of ids, its threads, counters and all of its caches."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from indextables.runtime.background import Background
from indextables.runtime.caches import Cache, CacheSpec
from indextables.runtime.counters import Counters
from indextables.runtime.threads import Threads

K = TypeVar("K")
V = TypeVar("V")


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class Runtime:
    """What code asks a machine for, and what it remembers of earlier calls.

    A process has one, unless `use` puts another in its place: a simulation gives each of its processes a runtime with
    a clock, ids and memory of its own.

    >>> runtime = Runtime(clock=lambda: 1_700_000_000_000)
    >>> with use(runtime):
    ...     now_ms()
    1700000000000
    """

    def __init__(
        self,
        *,
        clock: Callable[[], int] = _wall_clock_ms,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        ids: Callable[[], uuid.UUID] = uuid.uuid4,
        threads: Threads | None = None,
    ) -> None:
        """`clock` returns milliseconds since 1970, `monotonic` seconds since any moment, `ids` another id each time."""
        self.clock = clock
        self.monotonic = monotonic
        self.sleep = sleep
        self.ids = ids
        self.threads = threads or Threads()
        self.background = Background()
        self.counters = Counters()
        self.gc_freezes = 0
        self._caches: dict[CacheSpec[Any, Any], Cache[Any, Any]] = {}

    def cache(self, spec: CacheSpec[K, V]) -> Cache[K, V]:
        """Return this runtime's cache of a kind, empty at the first call."""
        cache = self._caches.get(spec)
        if cache is None:
            fresh = Cache[K, V](entries=spec.entries, eviction=spec.eviction, after_fork=spec.after_fork)
            cache = self._caches.setdefault(
                spec, fresh
            )  # atomic: of threads that race here, all get the same cache
        return cache

    def cache_sizes(self) -> dict[str, int]:
        """Return how many entries each cache that was used has, by the names of the caches."""
        return {spec.name: len(cache) for spec, cache in list(self._caches.items())}

    def clear_caches(self) -> None:
        """Empty all caches."""
        for cache in list(self._caches.values()):
            cache.clear()


_process: Final = Runtime()
_current: Final[ContextVar[Runtime]] = ContextVar("indextables runtime", default=_process)


def current() -> Runtime:
    """Return the runtime in use: that of the process, or of the innermost `use` around this code."""
    return _current.get()


@contextmanager
def use(runtime: Runtime) -> Iterator[Runtime]:
    """Let the code inside use another runtime, in this thread and in what it hands to the pool of threads."""
    token = _current.set(runtime)
    try:
        yield runtime
    finally:
        _current.reset(token)


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return _current.get().clock()


def sleep(seconds: float) -> None:
    """Wait for this many seconds."""
    _current.get().sleep(seconds)


def new_id() -> uuid.UUID:
    """Return a new unique id."""
    return _current.get().ids()

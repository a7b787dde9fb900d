"""What a forked child cannot use: threads, which stay in the parent, and locks that those threads held.

`os.fork` and multiprocessing's start method `fork` copy memory but only the calling thread. A thread pool that a
library started before the fork is dead in the child, and a lock that another thread held at that moment is never
released there. Waiting for either is a deadlock.

The package's only at-fork hook is in this module, and it only counts: `generation` is another number in every child.
Locks, caches and thread pools compare it with the number of the process that made them, and start over if it differs.
So nothing is freed or called while a process forks.
"""

from __future__ import annotations

import os
import threading
from typing import Final

_generation = 0
_replacing = threading.Lock()


def _enter_child() -> None:
    global _generation, _replacing  # noqa: PLW0603 - facts about this process
    _generation += 1
    _replacing = threading.Lock()


os.register_at_fork(after_in_child=_enter_child)


def generation() -> int:
    """Return how many forks are between the process that imported this package and this one."""
    return _generation


class ForkSafeLock:
    """A lock that is free in a forked child, whichever thread of the parent held it.

    What it guards must be usable after any single step of an update: a child may inherit it half done.

    >>> lock = ForkSafeLock()
    >>> with lock:
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = _generation

    def __enter__(self) -> None:
        if self._generation != _generation:
            with _replacing:
                if self._generation != _generation:
                    self._lock = threading.Lock()
                    # Set last: a thread that reads the new generation without `_replacing` finds the new lock.
                    self._generation = _generation
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class LibraryThreads:
    """The threads that a library starts at its first use in a process, and never again.

    >>> LibraryThreads().usable()
    True
    """

    def __init__(self) -> None:
        self._started: int | None = None

    def usable(self) -> bool:
        """Return False if the library started its threads before a fork. Call it before every use of the library."""
        if self._started is None:
            self._started = _generation
        return self._started == _generation


OBSTORE: Final = LibraryThreads()
"""Tokio's workers, which run the connections of every store on a network."""

PYRUHVRO: Final = LibraryThreads()
"""Rayon's pool, which encodes; decoding runs on the caller's thread."""

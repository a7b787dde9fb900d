"""What a forked child cannot use: threads, which stay in the parent, and locks that those threads held.

`os.fork` and multiprocessing's start method `fork` copy memory but only the calling thread. A thread pool that a
library started before the fork is dead in the child, and a lock that another thread held at that moment is never
released there. Waiting for either is a deadlock.
"""

from __future__ import annotations

import os
import threading
from typing import Final

_forks = 0  # between the process that imported this module and this one
_replacing = threading.Lock()


def _count_fork() -> None:
    global _forks, _replacing  # noqa: PLW0603 - facts about this process
    _forks += 1
    _replacing = threading.Lock()


os.register_at_fork(after_in_child=_count_fork)


class ForkSafeLock:
    """A lock that is free in a forked child, whichever thread of the parent held it.

    What it guards must be usable after any single step of an update: a child may inherit it half done.

    >>> lock = ForkSafeLock()
    >>> with lock:
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forks = _forks

    def __enter__(self) -> None:
        if self._forks != _forks:
            with _replacing:
                if self._forks != _forks:
                    self._lock = threading.Lock()
                    self._forks = _forks  # last: a thread that sees it takes the new lock
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class LibraryThreads:
    """The threads that a library starts when it is first used and never again.

    >>> LibraryThreads().usable()
    True
    """

    def __init__(self) -> None:
        self._started: int | None = None

    def usable(self) -> bool:
        """Return False if the library started its threads before a fork. Call it before every use of the library."""
        if self._started is None:
            self._started = _forks
        return self._started == _forks


OBSTORE: Final = LibraryThreads()
"""Tokio's workers, which run the connections of every store on a network."""

PYRUHVRO: Final = LibraryThreads()
"""Rayon's pool, which encodes; decoding runs on the caller's thread."""

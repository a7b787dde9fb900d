"""Limits of one server: searches at a time, seconds that a request waits, rows and characters of an answer."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

MAX_ROWS: Final = 500
MAX_EXPORTED: Final = 100_000
MAX_CELL: Final = 20_000
AT_A_TIME: Final = 3
MAX_WAITING: Final = 30
SECONDS: Final = 60.0
COUNTING_SECONDS: Final = 10.0
"""How long rows are counted before an answer is given that says how many it has."""

_LOOK: Final = 0.25
"""Seconds between two looks whether the browser still waits."""


class TooBusyError(Exception):
    """More requests wait than the server takes, or one has taken too long."""


class GoneError(Exception):
    """The browser has left: it asked for something else, or was closed."""


class Turn:
    """One request at work: whether its browser still waits, and whether its time to count is up."""

    def __init__(self, counting_seconds: float = COUNTING_SECONDS) -> None:
        self._end = time.monotonic() + counting_seconds
        self._gone = threading.Event()

    def give_up(self) -> None:
        """Make the next `check` end the work."""
        self._gone.set()

    def check(self) -> None:
        """Raise GoneError if the browser does not wait for the answer."""
        if self._gone.is_set():
            raise GoneError("the browser has left")

    def is_time_up(self) -> bool:
        """Return True if the answer should be given with what is counted. GoneError if the browser has left."""
        self.check()
        return time.monotonic() > self._end


async def _waits() -> bool:
    return False


class Workers:
    """Runs searches in a few threads. One that takes too long is given up; its thread is free when it ends."""

    def __init__(self, threads: int = AT_A_TIME, seconds: float = SECONDS) -> None:
        # The pool of the process has no place for these calls: its `map` blocks the caller until the work ends. Here
        # the caller is the loop of the server, which gives up what takes too long. The searches use that pool in turn.
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="indextables-ui")
        self._seconds, self._waiting = seconds, 0
        self._lock = threading.Lock()

    async def run(self, call: Callable[[Turn], T], has_left: Callable[[], Awaitable[bool]] = _waits) -> T:
        """Return what the call returns. TooBusyError if too many wait, or if it takes too long.

        GoneError if the browser `has_left`: a call that has not begun never does, and one that runs ends at its next
        check.
        """
        with self._lock:
            if self._waiting >= MAX_WAITING:
                raise TooBusyError("too many searches are waiting; try again")
            self._waiting += 1
        turn, end = Turn(), time.monotonic() + self._seconds
        future = self._pool.submit(call, turn)
        future.add_done_callback(lambda _: self._done())
        waiting = asyncio.wrap_future(future)
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=min(_LOOK, max(0.0, end - time.monotonic())))
            if done:
                return waiting.result()
            if await has_left():
                turn.give_up()
                waiting.cancel()
                raise GoneError("the browser has left")
            if time.monotonic() >= end:
                turn.give_up()
                waiting.cancel()
                raise TooBusyError(
                    f"the search took more than {self._seconds:g} s; narrow it by a time range or a condition"
                )

    def close(self) -> None:
        """Give up what waits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _done(self) -> None:
        with self._lock:
            self._waiting -= 1

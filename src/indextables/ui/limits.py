"""Limits of one server: searches at a time, seconds that a request waits, rows and characters of an answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

MAX_ROWS: Final = 500
MAX_EXPORTED: Final = 100_000
MAX_CELL: Final = 20_000
AT_A_TIME: Final = 3
MAX_WAITING: Final = 30
SECONDS: Final = 60.0


class TooBusyError(Exception):
    """More requests wait than the server takes, or one has taken too long."""


class Workers:
    """Runs searches in a few threads. One that takes too long is given up; its thread is free when it ends."""

    def __init__(self, threads: int = AT_A_TIME, seconds: float = SECONDS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="indextables-ui")
        self._seconds, self._waiting = seconds, 0
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        """Return what the call returns. TooBusyError if too many wait, or if it takes too long."""
        with self._lock:
            if self._waiting >= MAX_WAITING:
                raise TooBusyError("too many searches are waiting; try again")
            self._waiting += 1
        future = self._pool.submit(call)
        future.add_done_callback(lambda _: self._done())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            message = (
                f"the search took more than {self._seconds:g} s; narrow it by a time range or a condition"
            )
            raise TooBusyError(message) from None

    def close(self) -> None:
        """Give up what waits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _done(self) -> None:
        with self._lock:
            self._waiting -= 1

"""Work in the background: one thread for each subject, which the end of the interpreter waits for, up to a limit.

The pool in `threads` is not for it: the interpreter waits for the threads of a pool without a limit.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Final, TypeAlias

from indextables.runtime.forking import ForkSafeLock, generation

Work: TypeAlias = Callable[[], object]

_GRACE_SECONDS: Final = 2.0
"""How long an interpreter that stops waiting leaves the work to notice it, and to tidy up."""


@dataclass
class _Running:
    """A thread, how long an ending interpreter waits for it, and the work that is to follow on what it does now."""

    thread: threading.Thread
    exit_seconds: float
    following: Work | None = None


class Background:
    """At most one thread for each subject. A forked child has none of its parent's.

    >>> background, done = Background(), []
    >>> background.start("a table", lambda: done.append(1))
    >>> background.wait(), done
    (True, [1])
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._running: dict[str, _Running] = {}
        self._generation = generation()
        self._stopping = threading.Event()
        self._registered = False

    def start(self, subject: str, work: Work, *, exit_seconds: float = 0) -> None:
        """Run `work`, which must not raise, in a thread. It has the context of the caller.

        If the thread of the subject is at work, the work follows in it, in place of other work that would follow:
        however often a caller starts it, it runs once more.
        """
        context = copy_context()
        with self._lock:
            self._forget_parent()
            running = self._running.get(subject)
            if running is not None:
                running.following = lambda: context.run(work)
                running.exit_seconds = exit_seconds
                return
            if not self._registered:
                atexit.register(self._end)
                self._registered = True
            thread = threading.Thread(
                target=self._run,
                args=(subject, lambda: context.run(work)),
                name=f"indextables {subject}",
                daemon=True,
            )
            self._running[subject] = _Running(thread, exit_seconds)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is about to end, or the system has no thread left
                del self._running[subject]

    def is_running(self, subject: str) -> bool:
        """Return True if there is a thread at work for the subject."""
        with self._lock:
            self._forget_parent()
            return subject in self._running

    def is_stopping(self) -> bool:
        """Return True if the interpreter has stopped waiting: work should end at the next place where it can."""
        return self._stopping.is_set()

    def wait(self, subject: str | None = None, *, seconds: float | None = None) -> bool:
        """Wait until no thread is at work for the subject, or for any; return False if that takes too long."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            with self._lock:
                self._forget_parent()
                threads = [
                    running.thread
                    for name, running in self._running.items()
                    if subject in (None, name) and running.thread is not threading.current_thread()
                ]
            if not threads:
                return True
            remaining = None if end is None else end - time.monotonic()
            if remaining is not None and remaining <= 0:
                return False
            threads[0].join(remaining)

    def _run(self, subject: str, work: Work) -> None:
        following: Work | None = work
        while following is not None:
            try:
                following()
            finally:
                with self._lock:
                    running = self._running[subject]
                    following, running.following = running.following, None
                    if following is None or self._stopping.is_set():
                        del self._running[subject]
                        following = None

    def _end(self) -> None:
        """Wait for the threads when the interpreter ends. The time that one may take counts from now."""
        with self._lock:
            self._forget_parent()
            seconds = max((running.exit_seconds for running in self._running.values()), default=0.0)
        if not self.wait(seconds=seconds):
            self._stopping.set()
            self.wait(seconds=_GRACE_SECONDS)

    def _forget_parent(self) -> None:
        """Start over in a forked child, which has none of the threads. Call it with the lock held."""
        if self._generation != generation():
            self._running = {}
            self._stopping = threading.Event()
            self._generation = generation()

"""Work in the background: one thread for each subject, which the end of the interpreter waits for, up to a limit.

The pool in `threads` is not for it: the interpreter waits for the threads of a pool without a limit.
"""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from indextables.runtime.forking import ForkSafeLock, generation

Work: TypeAlias = Callable[[], object]

AnyWork = TypeVar("AnyWork", bound=Work)

_log: Final = logging.getLogger(__name__)

_GRACE_SECONDS: Final = 2.0
"""How long an interpreter that stops waiting leaves the work to notice it, and to tidy up."""


@dataclass
class _Running:
    """A thread, how long an ending interpreter waits for it, and the work that is to follow on what it does now."""

    thread: threading.Thread
    exit_seconds: float
    following: tuple[Context, Work] | None = None


def _latest(_waiting: Any, work: AnyWork) -> AnyWork:
    return work


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

    def start(
        self,
        subject: str,
        work: AnyWork,
        *,
        exit_seconds: float = 0,
        unite: Callable[[AnyWork, AnyWork], AnyWork] = _latest,
    ) -> None:
        """Run `work`, which should not raise, in a thread. It has the context of the caller.

        If the thread of the subject is at work, the work follows in it, once, however often a caller starts it: `unite`
        returns the work that does what waits already, and what is started now. Without it, the latter replaces the
        former. All work of a subject must be of one kind then.
        """
        context = copy_context()
        with self._lock:
            self._forget_parent()
            running = self._running.get(subject)
            if running is not None:
                waiting = running.following
                running.following = (context, work if waiting is None else unite(waiting[1], work))  # type: ignore[arg-type]
                running.exit_seconds = max(running.exit_seconds, exit_seconds)
                return
            self._register()
            thread = threading.Thread(
                target=self._run,
                args=(subject, (context, work)),
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

    def _run(self, subject: str, work: tuple[Context, Work]) -> None:
        following: tuple[Context, Work] | None = work
        while following is not None:
            context, run = following
            try:
                context.run(run)
            except BaseException:  # noqa: BLE001 - what waits must run, and `wait` must find the thread gone at the end
                _log.exception("work in the background for %s failed", subject)
            with self._lock:
                running = self._running[subject]
                following, running.following = running.following, None
                if following is None or self._stopping.is_set():
                    del self._running[subject]
                    following = None

    def _register(self) -> None:
        """Have the end of this process wait for the threads. Call it with the lock held.

        A child of multiprocessing ends by `os._exit`, which skips `atexit`. It runs the finalizers of multiprocessing.
        """
        if self._registered:
            return
        atexit.register(self._end)
        multiprocessing = sys.modules.get(
            "multiprocessing.util"
        )  # every child of multiprocessing has imported it
        if multiprocessing is not None:
            multiprocessing.Finalize(None, self._end, exitpriority=0)
        self._registered = True

    def _end(self) -> None:
        """Wait for the threads when the interpreter ends. The time that one may take counts from now."""
        with self._lock:
            self._forget_parent()
            if self._stopping.is_set():  # this has run before
                return
            seconds = max((running.exit_seconds for running in self._running.values()), default=0.0)
        if not self.wait(seconds=seconds):
            self._stopping.set()
            self.wait(seconds=_GRACE_SECONDS)

    def _forget_parent(self) -> None:
        """Start over in a forked child, which has none of the threads. Call it with the lock held."""
        if self._generation != generation():
            self._running = {}
            self._stopping = threading.Event()
            self._registered = False
            self._generation = generation()

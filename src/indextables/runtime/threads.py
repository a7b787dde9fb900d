"""One pool of threads for the whole process: work in parallel, with the results in order.

The calling thread works too: it runs every item that no thread of the pool has begun. So a call ends even if the pool
has no free thread for it. For the same reason an item may itself call `map` (a manifest is fetched in parallel with
others, and its blocks are decoded in parallel) without a deadlock: a caller waits only for items that a thread is
running, these wait only for items of their own calls, and items of the innermost calls wait for nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, Generic, NamedTuple, TypeVar

from indextables.runtime.forking import ForkSafeLock, generation

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_THREADS: Final = 256
"""More than any setting asks for by default. Threads are started when there is work for them, not before."""


class Threads:
    """The pool. Its threads end with the interpreter, and a forked child starts its own.

    >>> list(Threads().map(str.upper, ["a", "b", "c"], parallelism=2))
    ['A', 'B', 'C']
    """

    def __init__(self, most: int = MAX_THREADS) -> None:
        self._most = most
        self._lock = ForkSafeLock()
        self._executor: ThreadPoolExecutor | None = None
        self._generation = generation()

    def map(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        parallelism: int,
        *,
        ahead: int | None = None,
    ) -> Iterator[Result]:
        """Yield the result of every item, in order, while up to `parallelism` threads work, the caller among them.

        Nothing begins before the first result is asked for. At most `ahead` results wait for the caller to take them;
        None: any number. The first error, in the order of the items, is raised and ends the work. When the iterator
        ends or is closed, no thread is at work for it any more.
        """
        if parallelism <= 1 or len(items) <= 1:
            return map(work, items)
        return _Run(self._pool(), work, items, parallelism, ahead).results()

    def limited(self, most: int) -> LimitedThreads:
        """Return a part of the pool, for work that several calls share out."""
        return LimitedThreads(self, most)

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._executor is None or self._generation != generation():
                self._executor = ThreadPoolExecutor(self._most, thread_name_prefix="indextables")
                self._generation = generation()
            return self._executor


class LimitedThreads:
    """A part of the pool: all calls of its `map` together run at most `most` items at a time.

    For work that keeps a core busy: more threads than cores would only take the caches from each other. An item must
    not call the same `map`: it would hold a place while it waits for one.

    >>> list(Threads().limited(2).map(str.upper, ["a", "b"]))
    ['A', 'B']
    """

    def __init__(self, threads: Threads, most: int) -> None:
        self._threads = threads
        self._most = most
        self._places = threading.Semaphore(most)

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Yield the result of every item, in order."""

        def run(item: Item) -> Result:
            with self._places:
                return work(item)

        return self._threads.map(run, items, self._most)


class _Outcome(NamedTuple, Generic[Result]):
    """The result of one item, or the error that it ended with."""

    result: Result | None
    error: BaseException | None


class _Run(Generic[Item, Result]):
    """One call of `map`. All fields below `_changed` are read and written with it held."""

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        parallelism: int,
        ahead: int | None,
    ) -> None:
        self._pool = pool
        self._work = work
        self._items = items
        self._most_helpers = parallelism - 1  # the caller is the other one
        self._ahead = len(items) if ahead is None else ahead
        self._changed = threading.Condition()
        self._outcomes: dict[int, _Outcome[Result]] = {}
        self._begun = 0
        self._taken = 0
        self._calls: list[Future[None]] = []
        self._helpers = 0  # threads of the pool that were called and have not left
        self._at_work: set[int] = set()  # those of them that have started, by their idents
        self._stopped = False

    def results(self) -> Iterator[Result]:
        try:
            for number in range(len(self._items)):
                self._call_helpers()
                outcome = self._outcome(number)
                if outcome.error is not None:
                    raise outcome.error
                yield outcome.result  # type: ignore[misc]
        finally:
            self._stop()

    def _outcome(self, number: int) -> _Outcome[Result]:
        """Return the outcome of an item. Until it is there, run others; wait if there is none left to run."""
        while True:
            with self._changed:
                while number not in self._outcomes:
                    other = self._begin()
                    if other is not None:
                        break
                    self._changed.wait()
                else:
                    self._taken = number + 1
                    return self._outcomes.pop(number)
            self._run(other, passing=(Exception,))

    def _begin(self) -> int | None:
        """Return the next item to run, or None. Items begin in order."""
        if self._stopped or self._begun >= min(len(self._items), self._taken + self._ahead):
            return None
        self._begun += 1
        return self._begun - 1

    def _run(self, number: int, passing: tuple[type[BaseException], ...]) -> None:
        """Run an item and note its outcome. After an error no item begins; all items before it have begun."""
        try:
            outcome = _Outcome(self._work(self._items[number]), None)
        except passing as error:
            outcome = _Outcome(None, error)
        with self._changed:
            self._outcomes[number] = outcome
            self._stopped |= outcome.error is not None
            self._changed.notify_all()

    def _call_helpers(self) -> None:
        """Ask the pool for as many threads as have something to do. In a full pool they start later, or never."""
        with self._changed:
            ready = min(len(self._items), self._taken + self._ahead) - self._begun
            missing = min(self._most_helpers, ready) - self._helpers
            if self._stopped or missing <= 0:
                return
            self._calls = [call for call in self._calls if not call.done()]
            for _ in range(missing):
                try:
                    self._calls.append(self._pool.submit(copy_context().run, self._help))
                except RuntimeError:  # the interpreter is about to end
                    return
                self._helpers += 1

    def _help(self) -> None:
        with self._changed:
            self._at_work.add(threading.get_ident())
        while (number := self._next_or_leave()) is not None:
            self._run(number, passing=(BaseException,))

    def _next_or_leave(self) -> int | None:
        with self._changed:
            number = self._begin()
            if number is None:
                self._at_work.discard(threading.get_ident())
                self._helpers -= 1
                self._changed.notify_all()
            return number

    def _stop(self) -> None:
        with self._changed:
            self._stopped = True
        for call in self._calls:
            call.cancel()  # if its thread has not begun
        with self._changed:
            # An abandoned iterator is closed by the thread that collects the garbage. One of the threads at work would
            # wait for itself, so it goes on; the others stop after their items.
            while self._at_work and threading.get_ident() not in self._at_work:
                self._changed.wait()

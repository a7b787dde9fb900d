"""The pool of threads: order, limits, errors, nesting, forks, and the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from indextables.runtime import Runtime, Threads, current, now_ms, use

pytestmark = pytest.mark.timeout(60)


class Meter:
    """Counts how many calls are under way at once."""

    def __init__(self) -> None:
        self.most = self.now = self.calls = 0
        self._lock = threading.Lock()

    def __call__(self, item: int) -> int:
        with self._lock:
            self.now += 1
            self.calls += 1
            self.most = max(self.most, self.now)
        time.sleep(0.002)
        with self._lock:
            self.now -= 1
        return item * 2


@pytest.mark.parametrize("parallelism", [1, 2, 5, 100])
def test_results_are_in_the_order_of_the_items(parallelism: int):
    assert list(Threads().map(Meter(), range(40), parallelism)) == list(range(0, 80, 2))
    assert list(Threads().map(Meter(), [], parallelism)) == []


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_no_more_threads_work_than_were_asked_for(parallelism: int):
    meter = Meter()
    list(Threads().map(meter, range(60), parallelism))
    assert meter.most == parallelism
    assert meter.calls == 60


def test_work_goes_on_at_the_same_time():
    together = threading.Barrier(4)
    assert len(list(Threads().map(lambda _: together.wait(timeout=20), range(4), 4))) == 4


def test_nothing_runs_too_far_ahead_of_the_caller():
    meter = Meter()
    results = Threads().map(meter, range(50), 3, ahead=4)
    for taken in range(50):
        next(results)
        time.sleep(0.004)
        assert meter.calls <= taken + 1 + 4


@pytest.mark.parametrize("parallelism", [1, 3])
def test_the_first_error_in_order_is_raised_and_ends_the_work(parallelism: int):
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        time.sleep(0.002 if item == 7 else 0)
        if item in (7, 8):
            raise ValueError(item)
        return item

    results = Threads().map(work, range(1000), parallelism)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(ValueError, match="^7$"):
        next(results)
    assert len(begun) < 100


def test_an_iterator_that_is_closed_leaves_no_thread_at_work():
    meter = Meter()
    results = Threads().map(meter, range(1000), 4)
    next(results)
    assert isinstance(results, Iterator)
    results.close()  # type: ignore[attr-defined]
    assert meter.now == 0
    calls = meter.calls
    time.sleep(0.02)
    assert meter.calls == calls < 1000


@pytest.mark.parametrize("most", [1, 2, 16])
def test_work_may_share_out_work_to_the_same_pool(most: int):
    threads = Threads(most)

    def deep(level: int) -> int:
        return 1 + sum(threads.map(deep, [level - 1] * 3, 3)) if level else 1

    assert sum(threads.map(deep, [4] * 4, 4)) == 4 * 121


def test_many_callers_share_a_small_pool():
    threads, sums = Threads(2), []

    def caller() -> None:
        sums.append(sum(threads.map(Meter(), range(30), 8)))

    callers = [threading.Thread(target=caller) for _ in range(8)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert sums == [870] * 8


def test_threads_of_the_pool_have_the_runtime_of_their_caller():
    together = threading.Barrier(3)

    def work(_: int) -> int:
        together.wait(timeout=20)
        return now_ms()

    threads = Threads()
    for time_ms in (1, 2):
        with use(Runtime(clock=lambda time_ms=time_ms: time_ms)):
            assert list(threads.map(work, range(3), 3)) == [time_ms] * 3
    assert current().clock() > 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    threads = Threads()

    def sizes() -> bool:
        together = threading.Barrier(3)
        return list(threads.map(lambda _: together.wait(timeout=20) >= 0, range(3), 3)) == [True] * 3

    assert sizes()
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = sizes()
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sizes()


def output_of(script: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=40
    ).stdout


def test_idle_threads_do_not_keep_the_interpreter_alive():
    script = (
        "import threading, time\n"
        "from indextables.runtime import current\n"
        "print(sum(current().threads.map(lambda n: time.sleep(0.01) or n, range(20), 8)))\n"
    )
    assert output_of(script) == "190\n"


def test_work_can_be_shared_out_while_the_interpreter_ends():
    script = (
        "import atexit\n"
        "from indextables.runtime import current\n"
        "atexit.register(lambda: print(sum(current().threads.map(abs, range(20), 8))))\n"
    )
    assert output_of(script) == "190\n"


def test_an_abandoned_iterator_may_be_freed_by_a_thread_that_works_for_it():
    pool = Threads()
    is_at_work, may_free, is_free = threading.Event(), threading.Event(), threading.Event()
    abandoned: list[Iterator[int]] = []
    caller = threading.get_ident()

    def work(number: int) -> int:
        if threading.get_ident() == caller:
            assert is_at_work.wait(20)  # until another thread has the next item
        elif not is_at_work.is_set():
            is_at_work.set()
            assert may_free.wait(20)
            abandoned.clear()  # as a collection of garbage in this thread would
            is_free.set()
        return number

    results = pool.map(work, range(50), 2, ahead=2)
    # The item of the caller is the first, unless the thread of the pool was faster: then the caller waits for it.
    threading.Timer(0.5, may_free.set).start()
    assert next(results) == 0
    if not is_free.is_set():
        abandoned.append(results)
        del results
        may_free.set()
    assert is_free.wait(20)
    assert list(pool.map(str, range(4), 2)) == ["0", "1", "2", "3"]

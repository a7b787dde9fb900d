"""Work in the background: one thread for each subject, and none that a fork has left behind."""

from __future__ import annotations

import multiprocessing
import multiprocessing.util
import os
import threading
import warnings
from pathlib import Path

import pytest

from indextables.runtime import Background, Runtime, now_ms, use


def test_work_that_is_started_often_follows_once() -> None:
    background, go_on, done = Background(), threading.Event(), []

    def first() -> None:
        assert go_on.wait(60)
        done.append("first")

    background.start("table", first)
    for n in range(5):
        background.start("table", lambda n=n: done.append(n))  # type: ignore[misc]
    assert background.is_running("table")
    assert not background.wait("table", seconds=0)
    go_on.set()
    assert background.wait("table", seconds=60)
    assert done == ["first", 4]
    assert not background.is_running("table")


def test_work_that_waits_is_united_with_what_is_started_later() -> None:
    class Work(frozenset[str]):
        def __call__(self) -> None:
            done.append(self)

    background, go_on, done = Background(), threading.Event(), list[object]()
    background.start("table", lambda: go_on.wait(60))
    for need in ("merge", "purge", "merge"):
        background.start("table", Work({need}), unite=lambda waiting, new: Work(waiting | new))
    go_on.set()
    assert background.wait("table", seconds=60)
    assert done == [{"merge", "purge"}]


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_work_follows_on_work_that_raises(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    background, go_on, done = Background(), threading.Event(), []

    def failing() -> None:
        assert go_on.wait(60)
        raise error("no")

    background.start("table", failing)
    background.start("table", lambda: done.append(1))
    go_on.set()
    assert background.wait("table", seconds=60)
    assert done == [1]
    assert "work in the background for table failed" in caplog.text
    background.start("table", lambda: done.append(2))
    assert background.wait("table", seconds=60)
    assert done == [1, 2]


def _work_at_the_end(path: str) -> None:
    """Start work that ends after the process has come to its end: it waits for a finalizer that runs then."""
    at_end = threading.Event()
    multiprocessing.util.Finalize(None, at_end.set, exitpriority=100)

    def work() -> None:
        assert at_end.wait(60)
        Path(path).touch()

    _OF_PARENT.start("table", work, exit_seconds=60)


_OF_PARENT = Background()


def test_the_end_of_a_child_of_multiprocessing_waits(tmp_path: Path) -> None:
    _OF_PARENT.start("table", lambda: None)  # the parent is registered
    assert _OF_PARENT.wait(seconds=60)
    path = tmp_path / "done"
    child = multiprocessing.get_context("fork").Process(target=_work_at_the_end, args=(str(path),))
    with warnings.catch_warnings():  # of threads that other tests have started
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    child.join(60)
    assert child.exitcode == 0
    assert path.exists()


def test_subjects_do_not_wait_for_each_other() -> None:
    background, go_on = Background(), threading.Event()
    background.start("one", lambda: go_on.wait(60))
    background.start("other", go_on.set)
    assert background.wait(seconds=60)


def test_work_has_the_runtime_of_its_caller() -> None:
    background, times = Background(), []
    with use(Runtime(clock=lambda: 17)):
        background.start("table", lambda: times.append(now_ms()))
    assert background.wait(seconds=60)
    assert times == [17]


def test_a_forked_child_has_no_work_to_wait_for() -> None:
    background, go_on = Background(), threading.Event()
    background.start("table", lambda: go_on.wait(60))
    child = os.fork()
    if child == 0:
        ok = not background.is_running("table") and background.wait(seconds=0)
        done: list[int] = []
        background.start("table", lambda: done.append(1))
        os._exit(0 if ok and background.wait(seconds=60) and done == [1] else 1)
    go_on.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert background.wait(seconds=60)

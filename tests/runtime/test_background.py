"""Work in the background: one thread for each subject, and none that a fork has left behind."""

from __future__ import annotations

import os
import threading

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

"""Lazy properties: computed once, and a fork in the middle of one leaves the child able to compute its own."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from indextables.runtime import lazy_property


class Slow:
    """Computes its value when the test lets it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()
        self.computed = 0

    @lazy_property
    def value(self) -> list[int]:
        """Return a new list each time it is computed."""
        self.computed += 1
        self.begun.set()
        assert self.may_end.wait(60)
        return [self.computed]


def test_a_value_is_computed_once_and_kept():
    slow = Slow()
    assert slow.value is slow.value
    assert slow.computed == 1


def test_instances_have_values_of_their_own():
    first, second = Slow(), Slow()
    assert first.value is not second.value


def test_the_class_gives_the_property_with_its_docstring():
    assert isinstance(Slow.value, lazy_property)
    assert Slow.value.__doc__ == "Return a new list each time it is computed."


def test_an_error_is_not_kept():
    class Failing:
        fail = True

        @lazy_property
        def value(self) -> int:
            if self.fail:
                raise OSError("not now")
            return 7

    failing = Failing()
    with pytest.raises(OSError, match="not now"):
        _ = failing.value
    failing.fail = False
    assert failing.value == 7


def test_threads_that_compute_at_the_same_time_get_the_same_value():
    slow = Slow()
    slow.may_end.clear()
    values = []
    threads = [threading.Thread(target=lambda: values.append(slow.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert slow.begun.wait(60)
    slow.may_end.set()
    for thread in threads:
        thread.join()
    assert all(value is slow.value for value in values)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_while_a_thread_computes_can_compute():
    slow = Slow()
    slow.may_end.clear()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(60)
    child = os.fork()
    if child == 0:
        # A lock that the thread held would be held here for ever: the alarm ends the child, and the test fails.
        signal.alarm(30)
        os._exit(0 if Slow().value == [1] else 1)
    slow.may_end.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

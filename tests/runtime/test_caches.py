"""The one kind of cache: its limits, its figures, and what a forked child makes of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.runtime import Cache, CacheFigures, CacheSpec, Runtime, current, use
from indextables.runtime.caches import AfterFork

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
ignores_threads = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def in_child(question: Callable[[], bool]) -> bool:
    """The answer of a forked child."""
    child = os.fork()
    if child == 0:
        answer = False
        try:
            answer = question()
        finally:
            os._exit(0 if answer else 1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def test_the_least_recently_used_goes_first():
    cache = Cache[str, int](entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.keys() == ["a", "c"]
    assert cache.figures == CacheFigures(hits=1, misses=0)


def test_weights_are_limited_together():
    cache = Cache[str, int](entries=10)
    for key, weight in (("a", 4), ("b", 4), ("c", 3)):
        cache.put(key, 0, weight=weight, max_weight=8)
    assert cache.keys() == ["b", "c"]
    cache.put("d", 0, weight=9, max_weight=8)
    assert cache.keys() == []


def test_a_value_that_is_replaced_weighs_once():
    cache = Cache[str, int](entries=10)
    for _ in range(5):
        cache.put("a", 0, weight=4, max_weight=8)
    cache.put("b", 0, weight=4, max_weight=8)
    assert cache.keys() == ["a", "b"]


def test_a_random_victim_lets_a_scan_that_is_too_long_hit():
    turns = [n % 11 for n in range(1100)]
    hits = {}
    for eviction in ("lru", "random"):
        cache = Cache[int, int](entries=10, eviction=eviction)
        for n in turns:
            cache.get_or_make(n, lambda n=n: n + 1)
        hits[eviction] = cache.figures.hits
    assert hits["lru"] == 0
    assert hits["random"] > 600


def test_a_random_victim_is_never_the_newcomer():
    cache = Cache[int, int](entries=3, eviction="random")
    for n in range(200):
        cache.put(n, n)
        assert n in cache


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5))),
    st.integers(0, 4),
    st.integers(0, 12),
)
def test_limits_hold_after_every_put(puts: list[tuple[str, int]], entries: int, max_weight: int):
    cache = Cache[str, int](entries=entries)
    for key, weight in puts:
        cache.put(key, weight + 1, weight=weight, max_weight=max_weight)
        kept = cache.keys()
        assert len(kept) <= entries
        assert cache._weight == sum(cache._stored[name].weight for name in kept) <= max_weight


def test_threads_that_miss_together_make_a_value_once():
    cache, made, ready = Cache[str, object](entries=1), [], threading.Barrier(8)

    def make() -> object:
        made.append(None)
        return object()

    def ask() -> None:
        ready.wait()
        found.append(cache.make_once("a", make))

    found: list[object] = []
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(set(found)) == 1


def test_updates_of_many_threads_are_all_counted():
    cache = Cache[str, int](entries=1)

    def count() -> None:
        for _ in range(500):
            cache.update("a", lambda n: (n or 0) + 1)

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.get("a") == 4000


def test_a_value_that_leaves_is_freed_without_the_lock():
    class Looks:
        def __del__(self) -> None:
            looked.append(len(cache))  # would wait forever for a lock that is held

    looked: list[int] = []
    cache = Cache[int, Looks](entries=1)
    cache.put(1, Looks())
    cache.put(2, Looks())
    cache.discard(lambda _: True)
    cache.put(3, Looks())
    cache.pop(3)
    cache.put(4, Looks())
    cache.put(4, Looks())
    assert looked == [1, 0, 0, 1]


@needs_fork
@ignores_threads
@pytest.mark.parametrize(("after_fork", "kept"), [("keep", True), ("drop", False), ("abandon", False)])
def test_a_child_keeps_or_forgets_what_the_parent_stored(after_fork: AfterFork, kept: bool):
    cache = Cache[str, int](entries=4, after_fork=after_fork)
    cache.put("a", 1)
    assert in_child(lambda: ("a" in cache, cache.get("a") == 1) == (kept, kept))
    assert cache.get("a") == 1


@needs_fork
@ignores_threads
def test_only_what_is_abandoned_is_never_freed_in_a_child():
    class Dies:
        def __del__(self) -> None:
            deaths.append(os.getpid())

    deaths: list[int] = []
    abandoned = Cache[str, Dies](entries=1, after_fork="abandon")
    dropped = Cache[str, Dies](entries=1, after_fork="drop")
    for cache in (abandoned, dropped):
        cache.put("a", Dies())

    def child() -> bool:
        return len(abandoned) == 0 and deaths == [] and len(dropped) == 0 and deaths == [os.getpid()]

    assert in_child(child)


@needs_fork
@ignores_threads
def test_a_child_can_use_a_cache_that_another_thread_was_changing():
    cache = Cache[str, int](entries=2)
    cache.put("a", 1, weight=5)
    held, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with cache._lock:
            cache._stored.pop("a")  # half of an update: the weight is still counted
            held.set()
            forked.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def child() -> bool:
        cache.put("b", 2, weight=5, max_weight=5)
        return cache.keys() == ["b"]

    try:
        assert in_child(child)
    finally:
        forked.set()
        thread.join()


def test_a_runtime_has_one_cache_of_each_kind_and_another_runtime_has_its_own():
    spec = CacheSpec[str, int]("numbers", entries=2)
    with use(Runtime()) as outer:
        current().cache(spec).put("a", 1)
        with use(Runtime()):
            assert current().cache(spec).get("a") is None
        assert current() is outer
        assert current().cache(spec).get("a") == 1
        outer.clear_caches()
        assert len(current().cache(spec)) == 0

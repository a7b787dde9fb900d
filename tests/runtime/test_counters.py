"""Counters: exact under threads, and at 0 in a forked child."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from indextables.runtime import Counters, difference


def test_threads_lose_no_count():
    counters = Counters()
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(lambda: [counters.add("n") for _ in range(2000)]) for _ in range(8)]:
            done.result()
    assert counters.values() == {"n": 16000}


def test_a_forked_child_starts_at_zero():
    counters = Counters()
    counters.add("n", 5)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        counters.add("m")
        os.write(write, repr(counters.values()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"{'m': 1}"
    assert counters.values() == {"n": 5}
    os.close(read)
    os.close(write)


def test_a_copy_does_not_grow():
    counters = Counters()
    earlier = counters.values()
    counters.add("n", 3)
    assert (earlier, difference(counters.values(), earlier)) == ({}, {"n": 3})

"""A writer that is killed at any moment: what it was told is committed is there, the rest wholly or not at all."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

import indextables as it
from indextables.errors import TableNotFoundError
from indextables.storage import open_store
from support import writing_process
from support.invariants import check_table

KILLS = 50


@pytest.mark.slow
def test_a_killed_writer_leaves_whole_batches_and_all_that_it_was_told_of(tmp_path: Path):
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = random.Random(seed)
    path, scratch = str(tmp_path / "t"), str(tmp_path)
    context = multiprocessing.get_context("forkserver")  # a process that has its imports done and forks
    context.set_forkserver_preload(["__main__", "indextables"])
    told: set[int] = set()
    there: set[int] = set()
    first, pace = 0, 1.0
    for _ in range(KILLS):
        ours, theirs = context.Pipe(duplex=False)
        writer = context.Process(
            target=writing_process.write_until_killed, args=(path, scratch, first, theirs)
        )
        writer.start()
        theirs.close()
        assert ours.recv() == "ready"
        acknowledged: list[int] = []
        for _ in range(rng.randint(0, 1)):
            began = time.monotonic()
            acknowledged.append(ours.recv())
            pace = min(pace, time.monotonic() - began)
        time.sleep(rng.uniform(0, 1.2 * pace))  # some moment of the write that is under way
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        acknowledged += _rest(ours)
        told.update(acknowledged)
        there |= _whole_batches(path, first)
        assert set(acknowledged) <= there, "a batch that was acknowledged is missing"
        first = max(there, default=first - 1) + 2  # the one that was lost, if one was, is not written again
    assert told, "no writer lived long enough to commit"
    everything = it.open(path).to_arrow(columns=["batch"]).column("batch").to_pylist()
    assert Counter(everything) == dict.fromkeys(there, 4)
    print(f"{len(told)} batches acknowledged, {len(there - told)} committed without a word, {KILLS} kills")


def _rest(pipe: multiprocessing.connection.Connection) -> list[int]:
    reports = []
    try:
        while True:
            reports.append(pipe.recv())
    except (EOFError, OSError):  # the last word may be cut off: then nothing was reported
        return reports


def _whole_batches(path: str, first: int) -> set[int]:
    """The batches from `first` on, after checking that the table is sound and each of them complete."""
    try:
        table = it.open(path)
    except TableNotFoundError:
        return set()
    check_table(open_store(path))
    rows = table.to_arrow(columns=["batch", "n"], where=f"batch >= {first}").to_pylist()
    found = Counter(row["batch"] for row in rows)
    assert sorted((row["batch"], row["n"]) for row in rows) == [
        (batch, n) for batch in sorted(found) for n in range(4)
    ]
    return set(found)

"""A merge that is killed at any moment: no row is lost, a purge deletes what it left, the next merge works."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.log import load_snapshot
from indextables.maintenance import purge
from indextables.storage import LocalStore, open_store, remove_leftovers
from support import merging_process
from support.invariants import check_table

APPENDS = 3
HOUR = 3_600_000


@pytest.mark.slow
@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])])
def test_a_killed_merge_loses_nothing_and_leaves_only_what_a_purge_deletes(tmp_path: Path, kills: int):
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = random.Random(seed)
    path, scratch = str(tmp_path / "t"), str(tmp_path / "scratch")
    Path(scratch).mkdir()
    settings = merging_process.settings(scratch)
    rows: list[int] = []
    finished = 0
    pace = 0.0
    for kill in range(kills + 1):  # the first one is not killed: it shows how long a merge takes
        for _ in range(APPENDS):
            new = [len(rows) + n for n in range(4)]
            table = pa.table({"n": new, "part": ["a", "b", "a", "b"]})
            it.write(path, table, partition_by=["part"], settings=settings)
            rows += new
        elapsed, is_finished = _merge(path, scratch, None if kill == 0 else rng.uniform(0, pace))
        if is_finished:  # a later one may be faster than the first: kill the others sooner
            pace = elapsed if kill == 0 else min(pace, elapsed)
        finished += is_finished
        assert sorted(it.open(path).to_arrow(columns=["n"]).column("n").to_pylist()) == rows
    effective = kills + 1 - finished
    assert 2 * effective >= kills, f"only {effective} of {kills} merges were killed before their end"
    store = open_store(path)
    check_table(store)
    print(f"{effective} of {kills} merges were killed before their end")

    later = time.time_ns() // 1_000_000 + 8 * 24 * HOUR
    assert purge(store, Settings(settings), clock=lambda: later).status == "SUCCESS"
    named = {
        key for version in range(it.open(path).version + 1) for key in load_snapshot(store, version).files
    }
    assert {info.key for info in store.list_from("") if info.key.endswith(".split")} == named
    assert isinstance(store, LocalStore)
    assert list(store.temporary_files()) == []
    remove_leftovers(Settings(settings), seconds=0)
    assert list(Path(scratch).iterdir()) == []

    it.write(path, pa.table({"n": [-1, -2], "part": ["a", "b"]}), partition_by=["part"], settings=settings)
    merged = it.open(path, settings=settings).merge_splits()
    assert (merged.status, merged.merge_groups) == ("success", 2)
    assert sorted(it.open(path).to_arrow(columns=["n"]).column("n").to_pylist()) == [-2, -1, *rows]
    check_table(store)


def _merge(path: str, scratch: str, kill_after: float | None) -> tuple[float, bool]:
    """Merge in a process that is killed after so many seconds; how long it lived, and whether it was done."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["indextables"])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=merging_process.merge_once, args=(path, scratch, theirs))
    process.start()
    theirs.close()
    assert ours.recv() == "ready"
    began = time.monotonic()
    is_finished = ours.poll(kill_after) and _is_done(ours)
    elapsed = time.monotonic() - began
    if kill_after is not None:
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return elapsed, is_finished


def _is_done(pipe: multiprocessing.connection.Connection) -> bool:
    try:
        return pipe.recv() in ("success", "no_action")
    except EOFError:
        return False

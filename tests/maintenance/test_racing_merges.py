"""Processes that merge, write and purge on one disk: the rows are those of some order of the writes, one by one."""

from __future__ import annotations

import multiprocessing
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.log import load_snapshot
from indextables.storage import open_store
from support import merging_process
from support.invariants import check_table

WRITERS, MERGERS = 2, 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "writes", [15, pytest.param(150, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])]
)
def test_merges_next_to_writers_and_purges_lose_and_double_no_row(tmp_path: Path, writes: int):
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    path, scratch = str(tmp_path / "t"), str(tmp_path)
    it.write(path, _table([("first", "a")]), partition_by=["part"])
    tasks = [(merging_process.write, (seed + n, writes)) for n in range(WRITERS)]
    tasks += [(merging_process.merge_meanwhile, (WRITERS,)) for _ in range(MERGERS)]
    tasks += [(merging_process.purge_meanwhile, (WRITERS,))]
    answers = _run(path, scratch, tasks)
    merged, (deleted, troubles) = answers[WRITERS:-1], answers[-1]
    assert [problems for _, problems in merged] == [[]] * MERGERS
    assert troubles == []
    print(f"{sum(groups for groups, _ in merged)} groups merged, {deleted} orphans deleted")

    store = open_store(path)
    check_table(store)
    rows = _one_by_one([operation for answer in answers[:WRITERS] for operation in answer])
    assert _rows(path) == rows
    it.open(path, settings=merging_process.settings(scratch)).merge_splits()
    assert _rows(path) == rows
    assert len(load_snapshot(store).files) == len({part for _, part in rows})


def _run(path: str, scratch: str, tasks: list[tuple[Any, tuple[Any, ...]]]) -> list[Any]:
    """All of the tasks at once, each in a process; what they answered."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["indextables"])
    started = []
    for task, arguments in tasks:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=task, args=(path, scratch, *arguments, theirs))
        process.start()
        theirs.close()
        started.append((process, ours))
    answers = [pipe.recv() for _, pipe in started]
    for process, _ in started:
        process.join()
        assert process.exitcode == 0
    return answers


def _one_by_one(done: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The rows after the writes, in the order of their versions. What found nothing to do comes after its version."""
    rows = [("first", "a")]
    may_find_nothing = ("drop", "delete", "update")
    for operation in sorted(done, key=lambda each: (each["version"], each["kind"] in may_find_nothing)):
        rows = merging_process.changed_rows(operation, rows)
    return sorted(rows)


def _rows(path: str) -> list[tuple[str, str]]:
    found = it.open(path).to_arrow(columns=["id", "part"]).to_pylist()
    return sorted((row["id"], row["part"]) for row in found)


def _table(rows: list[tuple[str, str]]) -> pa.Table:
    return pa.table({"id": [row[0] for row in rows], "part": [row[1] for row in rows]})

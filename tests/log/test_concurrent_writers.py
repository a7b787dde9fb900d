"""Processes and threads that write to one table at once: nothing lost, nothing twice, the rules kept."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import indextables as it
from indextables.log import load_snapshot
from indextables.storage import open_store
from support import writing_process
from support.invariants import check_table
from support.processes import run

PROCESSES, THREADS = 2, 4


@pytest.mark.slow
def test_eight_writers_append_four_hundred_times_and_every_row_is_there_once(tmp_path: Path):
    path, scratch, count = str(tmp_path / "t"), str(tmp_path), 50
    troubles = run(writing_process.append, *[(path, scratch, n, THREADS, count) for n in range(PROCESSES)])
    assert troubles == [[]] * PROCESSES
    total = PROCESSES * THREADS * count
    assert check_table(open_store(path)) == total - 1, "as many versions as appends, dense"
    table = it.open(path)
    assert table.count() == total
    assert sorted(table.to_arrow(columns=["id"]).column("id").to_pylist()) == list(range(total))


@pytest.mark.slow
def test_writers_that_merge_by_themselves_neither_lose_nor_double_a_row(tmp_path: Path):
    path, scratch, count = str(tmp_path / "t"), str(tmp_path), 12
    arguments = [(writing_process.MERGING, path, scratch, n, THREADS, count) for n in range(PROCESSES)]
    assert run(writing_process.append_with, *arguments) == [[]] * PROCESSES
    check_table(open_store(path))
    table = it.open(path)
    operations = Counter(table.history().column("operation").to_pylist())
    total = PROCESSES * THREADS * count
    assert sorted(table.to_arrow(columns=["id"]).column("id").to_pylist()) == list(range(total))
    assert table.version + 1 == sum(operations.values()) > total, "some versions are merges"
    print(operations)


@pytest.mark.slow
def test_appends_overwrites_and_drops_at_once_are_some_order_of_them_one_by_one(tmp_path: Path):
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    path, scratch = str(tmp_path / "t"), str(tmp_path)
    store = open_store(path)
    writing_process.it.write(path, _table([("first", "a")]), partition_by=["part"])
    answers = run(writing_process.mix, *[(path, scratch, seed + n, THREADS, 25) for n in range(PROCESSES)])
    assert [troubles for _, troubles in answers] == [[]] * PROCESSES
    newest = check_table(store)

    done = [operation for operations, _ in answers for operation in operations]
    made = [operation["version"] for operation in done if operation["kind"] != "drop"]
    assert len(made) == len(set(made)), "no two writes are one version"
    # A drop that found nothing made no version and names the one it looked at: it comes after that one.
    done.sort(key=lambda operation: (operation["version"], operation["kind"] == "drop"))
    rows = [("first", "a")]
    for n, operation in enumerate(done):
        if operation["kind"] == "drop":
            rows = [row for row in rows if row[1] != operation["partition"]]
        else:
            rows = operation["rows"] + (rows if operation["kind"] == "append" else [])
        if n + 1 == len(done) or done[n + 1]["version"] != operation["version"]:
            files = load_snapshot(store, operation["version"]).files.values()
            live: Counter[str] = Counter()
            for file in files:
                live[file.partition_values["part"]] += file.num_records or 0
            assert live == Counter(part for _, part in rows), f"version {operation['version']}"
    assert {operation["version"] for operation in done} | {0} == set(range(newest + 1))
    found = it.open(path).to_arrow(columns=["id", "part"]).to_pylist()
    assert sorted((row["id"], row["part"]) for row in found) == sorted(rows)


def _table(rows: list[tuple[str, str]]) -> Any:
    return writing_process.pa.table({"id": [row[0] for row in rows], "part": [row[1] for row in rows]})

"""What the processes do that tests start to write to one table at once, and to kill."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa

import indextables as it
from indextables.config import keys

PARTITIONS = ("a", "b", "c")


def settings(scratch: str) -> dict[str, str]:
    """Tiny batches need little memory, and what a killed writer leaves behind stays below the test's directory.

    Tests count the versions that writers make, so none is made by an automatic merge.
    """
    return {
        keys.HEAP_SIZE.key: "15M",
        keys.TEMP_DIRECTORY.key: scratch,
        keys.MERGE_ON_WRITE.key: "false",
    }


MERGING = {keys.MERGE_ON_WRITE.key: "true", keys.MERGE_ON_WRITE_SPLITS.key: "8"}
"""Settings of a writer that often merges."""


def append(path: str, scratch: str, process: int, threads: int, count: int, answers: Connection) -> None:
    """Each thread appends `count` times one row of its own; answers what went wrong."""
    append_with({}, path, scratch, process, threads, count, answers)


def append_with(
    access: dict[str, str],
    path: str,
    scratch: str,
    process: int,
    threads: int,
    count: int,
    answers: Connection,
) -> None:
    """The same on a store that takes settings of its own."""
    chosen = settings(scratch) | access

    def write(thread: int) -> None:
        for n in range(count):
            row = pa.table({"id": [(process * threads + thread) * count + n], "message": [f"row {n}"]})
            it.write(path, row, text=["message"], settings=chosen)

    answers.send(_in_threads(write, threads))


def mix(path: str, scratch: str, seed: int, threads: int, count: int, answers: Connection) -> None:
    """Each thread appends, overwrites and drops partitions at random; answers what it did at which version."""
    done: list[dict[str, Any]] = []

    def write(thread: int) -> None:
        rng = random.Random(f"{seed}-{thread}")
        for n in range(count):
            rows = [(f"{seed}-{thread}-{n}-{i}", rng.choice(PARTITIONS)) for i in range(rng.randint(1, 2))]
            kind = rng.choices(("append", "overwrite", "drop"), (8, 1, 2))[0]
            if kind == "drop":
                where = rng.choice(PARTITIONS)
                version = it.open(path, settings=settings(scratch)).drop_partitions(f"part = '{where}'")
                done.append({"version": version, "kind": kind, "partition": where})
            else:
                table = pa.table({"id": [row[0] for row in rows], "part": [row[1] for row in rows]})
                version = it.write(path, table, mode=kind, partition_by=["part"], settings=settings(scratch))
                done.append({"version": version, "kind": kind, "rows": rows})

    answers.send((done, _in_threads(write, threads)))


def write_until_killed(path: str, scratch: str, first_batch: int, acknowledge: Connection) -> None:
    """Appends batches of rows over two partitions, and tells of each one that `it.write` returned from.

    It merges too, so that it may be killed in the middle of that.
    """
    acknowledge.send("ready")
    for batch in itertools.count(first_batch):
        rows = {"batch": [batch] * 4, "n": list(range(4)), "part": ["a", "b", "a", "b"]}
        it.write(path, pa.table(rows), partition_by=["part"], settings=settings(scratch) | MERGING)
        acknowledge.send(batch)


def _in_threads(write: Callable[[int], None], threads: int) -> list[str]:
    troubles: list[str] = []

    def guarded(thread: int) -> None:
        try:
            write(thread)
        except Exception as trouble:
            troubles.append(f"thread {thread}: {trouble!r}")

    running = [threading.Thread(target=guarded, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return troubles

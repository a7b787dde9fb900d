"""What the processes do that tests start to merge the splits of one table, next to others, and to kill."""

from __future__ import annotations

import random
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import CommitConflictError, IndexTablesError
from indextables.maintenance import purge
from indextables.storage import open_store
from support import writing_process

PARTITIONS = writing_process.PARTITIONS


def settings(scratch: str) -> dict[str, str]:
    """Several commits a merge, and purges that take what another process has stored a moment ago."""
    small = {keys.MERGE_BATCH_SIZE.key: "1", keys.PURGE_RETENTION_CHECK.key: "false"}
    return writing_process.settings(scratch) | small


def merge_once(path: str, scratch: str, acknowledge: Connection) -> None:
    """Merge, and tell what was merged."""
    acknowledge.send("ready")
    merged = it.open(path, settings=settings(scratch)).merge_splits()
    acknowledge.send(merged.status)


def write(path: str, scratch: str, seed: int, count: int, answers: Connection) -> None:
    """Append, overwrite and drop partitions at random; answers what was done at which version.

    A purge may delete the files of a write that is under way: then the rows are written again.
    """
    rng = random.Random(seed)
    done: list[dict[str, Any]] = []
    for n in range(count):
        rows = [(f"{seed}-{n}-{i}", rng.choice(PARTITIONS)) for i in range(rng.randint(1, 3))]
        kind = rng.choices(("append", "overwrite", "drop"), (10, 1, 2))[0]
        if kind == "drop":
            where = rng.choice(PARTITIONS)
            version = it.open(path, settings=settings(scratch)).drop_partitions(f"part = '{where}'")
            done.append({"version": version, "kind": kind, "partition": where})
        else:
            done.append({"version": _insist(path, scratch, kind, rows), "kind": kind, "rows": rows})
    (Path(scratch) / f"done-{seed}").touch()
    answers.send(done)


def _insist(path: str, scratch: str, kind: Any, rows: list[tuple[str, str]]) -> int:
    table = pa.table({"id": [row[0] for row in rows], "part": [row[1] for row in rows]})
    while True:
        try:
            return it.write(path, table, mode=kind, partition_by=["part"], settings=settings(scratch))
        except CommitConflictError:
            continue


def merge_meanwhile(path: str, scratch: str, writers: int, answers: Connection) -> None:
    """Merge again and again while others write; answers how many groups were merged, and what went wrong."""
    groups, troubles = 0, []
    while not _all_done(scratch, writers):
        try:
            groups += it.open(path, settings=settings(scratch)).merge_splits().merge_groups
        except IndexTablesError as reason:
            troubles.append(repr(reason))
    answers.send((groups, troubles))


def purge_meanwhile(path: str, scratch: str, writers: int, answers: Connection) -> None:
    """Purge again and again while others write, without regard for their age; answers as `merge_meanwhile`."""
    deleted, troubles = 0, []
    while not _all_done(scratch, writers):
        try:
            purged = purge(open_store(path), Settings(settings(scratch)), hours=0)
            deleted += purged.orphaned_files_deleted
        except IndexTablesError as reason:
            troubles.append(repr(reason))
        time.sleep(0.05)  # so that others get something done
    answers.send((deleted, troubles))


def _all_done(scratch: str, writers: int) -> bool:
    return len(list(Path(scratch).glob("done-*"))) == writers

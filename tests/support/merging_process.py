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
from support.row_statements import RowStatement

PARTITIONS = writing_process.PARTITIONS
KEYS = [f"key{n}" for n in range(5)]
"""What upserts of all processes write."""


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
    """Append, overwrite, drop partitions and change rows at random; answers what was done at which version.

    A purge may delete the files of a write that is under way, and others change the same rows: then it is done again.
    Deletes and updates are of the rows that this process has written, so that no other adds one at the same time.
    """
    rng = random.Random(seed)
    done: list[dict[str, Any]] = []
    for n in range(count):
        rows = [(f"{seed}-{i}-{n}", rng.choice(PARTITIONS)) for i in range(rng.randint(1, 3))]
        kinds = ("append", "overwrite", "drop", "delete", "update", "upsert")
        kind = rng.choices(kinds, (10, 1, 2, 3, 3, 4))[0]
        if kind == "upsert":
            rows = [(key, rng.choice(PARTITIONS)) for key in rng.sample(KEYS, 2)]
        operation: dict[str, Any] = {"kind": kind, "rows": rows, "seed": seed, "number": rng.randint(0, 2)}
        if kind == "drop":
            operation["partition"] = rng.choice(PARTITIONS)
        done.append(operation | {"version": _insist(path, scratch, operation)})
    (Path(scratch) / f"done-{seed}").touch()
    answers.send(done)


def _insist(path: str, scratch: str, operation: dict[str, Any]) -> int:
    while True:
        try:
            return _carry_out(path, settings(scratch), operation)
        except CommitConflictError:
            continue


def _carry_out(path: str, settings: dict[str, str], operation: dict[str, Any]) -> int:
    kind, rows = operation["kind"], operation["rows"]
    data = pa.table({"id": [row[0] for row in rows], "part": [row[1] for row in rows]})
    own = f"id LIKE '{_own(operation)}%'"
    table = it.open(path, settings=settings)
    if kind == "drop":
        return table.drop_partitions(f"part = '{operation['partition']}'")
    if kind == "delete":
        return table.delete(own).version
    if kind == "upsert":
        return table.upsert(data, on=["id"]).version
    if kind == "update":
        statement = RowStatement(path, "UPDATE", own, settings)
        return statement.run(lambda row: row | {"id": f"{row['id']}+"}).version
    return it.write(path, data, mode=kind, partition_by=["part"], settings=settings)


def _own(operation: dict[str, Any]) -> str:
    """Return how the ids begin that a delete or an update is about."""
    return f"{operation['seed']}-{operation['number']}-"


def changed_rows(operation: dict[str, Any], rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the rows of a table after an operation of `write`."""
    new, own = operation["rows"], _own(operation)
    match operation["kind"]:
        case "append":
            return rows + new
        case "overwrite":
            return list(new)
        case "drop":
            return [row for row in rows if row[1] != operation["partition"]]
        case "delete":
            return [row for row in rows if not row[0].startswith(own)]
        case "update":
            return [(f"{row[0]}+", row[1]) if row[0].startswith(own) else row for row in rows]
        case "upsert":
            keys = {row[0] for row in new}
            return [row for row in rows if row[0] not in keys] + new
    raise AssertionError(operation)


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

"""Deletes, upserts and replacements by simulated processes: delta logs and commits of production code.

An upsert deletes the rows that have the keys of its new ones. Keys come from a small pool, so that upserts meet.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from indextables.errors import CommitConflictError, CorruptTableError, ObjectNotFoundError
from indextables.log import AddFile, DeletedRows, OverwritePartitions, Snapshot, load_snapshot
from indextables.split import DeltaLogRef, load_deleted_rows, store_delta_log
from indextables.table import RowChange, TaskDeletes, commit_deletes, repeat_after_merges
from support.simulation.actors import append, clean_up, compact, read, table_of, write
from support.simulation.ledger import Kind, key_of
from support.simulation.merging import merge
from support.simulation.process import DAYS, Process, Role

POOL = tuple(f"key{number}" for number in range(6))


def change_rows(process: Process) -> None:
    """Delete rows, put rows in the place of others, or replace partitions."""
    draw = process.rng.random()
    if draw < 0.4:
        delete(process)
    elif draw < 0.8:
        upsert(process)
    elif draw < 0.9:
        replace_partitions(process)
    else:
        append(process)


def delete(process: Process) -> None:
    """Delete some of the rows of the newest version."""
    chosen: set[str] = set()

    def choose(names: set[str]) -> set[str]:
        chosen.update(process.rng.sample(sorted(names), min(len(names), process.rng.randint(1, 4))))
        return names & chosen

    _try_to_change(process, "delete", choose, ())


def upsert(process: Process) -> None:
    """Write rows with keys of the pool; those that have these keys go."""
    keys = process.rng.sample(POOL, process.rng.randint(1, 3))
    adds = (process.new_file(process.rng.choice(DAYS), [f"{key}#{process.name()}" for key in keys]),)
    _try_to_change(process, "upsert", lambda found: {name for name in found if key_of(name) in keys}, adds)


def replace_partitions(process: Process) -> None:
    """Overwrite the days that get new rows."""
    adds = process.new_files(process.rng.choices(DAYS, k=process.rng.randint(1, 2)))
    change = OverwritePartitions(adds, table_of(process))
    process.try_to("replace", lambda: process.commit(change, process.base()), adds=adds)


def _try_to_change(
    process: Process, kind: Kind, choose: Callable[[set[str]], set[str]], adds: tuple[AddFile, ...]
) -> None:
    victims: set[str] = set()  # as of the last look, from which the commit follows

    def change() -> RowChange:
        victims.clear()
        snapshot = load_snapshot(process.store, settings=process.settings)
        rows = {file.path: _live_rows(process, file) for file in snapshot.files.values()}
        victims.update(choose({name for names in rows.values() for name in names.values()}))
        deletes = [
            _deleted(process, snapshot.files[key], names, victims)
            for key, names in rows.items()
            if victims & set(names.values())
        ]
        return commit_deletes(
            process.store,
            snapshot,
            [TaskDeletes(tuple(deletes), len(victims))],
            process.settings,
            adds=adds,
            metadata=table_of(process),
            check=None if kind == "delete" else lambda newest: _check_later(process, snapshot, newest, adds),
            operation="DELETE" if kind == "delete" else "UPSERT",
            parameters={},
        )

    process.try_to(kind, lambda: repeat_after_merges(change), adds=adds, victims=victims)


def _keys(process: Process, *files: AddFile) -> set[str]:
    return {key_of(name) for file in files for name in _live_rows(process, file).values()}


def _live_rows(process: Process, file: AddFile) -> dict[int, str]:
    """The rows of a split that are not deleted, by position."""
    try:
        names = process.store.get(file.path).decode().split()
    except ObjectNotFoundError:
        raise CommitConflictError(f"{file.path} is gone: it was removed, and purged") from None
    log = DeltaLogRef.of(file.delta_log, file.num_deleted, file.num_records, file.path)
    try:
        gone = set(load_deleted_rows(process.store, log, len(names)).rows.tolist())
    except CorruptTableError:
        if process.store.exists(file.delta_log or ""):
            raise
        raise CommitConflictError(f"{file.delta_log} is gone: it was replaced, and purged") from None
    return {position: name for position, name in enumerate(names) if position not in gone}


def _deleted(process: Process, file: AddFile, names: dict[int, str], victims: set[str]) -> DeletedRows:
    rows = [position for position, name in names.items() if name in victims]
    if len(rows) == len(names):
        return DeletedRows(file.path, file.delta_log, None)
    assert file.num_records is not None
    gone = set(range(file.num_records)) - names.keys()
    log = store_delta_log(process.store, file.path, np.array(sorted({*rows, *gone})))
    return DeletedRows(file.path, file.delta_log, log.key, log.num_deleted)


def _check_later(process: Process, before: Snapshot, newest: Snapshot, adds: tuple[AddFile, ...]) -> None:
    """As an upsert does: no file that was added since may have one of the keys."""
    keys = _keys(process, *adds)
    for _, added in newest.files.added_after(before.version):
        if keys & _keys(process, added.file):
            raise CommitConflictError("a concurrent commit has added rows with keys of this upsert")


def row_cast(rng: random.Random) -> list[Role]:
    """Return two that change rows, a writer, a compactor, a merger, one or two cleaners, and a reader."""
    return [
        *(Role(f"changer{n}", change_rows, rng.randint(4, 9)) for n in range(2)),
        Role("writer", write, rng.randint(2, 5)),
        Role("compactor", compact, rng.randint(1, 3)),
        Role("merger", merge, rng.randint(2, 5)),
        *(Role(f"cleaner{n}", clean_up, rng.randint(2, 5)) for n in range(rng.randint(1, 2))),
        Role("reader", read, rng.randint(3, 6)),
    ]

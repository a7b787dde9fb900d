"""Changes of rows and columns by simulated processes: delta logs and commits of production code.

An upsert deletes the rows that have the keys of its new ones. Keys come from a small pool, so that upserts meet. An
update gives a row another name with the same key: a row that two updates change is there twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from indextables.errors import CommitConflictError, CorruptTableError, ObjectNotFoundError
from indextables.log import AddFile, AlterTable, DeletedRows, OverwritePartitions, Snapshot, load_snapshot
from indextables.log.actions import Added
from indextables.schema import AddColumn, ColumnChange, DropColumn
from indextables.split import DeltaLogRef, load_deleted_rows, store_delta_log
from indextables.table import RowChange, TaskDeletes, commit_deletes, repeat_after_merges
from indextables.table.writes import row_deletes, upserts
from indextables.table.writes.moved_rows import StatementRows
from indextables.table.writes.row_updates import change_where_moved
from support.logs import COLUMNS
from support.simulation.actors import append, clean_up, compact, read, restore_version, table_of, write
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


def change_or_alter(process: Process) -> None:
    """Change rows in all ways: found ones in place, those that satisfy a condition, and the columns of the table."""
    draw = process.rng.random()
    if draw < 0.4:
        update(process)
    elif draw < 0.55:
        replace_where(process)
    elif draw < 0.7:
        alter(process)
    else:
        change_rows(process)


def replace_where(process: Process) -> None:
    """Overwrite the rows that satisfy a condition; rows that others append at the same time stay."""
    ending = process.rng.choice("012345")
    adds = process.new_files(process.rng.choices(DAYS, k=process.rng.randint(1, 2)))
    _try_to_change(process, "replace where", lambda found: {n for n in found if n.endswith(ending)}, adds)


def alter(process: Process) -> None:
    """Add a column, or drop one that was added. Writers that know nothing of it go on."""
    base = process.base()
    if base is None:
        return
    added = [column.name for column in base.schema if column.name not in COLUMNS]
    if added and process.rng.random() < 0.4:
        changes: list[ColumnChange] = [DropColumn(process.rng.choice(added))]
    else:
        name = f"column_{process.name()}"
        changes = [AddColumn(name, "long", f"{name}_stored")]
    process.try_to("alter", lambda: process.commit(AlterTable(tuple(changes)), base))


def update(process: Process) -> None:
    """Change rows that were found in a version, which may be an old one: each gets another name, or all go."""
    snapshot = process.base()
    if snapshot is None:
        return
    statement: str = process.rng.choice(("UPDATE", "MERGE", "DELETE"))
    rows: dict[str, StatementRows] = {}
    renamed: dict[str, list[str]] = {}
    victims: set[str] = set()
    files = sorted(snapshot.files.values(), key=lambda file: file.path)
    for file in process.rng.sample(files, min(len(files), process.rng.randint(1, 3))):
        live = _live_rows(process, file)
        chosen = sorted(process.rng.sample(sorted(live), min(len(live), process.rng.randint(1, 2))))
        nothing, positions = np.empty(0, np.int64), np.array(chosen, np.int64)
        is_delete = statement == "DELETE"
        rows[file.path] = (
            StatementRows(positions, nothing) if is_delete else StatementRows(nothing, positions)
        )
        victims.update(live[position] for position in chosen)
        if not is_delete:
            new = [f"{key_of(live[position])}#{process.name()}" for position in chosen]
            renamed.setdefault(file.partition_values["day"], []).extend(new)
    if not victims:
        return
    adds = tuple(process.new_file(day, names) for day, names in renamed.items())

    def change(current: Snapshot, found: Mapping[str, StatementRows]) -> RowChange:
        deletes = []
        for key, positions in found.items():
            live = _live_rows(process, current.files[key])
            gone = {live[position] for position in positions.all.tolist()}
            deletes.append(_deleted(process, current.files[key], live, gone))
        return commit_deletes(
            process.store,
            current,
            [TaskDeletes(tuple(deletes), len(victims))],
            process.settings,
            adds=adds,
            metadata=table_of(process),
            operation=statement,
            parameters={},
        )

    process.try_to(
        "delete" if statement == "DELETE" else "update",
        lambda: change_where_moved(process.store, snapshot, rows, change, statement, process.settings),
        adds=adds,
        victims=victims,
    )


_OPERATIONS: Final[dict[Kind, str]] = {"delete": "DELETE", "upsert": "UPSERT", "replace where": "WRITE"}


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
            check=_check(process, kind, snapshot, adds),
            operation=_OPERATIONS[kind],
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


def _check(
    process: Process, kind: Kind, before: Snapshot, adds: tuple[AddFile, ...]
) -> Callable[[Snapshot], None] | None:
    """Return what such a change checks before its commit, in production code."""
    if kind == "replace where":
        return lambda newest: row_deletes.check_no_restore(process.store, before, newest, "overwrite")
    if kind != "upsert":
        return None
    keys = _keys(process, *adds)

    def count_keys(later: Mapping[str, Added]) -> int:
        return len(keys & _keys(process, *(added.file for added in later.values())))

    return lambda newest: upserts.check_later_files(process.store, before, newest, count_keys)


def statement_cast(rng: random.Random) -> list[Role]:
    """Return three that change rows and columns in all ways, and others that merge, clean up, restore and read."""
    return [
        *(Role(f"changer{n}", change_or_alter, rng.randint(4, 9)) for n in range(3)),
        Role("compactor", compact, rng.randint(1, 3)),
        *(Role(f"merger{n}", merge, rng.randint(2, 5)) for n in range(rng.randint(1, 2))),
        Role("cleaner", clean_up, rng.randint(1, 4)),
        Role("reader", read, rng.randint(2, 4)),
        Role("restorer", restore_version, rng.randint(1, 2)),
    ]


def row_cast(rng: random.Random) -> list[Role]:
    """Return two that change rows, a writer, and others that merge, clean up, restore and read."""
    return [
        *(Role(f"changer{n}", change_rows, rng.randint(4, 9)) for n in range(2)),
        Role("writer", write, rng.randint(2, 5)),
        Role("compactor", compact, rng.randint(1, 3)),
        Role("merger", merge, rng.randint(2, 5)),
        *(Role(f"cleaner{n}", clean_up, rng.randint(2, 5)) for n in range(rng.randint(1, 2))),
        Role("reader", read, rng.randint(3, 6)),
        Role("restorer", restore_version, rng.randint(1, 3)),
    ]

"""The actions of simulated processes on a table, one per turn, all through the public API of production code."""

from __future__ import annotations

import random

from indextables.errors import IndexTablesError
from indextables.log import (
    Append,
    DropPartitions,
    Metadata,
    Overwrite,
    Txn,
    checkpoint,
    load_snapshot,
    read_history,
)
from indextables.maintenance import (
    clean_versions,
    purge,
    restore,
    truncate_time_travel,
    upgrade_and_checkpoint,
)
from indextables.predicates import Compare
from support.logs import metadata
from support.simulation.ledger import Observation, Refusal
from support.simulation.merging import merge
from support.simulation.process import DAYS, Process, Role

PURGE_HOURS = 30
"""After which a purge takes what nothing names."""


def table_of(process: Process) -> Metadata:
    """Return the metadata with which a writer creates the table. Every writer would give it another id."""
    return metadata(id=f"made-by-{process.actor.name}")


def write(process: Process) -> None:
    """A writer's turn."""
    rng = process.rng
    draw = rng.random()
    if draw < 0.4:
        append(process)
    elif draw < 0.65:
        write_batch(process)
    elif draw < 0.78:
        files = process.new_files(rng.choices(DAYS, k=rng.randint(0, 2)))
        change = Overwrite(files, table_of(process))
        process.try_to("overwrite", lambda: process.commit(change, process.base()), adds=files)
    elif draw < 0.9:
        day = rng.choice(DAYS)
        drop = DropPartitions(Compare("=", "day", day))
        process.try_to("drop", lambda: process.commit(drop, process.base()), day=day)
    else:
        restore_version(process)


def restore_version(process: Process) -> None:
    """Make an older version the newest."""
    target = process.rng.randint(0, max(process.newest(), 0))
    process.try_to("restore", lambda: restore(process.store, target, process.settings), target=target)


def append(process: Process) -> None:
    files = process.new_files(process.rng.choices(DAYS, k=process.rng.randint(1, 3)))
    change = Append(files, table_of(process))
    process.try_to("append", lambda: process.commit(change, process.base()), adds=files)


def write_batch(process: Process) -> None:
    """Append the next batch of an application that repeats a batch until its commit is acknowledged."""
    role = process.role
    batch = (role.name, role.batches_done)
    files = process.new_files([process.rng.choice(DAYS)])
    change = Append(files, table_of(process), txn=Txn(*batch))
    attempt = process.try_to(
        "append", lambda: process.commit(change, process.base()), adds=files, batch=batch
    )
    if attempt.outcome in ("acknowledged", "skipped"):
        role.batches_done += 1


def compact(process: Process) -> None:
    """Write a state on demand, or merge splits."""
    draw = process.rng.random()
    if draw < 0.3:
        make_state(process)
    elif draw < 0.4:
        process.try_to(
            "upkeep", lambda: upgrade_and_checkpoint(process.store, process.settings).state_version
        )
    else:
        merge(process)


def make_state(process: Process) -> None:
    checkpoint(process.store, process.settings)


def clean_up(process: Process) -> None:
    draw = process.rng.random()
    if draw < 0.2:
        give_up_history(process)
    elif draw < 0.6:
        purge_all(process)
    else:
        clean_versions(process.store, process.settings)


def purge_all(process: Process) -> None:
    """Purge with a retention of 0 hours, which takes splits of running writers, or with a long one."""
    hours = process.rng.choice([PURGE_HOURS, 0])

    def run() -> None:
        purge(process.store, process.settings, hours=hours)

    process.try_to("purge", run)


def give_up_history(process: Process) -> None:
    def run() -> None:
        truncate_time_travel(process.store, process.settings)

    process.try_to("upkeep", run)


def read(process: Process) -> None:
    """A reader's turn."""
    floor, before = process.newest(), process.store.unanswered
    try:
        _look(process, floor)
    except IndexTablesError as reason:
        misled = process.store.unanswered > before
        refusal = Refusal(process.actor.name, type(reason).__name__, floor, misled)
        process.ledger.refusals.append(refusal)
        raise


def _look(process: Process, floor: int) -> None:
    """Read the newest version, an older one, or the history."""
    before = process.store.unanswered
    draw = process.rng.random()
    if draw < 0.15:
        entries = read_history(process.store)
        seen = {entry.version: entry.commit_info.txn_id if entry.commit_info else None for entry in entries}
        process.ledger.histories.append(seen)
        return
    if draw < 0.4:
        floor = process.rng.randint(0, max(floor, 0))
        snapshot = load_snapshot(process.store, floor, settings=process.settings)
    else:
        snapshot = load_snapshot(process.store, settings=process.settings)
    files = dict(snapshot.files.items())
    misled = process.store.unanswered > before
    observation = Observation(process.actor.name, snapshot.version, files, dict(snapshot.txns), floor, misled)
    process.ledger.observations.append(observation)


def everything(process: Process) -> None:
    """Take every kind of turn that changes a table, one after the other."""
    turns = (append, write_batch, merge, make_state, append, purge_all, clean_up, give_up_history)
    turns[process.role.turns_left % len(turns)](process)


def cast(rng: random.Random) -> list[Role]:
    """Return three writers, a compactor, a merger, one or two cleaners, and a reader."""
    return [
        *(Role(f"writer{n}", write, rng.randint(3, 7)) for n in range(3)),
        Role("compactor", compact, rng.randint(2, 5)),
        Role("merger", merge, rng.randint(2, 4)),
        *(Role(f"cleaner{n}", clean_up, rng.randint(3, 7)) for n in range(rng.randint(1, 2))),
        Role("reader", read, rng.randint(4, 8)),
    ]

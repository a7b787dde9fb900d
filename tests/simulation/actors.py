"""Who works on the table: writers, one that compacts, one that cleans up, a reader. All through production's doors.

A split is a few bytes: its rows are names in the tags of its add action, so that they can be followed through merges.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from indextables.config import Settings
from indextables.errors import (
    CommitUnknownError,
    IndexTablesError,
    TableNotFoundError,
)
from indextables.log import (
    AddFile,
    Append,
    Change,
    Committed,
    DropPartitions,
    MergeGroup,
    MergeSplits,
    Metadata,
    Overwrite,
    Snapshot,
    Txn,
    checkpoint,
    commit,
    history,
    load_snapshot,
)
from indextables.maintenance import clean_versions, restore, truncate_time_travel, upgrade_and_checkpoint
from indextables.predicates import Compare
from logs import add, metadata
from simulation.ledger import Attempt, Kind, Ledger, Observation, rows_of
from simulation.scheduler import Actor, Crash
from simulation.store import ActorStore

DAYS = ("mon", "tue", "wed")
SPLIT = b"0123456789"


@dataclass
class Role:
    """A place in the cast. It outlives the processes that fill it: the next one takes up where the last one died."""

    name: str
    turn: Callable[[Process], None]
    turns_left: int
    lives: int = 0
    batches_done: int = 0


class Process:
    """One actor at work in its role: its store, its memory, and the attempt that it is busy with."""

    def __init__(
        self,
        role: Role,
        actor: Actor,
        store: ActorStore,
        ledger: Ledger,
        settings: Settings,
        newest: Callable[[], int],
    ) -> None:
        self.role = role
        self.actor = actor
        self.store = store
        self.ledger = ledger
        self.settings = settings
        self.newest = newest
        self.attempt: Attempt | None = None
        self.known: Snapshot | None = None
        self._made = 0

    @property
    def rng(self) -> random.Random:
        return self.actor.rng

    def work(self) -> None:
        while self.role.turns_left > 0:
            self.role.turns_left -= 1
            try:
                self.role.turn(self)
            except IndexTablesError as reason:
                self.ledger.errors.append(f"{self.role.name}: {type(reason).__name__}")

    def name(self) -> str:
        self._made += 1
        return f"{self.actor.name}-{self._made}"

    def commit(self, change: Change, base: Snapshot | None) -> Committed:
        return commit(
            self.store,
            change,
            base=base,
            settings=self.settings,
            clock=self.actor.clock,
            rng=self.rng,
            sleep=lambda _: self.actor.yield_turn(),
        )

    def try_to(self, kind: Kind, action: Callable[[], Committed | int | None], **meant: object) -> Attempt:
        """Carry it out and write down what became of it. A writer deletes the files of a commit that is known lost."""
        attempt = Attempt(self.actor.name, kind, **meant)  # type: ignore[arg-type]
        self.ledger.attempts.append(attempt)
        self.attempt = attempt
        before = self.store.unanswered
        try:
            done = action()
        except CommitUnknownError:
            attempt.outcome = "unknown"
        except Crash:
            attempt.outcome = "crashed"
            raise
        except IndexTablesError as reason:
            attempt.outcome, attempt.error = "refused", type(reason).__name__
        else:
            skipped = isinstance(done, Committed) and done.skipped
            attempt.outcome = "skipped" if skipped else "acknowledged"
            attempt.version = done.version if isinstance(done, Committed) else done
        finally:
            attempt.unanswered = self.store.unanswered - before
            self.attempt = None
        if attempt.outcome in ("refused", "skipped"):
            for file in attempt.adds:
                self.store.delete(file.path)
        return attempt

    def base(self) -> Snapshot | None:
        """What a writer works from: the newest snapshot, or one that it has had for a while."""
        if self.known is None or self.rng.random() < 0.6:
            try:
                self.known = load_snapshot(self.store, settings=self.settings)
            except TableNotFoundError:
                self.known = None
        return self.known

    def new_files(self, days: Iterable[str]) -> tuple[AddFile, ...]:
        files = []
        for day in days:
            name = self.name()
            rows = [f"{name}.{n}" for n in range(self.rng.randint(1, 3))]
            files.append(split(f"{name}.split", day, rows))
            self.store.put(files[-1].path, SPLIT)
        return tuple(files)


def split(path: str, day: str, rows: list[str]) -> AddFile:
    return add(path, day, rows=len(rows), tags={"rows": " ".join(rows)})


def table_of(process: Process) -> Metadata:
    """What a writer makes the table with if there is none; an id of its own, as every maker has."""
    return metadata(id=f"made-by-{process.actor.name}")


def write(process: Process) -> None:
    """A writer's turn."""
    rng = process.rng
    draw = rng.random()
    if draw < 0.4:
        _append(process)
    elif draw < 0.65:
        _write_batch(process)
    elif draw < 0.78:
        files = process.new_files(rng.choices(DAYS, k=rng.randint(0, 2)))
        change = Overwrite(files, table_of(process))
        process.try_to("overwrite", lambda: process.commit(change, process.base()), adds=files)
    elif draw < 0.9:
        day = rng.choice(DAYS)
        drop = DropPartitions(Compare("=", "day", day))
        process.try_to("drop", lambda: process.commit(drop, process.base()), day=day)
    else:
        target = rng.randint(0, max(process.newest(), 0))
        process.try_to("restore", lambda: restore(process.store, target, process.settings), target=target)


def found(process: Process) -> None:
    """What was there before the others came."""
    _append(process)


def _append(process: Process) -> None:
    files = process.new_files(process.rng.choices(DAYS, k=process.rng.randint(1, 3)))
    change = Append(files, table_of(process))
    process.try_to("append", lambda: process.commit(change, process.base()), adds=files)


def _write_batch(process: Process) -> None:
    """The next batch of an application that repeats a batch until it is told that it is there."""
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
    """A state on demand, or splits merged."""
    draw = process.rng.random()
    if draw < 0.3:
        checkpoint(process.store, process.settings, process.actor.clock)
    elif draw < 0.4:
        process.try_to(
            "upkeep", lambda: upgrade_and_checkpoint(process.store, process.settings).state_version
        )
    else:
        _merge(process)


def _merge(process: Process) -> None:
    base = process.base()
    if base is None:
        return
    groups = []
    for day in DAYS:
        sources = [(key, file) for key, file in base.files.items() if file.partition_values["day"] == day]
        if len(sources) >= 2 and process.rng.random() < 0.7:
            chosen = process.rng.sample(sources, process.rng.randint(2, len(sources)))
            merged = split(f"{process.name()}.split", day, list(rows_of(file for _, file in chosen)))
            process.store.put(merged.path, SPLIT)
            groups.append(MergeGroup(tuple(key for key, _ in chosen), (merged,)))
    if groups:
        change = MergeSplits(tuple(groups), base.metadata)
        adds = tuple(file for group in groups for file in group.adds)
        process.try_to("merge", lambda: process.commit(change, base), adds=adds)


def clean_up(process: Process) -> None:
    if process.rng.random() < 0.25:
        truncate_time_travel(process.store, process.settings, clock=process.actor.clock)
    else:
        clean_versions(process.store, process.settings, clock=process.actor.clock)


def read(process: Process) -> None:
    """Look at the newest version, at an older one, or at the newest from one that was kept; or at the history."""
    floor, before = process.newest(), process.store.unanswered
    draw = process.rng.random()
    if draw < 0.15:
        entries = history(process.store)
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
    seen_by = Observation(process.actor.name, snapshot.version, files, dict(snapshot.txns), floor, misled)
    process.ledger.observations.append(seen_by)


def cast(rng: random.Random) -> list[Role]:
    """Three writers, a compactor, one or two that clean up, a reader."""
    return [
        *(Role(f"writer{n}", write, rng.randint(3, 7)) for n in range(3)),
        Role("compactor", compact, rng.randint(2, 5)),
        *(Role(f"cleaner{n}", clean_up, rng.randint(3, 7)) for n in range(rng.randint(1, 2))),
        Role("reader", read, rng.randint(4, 8)),
    ]

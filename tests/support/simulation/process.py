"""A process at work on the table, and the role that it fills until its turns are over or it dies.

A split is the names of its rows, so that they can be followed through merges.
"""

from __future__ import annotations

import random
import tempfile
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from indextables.config import Settings
from indextables.errors import CommitUnknownError, IndexTablesError, TableNotFoundError
from indextables.log import AddFile, Change, Committed, Snapshot, commit, load_snapshot, store_split
from indextables.log.snapshots import mapping_of
from indextables.maintenance import Merged
from indextables.split import FinishedSplit
from indextables.table import RowChange
from support.logs import metadata
from support.simulation.ledger import Attempt, Kind, Ledger
from support.simulation.scheduler import Actor, Crash
from support.simulation.store import ActorStore

DAYS = ("mon", "tue", "wed")


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
            rng=self.rng,
        )

    def transaction_id(self) -> uuid.UUID:
        """Return an id by the process's own chance, and note it with the attempt."""
        txn_id = uuid.UUID(int=self.rng.getrandbits(128), version=4)
        if self.attempt is not None:
            self.attempt.txn_ids.append(str(txn_id))
        return txn_id

    def try_to(
        self, kind: Kind, action: Callable[[], Committed | Merged | RowChange | int | None], **meant: object
    ) -> Attempt:
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
            attempt.outcome, attempt.error, attempt.reason = "refused", type(reason).__name__, str(reason)
        else:
            skipped = isinstance(done, Committed) and done.skipped
            attempt.outcome = "skipped" if skipped else "acknowledged"
            attempt.version = done.version if isinstance(done, Committed | Merged | RowChange) else done
            attempt.groups = done.merge_groups if isinstance(done, Merged) else None
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
            files.append(self.new_file(day, rows))
        return tuple(files)

    def new_file(self, day: str, rows: Sequence[str]) -> AddFile:
        return self._store(day, " ".join(rows).encode(), len(rows))

    def _store(self, day: str, content: bytes, rows: int) -> AddFile:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            return store_split(
                self.store,
                FinishedSplit(Path(file.name), len(content), rows, 0, len(content), len(content), {}, {}),
                partition_columns=("day",),
                partition_values={"day": day},
                mapping=mapping_of(metadata()),
            )

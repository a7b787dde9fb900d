"""What is done to a dataset of column groups, turn by turn, and a plain model of what that should make of it.

Names are the content here: a file, a delta log, a statistic has the name of the attempt that added it, so that each can
be followed through the versions. Every file but those of an added column holds one row.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from indextables.avro import TAG_SIZE
from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Transaction,
    read_manifest,
)
from indextables.errors import CommitUnknownError, IndexTablesError
from indextables.storage import Backoff
from support.simulation.ledger import Outcome
from support.simulation.scheduler import Actor, Crash
from support.simulation.store import ActorStore

Kind = Literal["log", "rows", "column", "drop", "stat", "index", "positions"]
KINDS: tuple[Kind, ...] = ("log", "rows", "column", "drop", "stat", "index", "positions")
SHARED = "bm25"
"""A statistic that every writer updates."""

FIRST_SHAPE = (("id", "name"), ("vector",))


@dataclass(frozen=True)
class Meant:
    """What an attempt would do: `shape` and `rows` are those of the version that it was made for."""

    kind: Kind
    name: str
    shape: tuple[tuple[str, ...], ...]
    rows: int
    column: str


@dataclass
class Attempt:
    """One transaction that a process tried to commit."""

    actor: str
    meant: Meant
    resolver: str
    repeated: bool = False
    read_version: int = -1
    ids: list[bytes] = field(default_factory=list)
    outcome: Outcome = "pending"
    version: int | None = None
    unanswered: int = 0
    error: str = ""


@dataclass(frozen=True)
class Seen:
    """What a reader saw, and the newest version that it should have known, unless it was `misled`."""

    manifest: Manifest
    floor: int
    misled: bool


@dataclass
class DatasetLedger:
    attempts: list[Attempt] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass
class DatasetRole:
    """A place in the cast. `unsettled` is what its last process did not learn the end of: the next one repeats it."""

    name: str
    turn: Callable[[DatasetProcess], None]
    turns_left: int
    lives: int = 0
    unsettled: Meant | None = None


class DatasetProcess:
    """One actor at work in its role."""

    def __init__(
        self,
        role: DatasetRole,
        actor: Actor,
        store: ActorStore,
        ledger: DatasetLedger,
        newest: Callable[[], int],
    ) -> None:
        self.role = role
        self.actor = actor
        self.store = store
        self.ledger = ledger
        self.newest = newest
        self.attempt: Attempt | None = None
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

    def transaction_id(self) -> uuid.UUID:
        """Return an id by the process's own chance, and note it with the attempt."""
        txn_id = uuid.UUID(int=self.rng.getrandbits(128), version=4)
        assert self.attempt is not None
        self.attempt.ids.append(txn_id.bytes[:TAG_SIZE])
        return txn_id

    def try_to(self, resolver: str, mean: Callable[[Manifest], Meant], *, repeated: bool = False) -> None:
        """Open, decide by what is read, commit; and once more by the same transaction where the outcome is unknown."""
        attempt = Attempt(self.actor.name, Meant("log", "", (), 0, ""), resolver, repeated)
        self.attempt = attempt
        before = self.store.unanswered
        backoff = Backoff(1, 1, self.rng, lambda _: self.actor.yield_turn())
        try:
            tx = Transaction.open(self.store, resolver=resolver, backoff=backoff)
            attempt.meant, attempt.read_version = mean(tx.get_manifest()), tx.read_version
            self.ledger.attempts.append(attempt)
            tell(tx, attempt.meant)
            if resolver == "merge" and attempt.meant.kind not in ("index", "positions"):
                # They describe the rows that were read. After another commit they have to be computed again.
                self.role.unsettled = attempt.meant
            if self.rng.random() < 0.3:
                self.actor.yield_turn()  # it thinks, and what it has read grows old
            try:
                attempt.version = tx.commit()
            except CommitUnknownError:
                if self.rng.random() < 0.5:
                    raise
                attempt.version = tx.commit()
        except CommitUnknownError:
            attempt.outcome = "unknown"
        except Crash:
            attempt.outcome = "crashed"
            raise
        except IndexTablesError as reason:
            attempt.outcome, attempt.error = "refused", type(reason).__name__
            self.role.unsettled = None
        else:
            attempt.outcome = "acknowledged"
            self.role.unsettled = None
        finally:
            attempt.unanswered = self.store.unanswered - before
            self.attempt = None


def tell(tx: Transaction, meant: Meant) -> None:
    name = meant.name
    match meant.kind:
        case "log":
            tx.add_delta_log(name, 1).update_stat(name, [name]).add_lob_file(LobFile(name, 1, 1, 1, 1))
        case "rows":
            files = (ColumnGroupFile(name, 0, 1),)
            tx.append_files([ColumnGroup(columns, "parquet", files) for columns in meant.shape])
        case "column":
            tx.add_column_group(ColumnGroup((name,), "parquet", (ColumnGroupFile(name, 0, meant.rows),)))
        case "drop":
            tx.drop_column(meant.column)
        case "stat":
            tx.update_stat(SHARED, [name])
        case "positions":
            tx.add_delta_log(name, 1, DeltaLogType.POSITIONAL)
        case "index":
            tx.add_index(Index(meant.column, "hnsw", name, num_rows=meant.rows))


# Turns


def write(process: DatasetProcess) -> None:
    """A writer's turn: something new, or what it does not know the end of."""
    rng = process.rng
    unsettled = process.role.unsettled
    if unsettled is not None and rng.random() < 0.8:
        process.try_to("merge", lambda _: unsettled, repeated=True)
        return
    process.role.unsettled = None
    resolver = rng.choices(("merge", "fail", "overwrite"), (8, 3, 2))[0]
    kind = rng.choices(KINDS, (3, 5, 2, 1, 2, 2, 2))[0]
    process.try_to(resolver, lambda read: meant_for(process, kind, read))


def found(process: DatasetProcess) -> None:
    process.try_to("merge", lambda read: meant_for(process, "rows", read))


def read(process: DatasetProcess) -> None:
    """A reader's turn."""
    floor, before = process.newest(), process.store.unanswered
    manifest = read_manifest(process.store)
    process.ledger.seen.append(Seen(manifest, floor, process.store.unanswered > before))


def meant_for(process: DatasetProcess, kind: Kind, read: Manifest) -> Meant:
    """Fit for what was read. Of a dataset with nothing in it, more rows are all that there is to want."""
    groups = read.column_groups
    shape = tuple(group.columns for group in groups) or FIRST_SHAPE
    rows = groups[0].num_rows if groups else 0
    columns = [name for columns in shape for name in columns]
    droppable = [name for name in columns if name not in FIRST_SHAPE[0]]
    if not groups and kind in ("column", "index"):
        kind = "rows"
    if kind == "drop" and not droppable:
        kind = "log"
    column = process.rng.choice(droppable if kind == "drop" else columns)
    return Meant(kind, process.name(), shape, rows, column)


def cast(rng: random.Random) -> list[DatasetRole]:
    """Four writers and a reader."""
    return [
        *(DatasetRole(f"writer{n}", write, rng.randint(3, 8)) for n in range(4)),
        DatasetRole("reader", read, rng.randint(3, 6)),
    ]

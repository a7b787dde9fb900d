"""What the actors meant to do, and what they were told. The invariants hold it against what the store has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from indextables.columns import decode_positions
from indextables.log import AddFile

Kind = Literal[
    "append",
    "overwrite",
    "drop",
    "restore",
    "merge",
    "purge",
    "upkeep",
    "delete",
    "upsert",
    "update",
    "replace",
    "replace where",
    "alter",
]
Outcome = Literal["pending", "acknowledged", "skipped", "unknown", "refused", "crashed"]


@dataclass
class Attempt:
    """One commit that a process tried, or the commits of one merge.

    `batch` is that of an idempotent writer: application and number. `groups` is how many groups a merge says to have
    merged. `victims` are the rows that a delete, an upsert, an update or a replacement takes away.
    """

    actor: str
    kind: Kind
    adds: tuple[AddFile, ...] = ()
    day: str | None = None
    target: int | None = None
    batch: tuple[str, int] | None = None
    victims: set[str] = field(default_factory=set)
    txn_ids: list[str] = field(default_factory=list)
    outcome: Outcome = "pending"
    version: int | None = None
    groups: int | None = None
    unanswered: int = 0
    error: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Observation:
    """What a reader saw of one version, and the newest version that it should have known.

    `misled`: a listing was stale or an answer lacking, so that it may have seen an older one.
    """

    reader: str
    version: int
    files: Mapping[str, AddFile]
    batches: Mapping[str, int]
    floor: int
    misled: bool


@dataclass(frozen=True)
class Refusal:
    """A reader got an error instead."""

    reader: str
    error: str
    floor: int
    misled: bool


@dataclass
class Ledger:
    """Everything that was tried and seen in one run.

    `contents` are those of every split and every delta log that was ever stored.
    """

    attempts: list[Attempt] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    histories: list[dict[int, str | None]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)

    def by_transaction(self) -> dict[str, Attempt]:
        return {txn_id: attempt for attempt in self.attempts for txn_id in attempt.txn_ids}


def rows_of(files: Iterable[AddFile], contents: Mapping[str, bytes]) -> dict[str, str]:
    """The rows in the splits of the files, each with its partition. A key that is there twice is an error."""
    rows: dict[str, str] = {}
    keys: set[str] = set()
    for file in files:
        names = contents[file.path].decode().split()
        assert len(names) == file.num_records, f"{file.path} has {len(names)} rows, not {file.num_records}"
        deleted = _positions(file, contents)
        for position, name in enumerate(names):
            if position not in deleted:
                assert key_of(name) not in keys, f"row {name} is there twice"
                keys.add(key_of(name))
                rows[name] = file.partition_values["day"]
    return rows


def key_of(name: str) -> str:
    """The key of a row. Upserts write rows with the same key, each with a name of its own."""
    return name.partition("#")[0]


def _positions(file: AddFile, contents: Mapping[str, bytes]) -> set[int]:
    if file.delta_log is None:
        return set()
    assert file.num_deleted is not None
    assert file.num_records is not None
    raw = contents[file.delta_log]
    rows = decode_positions(raw, file.delta_log, num_entries=file.num_deleted, num_rows=file.num_records)
    return set(rows.tolist())

"""What states cost a table that grows: bytes written for them over many commits, some of which remove files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from indextables.config import Settings
from indextables.log import Action, AddFile, Metadata, Protocol, RemoveFile, Snapshot, checkpoint, commit
from indextables.schema import REGISTRY_PREFIX, Field, FieldMapping, TableSchema, mapping_hash
from indextables.storage import ExistsByHead, ObjectInfo, Store, open_store

COMMITS: Final = 1_000
FILES: Final = 10
REMOVES: Final = 3
REMOVES_EVERY: Final = 3

_SCHEMA: Final = TableSchema((Field("id", "long"), Field("host", "string"), Field("day", "date")))
_MAPPING: Final = FieldMapping.of(_SCHEMA, ["day"], {}).to_json()
_METADATA: Final = Metadata(
    "growing", _SCHEMA.to_json(), ("day",), {f"{REGISTRY_PREFIX}{mapping_hash(_MAPPING)}": _MAPPING}
)


@dataclass(frozen=True)
class Turnover:
    """Files that come, and files that go."""

    adds: tuple[AddFile, ...]
    removes: tuple[AddFile, ...]
    operation: str = "TURNOVER"
    parameters: Mapping[str, str] = field(default_factory=dict)

    def actions(self, current: Snapshot | None) -> list[Action]:
        start: list[Action] = [Protocol(4, 4), _METADATA] if current is None else []
        return [*start, *(RemoveFile(file.path, size=file.size) for file in self.removes), *self.adds]


class Meter(ExistsByHead):
    """A store that counts the bytes put under it, states apart from all else."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.uri = store.uri
        self.state_bytes = 0
        self.log_bytes = 0

    def _count(self, key: str, data: bytes) -> None:
        if "/state-v" in key or "/manifests/" in key or key.endswith("_last_checkpoint"):
            self.state_bytes += len(data)
        else:
            self.log_bytes += len(data)

    def get(self, key: str, limit: int | None = None) -> bytes:
        return self._store.get(key, limit)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self._store.get_range(key, start, length)

    def head(self, key: str) -> ObjectInfo:
        return self._store.head(key)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        return self._store.list_from(prefix, start_after)

    def create(self, key: str, data: bytes) -> None:
        self._store.create(key, data)
        self._count(key, data)

    def put(self, key: str, data: bytes) -> None:
        self._store.put(key, data)
        self._count(key, data)

    def put_file(self, key: str, source: Path) -> None:
        self._store.put_file(key, source)

    def delete(self, key: str) -> None:
        self._store.delete(key)

    def local_path(self, key: str) -> Path | None:
        return self._store.local_path(key)


@dataclass(frozen=True)
class Grown:
    """A table after one more commit."""

    snapshot: Snapshot
    live: Mapping[str, AddFile]
    state_bytes: int
    log_bytes: int


def grow(store: Store, commits: int, *, seed: int = 1, settings: Settings | None = None) -> Iterator[Grown]:
    """One commit after the other: ten files come with each, and with every third one three go, old or young."""
    rng = random.Random(seed)
    meter = Meter(store)
    live: dict[str, AddFile] = {}
    snapshot: Snapshot | None = None
    for version in range(commits):
        adds = tuple(_file(rng, version * FILES + n) for n in range(FILES))
        many = REMOVES if version % REMOVES_EVERY == REMOVES_EVERY - 1 else 0
        removes = tuple(live.pop(path) for path in rng.sample(sorted(live), many))
        live |= {file.path: file for file in adds}
        snapshot = commit(meter, Turnover(adds, removes), base=snapshot, settings=settings).snapshot
        yield Grown(snapshot, dict(live), meter.state_bytes, meter.log_bytes)


@dataclass(frozen=True)
class Growth:
    """Bytes written up to a number of commits: for states, for version files, and by states written anew each time."""

    commits: int
    state_bytes: int
    log_bytes: int
    anew_bytes: int


def measure(say: Callable[[str], None], commits: int = COMMITS) -> list[Growth]:
    """What was written after each tenth of the commits."""
    say(f"{commits:,} commits of {FILES} files, with removes among them")
    store = open_store("memory://bench-state-growth")
    steps = list(grow(store, commits))
    before = steps[-1].state_bytes
    meter = Meter(store)
    checkpoint(meter, Settings())
    entry_bytes = meter.state_bytes / len(steps[-1].live)
    found, anew = [], 0.0
    for number, step in enumerate(steps, 1):
        if number > 1 and step.state_bytes > steps[number - 2].state_bytes:
            anew += entry_bytes * len(step.live)
        if number % max(1, commits // 10) == 0:
            found.append(Growth(number, step.state_bytes, step.log_bytes, round(anew)))
    assert found[-1].state_bytes == before
    return found


def show(console: Console, found: Sequence[Growth]) -> None:
    table = Table(title="what states cost a table that grows", title_justify="left", header_style="bold")
    for name in ("commits", "states, KB", "a commit, B", "version files, KB", "states written anew, KB"):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(
            f"{one.commits:,}",
            f"{one.state_bytes / 1e3:,.0f}",
            f"{one.state_bytes / one.commits:,.0f}",
            f"{one.log_bytes / 1e3:,.0f}",
            f"{one.anew_bytes / 1e3:,.0f}",
        )
    console.print(table)
    half, whole = found[len(found) // 2 - 1].state_bytes, found[-1].state_bytes
    console.print(
        f"[dim]bytes written in all; the second half of the commits took {whole / half - 1:.2f} times as much as "
        "the first: 1 is a line, 3 a square"
    )


def _file(rng: random.Random, number: int) -> AddFile:
    day = f"2024-{number // 2800 % 12 + 1:02d}-{number // 100 % 28 + 1:02d}"
    name = f"{rng.getrandbits(128):032x}"
    first = rng.randrange(1 << 40)
    return AddFile(
        f"day={day}/splits/split-{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}.split",
        {"day": day},
        size=rng.randrange(20_000_000, 180_000_000),
        modification_time=1_700_000_000_000 + number * 977,
        num_records=rng.randrange(100_000, 900_000),
        min_values={"id": str(first), "host": f"host-{rng.randrange(50):03d}"},
        max_values={"id": str(first + rng.randrange(1 << 20)), "host": f"host-{50 + rng.randrange(50):03d}"},
        footer_start_offset=rng.randrange(20_000_000),
        footer_end_offset=rng.randrange(20_000_000, 40_000_000),
        has_footer_offsets=True,
        doc_mapping_ref=mapping_hash(_MAPPING),
    )

"""A table that is appended to once a minute for 30 days, with automatic merges and purges: what does it grow to?

The clock is simulated, and files have its times. Upkeep runs before each append returns, so that a run repeats. Every
day, versions that are retained are read as a whole, and compared with what they must hold.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from unittest import mock

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import indextables as it
from indextables.config import keys
from indextables.log import LOG_DIRECTORY
from indextables.runtime import Runtime, now_ms, use
from indextables.storage import LocalStore

MINUTE_MS: Final = 60_000
DAY_MS: Final = 24 * 60 * MINUTE_MS
RETENTION_HOURS: Final = 24
_BARS: Final = "▁▂▃▄▅▆▇█"

Say = Callable[[str], None]


class RowsLostError(Exception):
    """A version that is retained does not have the rows that it had."""


@dataclass(frozen=True)
class Sample:
    """The table at the end of a part of the run."""

    day: float
    appends: int
    live_splits: int
    version_files: int
    states: int
    bytes: int
    log_bytes: int


@dataclass
class SimulatedClock:
    """Milliseconds since 1970, as the simulation sets them."""

    ms: int = field(default_factory=now_ms)

    def __call__(self) -> int:
        return self.ms


class TimedStore(LocalStore):
    """A store on the disk whose files have the times of the clock in use."""

    def create(self, key: str, data: bytes) -> None:
        super().create(key, data)
        self._stamp(key)

    def put(self, key: str, data: bytes) -> None:
        super().put(key, data)
        self._stamp(key)

    def put_file(self, key: str, source: Path) -> None:
        super().put_file(key, source)
        self._stamp(key)

    def _stamp(self, key: str) -> None:
        path = self.local_path(key)
        if path is not None:
            os.utime(path, ns=(now_ms() * 1_000_000,) * 2)


def settings(directory: Path, min_splits: int = 32) -> dict[str, str]:
    """Return the settings of the run: merges and purges on, and what is not needed deleted after a day."""
    return {
        keys.MERGE_ON_WRITE_ASYNC.key: "false",
        keys.MERGE_ON_WRITE_SPLITS.key: str(min_splits),
        keys.PURGE_ON_WRITE.key: "true",
        keys.PURGE_ON_WRITE_HOURS.key: str(RETENTION_HOURS),
        keys.PURGE_ON_WRITE_LOG_HOURS.key: str(RETENTION_HOURS),
        keys.STATE_RETENTION_HOURS.key: str(RETENTION_HOURS),
        keys.TEMP_DIRECTORY.key: str(directory),
        keys.CACHE_DIRECTORY.key: str(directory / "cache"),
    }


def simulate(
    directory: Path,
    say: Say,
    *,
    days: float = 30,
    minutes: float = 1,
    samples: int = 30,
    min_splits: int = 32,
) -> list[Sample]:
    """Append a row every so many minutes; return `samples` looks at the table. RowsLostError if a version is wrong."""
    path = directory / "upkeep"
    shutil.rmtree(path, ignore_errors=True)
    appends = round(days * DAY_MS / (minutes * MINUTE_MS))
    chosen = settings(directory, min_splits)
    found: list[Sample] = []
    versions: list[int] = []
    with _simulated_time() as clock:
        for number in range(appends):
            row = pa.table({"n": [number], "message": [f"append {number} of a process that never sleeps"]})
            versions.append(it.write(path, row, text=["message"], settings=chosen))
            clock.ms += round(minutes * MINUTE_MS)
            if (number + 1) * samples // appends > len(found):
                _check(path, versions, clock.ms, minutes)
                found.append(_sample(path, number + 1, (number + 1) * minutes * MINUTE_MS / DAY_MS))
                say(f"day {found[-1].day:.1f}: {found[-1]}")
    return found


def show(console: Console, samples: Sequence[Sample]) -> None:
    """Print the curves."""
    table = Table(
        title="one table, appended to at equal intervals", title_justify="left", header_style="bold"
    )
    for name in (
        "day",
        "appends",
        "live splits",
        "version files",
        "states",
        "bytes on disk",
        "bytes of the log",
    ):
        table.add_column(name, justify="right")
    for one in samples:
        figures = (one.appends, one.live_splits, one.version_files, one.states, one.bytes, one.log_bytes)
        table.add_row(f"{one.day:.1f}", *(f"{figure:,}" for figure in figures))
    console.print(table)
    for name in ("live_splits", "version_files", "bytes", "log_bytes"):
        console.print(f"{name.replace('_', ' '):14} {_curve([getattr(one, name) for one in samples])}")


def measure(console: Console, say: Say) -> str:
    """Run the whole simulation in memory, where the system has a file system there, and print its curves."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        samples = simulate(Path(directory), say)
    show(console, samples)
    return f"{samples[-1].appends:,} appends"


@contextmanager
def _simulated_time() -> Iterator[SimulatedClock]:
    clock = SimulatedClock()
    with use(Runtime(clock=clock)), mock.patch("indextables.storage.opening.LocalStore", TimedStore):
        yield clock


def _check(path: Path, versions: Sequence[int], now: int, minutes: float) -> None:
    """Read the newest version, the oldest that must be retained, and one between.

    The oldest was the current version when the retention began. The clock has advanced since the newest append.
    """
    retained = max(1, min(len(versions), int(RETENTION_HOURS * 60 / minutes)))
    for back in {1, retained // 2, retained} - {0}:
        number = len(versions) - back
        rows = it.open(path, version=versions[number]).to_arrow(columns=["n"]).column("n").to_pylist()
        if sorted(rows) != list(range(number + 1)):
            raise RowsLostError(
                f"version {versions[number]}, of {back * minutes:g} minutes before {now}, has {len(rows)} rows; "
                f"it had {number + 1}"
            )


def _sample(path: Path, appends: int, day: float) -> Sample:
    files = [file for file in path.rglob("*") if file.is_file()]
    log = path / LOG_DIRECTORY
    return Sample(
        day=day,
        appends=appends,
        live_splits=it.open(path).files().num_rows,
        version_files=sum(file.parent == log and file.name[:20].isdecimal() for file in files),
        states=sum(1 for _ in log.glob("state-v*/_manifest.avro")),
        bytes=sum(file.stat().st_size for file in files),
        log_bytes=sum(file.stat().st_size for file in files if log in file.parents),
    )


def _curve(figures: Sequence[int]) -> str:
    most = max(figures)
    bars = "".join(_BARS[figure * (len(_BARS) - 1) // max(most, 1)] for figure in figures)
    return f"{bars}  at most {most:,}"

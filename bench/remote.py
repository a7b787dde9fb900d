"""Tables in an object store that answers 20 ms late: requests, rounds of waiting, and seconds.

A round is a wait for the store: requests that are sent together are one. Cold means an empty cache on disk and a
process that has opened nothing; warm means the same question asked again. Splits of log rows lie wholly in the end that
a process keeps of each; the rows of wide splits do not, so that a search has to fetch them.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid

import indextables as it
from bench.measure import Goal
from bench.proxies import SlowProxy, rounds, running
from bench.servers import Server, ServerMissingError, azurite, seaweedfs
from indextables.config import Settings, keys
from indextables.demo import log_table
from indextables.runtime import Runtime, use
from indextables.schema import TableSchema
from indextables.table import commit_write, parse_mode, plan_write, run_write_task

DELAY_SECONDS: Final = 0.02
SPLITS: Final = (16, 64, 256)
AZURE_SPLITS: Final = (16,)
COLD_RUNS: Final = 3
"""Cold runs of tables whose seconds are compared, in turns. The best of each counts."""
SPLIT_ROWS: Final = {"log": 1_000, "wide": 100}
"""Rows of a split, by the kind of table."""
PAYLOAD_BYTES: Final = 4096
MOST_GROWTH: Final = 3

BEFORE: Final = {("count", 16): (26, 0.72), ("top-10", 16): (42, 1.19)}
"""Requests and seconds of a search of so many splits whose indexes are on the disk, before ends of splits were kept."""

QUESTIONS: Final[dict[str, Callable[[it.Table], object]]] = {
    "count": lambda table: table.count("timeout"),
    "top-10": lambda table: table.search("timeout", limit=10),
}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What one question cost."""

    splits: int
    question: str
    state: str
    requests: int
    split_requests: int
    """Those for the bytes of a split; the others are for the log."""
    rounds: int
    split_rounds: int
    seconds: float
    table: str = "log"
    store: str = "s3"


@dataclass
class Stored:
    """A table in a store, asked through a slow proxy with a cache directory of its own."""

    uri: str
    kind: str
    splits: int
    store: str
    settings: dict[str, str]
    cache: Path
    proxy: SlowProxy
    asked: dict[tuple[str, str], Asked] = field(default_factory=dict)

    def open(self) -> it.Table:
        return it.open(self.uri, settings=self.settings)

    def ask(self, question: str, state: str, action: Callable[[], object]) -> None:
        """Do something and record what it cost; of two times, keep the shorter."""
        self.proxy.exchanges.clear()
        start = time.perf_counter()
        action()
        seconds = time.perf_counter() - start
        exchanges = list(self.proxy.exchanges)
        of_splits = [exchange for exchange in exchanges if ".split" in exchange.target]
        counts = len(exchanges), len(of_splits), rounds(exchanges), rounds(of_splits)
        asked = Asked(self.splits, question, state, *counts, seconds, self.kind, self.store)
        earlier = self.asked.get((question, state), asked)
        self.asked[question, state] = min(earlier, asked, key=lambda each: each.seconds)

    def ask_cold(self, question: str) -> it.Table:
        """Ask in what is like a fresh process on a machine that has never seen the table."""
        shutil.rmtree(self.cache, ignore_errors=True)
        self.ask("open", "cold", self.open)
        table = self.open()
        self.ask(question, "cold", lambda: QUESTIONS[question](table))
        return table

    def ask_all(self, rows: pa.Table) -> None:
        """Ask each question cold, warm and from another process; then append rows."""
        for question, action in QUESTIONS.items():
            with use(Runtime()):
                table = self.ask_cold(question)
                self.ask("open", "warm", self.open)
                self.ask(question, "warm", lambda: action(table))  # noqa: B023 - called at once
            with use(Runtime()):
                table = self.open()
                self.ask(question, "another process", lambda: action(table))  # noqa: B023
        shutil.rmtree(self.cache, ignore_errors=True)
        with use(Runtime()):
            for state in ("cold", "warm"):
                self.ask("append", state, lambda: it.write(self.uri, rows, settings=self.settings))


def measure(home: Path, say: Say) -> list[Asked]:
    """Ask tables of so many splits, cold and warm, in S3, and those of the fewest splits in Azure."""
    with seaweedfs() as server:
        found = measure_store(server, home, say)
    try:
        with azurite() as server:
            return found + measure_store(server, home, say, AZURE_SPLITS)
    except ServerMissingError as reason:
        say(f"Azure is left out: {reason}")
        return found


def measure_store(
    server: Server,
    home: Path,
    say: Say,
    sizes: Sequence[int] = SPLITS,
    *,
    split_rows: dict[str, int] = SPLIT_ROWS,
    cold_runs: int = COLD_RUNS,
) -> list[Asked]:
    """Ask tables in one store: of log rows, and of wide rows."""
    with running(SlowProxy(server.address, DELAY_SECONDS)) as proxy:
        tables = []
        for kind, each in split_rows.items():
            for splits in sizes:
                rows = (wide_table if kind == "wide" else log_table)(splits * each)
                say(f"{server.kind}: writing {splits} splits of {each:,} {kind} rows")
                stored = _stored(server, proxy, kind, splits, home)
                _write_splits(stored.uri, rows, splits, server.settings)
                tables.append((stored, rows.slice(0, 100)))
        say(f"{server.kind}: cold top-10, {cold_runs} times in turns")
        for _ in range(cold_runs):
            for stored, _rows in tables:
                if stored.splits in sizes[:2]:
                    with use(Runtime()):
                        stored.ask_cold("top-10")
        for stored, rows in tables:
            say(f"{server.kind}: asking {stored.splits} splits of {stored.kind} rows")
            stored.ask_all(rows)
            shutil.rmtree(stored.cache, ignore_errors=True)
    return [asked for stored, _ in tables for asked in stored.asked.values()]


def wide_table(rows: int) -> pa.Table:
    """Return log rows with a payload that does not compress."""
    generator = random.Random(7)
    payload = [generator.randbytes(PAYLOAD_BYTES) for _ in range(rows)]
    return log_table(rows).append_column("payload", pa.array(payload, pa.binary()))


def goals(results: Sequence[Asked]) -> list[Goal]:
    """Return what a store 20 ms away has to be asked at most, and how little more splits may cost."""
    by_name = {
        (asked.store, asked.table, asked.splits, asked.question, asked.state): asked for asked in results
    }
    found = []
    for (store, table, splits, question, state), asked in by_name.items():
        name = f"{question} of {splits} splits of {table} rows, {store}"
        if (question, state) == ("count", "warm"):
            found.append(Goal(f"warm {name}", asked.split_requests, 1, "requests for splits"))
        if (question, state) == ("top-10", "warm"):
            reason = (
                "the rows of the answer are not in the ends that are kept, and come in more than two waits"
            )
            found.append(Goal(f"warm {name}", asked.split_rounds, 3, "waits for splits", reason))
        few = by_name.get((store, table, 16, question, state))
        if (splits, question, state) == (64, "top-10", "cold") and few is not None:
            reason = (
                "32 splits are asked at a time, and their indexes are unpacked on the cores of this machine"
            )
            ratio = asked.seconds / few.seconds
            found.append(Goal(f"cold {name}, against 16", ratio, MOST_GROWTH, "times", reason))
    return found


def before(asked: Asked) -> str:
    """Return the requests and seconds of the same question before, where they were measured."""
    known = BEFORE.get((asked.question, asked.splits))
    if known is None or asked.state == "cold" or (asked.table, asked.store) != ("log", "s3"):
        return ""
    return f"{known[0]} requests, {known[1]:.2f} s"


def _stored(server: Server, proxy: SlowProxy, kind: str, splits: int, home: Path) -> Stored:
    cache = home / f"remote-cache-{server.kind}-{kind}-{splits}"
    settings = server.through(proxy.address).settings | {
        keys.CACHE_DIRECTORY.key: str(cache),
        keys.MERGE_ON_WRITE.key: "false",  # a merge would ask the store after its last answer was counted
    }
    uri = server.uri(f"remote-{kind}-{splits}")
    return Stored(uri, kind, splits, server.kind, settings, cache, proxy)


def _write_splits(uri: str, rows: pa.Table, splits: int, settings: dict[str, str]) -> None:
    """Write rows as the tasks of one Spark job would: a split each, and one commit."""
    schema, each = TableSchema.from_arrow(rows.schema), rows.num_rows // splits
    typed = Settings(settings | {f"{keys.TYPEMAP.prefix}message": "text"})
    plan = plan_write(uri, schema, mode=parse_mode("append"), partition_by=None, settings=typed, txn=None)
    assert plan is not None
    pieces = [rows.slice(number * each, each).to_batches() for number in range(splits)]
    commit_write(plan, [run_write_task(plan, piece) for piece in pieces])


def show(console: Console, results: Sequence[Asked]) -> None:
    """Print one row a question."""
    grid = Grid(title="a store 20 ms away", title_justify="left", header_style="bold")
    numbers = ("requests", "of splits", "rounds", "of splits", "seconds")
    for name in ("store", "rows", "splits", "question", "state", *numbers, "before"):
        grid.add_column(name, justify="right" if name in (*numbers, "splits") else "left")
    for asked in results:
        counts = asked.requests, asked.split_requests, asked.rounds, asked.split_rounds
        names = asked.store, asked.table, str(asked.splits), asked.question, asked.state
        grid.add_row(*names, *map(str, counts), f"{asked.seconds:.2f}", before(asked))
    console.print(grid)
    console.print(
        "[dim]before: with indexes on the disk, when the end of each split was fetched for each search"
    )

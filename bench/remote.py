"""Tables in an object store that answers 20 ms late: requests, rounds of waiting, and seconds.

A round is a wait for the store: requests that are sent together are one. Cold means an empty cache on disk and a
process that has opened nothing; warm means the same question asked again.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid

import indextables as it
from bench.measure import Goal
from bench.proxies import SlowProxy, rounds, running
from bench.servers import Server, seaweedfs
from indextables.config import Settings, keys
from indextables.demo import log_table
from indextables.runtime import Runtime, use
from indextables.schema import TableSchema
from indextables.table import commit_write, parse_mode, plan_write, run_write_task

DELAY_SECONDS: Final = 0.02
SPLITS: Final = (16, 64, 256)
SPLIT_ROWS: Final = 1_000


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


def measure(home: Path, say: Callable[[str], None], sizes: tuple[int, ...] = SPLITS) -> list[Asked]:
    """Ask tables of so many splits, cold and warm."""
    with seaweedfs() as server, running(SlowProxy(server.address, DELAY_SECONDS)) as proxy:
        slow = server.through(proxy.address)
        return [asked for splits in sizes for asked in _ask_table(server, slow, proxy, splits, home, say)]


def _ask_table(
    server: Server, slow: Server, proxy: SlowProxy, splits: int, home: Path, say: Callable[[str], None]
) -> list[Asked]:
    uri = server.uri(f"remote-{splits}")
    say(f"writing {splits} splits of {SPLIT_ROWS:,} rows")
    rows = log_table(splits * SPLIT_ROWS)
    _write_splits(uri, rows, splits, Settings(server.settings | {f"{keys.TYPEMAP.prefix}message": "text"}))
    cache = home / f"remote-cache-{splits}"
    settings = slow.settings | {
        "spark.indextables.cache.directoryPath": str(cache),
        keys.MERGE_ON_WRITE.key: "false",  # a merge would ask the store after its last answer was counted
    }
    found: list[Asked] = []

    def ask(question: str, state: str, action: Callable[[], object]) -> None:
        proxy.exchanges.clear()
        start = time.perf_counter()
        action()
        seconds = time.perf_counter() - start
        of_splits = [exchange for exchange in proxy.exchanges if ".split" in exchange.target]
        counts = len(proxy.exchanges), len(of_splits), rounds(proxy.exchanges), rounds(of_splits)
        found.append(Asked(splits, question, state, *counts, seconds))

    questions: dict[str, Callable[[it.Table], object]] = {
        "count": lambda table: table.count("timeout"),
        "top-10": lambda table: table.search("timeout", limit=10),
    }
    for question, action in questions.items():
        shutil.rmtree(cache, ignore_errors=True)
        with use(Runtime()):
            ask("open", "cold", lambda: it.open(uri, settings=settings))
            table = it.open(uri, settings=settings)
            ask(question, "cold", lambda: action(table))  # noqa: B023 - called at once
            ask(question, "warm", lambda: action(table))  # noqa: B023
        with use(Runtime()):
            table = it.open(uri, settings=settings)
            ask(question, "another process", lambda: action(table))  # noqa: B023
    ask("append", "warm", lambda: it.write(uri, rows.slice(0, 100), settings=settings))
    return found


def goals(results: list[Asked]) -> list[Goal]:
    """Return what a store 20 ms away has to be asked at most, and how little more splits may cost."""
    by_name = {(asked.splits, asked.question, asked.state): asked for asked in results}
    found = []
    for (splits, question, state), asked in by_name.items():
        if (question, state) == ("count", "warm"):
            found.append(
                Goal(f"warm count of {splits} splits", asked.split_requests, 1, "requests for splits")
            )
        if (question, state) == ("top-10", "warm"):
            found.append(Goal(f"warm top-10 of {splits} splits", asked.split_rounds, 3, "waits for splits"))
    few, many = (by_name.get((splits, "top-10", "cold")) for splits in (16, 64))
    if few is not None and many is not None:
        found.append(Goal("cold top-10 of 64 splits against 16", many.seconds / few.seconds, 3, "times"))
    return found


def _write_splits(uri: str, rows: pa.Table, splits: int, settings: Settings) -> None:
    """Write rows as the tasks of one Spark job would: a split each, and one commit."""
    schema = TableSchema.from_arrow(rows.schema)
    plan = plan_write(uri, schema, mode=parse_mode("append"), partition_by=None, settings=settings, txn=None)
    assert plan is not None
    pieces = [rows.slice(number * SPLIT_ROWS, SPLIT_ROWS).to_batches() for number in range(splits)]
    commit_write(plan, [run_write_task(plan, piece) for piece in pieces])


def show(console: Console, results: list[Asked]) -> None:
    """Print one row a question."""
    grid = Grid("splits", "question", "state", "requests", "rounds", "seconds", title="a store 20 ms away")
    for asked in results:
        grid.add_row(
            str(asked.splits),
            asked.question,
            asked.state,
            str(asked.requests),
            str(asked.rounds),
            f"{asked.seconds:.2f}",
        )
    console.print(grid)

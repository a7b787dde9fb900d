"""A delete of one row in a hundred by a word, beside `deltalake`'s delete by LIKE, and searches before and after it.

The CPU time of the process is measured, all threads together: other load on the machine does not change it much.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import indextables as it
from bench.measure import Comparison, Timing, timed

NEEDLE: Final = "quarantine"
SHARE: Final = 100
"""One row in so many has the word."""

SPLITS: Final = 8
SEARCHES: Final = 20
_WORDS: Final = ("disk", "full", "login", "timeout", "cache", "replica", "user", "session")


class AnswersDifferError(Exception):
    """The two sides do not agree, so their times mean nothing."""


def rows(start: int, count: int) -> pa.Table:
    """Return rows of a log, some with the word."""
    numbers = range(start, start + count)
    messages = [
        f"{_WORDS[n % 8]} {_WORDS[n * 7 // 5 % 8]} id{n % 9973} {NEEDLE if n % SHARE == 0 else 'ok'} {n}"
        for n in numbers
    ]
    return pa.table(
        {"id": pa.array(numbers, pa.int64()), "ms": [n * 37 % 1000 for n in numbers], "message": messages}
    )


def measure(home: Path, say: Callable[[str], None], *, count: int, repeat: int) -> list[Comparison]:
    """Return the times of the deletes and of the searches."""
    ours, delta = home / "deletes-ours", home / "deletes-delta"
    say(f"writing {count:,} rows in {SPLITS} splits")
    for n in range(SPLITS):
        part = rows(n * (count // SPLITS), count // SPLITS)
        it.write(str(ours), part, text=["message"])
        write_deltalake(str(delta), part, mode="append")
    say("deleting")
    mine: list[float] = []
    its: list[float] = []
    for run in range(repeat):
        copies = [home / f"deletes-{side}-{run}" for side in ("ours", "delta")]
        for source, copy in zip((ours, delta), copies, strict=True):
            shutil.copytree(source, copy)
        mine.append(_cpu(partial(_delete_ours, copies[0])))
        its.append(_cpu(partial(_delete_delta, copies[1])))
        left = count - count // SHARE
        found = (
            it.open(str(copies[0])).count(),
            DeltaTable(str(copies[1])).to_pyarrow_table(columns=["id"]).num_rows,
        )
        if found != (left, left):
            raise AnswersDifferError(f"{found} rows are left of {left}")
        if sorted(p.name for p in copies[0].rglob("*.split")) != sorted(
            p.name for p in ours.rglob("*.split")
        ):
            raise AnswersDifferError("the delete has written a split")
    deleted = Comparison(
        "delete 1% of the rows by a word, CPU",
        Timing(tuple(mine)),
        "deltalake, LIKE",
        Timing(tuple(its)),
        f"{count:,} rows",
        by_best=True,
    )
    say("searching before and after")
    after = home / "deletes-ours-0"
    return [
        deleted,
        _search(ours, after, "id77", repeat, judged=True),
        _search(ours, after, "id512 AND ok", repeat, judged=True),
        # Most of its hits are deleted, and the best of the others have to be found behind them.
        _search(ours, after, f"id512 {NEEDLE}", repeat, judged=False),
    ]


def _search(before: Path, after: Path, query: str, repeat: int, *, judged: bool) -> Comparison:
    """Compare searches for the best ten rows, in turns."""
    tables = [it.open(str(path)) for path in (after, before)]
    runs: tuple[list[float], list[float]] = ([], [])
    for table in tables:
        table.search(query)
    for _ in range(max(repeat, 5)):
        for table, times in zip(tables, runs, strict=True):
            of_run = timed(
                lambda table=table: [table.search(query) for _ in range(SEARCHES)],  # type: ignore[misc]
                repeat=1,
                warm_up=0,
                clock=time.process_time,
            ).runs
            times.extend(of_run)
    mine, its = (Timing(tuple(times)) for times in runs)
    return Comparison(
        f"search {query!r} after the delete, CPU",
        mine,
        "before it",
        its,
        f"{SEARCHES} searches",
        1 / 1.1 if judged else None,
        by_best=True,
    )


def _delete_ours(path: Path) -> None:
    it.open(str(path)).delete(query=NEEDLE)


def _delete_delta(path: Path) -> None:
    DeltaTable(str(path)).delete(f"message LIKE '%{NEEDLE}%'")


def _cpu(action: Callable[[], object]) -> float:
    return timed(action, repeat=1, warm_up=0, clock=time.process_time).runs[0]

"""A query of the web UI (rows, histogram, most frequent values of five columns) against the search alone.

Warm, in one process, and cold: the first of a fresh process whose cache on the disk is empty.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

import indextables as it
from bench.measure import Comparison, Timing, timed_in_turns
from indextables.demo import CHUNK_ROWS, LOG_SCHEMA, log_batch
from indextables.ui.conditions import to_asked
from indextables.ui.discovery import overview_answer, rows_answer

FIELDS: Final = ("level", "service", "host", "status", "date")
QUERIES: Final = ("message:(timeout AND connection)", "cache", "quarantined", "")
"""The last one is the first look: no query, so that every row is in the histogram and the values."""

_SPLITS: Final = 4
_ROWS_A_SPLIT: Final = 1_000_000
_SLOWDOWN: Final = 5

_COLD: Final = """
import json, sys, time
import indextables as it
from bench.discover import FIELDS
from indextables.ui.conditions import to_asked
from indextables.ui.discovery import overview_answer, rows_answer
path, query, side = sys.argv[1:]
before, started = time.process_time(), time.perf_counter()
asked = to_asked(it.open(path), {"q": query})
if side == "search":
    asked.table.search(query, limit=asked.limit, snippet="message")
else:
    rows_answer(asked)
    overview_answer(asked, FIELDS)
print(json.dumps([time.process_time() - before, time.perf_counter() - started]))
"""


def measure(home: Path, say: Callable[[str], None], *, rows: int, repeat: int) -> list[Comparison]:
    """Return two comparisons for each query, warm and cold; the UI may take five times as long as the search."""
    path = home / "discover"
    say(f"writing {rows:,} rows")
    _write(path, rows)
    table = it.open(path)
    found = []
    for query in QUERIES:
        asked = to_asked(table, {"q": query})

        def discover(asked=asked) -> None:  # type: ignore[no-untyped-def]
            rows_answer(asked)
            overview_answer(asked, FIELDS)

        def search(query=query, limit=asked.limit) -> None:  # type: ignore[no-untyped-def]
            table.search(query, limit=limit, snippet="message")

        say(query or "the first look")
        if not query:
            cold = _cold(home, path, query, "discover", min(repeat, 3))
            discover()
            warm = timed_in_turns([discover], repeat=repeat, warm_up_seconds=0)[0]
            found.append(
                Comparison("Discover: first look, again, against cold CPU", warm, "cold", cold, by_best=True)
            )
            continue
        ours, other = timed_in_turns([discover, search], repeat=repeat, warm_up_seconds=0)
        found.append(_judged(f"Discover: {query}", ours, other))
        runs = [_cold(home, path, query, side, min(repeat, 3)) for side in ("discover", "search")]
        found.append(_judged(f"Discover, cold, CPU: {query}", *runs))
    return found


def _judged(name: str, ours: Timing, other: Timing) -> Comparison:
    return Comparison(name, ours, "Table.search", other, at_least=1 / _SLOWDOWN, by_best=True)


def _write(path: Path, rows: int) -> None:
    """Write the rows in four splits, or in splits of a million; memory does not grow with their number."""
    chunks = -(-rows // CHUNK_ROWS)
    splits = min(max(_SPLITS, rows // _ROWS_A_SPLIT), chunks)

    def batches(split: int) -> Iterator[pa.RecordBatch]:
        return (
            log_batch(number, rows)
            for number in range(split * chunks // splits, (split + 1) * chunks // splits)
        )

    for split in range(splits):
        reader = pa.RecordBatchReader.from_batches(LOG_SCHEMA, batches(split))
        it.write(path, reader, text=["message"])


def _cold(home: Path, path: Path, query: str, side: str, repeat: int) -> Timing:
    """Return the CPU of the first answer of fresh processes, without the import."""
    runs = []
    for _ in range(repeat):
        shutil.rmtree(home / "cache", ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-c", _COLD, str(path), query, side],
            env={**os.environ, "XDG_CACHE_HOME": str(home / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append(json.loads(done.stdout)[0])
    return Timing(tuple(runs))

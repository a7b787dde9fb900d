"""The first search of a fresh process with an empty cache: of many splits, and of a small table with the import."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

import indextables as it
from bench.measure import Comparison, Timing
from indextables.demo import log_batch

SPLITS: Final = (100, 400)
MOST_GROWTH: Final = 4.0
_ROWS_A_SPLIT: Final = 50

_SCRIPT: Final = """
import sys, time
import indextables as it
imported = time.process_time()
it.open(sys.argv[1]).search("message:cache", limit=10)
print([imported, time.process_time() - imported])
"""


def measure(
    home: Path, say: Callable[[str], None], *, repeat: int, splits: tuple[int, int] = SPLITS
) -> list[Comparison]:
    """Return the CPU of a search of many splits against that of fewer; say what a table of one split costs."""
    few, many = splits
    say(f"the first search of a process, of 1, {few} and {many} splits")
    runs = {count: _runs(home / str(count), count, repeat) for count in (1, few, many)}
    imports = min(imported for of_table in runs.values() for imported, _ in of_table)
    one = min(searched for _, searched in runs[1])
    say(f"importing takes {imports:.2f} s of CPU, and the first search of one split {one:.2f} s")
    fewer, more = (Timing(tuple(searched for _, searched in runs[count])) for count in splits)
    reason = "each split is unpacked into the cache once, so the first search grows with their number"
    note = f"it takes {more.best / fewer.best:.1f} times as long; {MOST_GROWTH:g} times are allowed"
    name = f"first search of {many} splits, CPU"
    return [
        Comparison(
            name, more, f"{few} splits", fewer, note, at_least=1 / MOST_GROWTH, by_best=True, reason=reason
        )
    ]


def _runs(home: Path, splits: int, repeat: int) -> list[tuple[float, float]]:
    """Write a table of so many splits; return the CPU of importing and of the first search, in `repeat` processes."""
    rows = pa.Table.from_batches([log_batch(0, splits * _ROWS_A_SPLIT)])
    parts = pa.array(np.arange(rows.num_rows) % splits)
    it.write(home / "table", rows.append_column("part", parts), text=["message"], partition_by=["part"])
    found = []
    for _ in range(repeat):
        shutil.rmtree(home / "cache", ignore_errors=True)
        command = [sys.executable, "-c", _SCRIPT, str(home / "table")]
        environment = os.environ | {"XDG_CACHE_HOME": str(home / "cache")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        imported, searched = json.loads(done.stdout)
        found.append((imported, searched))
    return found

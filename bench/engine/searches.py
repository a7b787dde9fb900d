"""The CPU of a top-10 of tables with many splits, of this tree and of an earlier commit in the same run.

The earlier commit is the last one that ranked every split by itself and opened it for each search. It comes from the
history of the checkout; without one, it is left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.earlier import extract
from bench.measure import Comparison, Timing

EARLIER: Final = "db21f93"
SPLITS: Final = {4: 0.4, 16: 0.15, 64: 0.1, 256: 0.1}
"""Numbers of splits, and the most of the earlier CPU that a top-10 is to take."""

_SCRIPT: Final = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import indextables as it
from indextables.demo import log_batch
home, repeat, sizes, rows = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4])
found = {}
for size in sizes:
    path = f"{home}/{size}"
    for number in range(size):
        settings = {"spark.indextables.mergeOnWrite.enabled": "false"}
        it.write(path, log_batch(0, rows, seed=number), text=["message"], settings=settings)
    table = it.open(path)
    for _ in range(2):
        table.search("message:cache", limit=10)
    runs = []
    for _ in range(repeat):
        started = time.process_time()
        table.search("message:cache", limit=10)
        runs.append(time.process_time() - started)
    found[size] = [table.count("message:cache"), runs]
print(json.dumps(found))
"""


def measure(
    home: Path,
    say: Callable[[str], None],
    *,
    repeat: int,
    splits: dict[int, float] = SPLITS,
    rows: int = 1000,
) -> list[Comparison]:
    """Return a comparison for each number of splits; none if there is no earlier commit here."""
    earlier = extract(EARLIER, home / "earlier")
    if earlier is None:
        say(f"commit {EARLIER} is not in this checkout: top-10 is not compared with it")
        return []
    say(f"top-10 of {', '.join(map(str, splits))} splits, here and at {EARLIER}")
    ours = _run(Path(__file__).parents[2] / "src", home / "ours", repeat, list(splits), rows)
    theirs = _run(earlier, home / "theirs", repeat, list(splits), rows)
    found = []
    for size, most in splits.items():
        (count, mine), (counted, its) = ours[str(size)], theirs[str(size)]
        if count != counted:
            raise AssertionError(f"{size} splits have {count} rows with the word, and at {EARLIER} {counted}")
        name = f"top-10 of {size} splits, CPU"
        timings = Timing(tuple(mine)), Timing(tuple(its))
        found.append(
            Comparison(name, timings[0], EARLIER, timings[1], at_least=round(1 / most, 2), by_best=True)
        )
    return found


def _run(
    source: Path, home: Path, repeat: int, sizes: list[int], rows: int
) -> dict[str, tuple[int, list[float]]]:
    command = [sys.executable, "-c", _SCRIPT, str(home), str(repeat), json.dumps(sizes), str(rows)]
    cache = {"XDG_CACHE_HOME": str(home / "cache"), "PYTHONPATH": str(source)}
    done = subprocess.run(command, env=os.environ | cache, capture_output=True, text=True, check=True)
    found: dict[str, tuple[int, list[float]]] = json.loads(done.stdout)
    return found

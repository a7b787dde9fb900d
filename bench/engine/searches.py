"""The CPU of a top-10, and the bytes of a split, of this tree and of an earlier commit in the same run.

The top-10 are those of tables with many splits, and of one split of templated text in which all rows have equal scores.

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
from typing import Any, Final

from bench.earlier import extract
from bench.measure import Comparison, Timing
from indextables.config import keys
from indextables.table.scans.open_readers import MAX_READERS

EARLIER: Final = "db21f93"
SPLITS: Final = {4: 0.4, 16: 0.15, 64: 0.1, 256: 0.1}
"""Numbers of splits, and the most of the earlier CPU that a top-10 is to take."""
TIES: Final = 0.2
"""A top-10 of rows that all tie is to take at most five times the CPU of their count."""
BYTES: Final = round(1 / 0.75, 2)
"""A split is to have at most three quarters of its bytes at the earlier commit."""

_MORE_THAN_COUNT: Final = "a count has no scores; a top-10 orders its ties and reads the rows of the answer"

_SCRIPT: Final = """
import json, pathlib, sys, time, warnings
import pyarrow as pa
warnings.simplefilter("ignore")
import indextables as it
from indextables.demo import log_batch
home, repeat, sizes, rows, tied = (sys.argv[1], *map(json.loads, sys.argv[2:]))
settings = {"spark.indextables.mergeOnWrite.enabled": "false"}

def cpu(ask):
    ask(), ask()
    runs = []
    for _ in range(repeat):
        started = time.process_time()
        ask()
        runs.append(time.process_time() - started)
    return runs

splits = {}
for size in sizes:
    path = f"{home}/{size}"
    for number in range(size):
        it.write(path, log_batch(0, rows, seed=number), text=["message"], settings=settings)
    table = it.open(path)
    splits[size] = [table.count("message:cache"), cpu(lambda: table.search("message:cache", limit=10))]

text = "request {} served by web-{} with status {} cache {}"
messages = [text.format(n % 977, n % 17, 200 if n % 5 else 500, "hit" if n % 3 else "miss") for n in range(tied)]
it.write(f"{home}/tied", pa.table({"id": range(tied), "message": messages}), text=["message"], settings=settings)
table = it.open(f"{home}/tied")
ties = [cpu(lambda: table.search("message:cache", limit=10)), cpu(lambda: table.count("message:cache"))]

rows = log_batch(0, tied, seed=1)
started = time.process_time()
it.write(f"{home}/bytes", rows, text=["message"], settings=settings)
written = time.process_time() - started
files = [file for file in pathlib.Path(f"{home}/bytes").rglob("*.split")]
size = sum(file.stat().st_size for file in files)
print(json.dumps({"splits": splits, "ties": ties, "bytes": size, "written": written}))
"""


def measure(
    home: Path,
    say: Callable[[str], None],
    *,
    repeat: int,
    splits: dict[int, float] = SPLITS,
    rows: int = 1000,
    tied: int = 60_000,
) -> list[Comparison]:
    """Return a comparison for each number of splits, of ties and of bytes; none if there is no earlier commit here."""
    earlier = extract(EARLIER, home / "earlier")
    if earlier is None:
        say(f"commit {EARLIER} is not in this checkout: top-10 is not compared with it")
        return []
    say(f"top-10 of {', '.join(map(str, splits))} splits, here and at {EARLIER}")
    ours = _run(Path(__file__).parents[2] / "src", home / "ours", repeat, list(splits), rows, tied)
    theirs = _run(earlier, home / "theirs", repeat, list(splits), rows, tied)
    top, counting = (Timing(tuple(runs)) for runs in ours["ties"])
    before = Timing(tuple(theirs["ties"][0]))
    codec = (
        f"{keys.ROW_COMPRESSION.default} rows; writing it takes {ours['written']:.2f} s of CPU, "
        f"at {EARLIER} {theirs['written']:.2f} s"
    )
    name = f"top-10 of {tied:,} rows of equal score, CPU"
    sizes = [Timing((float(of["bytes"]),)) for of in (ours, theirs)]
    found = [
        Comparison(name, top, "its count", counting, at_least=TIES, by_best=True, reason=_MORE_THAN_COUNT),
        Comparison(name, top, EARLIER, before, by_best=True),
        Comparison(
            f"a split of {tied:,} rows", sizes[0], EARLIER, sizes[1], codec, at_least=BYTES, unit="bytes"
        ),
    ]
    for size, most in splits.items():
        (count, mine), (counted, its) = (of["splits"][str(size)] for of in (ours, theirs))
        if count != counted:
            raise AssertionError(f"{size} splits have {count} rows with the word, and at {EARLIER} {counted}")
        name = f"top-10 of {size} splits, CPU"
        timings = Timing(tuple(mine)), Timing(tuple(its))
        found.append(
            Comparison(
                name, timings[0], EARLIER, timings[1], _bound_note(size), round(1 / most, 2), by_best=True
            )
        )
    return found


def _bound_note(splits: int) -> str:
    """Say how many splits stay open between searches, by default, and whether these are more."""
    readers, indexes = MAX_READERS, keys.MAX_OPEN_SPLITS.default
    again = splits - min(readers, indexes)
    rest = f": at least {again} are opened again by every search" if again > 0 else ""
    return f"default bound: {readers} readers and {indexes} indexes stay open{rest}"


def _run(source: Path, home: Path, repeat: int, sizes: list[int], rows: int, tied: int) -> dict[str, Any]:
    numbers = map(json.dumps, (repeat, sizes, rows, tied))
    command = [sys.executable, "-c", _SCRIPT, str(home), *numbers]
    cache = {"XDG_CACHE_HOME": str(home / "cache"), "PYTHONPATH": str(source)}
    done = subprocess.run(command, env=os.environ | cache, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found

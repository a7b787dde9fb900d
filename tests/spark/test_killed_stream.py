"""A streaming query whose driver is killed at any moment writes every row once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import indextables as it
from indextables.storage import open_store
from support.invariants import check_table

SCRIPT = Path(__file__).parent / "run_killed_stream.py"
ROWS = 20
MOMENTS = {
    "a batch was planned": "checkpoint/offsets",
    "a batch was committed to the table": "table/_transaction_log",
    "Spark knew that a batch was committed": "checkpoint/commits",
}
"""Where a file appears at each of these moments."""


@pytest.mark.slow
def test_a_query_that_is_killed_and_started_again_writes_every_row_once(tmp_path: Path):
    _kill(tmp_path, 5)


@pytest.mark.soak
@pytest.mark.timeout(10800)
def test_a_query_that_is_killed_a_hundred_times_writes_every_row_once(tmp_path: Path):
    _kill(tmp_path, 100)


def _kill(directory: Path, kills: int) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = random.Random(seed)
    (directory / "in").mkdir()
    written = 0
    for life in range(kills + 1):
        written = _add_files(directory, written, rng.randint(2, 4))
        with _driver(directory, seed + life) as driver:
            if life < kills:
                moment = rng.choice(list(MOMENTS))
                delay = rng.choice([0.0, rng.uniform(0, 0.2), rng.uniform(0, 2)])
                _wait_for(directory / MOMENTS[moment], driver)
                time.sleep(delay)
                print(f"life {life}: killed {delay:.2f} s after {moment}")
            else:
                assert _line(driver) == "done\n", _output(directory)
    found = Counter(it.open(directory / "table").to_arrow(columns=["id"]).column("id").to_pylist())
    assert found == dict.fromkeys(range(written), 1)
    check_table(open_store(str(directory / "table")))


@contextmanager
def _driver(directory: Path, seed: int) -> Iterator[subprocess.Popen[str]]:
    """Start the query in a process of its own; kill it, and the JVM that it has started, at the end."""
    with (directory / "output.txt").open("w") as output:
        driver = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(directory), str(seed)],
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            cwd=directory,
            start_new_session=True,  # so that its JVM is killed with it
        )
    with driver:
        try:
            assert _line(driver) == "ready\n", _output(directory)
            yield driver
        finally:
            os.killpg(driver.pid, signal.SIGKILL)


def _line(driver: subprocess.Popen[str]) -> str:
    assert driver.stdout is not None
    return driver.stdout.readline()


def _output(directory: Path) -> str:
    return (directory / "output.txt").read_text()[-3000:]


def _wait_for(directory: Path, driver: subprocess.Popen[str]) -> None:
    """Return when there is one more file in the directory, or the driver has nothing left to do."""
    before = _count(directory)
    while driver.poll() is None and _count(directory) <= before:
        time.sleep(0.01)


def _count(directory: Path) -> int:
    return len(list(directory.glob("[0-9]*")))


def _add_files(directory: Path, first: int, count: int) -> int:
    """Add files, each of which is one batch; return the number of the next row."""
    for number in range(count):
        rows = [{"id": first + number * ROWS + i, "day": "mon" if i % 2 else "tue"} for i in range(ROWS)]
        partial = directory / "partial"
        partial.write_text("\n".join(map(json.dumps, rows)))
        partial.rename(directory / "in" / f"{first + number * ROWS:09d}.json")
    return first + count * ROWS

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pytest

import indextables as it
from indextables.demo import log_table

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> disk failure"
START = datetime(2026, 1, 1, tzinfo=UTC)


def log_rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "at": pa.array([START + timedelta(minutes=7 * n) for n in numbers], pa.timestamp("us", "UTC")),
            "level": ["ERROR" if n % 10 == 0 else "WARN" if n % 10 < 3 else "INFO" for n in numbers],
            "host": [f"db{n % 4}" for n in numbers],
            "size": pa.array([n * (1 << 55) if n < 3 else n for n in numbers], pa.int64()),
            "message": [
                HOSTILE if n == 5 else f"disk full on volume {n}" if n % 10 == 0 else f"user {n} logged in"
                for n in numbers
            ],
        }
    )


@pytest.fixture(scope="session")
def ui_table(tmp_path_factory) -> str:
    """A table of 13 versions: 200 rows, then 10 at a time."""
    path = str(tmp_path_factory.mktemp("ui") / "logs")
    it.write(path, log_rows(0, 200), text=["message"])
    for number in range(12):
        it.write(path, log_rows(200 + 10 * number, 10))
    return path


@pytest.fixture(scope="session")
def sample_table(tmp_path_factory) -> str:
    """The rows of `indextables demo` as they arrive: 26 versions, one of which deletes rows."""
    path = str(tmp_path_factory.mktemp("ui") / "sample")
    rows, rng, first = log_table(40_000), random.Random(1), 0
    for number in range(25):
        count = rng.choice([500, 800, 1500, 2200, 3000]) if number < 24 else rows.num_rows - first
        if number == 17:
            it.open(path).delete("service = 'recommender'")
        part = rows.slice(first, count)
        if number:
            it.write(path, part)
        else:
            it.write(path, part, partition_by=["date"], text=["message"])
        first += count
    return path


@dataclass(frozen=True)
class Served:
    """A server that the command runs, and how to ask it. Its tables are `table` and `others`."""

    port: int
    token: str
    table: str
    others: tuple[str, ...] = ()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="session")
def cli_server(ui_table, sample_table) -> Iterator[Served]:
    """The command `indextables ui` in a process of its own."""
    with serving(ui_table, sample_table) as served:
        yield served


@contextmanager
def serving(table: str, *others: str, options: Sequence[str] = ()) -> Iterator[Served]:
    command = [sys.executable, "-m", "indextables", "ui", table, *others, *options, "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = urlsplit(json.loads(server.stdout.readline())["url"])
            yield Served(url.port, parse_qs(url.query)["token"][0], table, others)
        finally:
            server.terminate()
            server.wait(30)


@pytest.fixture(scope="module")
def writing_server(tmp_path_factory) -> Iterator[Served]:
    """A server with `--write`, of a table of its own, of 13 versions."""
    path = str(tmp_path_factory.mktemp("ui") / "writable")
    for number in range(13):
        it.write(path, log_rows(10 * number, 10), text=() if number else ["message"])
    with serving(path, options=["--write"]) as served:
        yield served

"""What the part of the bench about object stores is judged by; it runs, at a small size."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from bench.remote import Asked, before, goals, measure_store, show
from bench.servers import Server
from rich.console import Console


def _asked(
    splits: int, question: str, state: str, *, requests: int, rounds: int, seconds: float, table: str = "log"
) -> Asked:
    return Asked(splits, question, state, requests + 2, requests, rounds + 1, rounds, seconds, table)


def test_warm_searches_and_the_growth_of_cold_ones_are_judged():
    asked = [
        _asked(16, "count", "warm", requests=0, rounds=0, seconds=0.1),
        _asked(64, "count", "warm", requests=3, rounds=1, seconds=0.1),
        _asked(16, "top-10", "warm", requests=5, rounds=2, seconds=0.1),
        _asked(64, "top-10", "warm", requests=5, rounds=3, seconds=0.1, table="wide"),
        _asked(16, "top-10", "cold", requests=50, rounds=9, seconds=1.0),
        _asked(64, "top-10", "cold", requests=200, rounds=9, seconds=2.5),
        _asked(64, "top-10", "cold", requests=200, rounds=9, seconds=9.5, table="wide"),
        _asked(64, "append", "warm", requests=1, rounds=9, seconds=2.5),
    ]
    judged = goals(asked)
    assert [(goal.name, goal.met) for goal in judged] == [
        ("warm count of 16 splits of log rows, s3", True),
        ("warm count of 64 splits of log rows, s3", False),
        ("warm top-10 of 16 splits of log rows, s3", True),
        ("warm top-10 of 64 splits of wide rows, s3", False),
        ("cold top-10 of 64 splits of log rows, s3, against 16", True),
    ]


def test_what_was_measured_before_stands_beside_the_same_question():
    assert before(_asked(16, "count", "warm", requests=0, rounds=0, seconds=0.1)) == "26 requests, 0.72 s"
    assert before(_asked(16, "count", "cold", requests=0, rounds=0, seconds=0.1)) == ""
    assert before(_asked(64, "count", "warm", requests=0, rounds=0, seconds=0.1)) == ""
    assert before(_asked(16, "count", "warm", requests=0, rounds=0, seconds=0.1, table="wide")) == ""


@pytest.mark.servers
def test_tables_in_a_store_are_asked_cold_and_warm(server: Server, tmp_path: Path):
    """Splits of wide rows are larger than what a process keeps of each, so that their rows are fetched."""
    rows = {"log": 40, "wide": 100}
    found = measure_store(server, tmp_path, print, (2,), split_rows=rows, cold_runs=1)
    states = {
        "open": ("cold", "warm"),
        "count": ("cold", "warm", "another process"),
        "top-10": ("cold", "warm", "another process"),
        "append": ("cold", "warm"),
    }
    assert {(each.table, each.splits, each.question, each.state) for each in found} == {
        (table, 2, question, state)
        for table in rows
        for question, of_question in states.items()
        for state in of_question
    }
    assert {each.store for each in found} == {server.kind}
    assert all(goal.met for goal in goals(found))
    warm = [each for each in found if (each.question, each.state) == ("top-10", "warm")]
    assert all((each.split_requests > 0) == (each.table == "wide") for each in warm)
    output = io.StringIO()
    show(Console(file=output, width=140), found)
    assert output.getvalue().count(server.kind) == len(found)

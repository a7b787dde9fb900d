"""What the part of the bench about object stores is judged by."""

from __future__ import annotations

from bench.remote import Asked, goals


def _asked(splits: int, question: str, state: str, *, requests: int, rounds: int, seconds: float) -> Asked:
    return Asked(splits, question, state, requests + 2, requests, rounds + 1, rounds, seconds)


def test_warm_searches_and_the_growth_of_cold_ones_are_judged():
    asked = [
        _asked(16, "count", "warm", requests=0, rounds=0, seconds=0.1),
        _asked(64, "count", "warm", requests=3, rounds=1, seconds=0.1),
        _asked(16, "top-10", "warm", requests=5, rounds=2, seconds=0.1),
        _asked(64, "top-10", "warm", requests=5, rounds=3, seconds=0.1),
        _asked(16, "top-10", "cold", requests=50, rounds=9, seconds=1.0),
        _asked(64, "top-10", "cold", requests=200, rounds=9, seconds=2.5),
        _asked(64, "append", "warm", requests=1, rounds=9, seconds=2.5),
    ]
    judged = goals(asked)
    assert [(goal.name, goal.met) for goal in judged] == [
        ("warm count of 16 splits", True),
        ("warm count of 64 splits", False),
        ("warm top-10 of 16 splits", True),
        ("warm top-10 of 64 splits", False),
        ("cold top-10 of 64 splits against 16", True),
    ]

"""How the bench takes turns; how long anything takes is no test's business."""

from __future__ import annotations

import pytest

from bench import measure


def test_sides_take_turns_in_rounds_after_both_have_warmed_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measure, "_SHORT_SECONDS", 0.0)
    order: list[str] = []
    sides = [lambda: order.append("a"), lambda: order.append("b")]
    timings = measure.timed_in_turns(sides, repeat=5, warm_up_seconds=0.0)
    assert "".join(order) == "ab" + "aabb" * 3
    assert [len(timing.runs) for timing in timings] == [6, 6]


def test_short_runs_are_repeated_but_not_for_ever():
    (timing,) = measure.timed_in_turns([lambda: None], repeat=1, warm_up_seconds=0.0)
    assert len(timing.runs) == measure._ROUNDS * measure._MOST_RUNS

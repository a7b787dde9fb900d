"""How the bench takes turns; how long anything takes is no test's business."""

from __future__ import annotations

import io
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import bench.__main__ as program
import pytest
from bench.measure import Comparison, Goal, Timing
from rich.console import Console

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


def compared(ours: float, theirs: float, at_least: float | None) -> Comparison:
    return Comparison("searching", Timing((ours,)), "the other", Timing((theirs,)), at_least=at_least)


def test_only_what_has_a_goal_is_judged():
    missed = compared(2.0, 3.0, at_least=2.0)
    judged = [compared(1.0, 3.0, at_least=2.0), missed, compared(2.0, 1.0, at_least=None)]
    assert [c.met for c in judged] == [True, False, None]
    assert measure.not_met(judged) == ["searching, against the other: 1.50 times as fast, and 2 is the goal"]


def test_a_reason_stands_beside_what_is_not_ahead_and_nowhere_else():
    behind = replace(compared(2.0, 1.0, at_least=None), reason="it reads all")
    ahead = replace(compared(1.0, 2.0, at_least=None), reason="never shown")
    short = replace(compared(1.0, 2.0, at_least=3.0), reason="it is far", note="rows")
    output = io.StringIO()
    console = Console(file=output, width=160)
    measure.show(console, "searches", [behind, ahead, short])
    missed = Goal("waits", 3.0, 2.0, "rounds", "a wait for each page")
    measure.show_goals(console, "a store", [missed, Goal("requests", 1.0, 2.0, "", "never shown")])
    said = output.getvalue()
    assert "not ahead: it reads all" in said
    assert "not ahead: it is far" in said
    assert "a wait for each page" in said
    assert "never shown" not in said


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_one_core_holds_for_every_thread_and_ends():
    before, seen = os.sched_getaffinity(0), []
    started, end = threading.Event(), threading.Event()

    def wait():
        started.set()
        end.wait()
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=wait)
    thread.start()
    started.wait()
    with measure.one_core():
        assert len(os.sched_getaffinity(0)) == 1
        end.set()
        thread.join()
    assert [len(cores) for cores in seen] == [1]
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("arguments", "at_least", "by_itself", "exits"),
    [
        ((), 2.0, [], False),
        (("--strict",), 1.5, [], False),
        (("--strict",), 2.0, [], True),
        (("--strict",), 1.5, ["memory: 9 MB"], True),
    ],
)
def test_a_strict_run_fails_if_a_goal_is_not_met(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    at_least: float,
    by_itself: list[str],
    exits: bool,
):
    def part(chosen, say):
        chosen.not_met.extend(by_itself)
        return "searches", [compared(2.0, 3.0, at_least)]

    monkeypatch.setattr(program, "HOME", tmp_path / "bench-data")
    monkeypatch.setattr(program, "PARTS", {"searches": part})
    monkeypatch.setattr(program, "machine", dict)
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    if exits:
        with pytest.raises(SystemExit, match="1"):
            program.main()
    else:
        program.main()
    assert ("not met  " in capsys.readouterr().out) == exits

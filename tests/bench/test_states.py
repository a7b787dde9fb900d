"""The planning bench runs at a small size and all sides find the same files; what it times is no test's business."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from bench.states import comparison as states
from bench.states import worker as state_worker
from bench.states.comparison import AnswersDifferError, Goal, Measured, Results
from bench.states.drawn_files import CHOSEN_DAY, DAYS, chosen_range, draw
from rich.console import Console

FILES = 2_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("states")
    for files in (states.SMALL, FILES):
        state_worker.build(home, files, [side for side in states.SIDES if side != states.LIMIT])
    return home


@pytest.mark.parametrize("side", states.SIDES)
def test_every_side_finds_the_files_that_were_drawn(home: Path, side: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_worker, "SHORT_SECONDS", 0.0)
    found = state_worker.ask(home, FILES, side, list(states.QUESTIONS), round_number=0, repeat=1)
    answers = {question: found[question]["answer"] for question in states.PLANS if question in found}
    drawn = draw(FILES)
    low, high = chosen_range("timestamp")
    in_hour = sum((drawn.timestamp[0] <= high) & (drawn.timestamp[1] >= low))
    first, last = chosen_range("event_id")
    in_events = sum((drawn.event_id[0] <= last) & (drawn.event_id[1] >= first))
    expected = {
        "read_all": FILES,
        "plan_partition": int(sum(drawn.day == CHOSEN_DAY)),
        "plan_following": int(in_hour),
        "plan_across": int(in_events),
    }
    assert answers == {question: expected[question] for question in answers}
    assert expected["plan_partition"] == FILES // DAYS
    assert all(len(one["runs"]) == 1 for one in found.values())


def test_short_runs_are_repeated_each_with_a_number_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    prepared: list[tuple[str, int]] = []

    def prepare(table: Path, number: int) -> Callable[[], int]:
        prepared.append((table.name, number))
        return lambda: 1

    monkeypatch.setattr(state_worker, "side_of", lambda _: SimpleNamespace(append=prepare, compact=prepare))
    for round_number in range(2):
        asked = partial(state_worker.ask, round_number=round_number, repeat=1)
        found = asked(tmp_path, FILES, "any", ["append", "read_all", "compact"])
        assert list(found) == ["append", "compact"]  # what the side can answer
        assert all(len(one["runs"]) == state_worker.MOST_RUNS for one in found.values())
    assert len(prepared) == len(set(prepared))


def results(**ours: Measured) -> Results:
    found = Results()
    for question, measured in ours.items():
        found.put(70_000, states.OURS, question, measured)
        for rival in (*states.RIVALS, states.LIMIT):
            found.put(70_000, rival, question, Measured((0.2,), peak_mb=100.0, answer=1))
    return found


def test_goals_are_judged_by_the_best_run():
    goals = {goal.name: goal for goal in states.goals(results(read_all=Measured((0.7, 0.3), peak_mb=50.0)))}
    assert goals["read 70,000 files"].met
    assert goals["read 70,000 files, against the limit"].met
    assert goals["memory to read 70,000 files, against deltalake"] == Goal(
        "memory to read 70,000 files, against deltalake", 0.5, 1, "times"
    )
    slow = {goal.name: goal for goal in states.goals(results(read_all=Measured((0.7,), peak_mb=500.0)))}
    assert not any(goal.met for goal in slow.values())


def test_a_rival_that_was_given_up_on_took_at_least_that_long():
    found = results(compact=Measured((1.5,)))
    found.found[70_000]["pyiceberg"]["compact"] = Measured(())
    (delta, iceberg) = states.comparisons(found)
    assert (delta.met, iceberg.met) == (False, True)
    assert "given up" in iceberg.note


def test_all_sides_are_asked_in_rounds_but_for_the_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked = []

    def work(_home: Path, what: str, *arguments: object) -> dict[str, Measured]:
        if what == "build":
            return {}
        _, side, round_number, repeat, *questions = arguments
        asked.append((side, round_number, repeat))
        seconds = 2 * states.SLOW_SECONDS if side == "pyiceberg" else 1.0 + int(str(round_number))
        return {str(question): Measured((seconds,), peak_mb=seconds) for question in questions}

    monkeypatch.setattr(states, "_work", work)
    found = states.measure(tmp_path, print, repeat=5, sizes=[70])
    again = [side for side in states.SIDES if side != "pyiceberg"]
    once = [(side, 0, 2) for side in states.SIDES] + [(side, n, 2) for n in (1, 2) for side in again]
    assert asked == once * len(states.PROCESSES)
    assert found.get(70, states.OURS, "compact") == Measured((1.0, 2.0, 3.0), peak_mb=1.0)


def test_sides_that_disagree_are_no_measurement():
    found = results(read_all=Measured((1.0,), answer=2))
    with pytest.raises(AnswersDifferError, match="read_all"):
        states._check_answers(found, 70_000)


def test_what_a_side_cannot_do_is_left_open_in_the_table():
    out = io.StringIO()
    states.show(
        Console(file=out, width=200), "planning", results(read_all=Measured((0.7, 0.3), peak_mb=50.0))
    )
    (row,) = [line for line in out.getvalue().splitlines() if states.OURS in line]
    assert row.split("│")[3].strip() == "300.0"
    assert row.split("│")[4].strip() == "-"

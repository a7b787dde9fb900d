"""Transactions on column groups under simulated faults: each scenario from a seed, and the proof that they can fail.

To see one again: `run_dataset_scenario(seed).trace`, with the seed of the failure.
"""

from __future__ import annotations

import importlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from indextables.columns.resolvers import RESOLVERS, overwrite
from indextables.columns.updates import apply
from support.simulation.dataset_scenario import run_dataset_scenario
from support.simulation.datasets import KINDS, DatasetRole, read, write
from support.simulation.faults import Fault, OneFault
from support.simulation.scenario import ViolationError

SCENARIOS = 200
SOAK_SCENARIOS = 20_000
BOUND = 150
"""How many scenarios a mutant may survive."""

claiming_module = importlib.import_module("indextables.storage.claiming")
resolvers_module = importlib.import_module("indextables.columns.resolvers")


def play(seeds: Iterable[int]) -> None:
    """All of them; and every fault struck, every kind of update came to every end."""
    faults: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        report = run_dataset_scenario(seed)
        faults += report.faults
        outcomes += report.outcomes
        outcomes["versions"] += report.versions
    for title, counts in (("faults", faults), ("outcomes", outcomes)):
        print(f"\n{title}")
        for name, count in sorted(counts.items()):
            print(f"{count:9} {name}")
    assert [fault.value for fault in Fault if not faults[fault.value]] == [Fault.CLOCK_SKEW.value], (
        "no clock here"
    )
    for kind in KINDS:
        for ending in ("merge acknowledged", "merge crashed", "fail refused CommitConflictError"):
            assert outcomes[f"{kind} {ending}"], f"no {kind} {ending}"
    for kind in ("rows", "drop", "stat", "index", "positions"):
        assert outcomes[f"{kind} merge refused CommitConflictError"], f"no conflict of {kind}"
    assert outcomes["rows merge unknown"]
    assert outcomes["rows overwrite acknowledged"]


def test_nothing_breaks_a_dataset():
    play(range(SCENARIOS))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_nothing_breaks_a_dataset_in_the_long_run():
    first = int(os.environ.get("INDEXTABLES_SEED", random.SystemRandom().randrange(1 << 40)))
    print(f"seeds from {first} on (INDEXTABLES_SEED={first} to see them again)")
    play(range(first, first + SOAK_SCENARIOS))


def test_a_seed_is_the_same_run_step_for_step_and_another_is_another():
    assert run_dataset_scenario(3).trace == run_dataset_scenario(3).trace
    assert run_dataset_scenario(3).trace != run_dataset_scenario(4).trace


# One fault, at every call of the store in turn


def struck_at(fault: Fault, call: int) -> OneFault:
    """Two writers, of whom one meets the fault at a call, and one that looks on."""
    plan = OneFault(fault, "first.1", call)
    roles = [
        DatasetRole("first", write, 12),
        DatasetRole("second", write, 12),
        DatasetRole("reader", read, 5),
    ]
    run_dataset_scenario(7, plan=plan, roles=roles)
    return plan


@pytest.mark.parametrize(
    "fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.LOST_ANSWER], ids=lambda fault: fault.name
)
def test_one_fault_at_every_call_of_the_store(fault: Fault):
    calls = struck_at(fault, 10_000).calls
    assert calls > 30
    for call in range(calls):
        assert struck_at(fault, call).counts[fault.value] == 1


# Proof that these scenarios can fail


def violation(seed: int) -> ViolationError | None:
    try:
        run_dataset_scenario(seed)
    except ViolationError as found:
        return found
    return None


def first_violation() -> ViolationError:
    seen = next((found for seed in range(BOUND) if (found := violation(seed))), None)
    assert seen is not None, f"{BOUND} scenarios noticed nothing"
    again = violation(seen.seed)
    assert again is not None
    assert again.trace == seen.trace, "it is found again by its seed"
    return seen


def test_a_commit_without_read_back_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(claiming_module, "_is_ours", lambda *asked: False)
    print(first_violation())


@pytest.mark.parametrize(
    "broken",
    [overwrite, lambda read, seen, updates: apply(seen, updates)],
    ids=["on what was read", "without rules"],
)
def test_a_merge_that_is_none_is_noticed(monkeypatch: pytest.MonkeyPatch, broken: Callable[..., Any]):
    monkeypatch.setitem(RESOLVERS, "merge", broken)
    print(first_violation())


@pytest.mark.parametrize(
    "rule", ["_check_positions", "_check_dropped_columns", "_check_stats", "_check_indexes"]
)
def test_a_merge_without_one_of_its_rules_is_noticed(monkeypatch: pytest.MonkeyPatch, rule: str):
    monkeypatch.setattr(resolvers_module, rule, lambda *asked: None)
    print(first_violation())

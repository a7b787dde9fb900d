"""The log under simulated faults: hundreds of scenarios, each from a seed, and proof that they can fail.

To see one again: `run_scenario(seed).trace`, with the seed of the failure.
"""

from __future__ import annotations

import importlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from indextables.log import Action, Change, ChangeRows, MergeSplits, RemoveFile, Snapshot
from indextables.log.changes import MergeGroup
from indextables.table.writes import upserts
from support.simulation.actors import cast, everything, read
from support.simulation.faults import OPERATIONS, Fault, OneFault
from support.simulation.process import Role
from support.simulation.row_changes import row_cast, statement_cast
from support.simulation.scenario import ViolationError, run_scenario

SCENARIOS = 400
SOAK_SCENARIOS = 20_000
SOAK_BLOCKS = 10
"""So that the scenarios of one test end within its timeout."""

ROW_SCENARIOS = 100
STATEMENT_SCENARIOS = 60
JSON_SCENARIOS = 40
SOAK_JSON_SCENARIOS = 2_000
STRIDE = 5
"""One of so many calls is hit by a fault, one in each run. The long run tries all calls."""

BOUND = 250
"""How many scenarios a mutant may survive."""

commit_module = importlib.import_module("indextables.log.commits.loop")
claiming_module = importlib.import_module("indextables.storage.claiming")


def play(seeds: Iterable[int]) -> tuple[Counter[str], Counter[str]]:
    """Run the scenarios of all seeds; return the faults and the outcomes."""
    faults: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        report = run_scenario(seed)
        faults += report.faults
        outcomes += report.outcomes
        outcomes["versions"] += report.versions
    for title, counts in (("faults", faults), ("outcomes", outcomes)):
        print(f"\n{title}")
        for name, count in sorted(counts.items()):
            print(f"{count:9} {name}")
    return faults, outcomes


def check_reach(faults: Counter[str], outcomes: Counter[str]) -> None:
    """Every class of faults struck, every operation was cut short by a crash, every end of a commit was met."""
    assert [fault.value for fault in Fault if not faults[fault.value]] == []
    crashes = [f"{when.value} {op}" for when in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER) for op in OPERATIONS]
    rare = {name for name in crashes if name.endswith(("get_range", "head", "delete"))}
    assert [name for name in crashes if not faults[name] and name not in rare] == []
    for kind in ("append", "overwrite", "drop", "restore", "merge"):
        for outcome in ("acknowledged", "crashed", "unknown"):
            assert outcomes[f"{kind} {outcome}"], f"no {kind} was {outcome}"
    assert outcomes["append skipped"], "no batch was tried again after it was there"
    assert outcomes["purge acknowledged"], "no purge came to its end"
    assert outcomes["splits purged"] > outcomes["versions"] / 10
    assert outcomes["deletions in the log"] > outcomes["versions"] / 10


def test_nothing_breaks_the_log():
    check_reach(*play(range(SCENARIOS)))


@pytest.mark.parametrize(
    "seed",
    [
        740830861207,
        980733414484,
        700000011592,
        700000012056,
        910000004381,
        960000002513,
        112480,
        113314,
        207193,
        214620,
    ],
)
def test_a_seed_that_once_failed_passes(seed: int):
    run_scenario(seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_nothing_breaks_the_log_in_the_long_run():
    first = int(os.environ.get("INDEXTABLES_SEED", random.SystemRandom().randrange(1 << 40)))
    print(f"seeds from {first} on (INDEXTABLES_SEED={first} to see them again)")
    check_reach(*play(range(first, first + SOAK_SCENARIOS)))


def test_rows_that_change_are_neither_lost_nor_doubled():
    outcomes: Counter[str] = Counter()
    for seed in range(ROW_SCENARIOS):
        outcomes += run_scenario(seed, choose=row_cast).outcomes
    for kind in ("delete", "upsert", "replace"):
        assert outcomes[f"{kind} acknowledged"] > ROW_SCENARIOS / 4, f"few {kind}s were acknowledged"
    assert outcomes["delete refused CommitConflictError"], "no delete met another change"
    assert outcomes["upsert refused CommitConflictError"], "no upsert met another change"


def test_statements_find_their_rows_again_and_lose_none():
    outcomes: Counter[str] = Counter()
    for seed in range(STATEMENT_SCENARIOS):
        outcomes += run_scenario(seed, choose=statement_cast).outcomes
    for kind in ("delete", "update", "replace where", "alter"):
        assert outcomes[f"{kind} acknowledged"] > STATEMENT_SCENARIOS / 4, f"few {kind}s were acknowledged"
    assert outcomes["update refused CommitConflictError"], "no update met another change"


@pytest.mark.parametrize("seed", [301111, 320091], ids=["versions", "delta-log"])
def test_a_change_of_rows_that_clean_up_overtakes_is_a_conflict(seed: int):
    """What it needs to know of concurrent commits is deleted while it looks."""
    run_scenario(seed, choose=row_cast)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("choose", [row_cast, statement_cast])
@pytest.mark.parametrize("block", range(SOAK_BLOCKS))
def test_rows_that_change_are_neither_lost_nor_doubled_in_the_long_run(
    block: int, choose: Callable[[random.Random], list[Role]]
):
    first = int(os.environ.get("INDEXTABLES_SEED", random.SystemRandom().randrange(1 << 40)))
    print(f"seeds from {first} on (INDEXTABLES_SEED={first} to see them again)")
    size = SOAK_SCENARIOS // SOAK_BLOCKS
    for seed in range(first + block * size, first + (block + 1) * size):
        run_scenario(seed, choose=choose)


@pytest.mark.parametrize(
    "scenarios",
    [
        JSON_SCENARIOS,
        pytest.param(SOAK_JSON_SCENARIOS, marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
    ],
)
@pytest.mark.parametrize("formats", [("json",), ("avro", "json")], ids="-and-".join)
def test_nothing_breaks_the_log_with_json_checkpoints(formats: tuple[str, ...], scenarios: int):
    for seed in range(scenarios):
        run_scenario(seed, formats=formats)


@pytest.mark.parametrize("seed", range(5))
def test_a_seed_is_the_same_run_step_for_step(seed: int):
    assert run_scenario(seed).trace == run_scenario(seed).trace


def test_another_seed_is_another_run():
    assert run_scenario(0).trace != run_scenario(1).trace


# One fault, at every call of the store in turn


def struck_at(fault: Fault, call: int) -> OneFault:
    """Run two processes that do everything, one of which meets the fault at a call, and a reader."""
    plan = OneFault(fault, "first.1", call)
    roles = [Role("first", everything, 7), Role("second", everything, 7), Role("reader", read, 5)]
    run_scenario(7, plan=plan, roles=roles)
    return plan


@pytest.mark.parametrize(
    "stride", [STRIDE, pytest.param(1, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])]
)
@pytest.mark.parametrize(
    "fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.STALL], ids=lambda fault: fault.name
)
def test_one_fault_at_every_call_of_the_store(fault: Fault, stride: int):
    """A process dies, or stalls while others clean up, before or after any of its calls."""
    calls = struck_at(fault, 10_000).calls
    assert calls > 50
    for call in range(0, calls, stride):
        assert struck_at(fault, call).counts[fault.value] == 1


# Proof that these scenarios can fail: without any one rule of a commit, an invariant is violated


def violation(seed: int, choose: Callable[[random.Random], list[Role]] = cast) -> ViolationError | None:
    try:
        run_scenario(seed, choose=choose)
    except ViolationError as found:
        return found
    return None


def first_violation(choose: Callable[[random.Random], list[Role]] = cast) -> ViolationError:
    found = next((found for seed in range(BOUND) if (found := violation(seed, choose))), None)
    assert found is not None, f"{BOUND} scenarios noticed nothing"
    again = violation(found.seed, choose)
    assert again is not None
    assert again.trace == found.trace, "it is found again by its seed"
    return found


def believes_the_store(store: Any, target: Any) -> bool:
    """No read-back: after anything but success, the version is taken to be another writer's."""
    return False


def computes_only_once() -> Callable[[Change, Snapshot | None, str], list[Action]]:
    """No conflict rule: what was computed from the first snapshot is written after any other."""
    real = commit_module._actions
    computed: dict[int, tuple[Change, list[Action]]] = {}

    def actions(change: Change, current: Snapshot | None, uri: str) -> list[Action]:
        if id(change) not in computed:
            computed[id(change)] = (change, real(change, current, uri))
        return list(computed[id(change)][1])

    return actions


def test_a_commit_without_read_back_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(claiming_module, "_is_ours", believes_the_store)
    print(first_violation())


def test_a_commit_without_watermark_check_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commit_module, "is_superseded", lambda *asked, **named: False)
    print(first_violation())


def test_a_commit_without_conflict_rules_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commit_module, "_actions", computes_only_once())
    print(first_violation())


def test_a_commit_that_does_not_look_for_purges_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commit_module, "check_purge_fence", lambda *asked: None)
    print(first_violation())


def merges_what_is_gone(change: MergeSplits, current: Snapshot | None) -> list[Action]:
    """No check that the sources are live: the new files are added, whatever has become of the old ones."""
    assert current is not None
    removed = [current.files[key] for group in change.groups for key in group.sources if key in current.files]
    return [
        *(RemoveFile(file.path, data_change=False) for file in removed),
        *(add for group in change.groups for add in group.adds),
    ]


def test_a_merge_that_does_not_look_whether_its_sources_are_live_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MergeSplits, "actions", merges_what_is_gone)
    print(first_violation())


def test_a_change_of_rows_that_ignores_a_concurrent_delete_is_noticed(monkeypatch: pytest.MonkeyPatch):
    """The rows that were looked up are deleted from the file as it was then, whatever it is now."""

    def resolve(change: ChangeRows, live: Any, current: Snapshot) -> list[Any]:
        return [rows for rows in change.rows if live[rows.key] is not None]

    monkeypatch.setattr(ChangeRows, "_resolve", resolve)
    print(first_violation(row_cast))


def test_a_merge_that_ignores_a_concurrent_delete_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        MergeGroup, "is_live", lambda group, files: all(key in files for key in group.sources)
    )
    print(first_violation(row_cast))


def test_an_upsert_that_does_not_look_at_later_files_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upserts, "check_later_files", lambda *asked: None)
    print(first_violation(row_cast))


def test_an_update_that_ignores_what_others_did_to_moved_rows_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("indextables.table.writes.moved_rows._Walk._check", lambda *asked: None)
    print(first_violation(statement_cast))

"""Results of merge tasks, one for a group, in the order of its rows; and the claim while Spark runs them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import InputError, StorageError
from indextables.maintenance import MergeOptions, empty_result, plan_merge, run_merge_task
from indextables.maintenance.upkeep_claims import read_claim
from indextables.runtime import Runtime, now_ms, use
from indextables.spark.sql import run_upkeep_step, upkeep_steps
from indextables.spark.sql.cluster import TaskOutcome
from indextables.spark.sql.jobs.merge_job import WaitingMerge
from indextables.spark.sql.jobs.merge_results import encode_group
from indextables.storage import open_store


def ask(path: Path, claim: str = "a claim") -> dict[str, Any]:
    return run_upkeep_step(
        str(path), {keys.MERGE_ON_WRITE_SPLITS.key: "3"}, {"step": "merge", "claim": claim}
    )


@pytest.fixture
def due(tmp_path: Path) -> Path:
    for n in range(3):
        it.write(tmp_path, pa.table({"n": [n]}), settings={keys.MERGE_ON_WRITE.key: "false"})
    return tmp_path


def test_a_plan_that_fails_leaves_no_claim(due: Path, monkeypatch: pytest.MonkeyPatch):
    plans = [upkeep_steps.due_tasks]

    def fail_at_the_second(*arguments: Any) -> Any:
        if not plans:
            raise StorageError("the store is away")
        return plans.pop()(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(upkeep_steps, "due_tasks", fail_at_the_second)
        with pytest.raises(StorageError, match="the store is away"):
            ask(due)
    assert ask(due, "another")["groups"] == 1


def test_another_round_extends_the_claim(due: Path):
    start, ends = now_ms(), []
    for now in (0, 59_000):
        with use(Runtime(clock=lambda at=start + now: at)):
            Path(ask(due)["job"]).unlink()
        claim = read_claim(open_store(str(due)))
        assert claim is not None
        ends.append(claim.until)
    assert ends[1] >= ends[0] + 59_000


def test_the_sources_of_a_merged_split_are_in_the_order_of_its_rows(tmp_path: Path):
    for n in range(3):
        it.write(tmp_path, pa.table({"n": [n]}))
    snapshot, settings = it.open(tmp_path).snapshot, Settings({})
    tasks = tuple(plan_merge(snapshot, MergeOptions(), settings, now=now_ms()))
    group = run_merge_task(tasks[0])
    waiting = WaitingMerge(snapshot.uri, {}, tasks[0].metadata, tasks, 1, 1, empty_result(snapshot))
    reported = encode_group(0, dataclasses.replace(group, sources=group.sources[::-1]))
    assert waiting.decode([TaskOutcome(reported)])[0].sources == group.sources
    again = TaskOutcome(encode_group(0, run_merge_task(tasks[0])))
    with pytest.raises(InputError, match="its group has a result already"):
        waiting.decode([TaskOutcome(reported), again])


def test_a_step_of_upkeep_refuses_the_job_of_another_statement(due: Path):
    job = ask(due)["job"]
    with pytest.raises(InputError, match="is the job of another statement"):
        run_upkeep_step(str(due), {}, {"step": "purge", "job": job, "results": []})
    assert Path(job).exists()

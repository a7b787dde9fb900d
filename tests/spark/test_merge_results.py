"""What a task of a merge reports is put into the order of the rows, in which the log tells where they are."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow as pa

import indextables as it
from indextables.config import Settings
from indextables.maintenance import MergeOptions, empty_result, plan_merge, run_merge_task
from indextables.runtime import now_ms
from indextables.spark.sql.cluster import TaskOutcome
from indextables.spark.sql.jobs.merge_job import WaitingMerge
from indextables.spark.sql.jobs.merge_results import encode_group


def test_the_sources_of_a_merged_split_are_in_the_order_of_its_rows(tmp_path: Path):
    for n in range(3):
        it.write(tmp_path, pa.table({"n": [n]}))
    snapshot, settings = it.open(tmp_path).snapshot, Settings({})
    tasks = tuple(plan_merge(snapshot, MergeOptions(), settings, now=now_ms()))
    group = run_merge_task(tasks[0])
    waiting = WaitingMerge(snapshot.uri, {}, tasks[0].metadata, tasks, 1, 1, empty_result(snapshot))
    reported = encode_group(0, dataclasses.replace(group, sources=group.sources[::-1]))
    assert waiting.decode([TaskOutcome(reported)])[0].sources == group.sources

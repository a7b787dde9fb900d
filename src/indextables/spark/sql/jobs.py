"""Jobs: commands whose tasks the JVM runs on Spark's executors. A file on the driver's disk holds each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from indextables.errors import IndexTablesError
from indextables.log.cleanup import DeleteTask
from indextables.maintenance import MergedGroup, MergeTask, failure_of, run_merge_task
from indextables.spark.sql import job_files
from indextables.spark.sql.cluster import Job, outcomes
from indextables.spark.sql.deleting import (
    WaitingDelete,
    decode_deletes,
    finish_delete,
    lookup_tasks,
    run_lookup_task,
)
from indextables.spark.sql.gathering import GatherTask, finish_gather, gather_tasks, run_gather_task
from indextables.spark.sql.job_files import WaitingPurge
from indextables.spark.sql.merging import finish_batch
from indextables.spark.sql.prewarming import finish_prewarm, prewarm_tasks, run_prewarm_job_task
from indextables.spark.sql.purging import decode_deleted, finish_waiting_purge, purge_tasks, run_purge_task
from indextables.spark.sql.waiting_gather import WaitingGather
from indextables.spark.sql.waiting_merge import WaitingMerge, decode_groups, encode_group
from indextables.spark.sql.waiting_prewarm import WaitingPrewarm
from indextables.table import PrewarmTask, ScanTask

RESULT: Final = pa.schema({"result": pa.string()})
"""The rows of a job: one for each task, as JSON."""


@dataclass(frozen=True)
class NumberedMerge:
    """A task of a merge, and its number in the job."""

    number: int
    task: MergeTask


JobTask: TypeAlias = DeleteTask | NumberedMerge | ScanTask | PrewarmTask | GatherTask


def job_tasks(file: str) -> tuple[JobTask, ...]:
    """Return the tasks of a job."""
    match waiting := job_files.read(file):
        case WaitingMerge():
            batch = waiting.tasks[: waiting.batch]
            return tuple(NumberedMerge(number, task) for number, task in enumerate(batch))
        case WaitingDelete():
            return lookup_tasks(waiting)
        case WaitingPrewarm():
            return prewarm_tasks(waiting)
        case WaitingGather():
            return gather_tasks(waiting)
        case WaitingPurge():
            return purge_tasks(waiting)


def run_job_task(task: JobTask) -> Iterator[pa.RecordBatch]:
    """Run one task, on any executor, and yield its result as a row."""
    match task:
        case NumberedMerge():
            result = encode_group(task.number, _run_merge(task.task))
        case ScanTask():
            result = run_lookup_task(task)
        case PrewarmTask():
            result = run_prewarm_job_task(task)
        case GatherTask():
            result = run_gather_task(task)
        case DeleteTask():
            result = run_purge_task(task)
    yield pa.RecordBatch.from_pylist([{"result": result}], schema=RESULT)


def job_task_schema(_task: JobTask) -> pa.Schema:
    """Return the schema of the rows of a task."""
    return RESULT


def _run_merge(task: MergeTask) -> MergedGroup:
    """Merge a group. An error is a result: a task that fails would end the job, and the other groups with it."""
    try:
        return run_merge_task(task)
    except (IndexTablesError, OSError, MemoryError) as reason:
        return MergedGroup(failure=failure_of(reason))


def finish_job(file: str, results: Sequence[str], places: Sequence[str] = ()) -> pa.Table | Job:
    """Finish a job whose tasks have run: return the rows of the command, or the job of its next batch.

    `places` say where each of the tasks has run.
    """
    placed = outcomes(results, places)
    waiting = job_files.read(file)
    match waiting:
        case WaitingMerge():
            groups = decode_groups(waiting, results)
            # Before the commit, so that a batch is never committed, or discarded, twice.
            job_files.remove(file)
            return finish_batch(waiting, groups)
        case WaitingDelete():
            deletes = decode_deletes(waiting, results)
            job_files.remove(file)
            return finish_delete(waiting, deletes)
        case WaitingPurge():
            deleted = decode_deleted(results)
            job_files.remove(file)
            return finish_waiting_purge(waiting, deleted)
        case WaitingPrewarm():
            job_files.remove(file)
            return finish_prewarm(waiting, placed)
        case WaitingGather():
            job_files.remove(file)
            return finish_gather(waiting, placed)

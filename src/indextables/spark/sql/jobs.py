"""Jobs: commands whose tasks the JVM runs on Spark's executors. A file on the driver's disk holds each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from indextables.errors import IndexTablesError
from indextables.log.cleanup import DeleteTask
from indextables.maintenance import MergedGroup, MergeTask, run_merge_task
from indextables.spark.sql import job_files
from indextables.spark.sql.deleting import (
    WaitingDelete,
    decode_deletes,
    finish_delete,
    lookup_tasks,
    run_lookup_task,
)
from indextables.spark.sql.merging import finish_batch
from indextables.spark.sql.purging import decode_deleted, finish_waiting_purge, purge_tasks, run_purge_task
from indextables.spark.sql.waiting_merge import WaitingMerge, decode_groups, encode_group
from indextables.table import ScanTask

RESULT: Final = pa.schema({"result": pa.string()})
"""The rows of a job: one for each task, as JSON."""

_LONGEST_REASON: Final = 500


@dataclass(frozen=True)
class Job:
    """A command whose tasks the JVM is to run. `file` holds it until it is finished."""

    file: str


@dataclass(frozen=True)
class NumberedMerge:
    """A task of a merge, and its number in the job."""

    number: int
    task: MergeTask


JobTask: TypeAlias = DeleteTask | NumberedMerge | ScanTask


def job_tasks(file: str) -> tuple[JobTask, ...]:
    """Return the tasks of a job."""
    waiting = job_files.read(file)
    if isinstance(waiting, WaitingDelete):
        return lookup_tasks(waiting)
    if isinstance(waiting, WaitingMerge):
        return tuple(
            NumberedMerge(number, task) for number, task in enumerate(waiting.tasks[: waiting.batch])
        )
    return purge_tasks(waiting)


def run_job_task(task: JobTask) -> Iterator[pa.RecordBatch]:
    """Run one task, on any executor, and yield its result as a row."""
    if isinstance(task, NumberedMerge):
        result = encode_group(task.number, _run_merge(task.task))
    elif isinstance(task, ScanTask):
        result = run_lookup_task(task)
    else:
        result = run_purge_task(task)
    yield pa.RecordBatch.from_pylist([{"result": result}], schema=RESULT)


def _run_merge(task: MergeTask) -> MergedGroup:
    """Merge a group. An error is a result: a task that fails would end the job, and the other groups with it."""
    try:
        return run_merge_task(task)
    except (IndexTablesError, OSError, MemoryError) as reason:
        return MergedGroup(failure=f"{type(reason).__name__}: {reason}"[:_LONGEST_REASON])


def finish_job(file: str, results: Sequence[str]) -> pa.Table | Job:
    """Finish a job whose tasks have run: return the rows of the command, or the job of its next batch."""
    waiting = job_files.read(file)
    outcome: pa.Table | str
    if isinstance(waiting, WaitingDelete):
        deletes = decode_deletes(waiting, results)
        job_files.remove(file)
        outcome = finish_delete(waiting, deletes)
    elif isinstance(waiting, WaitingMerge):
        groups = decode_groups(waiting, results)
        job_files.remove(file)  # before the commit, so that a batch is never committed, or discarded, twice
        outcome = finish_batch(waiting, groups)
    else:
        deleted = decode_deleted(results)
        job_files.remove(file)
        outcome = finish_waiting_purge(waiting, deleted)
    return Job(outcome) if isinstance(outcome, str) else outcome

"""A job from its file to its end. The JVM runs its tasks on Spark's executors, and asks for each of these steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from indextables.errors import IndexTablesError, InputError
from indextables.spark.sql.cluster import Job, outcomes
from indextables.spark.sql.jobs import job_files
from indextables.spark.sql.jobs.delete_job import WaitingDelete
from indextables.spark.sql.jobs.gather_job import WaitingGather
from indextables.spark.sql.jobs.merge_job import WaitingMerge
from indextables.spark.sql.jobs.prewarm_job import WaitingPrewarm
from indextables.spark.sql.jobs.purge_job import WaitingPurge
from indextables.spark.sql.jobs.waiting_job import WaitingJob

RESULT: Final = pa.schema({"result": pa.string()})
"""The rows of a job: one for each task, as JSON."""

_JOBS: Final[tuple[type[WaitingJob[Any, Any]], ...]] = (
    WaitingDelete,
    WaitingGather,
    WaitingMerge,
    WaitingPrewarm,
    WaitingPurge,
)
_OF_KIND: Final = {job.kind: job for job in _JOBS}
_OF_TASK: Final = {job.task_type: job for job in _JOBS}


def read_job(file: str) -> WaitingJob[Any, Any]:
    """Return the command that waits in a file. InputError for any file that `WaitingJob.save` did not write."""
    try:
        document = job_files.load(file)
        return _OF_KIND[document["kind"]].of(document)
    except FileNotFoundError:
        raise InputError(f"there is no job in {file[:200]!r}; it may have been finished already") from None
    except (OSError, ValueError, KeyError, TypeError, IndexTablesError) as reason:
        raise InputError(f"{file[:200]!r} is not a job of this session: {reason}") from None


def job_tasks(file: str) -> tuple[Any, ...]:
    """Return the tasks of a job."""
    return read_job(file).tasks()


def run_job_task(task: Any) -> Iterator[pa.RecordBatch]:
    """Run one task, on any executor, and yield its result as a row."""
    result = _OF_TASK[type(task)].run(task)
    yield pa.RecordBatch.from_pylist([{"result": result}], schema=RESULT)


def job_task_schema(_task: Any) -> pa.Schema:
    """Return the schema of the rows of a task."""
    return RESULT


def finish_job(file: str, results: Sequence[str], places: Sequence[str] = ()) -> pa.Table | Job:
    """Finish a job whose tasks have run: return the rows of the command, or the job of its next batch.

    `places` say where each of the tasks has run.
    """
    task_outcomes = outcomes(results, places)
    waiting = read_job(file)
    decoded = waiting.decode(task_outcomes)
    # Before the commit, so that a batch is never committed, or discarded, twice.
    job_files.remove(file)
    return waiting.finish(decoded)

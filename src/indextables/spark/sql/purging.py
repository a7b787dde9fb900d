"""PURGE: on the driver alone, or with the deletions distributed to Spark's executors.

Python on the driver has no session, so it cannot start a job itself. It prepares the purge, saves it to a file on the
driver's disk, and asks the JVM to run the tasks. With the results of the tasks it finishes the purge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import CommandError, InputError
from indextables.log.cleanup import (
    DELETE_BATCH,
    Deleted,
    DeleteTask,
    delete_in_process,
    delete_tasks,
    run_delete_task,
    total_deleted,
)
from indextables.maintenance import Purged, finish_purge, prepare_purge, retention_hours
from indextables.spark.sql import job_files
from indextables.spark.sql.cluster import Job
from indextables.spark.sql.job_files import WaitingPurge
from indextables.spark.sql.statements import Purge
from indextables.spark.sql.tokens import misplaced
from indextables.storage import open_store, options_for_tasks

METRICS: Final = pa.struct(
    {
        "status": pa.string(),
        "orphaned_files_found": pa.int64(),
        "orphaned_files_deleted": pa.int64(),
        "size_mb_deleted": pa.float64(),
        "retention_hours": pa.int64(),
        "tx_log_files_deleted": pa.int64(),
        "expired_states_found": pa.int64(),
        "expired_states_deleted": pa.int64(),
        "dry_run": pa.bool_(),
        "duration_ms": pa.int64(),
        "message": pa.string(),
    }
)
PURGE_COLUMNS: Final = pa.schema({"table_path": pa.string(), "metrics": METRICS})


def run_purge(
    statement: Purge, uri: str, settings: Settings, sql: str, *, with_jobs: bool = False
) -> pa.Table | Job:
    """Purge and return its row, or a job if there is much to delete and the caller can run jobs."""
    hours = _retention_hours(statement, settings, sql)
    log_hours = None if statement.log_retention is None else statement.log_retention.hours
    return purge_or_job(
        uri,
        settings,
        hours=hours,
        log_hours=log_hours,
        dry_run=statement.dry_run or None,
        with_jobs=with_jobs,
    )


def purge_or_job(
    uri: str, settings: Settings, *, hours: int, log_hours: int | None, dry_run: bool | None, with_jobs: bool
) -> pa.Table | Job:
    """Purge and return its row, or a job if there is much to delete and the caller can run jobs."""
    store = open_store(uri, settings)
    prepared = prepare_purge(store, settings, hours=hours, log_hours=log_hours, dry_run=dry_run)
    if with_jobs and not prepared.dry_run and len(prepared.splits) > DELETE_BATCH:
        file = job_files.save(WaitingPurge(uri, options_for_tasks(uri, settings), prepared))
        if file is not None:
            return Job(file, f"PURGE INDEXTABLE {uri}: {len(prepared.splits)} splits")
    deleted = Deleted() if prepared.dry_run else delete_in_process(store, prepared.splits, settings)
    return _row(finish_purge(store, prepared, deleted))


def purge_tasks(waiting: WaitingPurge) -> tuple[DeleteTask, ...]:
    """Return the tasks of a purge."""
    options = dict(waiting.options)
    at_most = Settings(options).get(keys.PURGE_PARALLELISM)
    return tuple(delete_tasks(waiting.uri, options, waiting.prepared.splits, at_most))


def run_purge_task(task: DeleteTask) -> str:
    """Run one task, on any executor, and return its result. A task may run twice: files may be gone already."""
    deleted = run_delete_task(task)
    return orjson.dumps([deleted.files, deleted.bytes, deleted.failures]).decode()


def decode_deleted(results: Sequence[str]) -> Deleted:
    """Return what the tasks of a purge have deleted. InputError if a result is not that of a purge."""
    return total_deleted([_deleted(result) for result in results])


def finish_waiting_purge(waiting: WaitingPurge, deleted: Deleted) -> pa.Table:
    """Finish a purge whose tasks have run, and return its row."""
    store = open_store(waiting.uri, Settings(waiting.options))
    return _row(finish_purge(store, waiting.prepared, deleted))


def _retention_hours(statement: Purge, settings: Settings, sql: str) -> int:
    age = statement.older_than
    try:
        return retention_hours(settings, None if age is None else age.hours)
    except InputError as reason:
        raise (
            CommandError(str(reason)) if age is None else misplaced(str(reason), sql, age.position)
        ) from None


def _row(done: Purged) -> pa.Table:
    metrics: dict[str, Any] = {field.name: getattr(done, field.name) for field in METRICS}
    return pa.Table.from_pylist([{"table_path": done.table_path, "metrics": metrics}], schema=PURGE_COLUMNS)


def _deleted(result: str) -> Deleted:
    try:
        files, size, failures = orjson.loads(result)
    except (ValueError, TypeError):
        raise InputError("the result of a task is not the result of a purge") from None
    numbers = all(isinstance(number, int) for number in (files, size))
    if not numbers or not isinstance(failures, list) or not all(isinstance(text, str) for text in failures):
        raise InputError("the result of a task is not the result of a purge")
    return Deleted(files, size, tuple(failures))

"""PURGE: on the driver alone, or with the deletions distributed to Spark's executors.

Python on the driver has no session, so it cannot start a job itself. It prepares the purge, saves it to a file on the
driver's disk, and asks the JVM to run the tasks. With the results of the tasks it finishes the purge.
"""

from __future__ import annotations

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import CommandError, InputError
from indextables.log.cleanup import DELETE_BATCH, Deleted, delete_in_process
from indextables.maintenance import finish_purge, prepare_purge, retention_hours
from indextables.spark.sql.cluster import Job
from indextables.spark.sql.jobs import WaitingPurge, purge_row
from indextables.spark.sql.statements import Purge
from indextables.spark.sql.tokens import misplaced
from indextables.storage import open_store, options_for_tasks


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
        file = WaitingPurge(uri, options_for_tasks(uri, settings), prepared).save()
        if file is not None:
            return Job(file, f"PURGE INDEXTABLE {uri}: {len(prepared.splits)} splits")
    deleted = Deleted() if prepared.dry_run else delete_in_process(store, prepared.splits, settings)
    return purge_row(finish_purge(store, prepared, deleted))


def _retention_hours(statement: Purge, settings: Settings, sql: str) -> int:
    age = statement.older_than
    try:
        return retention_hours(settings, None if age is None else age.hours)
    except InputError as reason:
        raise (
            CommandError(str(reason)) if age is None else misplaced(str(reason), sql, age.position)
        ) from None

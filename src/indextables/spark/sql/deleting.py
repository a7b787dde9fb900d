"""DELETE FROM: on the driver, or with the look-up of the rows distributed to Spark's executors.

The driver looks up the rows of few splits on its own disk. For others it saves the plan to a file and asks the JVM to
run the tasks, which store delta logs. With their results it commits the delete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import VersionNotFoundError
from indextables.log import load_snapshot
from indextables.predicates import to_sql
from indextables.spark.formats import encode_scan
from indextables.spark.sql import job_files
from indextables.spark.sql.cluster import Job
from indextables.spark.sql.waiting_delete import (
    WaitingDelete,
    decode_deletes,
    encode_deletes,
    predicate_of,
)
from indextables.storage import open_store, options_for_tasks
from indextables.table import (
    RowChange,
    ScanTask,
    Table,
    TaskDeletes,
    commit_deletes,
    delete_where,
    discard_deletes,
    may_open,
    plan_delete,
    repeat_after_merges,
    run_delete_task,
    whole_files,
)

__all__ = [
    "WaitingDelete",
    "decode_deletes",
    "finish_delete",
    "lookup_tasks",
    "run_delete",
    "run_lookup_task",
]


def run_delete(
    table: Table, filters: Sequence[Mapping[str, Any]], zone: str, *, parallelism: int
) -> int | Job:
    """Delete rows and return their number, or return a job that looks them up."""
    settings, snapshot = table.settings, table.snapshot
    store = open_store(table.uri, settings)
    predicate = predicate_of(filters, snapshot.schema, zone)
    tasks = plan_delete(table.uri, snapshot, predicate, settings, parallelism=parallelism)
    to_open = sum(len(rest.splits) for task in tasks if (rest := whole_files(task)[1]) is not None)
    plan = None if may_open(table.uri, to_open) else encode_scan(tasks)
    if plan is not None:
        options = options_for_tasks(table.uri, settings)
        waiting = WaitingDelete(
            table.uri, options, version=snapshot.version, filters=filters, zone=zone, plan=plan
        )
        file = job_files.save(waiting)
        if file is not None:
            return Job(file, f"DELETE of {table.uri}: {to_open} splits")

    def delete_newest() -> RowChange:
        newest = load_snapshot(store, settings=settings)
        return delete_where(store, newest, predicate_of(filters, newest.schema, zone), settings)

    return repeat_after_merges(delete_newest).rows_deleted


def lookup_tasks(waiting: WaitingDelete) -> tuple[ScanTask, ...]:
    """Return the tasks of a delete."""
    return waiting.tasks()


def run_lookup_task(task: ScanTask) -> str:
    """Run one task, on any executor. A task may run twice: a delta log that is not committed is an orphan."""
    whole, rest = whole_files(task)
    others = TaskDeletes() if rest is None else run_delete_task(rest)
    return encode_deletes(TaskDeletes(whole.rows + others.rows, whole.count + others.count))


def finish_delete(waiting: WaitingDelete, deletes: Sequence[TaskDeletes]) -> pa.Table:
    """Commit a delete whose tasks have run, and return the number of rows."""
    settings = Settings(waiting.options)
    store = open_store(waiting.uri, settings)
    try:
        snapshot = load_snapshot(store, waiting.version, settings=settings)
    except VersionNotFoundError:
        discard_deletes(store, deletes)
        raise
    parameters = {"predicate": to_sql(waiting.predicate(snapshot.schema))}
    change = commit_deletes(store, snapshot, deletes, settings, parameters=parameters)
    return pa.table({"deleted": [change.rows_deleted]})

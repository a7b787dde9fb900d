"""DELETE FROM: on the driver, or with the look-up of the rows distributed to Spark's executors.

The driver looks up the rows of few splits on its own disk. For others it saves the plan to a file and asks the JVM to
run the tasks, which store delta logs. With their results it commits the delete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from indextables.log import load_snapshot
from indextables.spark.formats import encode_scan
from indextables.spark.sql.cluster import Job
from indextables.spark.sql.jobs import WaitingDelete, deleted_where
from indextables.storage import open_store, options_for_tasks
from indextables.table import (
    RowChange,
    Table,
    delete_where,
    may_open,
    plan_delete,
    repeat_after_merges,
    whole_files,
)


def run_delete(
    table: Table, filters: Sequence[Mapping[str, Any]], zone: str, *, parallelism: int
) -> int | Job:
    """Delete rows and return their number, or return a job that looks them up."""
    settings, snapshot = table.settings, table.snapshot
    store = open_store(table.uri, settings)
    predicate = deleted_where(filters, snapshot.schema, zone)
    tasks = plan_delete(table.uri, snapshot, predicate, settings, parallelism=parallelism)
    to_open = sum(len(rest.splits) for task in tasks if (rest := whole_files(task)[1]) is not None)
    plan = None if may_open(table.uri, to_open) else encode_scan(tasks)
    if plan is not None:
        options = options_for_tasks(table.uri, settings)
        waiting = WaitingDelete(
            table.uri, options, version=snapshot.version, filters=filters, zone=zone, plan=plan
        )
        file = waiting.save()
        if file is not None:
            return Job(file, f"DELETE of {table.uri}: {to_open} splits")

    def delete_newest() -> RowChange:
        newest = load_snapshot(store, settings=settings)
        return delete_where(store, newest, deleted_where(filters, newest.schema, zone), settings)

    return repeat_after_merges(delete_newest).rows_deleted

"""UPDATE, MERGE INTO and DELETE of search tables: Spark finds the rows, Python tasks store what they become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.errors import InputError
from indextables.spark.formats.table_write import write_plan
from indextables.spark.formats.tasks import TaskWriter
from indextables.spark.request import Request, refused
from indextables.table import (
    STATEMENTS,
    RowUpdatePlan,
    UpdatedRows,
    abort_row_updates,
    commit_row_updates,
    run_update_task,
)


def row_change_writer(request: Request) -> TaskWriter:
    """Return the writer of a statement, which has read the table at the version of the request."""
    plan = write_plan(request)
    if plan is None or plan.mode != "append" or request.version is None:
        raise refused("a statement that changes rows has the plan of an append and a version")
    return TaskWriter(_RowChanges(RowUpdatePlan(plan, request.version, _statement(request))))


@dataclass(frozen=True)
class _RowChanges:
    """Every task stores the splits of its new rows; one commit adds them and deletes the old rows."""

    plan: RowUpdatePlan

    def run(self, batches: Iterator[pa.RecordBatch]) -> UpdatedRows:
        return run_update_task(self.plan, batches)

    def commit(self, results: Sequence[UpdatedRows]) -> None:
        commit_row_updates(self.plan, results)

    def abort(self, results: Sequence[UpdatedRows]) -> None:
        abort_row_updates(self.plan, results)


def _statement(request: Request) -> str:
    statement: str = request.arguments["statement"]
    if statement not in STATEMENTS:
        raise InputError(f"statement is {statement!r:.100}; it takes {', '.join(STATEMENTS)}")
    return statement

"""Answers to SQL: to a delete, and to our own commands. An answer may be a job that the JVM is to run first."""

from __future__ import annotations

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import CommitConflictError
from indextables.maintenance import UpkeepPolicy
from indextables.spark.formats import Answer, upkeep_after_delete
from indextables.spark.request import Request
from indextables.spark.sql import (
    Cluster,
    EmptyTrash,
    Executor,
    Job,
    Place,
    TableName,
    finish_job,
    rows_answer,
    run_command,
    run_delete,
)
from indextables.table import open_table


def delete_answer(request: Request) -> Answer:
    """Delete rows and return how many; or return a job that looks them up, if the JVM is to run it first."""
    arguments = request.arguments
    upkeep = UpkeepPolicy.of(Settings(request.options))
    if "job" in arguments:
        try:
            outcome = finish_job(arguments["job"], arguments["results"])
        except CommitConflictError as conflict:
            if not conflict.only_moved:
                raise
            return {"moved": str(conflict)}
        assert not isinstance(outcome, Job), "a delete has one job"
        return _deleted(request, outcome.column("deleted").to_pylist()[0], upkeep)
    table = open_table(request.path, settings=request.options)
    deleted = run_delete(table, arguments["filters"], request.zone, parallelism=arguments["parallelism"])
    return deleted.answer() if isinstance(deleted, Job) else _deleted(request, deleted, upkeep)


def _deleted(request: Request, rows: int, upkeep: UpkeepPolicy) -> Answer:
    """Return how many rows were deleted, and what upkeep may be due after that (see `sql.upkeep_steps`)."""
    if not rows:
        return {"deleted": rows}
    table = open_table(request.path, settings=request.options)
    return {"deleted": rows, "upkeep": upkeep_after_delete(table, upkeep)}


def sql_answer(request: Request) -> Answer:
    """Run a command in SQL and return its rows.

    Return the name of a table instead, if the JVM is to look it up first; or a job, if the JVM is to run it first.
    """
    arguments = request.arguments
    outcome: pa.Table | TableName | EmptyTrash | Job
    if "job" in arguments:
        outcome = finish_job(arguments["job"], arguments["results"], arguments.get("places", ()))
    else:
        outcome = run_command(
            arguments["sql"],
            request.options,
            arguments.get("located"),
            with_jobs=True,
            zone=request.zone,
            merge_jobs=arguments.get("merge_jobs", ()),
            cluster=_cluster(request),
        )
    match outcome:
        case TableName():
            return {"locate": list(outcome.parts)}
        case EmptyTrash():
            age = outcome.older_than
            return {"empty_trash": {"hours": 0 if age is None else age.hours, "dry_run": outcome.dry_run}}
        case Job():
            return outcome.answer()
        case _:
            return rows_answer(outcome)


def _cluster(request: Request) -> Cluster:
    arguments = request.arguments
    return Cluster(
        executors=tuple(map(Executor.at, arguments.get("executors", ()))),
        parallelism=arguments.get("parallelism", 1),
        driver=Place.parse(arguments["driver"]) if "driver" in arguments else None,
    )

"""The commands that the JVM sends to Python on the driver. Each takes a request and answers with a JSON document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import CommitConflictError, IndexTablesError
from indextables.maintenance import UpkeepPolicy
from indextables.runtime import current, difference
from indextables.spark.formats import (
    DATASETS,
    TABLES,
    Answer,
    Format,
    feed_plan,
    stream_latest,
    stream_limits,
    stream_newest,
    stream_plan,
    stream_start,
    upkeep_after_delete,
)
from indextables.spark.gc_freeze import freeze_objects
from indextables.spark.request import Request, refused
from indextables.spark.sql import (
    Cluster,
    EmptyTrash,
    Executor,
    Job,
    Place,
    TableName,
    finish_job,
    rows_answer,
    run_alter,
    run_command,
    run_delete,
    run_upkeep_step,
)
from indextables.table import open_table, skipping_counts


def answer(request: Request) -> Answer:
    """Run a command and return its answer.

    An `IndexTablesError` is an answer too: an exception would cost Spark a worker, and the user would get a traceback.
    What the process has counted for the request goes with the answer: the JVM adds it up for all Python processes.
    """
    before = _counts()
    try:
        answered = _run(request)
    except IndexTablesError as error:
        answered = error_answer(error)
    finally:
        freeze_objects()
    answered["counts"] = difference(_counts(), before)
    if request.warnings:
        answered["warnings"] = request.warnings
    return answered


def _counts() -> dict[str, int]:
    return {**current().counters.values(), **skipping_counts()}


def error_answer(error: IndexTablesError) -> Answer:
    """Return an error as an answer. Java throws it with its message alone."""
    return {"error": {"kind": error.kind, "message": str(error)}}


def format_of(request: Request) -> Format:
    """Return the format that a request is about."""
    return DATASETS if request.is_of_dataset else TABLES


def _run(request: Request) -> Answer:
    if request.command not in _COMMANDS:
        raise refused(f"command {request.command!r} has no answer")
    return _COMMANDS[request.command](request)


def _delete(request: Request) -> Answer:
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


def _sql(request: Request) -> Answer:
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


_COMMANDS: Final[dict[str, Callable[[Request], Answer]]] = {
    "alter_table": run_alter,
    "append_schema": TABLES.append_schema,
    "create_table": TABLES.create_table,
    "delete": _delete,
    "feed_plan": feed_plan,
    "describe": lambda request: format_of(request).describe(request),
    "partitions": TABLES.partitions,
    "plan": lambda request: format_of(request).plan(request),
    "plan_write": lambda request: format_of(request).plan_write(request),
    "prepare_write": lambda request: format_of(request).prepare_write(request),
    "pushdown": lambda request: format_of(request).pushdown(request),
    "sql": _sql,
    "upkeep": lambda request: run_upkeep_step(request.path, request.options, request.arguments),
    "stream_latest": stream_latest,
    "stream_limits": stream_limits,
    "stream_newest": stream_newest,
    "stream_plan": stream_plan,
    "stream_start": stream_start,
}

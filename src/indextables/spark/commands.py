"""The commands that the JVM sends to Python on the driver. Each takes a request and answers with a JSON document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from indextables.errors import IndexTablesError
from indextables.spark.formats import DATASETS, TABLES, Answer, Format
from indextables.spark.gc_freeze import freeze_objects
from indextables.spark.request import Request, refused
from indextables.spark.sql import (
    Job,
    TableName,
    finish_job,
    rows_answer,
    run_command,
    run_delete,
    run_upkeep_step,
)
from indextables.table import open_table


def answer(request: Request) -> Answer:
    """Run a command and return its answer.

    An `IndexTablesError` is an answer too: an exception would cost Spark a worker, and the user would get a traceback.
    """
    try:
        answered = _run(request)
    except IndexTablesError as error:
        answered = {"error": {"kind": error.kind, "message": str(error)}}
    finally:
        freeze_objects()
    if request.warnings:
        answered["warnings"] = request.warnings
    return answered


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
    if "job" in arguments:
        outcome = finish_job(arguments["job"], arguments["results"])
        assert not isinstance(outcome, Job), "a delete has one job"
        return {"deleted": outcome.column("deleted").to_pylist()[0]}
    table = open_table(request.path, settings=request.options)
    deleted = run_delete(table, arguments["filters"], request.zone, parallelism=arguments["parallelism"])
    return {"job": deleted} if isinstance(deleted, str) else {"deleted": deleted}


def _sql(request: Request) -> Answer:
    """Run a command in SQL and return its rows.

    Return the name of a table instead, if the JVM is to look it up first; or a job, if the JVM is to run it first.
    """
    arguments = request.arguments
    outcome: pa.Table | TableName | Job
    if "job" in arguments:
        outcome = finish_job(arguments["job"], arguments["results"])
    else:
        outcome = run_command(
            arguments["sql"],
            request.options,
            arguments.get("located"),
            with_jobs=True,
            zone=request.zone,
            merge_jobs=arguments.get("merge_jobs", ()),
        )
    if isinstance(outcome, TableName):
        return {"locate": list(outcome.parts)}
    return {"job": outcome.file} if isinstance(outcome, Job) else rows_answer(outcome)


_COMMANDS: Final[dict[str, Callable[[Request], Answer]]] = {
    "create_table": TABLES.create_table,
    "delete": _delete,
    "describe": lambda request: format_of(request).describe(request),
    "plan": lambda request: format_of(request).plan(request),
    "plan_write": lambda request: format_of(request).plan_write(request),
    "prepare_write": lambda request: format_of(request).prepare_write(request),
    "pushdown": lambda request: format_of(request).pushdown(request),
    "sql": _sql,
    "upkeep": lambda request: run_upkeep_step(request.path, request.options, request.arguments),
}

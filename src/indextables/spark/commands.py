"""The commands that the JVM sends to Python: each takes a request, and answers with a JSON document, or with rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from indextables.errors import IndexTablesError
from indextables.runtime import current, difference
from indextables.spark.formats import (
    DATASETS,
    TABLES,
    Answer,
    Format,
    TaskReader,
    TaskWriter,
    feed_plan,
    feed_reader,
    row_change_writer,
    stream_latest,
    stream_limits,
    stream_newest,
    stream_plan,
    stream_reader,
    stream_start,
)
from indextables.spark.gc_freeze import freeze_objects
from indextables.spark.request import Request, refused
from indextables.spark.sql import job_task_schema, job_tasks, run_alter, run_job_task, run_upkeep_step
from indextables.spark.statement_answers import delete_answer, sql_answer
from indextables.table import skipping_counts


@dataclass(frozen=True)
class CommandSpec:
    """One command: the arguments that it needs, where null counts as absent, and what it does.

    `run` answers on the driver, `read` reads rows, `write` writes them. Datasets of column groups do not have commands
    with `is_of_tables`. An option that only writes have (see `write_options`), or only streams, is an error of the
    other commands. `describe` takes both: Spark asks for a description before it says what is to be done.
    """

    name: str
    required: tuple[str, ...]
    run: Callable[[Request], Answer] | None = None
    read: Callable[[Request], TaskReader] | None = None
    write: Callable[[Request], TaskWriter] | None = None
    is_of_tables: bool = False
    takes_write_options: bool = False
    takes_stream_options: bool = False
    takes_terms: bool = False


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
    run = COMMANDS[request.command].run
    if run is None:
        raise refused(f"command {request.command!r} has no answer")
    return run(request)


def _job_reader(request: Request) -> TaskReader:
    return TaskReader(job_tasks(request.arguments["job"]), run_job_task, job_task_schema)


def _of_stream(
    name: str,
    required: tuple[str, ...],
    run: Callable[[Request], Answer] | None = None,
    *,
    read: Callable[[Request], TaskReader] | None = None,
) -> CommandSpec:
    """Return a command of a stream, or of a read of changes."""
    return CommandSpec(name, required, run=run, read=read, is_of_tables=True, takes_stream_options=True)


_ALL: Final = (
    CommandSpec("alter_table", ("path", "changes"), run_alter, is_of_tables=True),
    CommandSpec(
        "append_schema",
        ("path", "schema"),
        TABLES.append_schema,
        is_of_tables=True,
        takes_write_options=True,
    ),
    CommandSpec(
        "change_rows",
        ("path", "mode", "schema", "version", "statement"),
        write=row_change_writer,
        is_of_tables=True,
    ),
    CommandSpec("create_table", ("path", "mode", "schema"), TABLES.create_table, is_of_tables=True),
    CommandSpec("delete", ("path", "filters", "parallelism"), delete_answer, is_of_tables=True),
    CommandSpec(
        "describe",
        ("path",),
        lambda request: format_of(request).describe(request),
        takes_write_options=True,
        takes_stream_options=True,
    ),
    CommandSpec("job", ("job",), read=_job_reader, is_of_tables=True),
    CommandSpec("partitions", ("path",), TABLES.partitions, is_of_tables=True),
    CommandSpec(
        "plan",
        ("path", "columns", "filters", "parallelism"),
        lambda request: format_of(request).plan(request),
        takes_terms=True,
    ),
    CommandSpec(
        "plan_write",
        ("path", "mode", "schema"),
        lambda request: format_of(request).plan_write(request),
        takes_write_options=True,
    ),
    CommandSpec(
        "prepare_write",
        ("path", "mode"),
        lambda request: format_of(request).prepare_write(request),
        takes_write_options=True,
    ),
    CommandSpec("pushdown", ("path", "filters"), lambda request: format_of(request).pushdown(request)),
    CommandSpec(
        "scan",
        ("path", "columns", "filters", "parallelism"),
        read=lambda request: format_of(request).reader(request),
        takes_terms=True,
    ),
    CommandSpec("sql", ("sql",), sql_answer, is_of_tables=True),
    CommandSpec(
        "upkeep",
        ("path", "step", "claim"),
        lambda request: run_upkeep_step(request.path, request.options, request.arguments),
        is_of_tables=True,
        takes_write_options=True,
    ),
    CommandSpec(
        "write",
        ("path", "mode", "schema", "skip"),
        write=lambda request: format_of(request).writer(request),
        takes_write_options=True,
    ),
    _of_stream("feed_plan", ("path", "schema", "version", "parallelism"), feed_plan),
    _of_stream("feed_scan", ("path", "schema", "version", "parallelism"), read=feed_reader),
    _of_stream("stream_latest", ("path", "schema", "start"), stream_latest),
    _of_stream("stream_limits", ("path", "schema"), stream_limits),
    _of_stream("stream_newest", ("path", "schema"), stream_newest),
    _of_stream("stream_plan", ("path", "schema", "start", "end", "parallelism"), stream_plan),
    _of_stream("stream_scan", ("path", "schema", "start", "end", "parallelism"), read=stream_reader),
    _of_stream("stream_start", ("path", "schema"), stream_start),
)
COMMANDS: Final = {spec.name: spec for spec in _ALL}
"""Every command, by its name."""

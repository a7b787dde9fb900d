"""The commands that the JVM calls on the driver: each takes a request and answers with a JSON document."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import IndexTablesError, QueryError, TableExistsError
from indextables.predicates import ALL_COLUMN, Predicate, conjunction, from_spark
from indextables.schema import TableSchema
from indextables.spark.carried import CarriedScan, carried_write, carry_scan, carry_write
from indextables.spark.request import Request, refused
from indextables.spark.settling import settle
from indextables.spark.sql import Job, TableName, finish_job, run_command
from indextables.spark.sql.rows import rows_answer
from indextables.storage import open_store, table_uri
from indextables.table import (
    ScanPlan,
    ScanRequest,
    ScanTask,
    Table,
    WritePlan,
    answer_on_driver,
    check_predicate,
    commit_write,
    find_snapshot,
    open_table,
    parse_mode,
    plan_scan,
    plan_write,
)

Answer = dict[str, Any]


def answer(request: Request) -> Answer:
    """The command's answer. An error of ours is an answer too: raising would cost Spark a worker and a traceback."""
    try:
        return command_of(_COMMANDS, request)(request)
    except IndexTablesError as error:
        return {"error": {"kind": error.kind, "message": str(error)}}
    finally:
        settle()


def requested_table(request: Request) -> Table:
    return open_table(request.path, version=request.version, as_of=request.as_of, settings=request.options)


def command_of(
    commands: Mapping[str, Callable[[Request], Answer]], request: Request
) -> Callable[[Request], Answer]:
    if request.command not in commands:
        raise refused(f"command {request.command!r} has no answer")
    return commands[request.command]


def requested_scan(request: Request) -> ScanPlan:
    """The tasks of a scan; the same request at the same version always plans the same."""
    table = requested_table(request)
    scan = _scan_of(request, table.snapshot.schema)
    parallelism = request.arguments["parallelism"]
    return plan_scan(table.uri, table.snapshot, scan, table.settings, parallelism=parallelism)


def requested_tasks(request: Request) -> Sequence[ScanTask]:
    """Return the tasks of a scan, from its plan where the request carries one."""
    plan = request.arguments.get("plan")
    if plan is None:
        return requested_scan(request).tasks
    carried = CarriedScan(plan)
    scan = _scan_of(request, carried.schema)
    return carried.tasks(table_uri(request.path), Settings(request.options), scan)


def requested_write(request: Request) -> WritePlan | None:
    """Return the plan of a write, from the request where it carries one. None: leave the table alone."""
    wanted = request.arguments
    uri, mode, settings = table_uri(request.path), parse_mode(wanted["mode"]), Settings(request.options)
    if wanted.get("skip"):
        return None
    if "plan" in wanted:
        return carried_write(wanted["plan"], uri, mode, settings)
    return plan_write(
        uri,
        TableSchema.from_json(wanted["schema"]),
        mode=mode,
        partition_by=wanted.get("partition_by"),
        settings=settings,
    )


def _scan_of(request: Request, schema: TableSchema) -> ScanRequest:
    wanted = request.arguments
    if ALL_COLUMN in wanted["columns"]:
        raise QueryError(
            f"{ALL_COLUMN}, which stands for * in a search of all columns, has no value of its own: "
            "the search must stand in the WHERE of a query directly on the table"
        )
    is_count = wanted.get("aggregate") == "count"
    return ScanRequest(
        columns=() if is_count else tuple(wanted["columns"]),
        predicate=conjunction([_must_take(node, schema, request.zone) for node in wanted["filters"]]),
        limit=wanted.get("limit"),
        top=wanted.get("top"),
        count_only=is_count,
    )


def _describe(request: Request) -> Answer:
    table = requested_table(request)
    return {
        "version": table.version,
        "schema": table.snapshot.schema.to_json(),
        "partition_columns": table.partition_columns,
        "text_columns": [column.name for column in table.snapshot.mapping.of_kind("text")],
    }


def _pushdown(request: Request) -> Answer:
    """Which filters the scan will decide exactly. A search that cannot be answered is an error here, at planning."""
    table = requested_table(request)
    accepted = []
    for i, node in enumerate(request.arguments["filters"]):
        predicate = from_spark(node, table.snapshot.schema, request.zone)
        if predicate is not None:
            check_predicate(table.snapshot, predicate, table.settings)
            accepted.append(i)
    return {"accepted": accepted}


def _plan(request: Request) -> Answer:
    """The tasks of a scan, or its rows, where they are few and near enough to be had at once."""
    plan = requested_scan(request)
    found = answer_on_driver(plan)
    if found is not None:
        return {"rows": found.num_rows, "bytes": found.nbytes, "answer": _as_stream(found)}
    return {
        "rows": plan.rows,
        "bytes": plan.bytes,
        "splits_total": plan.splits_total,
        "splits_read": plan.splits_read,
        "plan": carry_scan(plan.tasks),
    }


def _prepare_write(request: Request) -> Answer:
    """Whether a write of this mode has anything to do; the commit decides it again, atomically."""
    mode = parse_mode(request.arguments["mode"])
    if mode not in ("error", "ignore"):
        return {"skip": False}
    there = find_snapshot(open_store(table_uri(request.path), Settings(request.options))) is not None
    if there and mode == "error":
        raise TableExistsError(
            f"there is a table at {request.path} already; choose mode append, overwrite or ignore"
        )
    return {"skip": there}


def _plan_write(request: Request) -> Answer:
    plan = requested_write(request)
    return {
        "skip": plan is None,
        "plan": carry_write(plan),
        "partition_columns": [] if plan is None else plan.partition_columns,
    }


def _create_table(request: Request) -> Answer:
    plan = requested_write(request)
    return {"version": None if plan is None else commit_write(plan, [])}


def _sql(request: Request) -> Answer:
    """A command's rows; or first the name of a table that the JVM is to look up, or a job that it is to run."""
    wanted = request.arguments
    if "job" in wanted:
        return rows_answer(finish_job(wanted["job"], wanted["results"]))
    found = run_command(
        wanted["sql"], request.options, wanted.get("located"), with_jobs=True, zone=request.zone
    )
    if isinstance(found, TableName):
        return {"locate": list(found.parts)}
    return {"job": found.file} if isinstance(found, Job) else rows_answer(found)


def _as_stream(rows: pa.Table) -> str:
    """Arrow's stream format, as text."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return base64.b64encode(sink.getvalue()).decode()


def _must_take(node: dict[str, Any], schema: TableSchema, zone: str) -> Predicate:
    predicate = from_spark(node, schema, zone)
    if predicate is None:
        raise refused("a filter that was not accepted reached the scan")
    return predicate


_COMMANDS: Final[dict[str, Callable[[Request], Answer]]] = {
    "create_table": _create_table,
    "describe": _describe,
    "plan": _plan,
    "plan_write": _plan_write,
    "prepare_write": _prepare_write,
    "pushdown": _pushdown,
    "sql": _sql,
}

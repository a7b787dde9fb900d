"""The commands that the JVM calls on the driver: each takes a request and answers with a JSON document."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import IndexTablesError, QueryError, TableExistsError
from indextables.predicates import Predicate, conjunction, from_spark
from indextables.predicates.spark import ALL_COLUMN
from indextables.schema import TableSchema
from indextables.spark.request import Request, carried
from indextables.spark.settling import settle
from indextables.spark.sql import Job, TableName, finish_job, run_command
from indextables.spark.sql.rows import rows_answer
from indextables.storage import open_store, table_uri
from indextables.table import (
    ScanPlan,
    ScanRequest,
    Table,
    WritePlan,
    answer_nearby,
    as_mode,
    check_predicate,
    commit_write,
    existing,
    open_table,
    plan_scan,
    plan_write,
)

Answer = dict[str, Any]


def answer(request: Request) -> Answer:
    """The command's answer. An error of ours is an answer too: raising would cost Spark a worker and a traceback."""
    try:
        return _COMMANDS[request.command](request)
    except IndexTablesError as error:
        return {"error": {"kind": error.kind, "message": str(error)}}
    finally:
        settle()


def requested_table(request: Request) -> Table:
    return open_table(request.path, version=request.version, as_of=request.as_of, settings=request.options)


def requested_scan(request: Request) -> ScanPlan:
    """The tasks of a scan; the same request at the same version always plans the same."""
    table = requested_table(request)
    schema = table.snapshot.schema
    wanted = request.arguments
    if ALL_COLUMN in wanted["columns"]:
        raise QueryError(
            f"{ALL_COLUMN}, which stands for * in a search of all columns, has no value of its own: "
            "the search must stand in the WHERE of a query directly on the table"
        )
    is_count = wanted.get("aggregate") == "count"
    accepted = [_must_take(node, schema) for node in wanted["filters"]]
    scan = ScanRequest(
        columns=() if is_count else tuple(wanted["columns"]),
        predicate=conjunction(accepted),
        limit=wanted.get("limit"),
        top=wanted.get("top"),
        count_only=is_count,
    )
    return plan_scan(table.uri, table.snapshot, scan, table.settings, parallelism=wanted["parallelism"])


def requested_write(request: Request) -> WritePlan | None:
    wanted = request.arguments
    return plan_write(
        table_uri(request.path),
        TableSchema.from_json(wanted["schema"]),
        mode=as_mode(wanted["mode"]),
        partition_by=wanted["partition_by"],
        settings=Settings(request.options),
    )


def _describe(request: Request) -> Answer:
    table = requested_table(request)
    return {
        "version": table.version,
        "schema": table.snapshot.schema.to_json(),
        "partition_columns": table.partition_columns,
    }


def _pushdown(request: Request) -> Answer:
    """Which filters the scan will decide exactly. A search that cannot be answered is an error here, at planning."""
    table = requested_table(request)
    accepted = []
    for i, node in enumerate(request.arguments["filters"]):
        predicate = from_spark(node, table.snapshot.schema)
        if predicate is not None:
            check_predicate(table.snapshot, predicate, table.settings)
            accepted.append(i)
    return {"accepted": accepted}


def _plan(request: Request) -> Answer:
    """The tasks of a scan, or its rows, where they are few and near enough to be had at once."""
    plan = requested_scan(request)
    found = answer_nearby(plan)
    if found is not None:
        return {"rows": found.num_rows, "bytes": found.nbytes, "answer": _as_stream(found)}
    return {
        "rows": plan.rows,
        "bytes": plan.bytes,
        "splits_total": plan.splits_total,
        "splits_read": plan.splits_read,
        "plan": carried(plan.tasks),
    }


def _prepare_write(request: Request) -> Answer:
    """Whether a write of this mode has anything to do; the commit decides it again, atomically."""
    mode = as_mode(request.arguments["mode"])
    if mode not in ("error", "ignore"):
        return {"skip": False}
    there = existing(open_store(table_uri(request.path), Settings(request.options))) is not None
    if there and mode == "error":
        raise TableExistsError(
            f"there is a table at {request.path} already; choose mode append, overwrite or ignore"
        )
    return {"skip": there}


def _plan_write(request: Request) -> Answer:
    plan = requested_write(request)
    return {
        "skip": plan is None,
        "plan": carried(plan),
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
    found = run_command(wanted["sql"], request.options, wanted.get("located"), with_jobs=True)
    if isinstance(found, TableName):
        return {"locate": list(found.parts)}
    return {"job": found.file} if isinstance(found, Job) else rows_answer(found)


def _as_stream(rows: pa.Table) -> str:
    """Arrow's stream format, as text."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return base64.b64encode(sink.getvalue()).decode()


def _must_take(node: dict[str, Any], schema: TableSchema) -> Predicate:
    predicate = from_spark(node, schema)
    if predicate is None:
        raise AssertionError(f"a filter that was not accepted reached the scan: {node}")
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

"""Scans of search tables: the plan of a request, and the reader of its tasks."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import QueryError
from indextables.predicates import ALL_COLUMN, conjunction, from_spark
from indextables.schema import TableSchema
from indextables.spark.formats.aggregate_json import parse_aggregate
from indextables.spark.formats.plan_json import DecodedScan
from indextables.spark.formats.protocol import predicates
from indextables.spark.formats.tasks import TaskReader
from indextables.spark.request import Request, refused
from indextables.storage import table_uri
from indextables.table import (
    TERM,
    ScanPlan,
    ScanRequest,
    ScanTask,
    Table,
    TermsTask,
    open_table,
    plan_scan,
    run_scan_task,
    run_terms_task,
    scan_schema,
    terms_schema,
    to_terms,
    with_corpus,
)


def scan_plan(request: Request) -> ScanPlan:
    """Plan the scan that a request describes."""
    table = open_requested(request)
    scan = _scan_request(request, table.snapshot.schema)
    plan = plan_scan(
        table.uri,
        table.snapshot,
        scan,
        table.settings,
        parallelism=request.arguments["parallelism"],
        hosts=request.arguments.get("hosts", ()),
    )
    return with_corpus(plan)


def scan_reader(request: Request) -> TaskReader:
    """Return the reader of a scan, from the plan in the request where it has one."""
    tasks, figures = _scan_tasks(request), request.arguments.get("figures", False)
    if "terms" not in request.arguments:
        return table_reader(tasks, figures=figures)
    searches = [TermsTask(task, *terms_of(request)) for task in tasks]
    return TaskReader(searches, run_terms_task, _terms_task_schema if figures else None)


def table_reader(tasks: Sequence[ScanTask], *, figures: bool = False) -> TaskReader:
    """Return a reader of planned tasks, with the figures of the tasks for the jar."""
    return TaskReader(tasks, run_scan_task, _task_schema if figures else None)


def terms_of(request: Request) -> tuple[str, tuple[str, ...]]:
    """Return the column and the terms of a search for many terms."""
    return request.arguments["search_column"], to_terms(request.arguments["terms"])


def open_requested(request: Request) -> Table:
    """Open the table of a request, as of its version or time."""
    return open_table(request.path, version=request.version, as_of=request.as_of, settings=request.options)


def _scan_tasks(request: Request) -> Sequence[ScanTask]:
    text = request.arguments.get("plan")
    if text is None:
        return scan_plan(request).tasks
    plan = DecodedScan(text)
    scan = _scan_request(request, plan.schema)
    return plan.tasks(table_uri(request.path), Settings(request.options), scan)


def _scan_request(request: Request, schema: TableSchema) -> ScanRequest:
    arguments = request.arguments
    if ALL_COLUMN in arguments["columns"] and "aggregate" not in arguments:
        raise QueryError(
            f"{ALL_COLUMN}, which stands for * in a search of all columns, has no value of its own: "
            "the search must stand in the WHERE of a query directly on the table"
        )
    document = arguments.get("aggregate")
    aggregate = None if document is None else parse_aggregate(document, schema)
    if document is not None and aggregate is None:
        raise refused("an aggregate that was not accepted reached the scan")
    filters = predicates(arguments["filters"], lambda node: from_spark(node, schema, request.zone))
    columns = [name for name in arguments["columns"] if name != TERM or "terms" not in arguments]
    return ScanRequest(
        columns=tuple(columns),
        predicate=conjunction(filters),
        limit=arguments.get("limit"),
        top=arguments.get("top"),
        aggregate=aggregate,
    )


def _task_schema(task: ScanTask) -> pa.Schema:
    return scan_schema(task.schema, task.request)


def _terms_task_schema(task: TermsTask) -> pa.Schema:
    return terms_schema(task.scan.schema, task.scan.request)

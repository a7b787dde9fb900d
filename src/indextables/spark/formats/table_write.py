"""Writes of search tables: the plan of a request, and the writer that Spark's tasks carry it out with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import ConfigError
from indextables.predicates import QueryLimits, conjunction, from_spark, parse_where
from indextables.schema import TableSchema
from indextables.spark.formats.plan_json import decode_write
from indextables.spark.formats.protocol import predicates
from indextables.spark.formats.tasks import TaskWriter
from indextables.spark.request import Request
from indextables.spark.write_options import MERGE_SCHEMA
from indextables.storage import open_store, table_uri
from indextables.table import (
    Replacement,
    TaskResult,
    WritePlan,
    abort_write,
    check_partitioning,
    commit_write,
    find_snapshot,
    parse_mode,
    plan_write,
    run_write_task,
)


def write_plan(request: Request) -> WritePlan | None:
    """Return the plan of a write, from the request where it has one. None: leave the table alone."""
    arguments = request.arguments
    uri, mode, settings = table_uri(request.path), parse_mode(arguments["mode"]), Settings(request.options)
    if arguments.get("skip"):
        return None
    if "plan" in arguments:
        return decode_write(
            arguments["plan"],
            uri,
            mode,
            settings,
            lambda columns: _replacement(request, columns),
            request.txn,
        )
    schema = TableSchema.from_json(arguments["schema"])
    if request.merges_schema and mode == "overwrite":
        raise ConfigError(
            f"{MERGE_SCHEMA} adds columns with an append, and this write overwrites: an overwrite of the whole "
            "table gives it the columns of the rows, and one of a part keeps those of the table. Leave the option out"
        )
    table = find_snapshot(open_store(uri, settings)) if mode == "overwrite" else None
    plan = plan_write(
        uri,
        schema,
        mode=mode,
        partition_by=arguments.get("partition_by"),
        settings=settings,
        replacement=_replacement(request, schema if table is None else table.schema),
        txn=request.txn,
    )
    if plan is not None and plan.txn is not None and plan.replaces is not None:
        # A batch of a stream that overwrites the table replaces its rows, and never its partitioning.
        check_partitioning(plan.replaces.partition_columns, arguments.get("partition_by"))
    return plan


def table_writer(plan: WritePlan | None) -> TaskWriter:
    """Return a writer by this plan. None: leave the table alone."""
    return TaskWriter(None if plan is None else _TableWrite(plan))


@dataclass(frozen=True)
class _TableWrite:
    """Every task stores splits; one commit adds them to the log."""

    plan: WritePlan

    def run(self, batches: Iterator[pa.RecordBatch]) -> TaskResult:
        return run_write_task(self.plan, batches)

    def commit(self, results: Sequence[TaskResult]) -> None:
        commit_write(self.plan, results)

    def abort(self, results: Sequence[TaskResult]) -> None:
        abort_write(self.plan, results)


def _replacement(request: Request, schema: TableSchema) -> Replacement | None:
    """Return the part of the table that a write replaces; None: all of it."""
    arguments = request.arguments
    if arguments.get("replace_partitions"):
        return Replacement()
    filters = arguments.get("replace_filters", ())
    conditions = predicates(filters, lambda node: from_spark(node, schema, request.zone))
    if "replace_where" in arguments:
        limits = QueryLimits.of(Settings(request.options))
        conditions.append(parse_where(arguments["replace_where"], schema, limits=limits, zone=request.zone))
    return Replacement(conjunction(conditions)) if conditions else None

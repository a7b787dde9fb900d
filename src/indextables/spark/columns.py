"""Datasets of column groups in Spark: what the JVM asks on the driver.

The same commands as a table's, told apart by the options of the format in a request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from indextables.columns import AsStored, Dataset, Single, open_dataset
from indextables.config import Settings
from indextables.errors import ConfigError, IndexTablesError, TableExistsError, TableNotFoundError
from indextables.predicates import Predicate, conjunction, from_spark, text_queries
from indextables.schema import ARROW_TYPES, TableSchema
from indextables.spark.arrow_types import arrow_schema, spark_schema
from indextables.spark.columns_options import ColumnsOptions
from indextables.spark.columns_scan import ColumnsTask, stored_bytes, tasks_of
from indextables.spark.columns_write import ColumnsWrite
from indextables.spark.commands import command_of
from indextables.spark.request import Request, refused
from indextables.storage import options_for_tasks, table_uri
from indextables.table import parse_mode

Answer = dict[str, Any]


def is_of_columns(request: Request) -> bool:
    return "column_groups" in request.arguments


def columns_answer(request: Request) -> Answer:
    """See `commands.answer`."""
    try:
        return command_of(_COMMANDS, request)(request)
    except IndexTablesError as error:
        return {"error": {"kind": error.kind, "message": str(error)}}


def planned_tasks(request: Request, dataset: Dataset | None = None) -> list[ColumnsTask]:
    """The tasks of a scan; the same request at the same version always plans the same."""
    dataset, options, wanted = dataset or _dataset(request), _options(request), request.arguments
    is_count = wanted.get("aggregate") == "count"
    decided = _decided(dataset.schema)
    if not is_count and not set(wanted["columns"]) <= set(dataset.schema.names):
        raise refused("it asks for a column that the dataset does not have")
    whole = ColumnsTask(
        settings=options_for_tasks(dataset.uri, Settings(request.options)),
        manifest=dataset.manifest,
        schema=dataset.schema,
        columns=() if is_count else tuple(wanted["columns"]),
        rows=(0, dataset.num_rows),
        predicate=conjunction([_must_take(node, decided) for node in wanted["filters"]]),
        limit=wanted.get("limit"),
        count_only=is_count,
        apply_deltas=options.apply_deltas and bool(dataset.manifest.delta_logs),
        primary_key=options.primary_key,
    )
    return tasks_of(whole, wanted["parallelism"])


def planned_write(request: Request) -> ColumnsWrite | None:
    """The plan of a write, or None when there is nothing to do."""
    wanted, options = request.arguments, _options(request)
    if wanted.get("partition_by"):
        raise ConfigError("column groups are not partitioned; leave partitionBy out")
    mode = parse_mode(wanted["mode"])
    there = _existing(request)
    if there is not None and mode == "ignore":
        return None
    if there is not None and mode == "error":
        raise _exists(request)
    schema = arrow_schema(wanted["schema"])
    policy = options.policy or Single()
    if there is not None and mode == "append" and there.manifest.column_groups:
        # Rows are appended to the groups and in the types that are there.
        schema, policy = there.schema, AsStored(there.manifest.column_groups)
    uri = table_uri(request.path)
    settings = options_for_tasks(uri, Settings(request.options))
    return ColumnsWrite(uri, settings, mode, schema, policy, options.writer)


def _dataset(request: Request) -> Dataset:
    if request.as_of is not None:
        raise ConfigError("datasets of column groups have versions and no timestamps; read with versionAsOf")
    return open_dataset(request.path, request.version, settings=request.options)


def _existing(request: Request) -> Dataset | None:
    try:
        return _dataset(request)
    except TableNotFoundError:
        return None


def _exists(request: Request) -> TableExistsError:
    return TableExistsError(
        f"there is a dataset at {request.path} already; choose mode append, overwrite or ignore"
    )


def _options(request: Request) -> ColumnsOptions:
    return ColumnsOptions.of(request.arguments["column_groups"])


def _decided(schema: pa.Schema) -> TableSchema:
    """The columns by whose values a scan decides as Spark would: those of which Spark sees every bit."""
    plain = (*ARROW_TYPES.values(), pa.large_string(), pa.large_binary())
    return TableSchema.from_arrow(pa.schema([field for field in schema if field.type in plain]))


def _taken(node: dict[str, Any], schema: TableSchema) -> Predicate | None:
    """The predicate, if a scan decides it. Searches are left to Spark, which says that nothing can answer them."""
    predicate = from_spark(node, schema)
    return None if predicate is None or text_queries(predicate) else predicate


def _must_take(node: dict[str, Any], schema: TableSchema) -> Predicate:
    predicate = _taken(node, schema)
    if predicate is None:
        raise refused("a filter that was not accepted reached the scan")
    return predicate


def _describe(request: Request) -> Answer:
    dataset = _dataset(request)
    _options(request)  # a mistake in them is told at load
    return {"version": dataset.version, "schema": spark_schema(dataset.schema), "partition_columns": []}


def _pushdown(request: Request) -> Answer:
    schema = _decided(_dataset(request).schema)
    nodes = enumerate(request.arguments["filters"])
    return {"accepted": [i for i, node in nodes if _taken(node, schema) is not None]}


def _plan(request: Request) -> Answer:
    dataset = _dataset(request)
    tasks = planned_tasks(request, dataset)
    groups = [group for task in tasks for group in task.manifest.column_groups]
    return {
        "rows": sum(task.rows[1] - task.rows[0] for task in tasks),
        "bytes": sum(stored_bytes(group) for group in groups),
        "splits_total": sum(len(group.files) for group in dataset.manifest.column_groups),
        "splits_read": len({file.path for group in groups for file in group.files}),
        "plan": None,  # made again from the request: one manifest to read
    }


def _prepare_write(request: Request) -> Answer:
    mode = parse_mode(request.arguments["mode"])
    _options(request)
    there = _existing(request) if mode in ("error", "ignore") else None
    if there is not None and mode == "error":
        raise _exists(request)
    return {"skip": there is not None}


def _plan_write(request: Request) -> Answer:
    plan = planned_write(request)
    return {"skip": plan is None, "plan": None, "partition_columns": []}


_COMMANDS: Final[dict[str, Callable[[Request], Answer]]] = {
    "describe": _describe,
    "plan": _plan,
    "plan_write": _plan_write,
    "prepare_write": _prepare_write,
    "pushdown": _pushdown,
}

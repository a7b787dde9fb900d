"""Datasets of column groups: `format("indextables.columns")`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from indextables.columns import AsStored, Dataset, Single, open_dataset
from indextables.config import Settings
from indextables.errors import ConfigError, TableNotFoundError
from indextables.predicates import Predicate, conjunction, from_spark, text_queries
from indextables.schema import ARROW_TYPES, TableSchema
from indextables.spark.formats.aggregate_json import is_count_of_rows
from indextables.spark.formats.arrow_types import arrow_schema, spark_schema
from indextables.spark.formats.dataset_options import DatasetOptions
from indextables.spark.formats.dataset_scan import (
    COUNT,
    DatasetTask,
    dataset_task_schema,
    run_dataset_task,
    split_scan,
    stored_bytes,
)
from indextables.spark.formats.dataset_write import DatasetWrite
from indextables.spark.formats.protocol import Accept, Answer, accepted, can_skip, no_distribution, predicates
from indextables.spark.formats.tasks import TaskReader, TaskWriter
from indextables.spark.request import Request, refused
from indextables.storage import options_for_tasks, table_uri
from indextables.table import parse_mode

_NOUN = "dataset"


class Datasets:
    """The format of column groups (see `Format`). Plans are not sent: making one again reads one manifest."""

    def describe(self, request: Request) -> Answer:
        dataset = _open(request)
        _options(request)
        return {"version": dataset.version, "schema": spark_schema(dataset.schema), "partition_columns": []}

    def pushdown(self, request: Request) -> Answer:
        dataset = _open(request)
        return {"accepted": accepted(request.arguments["filters"], _accept(dataset, request))}

    def plan(self, request: Request) -> Answer:
        aggregate = request.arguments.get("aggregate")
        if aggregate is not None and not is_count_of_rows(aggregate):
            return {"refused": True, "as_sums": False}
        dataset = _open(request)
        tasks = _scan_tasks(request, dataset)
        groups = [group for task in tasks for group in task.manifest.column_groups]
        return {
            "rows": sum(task.rows[1] - task.rows[0] for task in tasks),
            "bytes": sum(stored_bytes(group) for group in groups),
            "splits_total": sum(len(group.files) for group in dataset.manifest.column_groups),
            "splits_read": len({file.path for group in groups for file in group.files}),
            "plan": None,
            "schema": spark_schema(COUNT),
        }

    def prepare_write(self, request: Request) -> Answer:
        mode = parse_mode(request.arguments["mode"])
        _options(request)
        Settings(request.options)
        return {"skip": can_skip(mode, request.path, _NOUN, lambda: _find(request) is not None)}

    def plan_write(self, request: Request) -> Answer:
        return {"skip": _write_plan(request) is None, "plan": None, **no_distribution()}

    def reader(self, request: Request) -> TaskReader:
        schema = dataset_task_schema if request.arguments.get("figures", False) else None
        return TaskReader(_scan_tasks(request, _open(request)), run_dataset_task, schema)

    def writer(self, request: Request) -> TaskWriter:
        return TaskWriter(None if request.arguments.get("skip") else _write_plan(request))


def _open(request: Request) -> Dataset:
    if request.as_of is not None:
        raise ConfigError("datasets of column groups have versions and no timestamps; read with versionAsOf")
    return open_dataset(request.path, request.version, settings=request.options)


def _find(request: Request) -> Dataset | None:
    try:
        return _open(request)
    except TableNotFoundError:
        return None


def _options(request: Request) -> DatasetOptions:
    return DatasetOptions.parse(request.arguments["column_groups"])


def _scan_tasks(request: Request, dataset: Dataset) -> list[DatasetTask]:
    options, arguments = _options(request), request.arguments
    is_count = "aggregate" in arguments
    if not is_count and not set(arguments["columns"]) <= set(dataset.schema.names):
        raise refused("it asks for a column that the dataset does not have")
    whole = DatasetTask(
        settings=options_for_tasks(dataset.uri, Settings(request.options)),
        manifest=dataset.manifest,
        schema=dataset.schema,
        columns=() if is_count else tuple(arguments["columns"]),
        rows=(0, dataset.num_rows),
        predicate=conjunction(predicates(arguments["filters"], _accept(dataset, request))),
        limit=arguments.get("limit"),
        count_only=is_count,
        apply_deltas=options.apply_deltas and bool(dataset.manifest.delta_logs),
        primary_key=options.primary_key,
    )
    return split_scan(whole, arguments["parallelism"])


def _accept(dataset: Dataset, request: Request) -> Accept:
    """Return what decides which filters a scan takes: those on columns of which Spark sees every bit.

    A search is left to Spark, whose error says that no index can answer it.
    """
    plain = (*ARROW_TYPES.values(), pa.large_string(), pa.large_binary())
    fields = [
        field
        for field in dataset.schema
        if pa.types.is_decimal128(field.type) or (field.type in plain and not pa.types.is_nested(field.type))
    ]
    schema = TableSchema.from_arrow(pa.schema(fields))

    def accept(node: dict[str, Any]) -> Predicate | None:
        predicate = from_spark(node, schema, request.zone)
        return None if predicate is None or text_queries(predicate) else predicate

    return accept


def _write_plan(request: Request) -> DatasetWrite | None:
    """Return the plan of a write. None: leave the dataset alone."""
    arguments, options = request.arguments, _options(request)
    if arguments.get("partition_by"):
        raise ConfigError("column groups are not partitioned; leave partitionBy out")
    mode = parse_mode(arguments["mode"])
    dataset = _find(request)
    if can_skip(mode, request.path, _NOUN, lambda: dataset is not None):
        return None
    schema = arrow_schema(arguments["schema"])
    policy = options.policy or Single()
    if dataset is not None and mode == "append" and dataset.manifest.column_groups:
        # Rows are appended to the groups, and in the types, that the dataset has.
        schema, policy = dataset.schema, AsStored(dataset.manifest.column_groups)
    uri = table_uri(request.path)
    return DatasetWrite(
        uri=uri,
        settings=options_for_tasks(uri, Settings(request.options)),
        mode=mode,
        schema=schema,
        policy=policy,
        writer=options.writer,
    )

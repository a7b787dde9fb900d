"""Search tables: `format("indextables")`."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import ConfigError
from indextables.log import Txn, is_batch_committed
from indextables.maintenance import UpkeepPolicy
from indextables.predicates import Predicate, Value, from_spark
from indextables.schema import TableSchema, decode_value, field_json, struct_json
from indextables.spark.formats.aggregate_json import refused_aggregate
from indextables.spark.formats.default_text import defaults
from indextables.spark.formats.due_upkeep import upkeep_after_write
from indextables.spark.formats.plan_json import encode_scan, encode_write
from indextables.spark.formats.protocol import Answer, accepted, can_skip, no_distribution
from indextables.spark.formats.table_scan import open_requested, scan_plan, scan_reader, terms_of
from indextables.spark.formats.table_write import table_writer, write_plan
from indextables.spark.formats.tasks import TaskReader, TaskWriter
from indextables.spark.request import Request
from indextables.storage import open_store, table_uri
from indextables.streams import (
    StreamOptions,
    StreamSource,
    feed_columns,
    last_table,
    stream_columns,
    stream_schema,
)
from indextables.table import (
    ScanPlan,
    answer_on_driver,
    append_schema,
    check_predicate,
    check_terms,
    commit_write,
    distribute_rows,
    find_snapshot,
    needs_scores,
    parse_mode,
    record_scan,
    result_fields,
    sums_as_doubles,
)

_PROPERTIES: Final = frozenset(setting.key for setting in keys.TABLE_PROPERTIES)


class Tables:
    """The format of search tables (see `Format`)."""

    def describe(self, request: Request) -> Answer:
        if request.stream is not None and request.stream.read_change_feed:
            return _describe_feed(request, request.stream)
        table = open_requested(request)
        schema, partition_columns = (
            table.snapshot.schema.without_identities().to_json(),
            table.partition_columns,
        )
        if request.stream is not None:
            schema = stream_schema(table.snapshot, request.stream, table.settings)
            columns = stream_columns(table.snapshot, request.stream)
            partition_columns = [name for name in partition_columns if name in columns]
        return {
            "version": table.version,
            "schema": schema,
            "partition_columns": partition_columns,
            "text_columns": [
                column.name for column in table.snapshot.mapping.fields if column.kind == "text"
            ],
            "properties": {k: v for k, v in table.metadata.configuration.items() if k in _PROPERTIES},
            "defaults": defaults(table.snapshot.schema),
        }

    def append_schema(self, request: Request) -> Answer:
        """Return the columns that Spark fits the rows of an append to, and the defaults of those that rows may lack."""
        table = open_requested(request)
        rows = TableSchema.from_json(request.arguments["schema"])
        schema = append_schema(table.snapshot, rows, table.settings)
        return {"schema": schema.without_identities().to_json(), "defaults": defaults(schema)}

    def partitions(self, request: Request) -> Answer:
        """Return the values of each partition as text; null for null."""
        table = open_requested(request)
        columns = table.snapshot.partition_columns
        files = table.files().column("partition_values").to_pylist() if columns else []
        distinct = dict.fromkeys(tuple(map(dict(values).get, columns)) for values in files)
        kinds = [table.snapshot.schema.field(name).type for name in columns]
        decoded = [
            [decode_value(text, kind) for text, kind in zip(texts, kinds, strict=True)] for texts in distinct
        ]
        return {"partitions": [_texts(values) for values in decoded]}

    def pushdown(self, request: Request) -> Answer:
        """Raise QueryError here, while Spark plans, for a search that the table cannot answer."""
        table = open_requested(request)

        def accept(node: dict[str, Any]) -> Predicate | None:
            predicate = from_spark(node, table.snapshot.schema, request.zone)
            if predicate is not None:
                check_predicate(table.snapshot, predicate, table.settings)
            return predicate

        return {"accepted": accepted(request.arguments["filters"], accept)}

    def plan(self, request: Request) -> Answer:
        """Return the rows themselves if they are few, and the driver can read them at once.

        For an aggregate, also return the columns of its result; or that it is refused, and Spark aggregates the rows.
        """
        if "aggregate" in request.arguments:
            table = open_requested(request)
            refusal = refused_aggregate(
                request.arguments["aggregate"], table, lambda columns: _sums_as_doubles(request, columns)
            )
            if refusal is not None:
                return refusal
        plan = scan_plan(request)
        record_scan(plan)
        if "terms" in request.arguments:
            table = open_requested(request)
            check_terms(table.snapshot, *terms_of(request), table.settings)
        scan = plan.tasks[0].request
        about: Answer = {"scores": _scores(plan), "splits_foreign": plan.splits_foreign}
        if scan.aggregate is not None:
            fields = result_fields(plan.tasks[0].schema, scan.aggregate)
            about["schema"] = TableSchema(tuple(fields)).to_json()
        rows = None if request.arguments.get("in_tasks") else answer_on_driver(plan)
        if rows is not None:
            return {**about, "rows": rows.num_rows, "bytes": rows.nbytes, "answer": _arrow_stream(rows)}
        text = encode_scan(plan.tasks)
        return {
            **about,
            "rows": plan.rows,
            "bytes": plan.bytes,
            "splits_total": plan.splits_total,
            "splits_read": plan.splits_read,
            "dropped": dict(plan.dropped),
            "hosts": () if text is None else plan.locations,  # a plan that is made again has no hosts
            "plan": text,
        }

    def prepare_write(self, request: Request) -> Answer:
        mode = parse_mode(request.arguments["mode"])
        store = open_store(table_uri(request.path), Settings(request.options))
        if request.txn is not None:
            table = find_snapshot(store)
            if table is not None and is_batch_committed(Txn(*request.txn), table):
                return {"skip": True}  # so that Spark does not compute the rows of the batch again
        return {"skip": can_skip(mode, request.path, "table", lambda: find_snapshot(store) is not None)}

    def plan_write(self, request: Request) -> Answer:
        """Return also what upkeep may be due after the write (see `sql.upkeep_steps`)."""
        upkeep = UpkeepPolicy.of(Settings(request.options))
        plan = write_plan(request)
        if plan is None:
            return {"skip": True, "plan": None, **no_distribution()}
        columns = TableSchema.from_json(request.arguments["schema"])
        distribution = distribute_rows(plan, tuple(columns))
        return {
            "skip": False,
            "plan": encode_write(plan),
            "cluster_by": distribution.cluster_by,
            "sort_by": plan.partition_columns if distribution.cluster_by else (),
            "shuffle_bytes": distribution.shuffle_bytes,
            "in_order": distribution.in_order,
            "upkeep": upkeep_after_write(upkeep, plan.base_version, plan.base_files),
        }

    def create_table(self, request: Request) -> Answer:
        """Commit a write of no rows and return its version. Only the catalog asks for it, whose tables these are."""
        plan = write_plan(request)
        return {"version": None if plan is None else commit_write(plan, [])}

    def reader(self, request: Request) -> TaskReader:
        return scan_reader(request)

    def writer(self, request: Request) -> TaskWriter:
        return table_writer(write_plan(request))


def _describe_feed(request: Request, options: StreamOptions) -> Answer:
    """Return the last version of a read of changes, and its columns."""
    if request.version is not None or request.as_of is not None:
        raise ConfigError(
            "readChangeFeed reads the changes of several versions: use startingVersion and endingVersion, or "
            "startingTimestamp and endingTimestamp, instead of versionAsOf and timestampAsOf"
        )
    table = last_table(StreamSource(table_uri(request.path), Settings(request.options), options))
    return {
        "version": table.version,
        "schema": struct_json(field_json(name, kind) for name, kind in feed_columns(table).items()),
        "partition_columns": [],
        "feed": True,
    }


def _sums_as_doubles(request: Request, columns: Sequence[str]) -> bool:
    rest = {name: value for name, value in request.arguments.items() if name != "aggregate"}
    plan = scan_plan(replace(request, arguments=rest))
    return all(sums_as_doubles(plan, column) for column in columns)


def _scores(plan: ScanPlan) -> str | None:
    """Return whose statistics rank the rows of a scan; None if it has no scores."""
    if not needs_scores(plan.tasks[0].request):
        return None
    return "all splits" if plan.tasks[0].corpus is not None else "each split"


def _texts(values: Sequence[Value | None]) -> list[str | None]:
    """Return partition values as Spark reads them: true and false in small letters, times as ISO text in UTC."""
    return [
        None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        for value in values
    ]


def _arrow_stream(rows: pa.Table) -> str:
    """Return rows in Arrow's stream format, in Base64."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return base64.b64encode(sink.getvalue()).decode()

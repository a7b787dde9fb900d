"""Search tables: `format("indextables")`."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import ConfigError, QueryError
from indextables.log import Txn, is_batch_committed
from indextables.maintenance import UpkeepPolicy
from indextables.predicates import (
    ALL_COLUMN,
    Predicate,
    QueryLimits,
    Value,
    conjunction,
    from_spark,
    parse_where,
)
from indextables.schema import TableSchema, decode_value
from indextables.spark.formats.aggregate_json import averaged_columns, parse_aggregate
from indextables.spark.formats.default_text import defaults
from indextables.spark.formats.plan_json import DecodedScan, decode_write, encode_scan, encode_write
from indextables.spark.formats.protocol import Answer, accepted, can_skip, no_distribution, predicates
from indextables.spark.formats.tasks import TaskReader, TaskWriter
from indextables.spark.merge_schema import OPTION as MERGE_SCHEMA
from indextables.spark.request import Request, refused
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
    TERM,
    Replacement,
    ScanPlan,
    ScanRequest,
    ScanTask,
    Table,
    TaskResult,
    TermsTask,
    WritePlan,
    abort_write,
    answer_on_driver,
    append_schema,
    check_partitioning,
    check_predicate,
    check_terms,
    commit_write,
    distribute_rows,
    find_snapshot,
    needs_scores,
    open_table,
    parse_mode,
    plan_scan,
    plan_write,
    record_scan,
    result_fields,
    run_scan_task,
    run_terms_task,
    run_write_task,
    scan_schema,
    sums_as_doubles,
    terms_schema,
    to_terms,
    with_corpus,
)

_PROPERTIES: Final = frozenset(setting.key for setting in keys.TABLE_PROPERTIES)


class Tables:
    """The format of search tables (see `Format`)."""

    def describe(self, request: Request) -> Answer:
        if request.stream is not None and request.stream.read_change_feed:
            return _describe_feed(request, request.stream)
        table = _open(request)
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
        table = _open(request)
        rows = TableSchema.from_json(request.arguments["schema"])
        schema = append_schema(table.snapshot, rows, table.settings)
        return {"schema": schema.without_identities().to_json(), "defaults": defaults(schema)}

    def partitions(self, request: Request) -> Answer:
        """Return the values of each partition as text; null for null."""
        table = _open(request)
        columns = table.snapshot.partition_columns
        files = table.files().column("partition_values").to_pylist() if columns else []
        found = dict.fromkeys(tuple(map(dict(values).get, columns)) for values in files)
        kinds = [table.snapshot.schema.field(name).type for name in columns]
        decoded = [
            [decode_value(text, kind) for text, kind in zip(texts, kinds, strict=True)] for texts in found
        ]
        return {"partitions": [_texts(values) for values in decoded]}

    def pushdown(self, request: Request) -> Answer:
        """Raise QueryError here, while Spark plans, for a search that the table cannot answer."""
        table = _open(request)

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
        refused_aggregate = _refused_aggregate(request)
        if refused_aggregate is not None:
            return refused_aggregate
        plan = scan_plan(request)
        record_scan(plan)
        if "terms" in request.arguments:
            table = _open(request)
            check_terms(table.snapshot, *_terms(request), table.settings)
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
            "upkeep": _upkeep(upkeep, plan.base_version, plan.base_files),
        }

    def create_table(self, request: Request) -> Answer:
        """Commit a write of no rows and return its version. Only the catalog asks for it, whose tables these are."""
        plan = write_plan(request)
        return {"version": None if plan is None else commit_write(plan, [])}

    def reader(self, request: Request) -> TaskReader:
        tasks, figures = _scan_tasks(request), request.arguments.get("figures", False)
        if "terms" not in request.arguments:
            return table_reader(tasks, figures=figures)
        searches = [TermsTask(task, *_terms(request)) for task in tasks]
        return TaskReader(searches, run_terms_task, _terms_task_schema if figures else None)

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
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in feed_columns(table).items()
    ]
    return {
        "version": table.version,
        "schema": orjson.dumps({"type": "struct", "fields": fields}).decode(),
        "partition_columns": [],
        "feed": True,
    }


def table_reader(tasks: Sequence[ScanTask], *, figures: bool = False) -> TaskReader:
    """Return a reader of planned tasks, with the figures of the tasks for the jar."""
    return TaskReader(tasks, run_scan_task, _task_schema if figures else None)


def table_writer(plan: WritePlan | None) -> TaskWriter:
    """Return a writer by this plan. None: leave the table alone."""
    return TaskWriter(None if plan is None else _TableWrite(plan))


def _task_schema(task: ScanTask) -> pa.Schema:
    return scan_schema(task.schema, task.request)


def _terms_task_schema(task: TermsTask) -> pa.Schema:
    return terms_schema(task.scan.schema, task.scan.request)


def _terms(request: Request) -> tuple[str, tuple[str, ...]]:
    return request.arguments["search_column"], to_terms(request.arguments["terms"])


def scan_plan(request: Request) -> ScanPlan:
    """Plan the scan that a request describes."""
    table = _open(request)
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


def _refused_aggregate(request: Request) -> Answer | None:
    """Return the answer to an aggregate that tasks do not compute; None if they do, or the request has none.

    An average is refused, and Spark asks for its sum and count instead. These are refused too where Spark's own
    average could differ: it adds the values of a long as doubles, which do not overflow.
    """
    document = request.arguments.get("aggregate")
    if document is None:
        return None
    table = _open(request)
    schema = table.snapshot.schema
    if not table.settings.get(keys.PUSH_AGGREGATES):
        return {"refused": True, "as_sums": False}
    averaged = averaged_columns(document, schema)
    if averaged is None:
        return {"refused": True, "as_sums": False}
    if averaged:
        longs = [column.name for column in averaged if column.type == "long"]
        as_sums = not longs or _sums_as_doubles(request, longs)
        return {"refused": True, "as_sums": as_sums}
    return {"refused": True, "as_sums": False} if parse_aggregate(document, schema) is None else None


def _sums_as_doubles(request: Request, columns: Sequence[str]) -> bool:
    rest = {name: value for name, value in request.arguments.items() if name != "aggregate"}
    plan = scan_plan(replace(request, arguments=rest))
    return all(sums_as_doubles(plan, column) for column in columns)


def _scores(plan: ScanPlan) -> str | None:
    """Return whose statistics rank the rows of a scan; None if it has no scores."""
    if not needs_scores(plan.tasks[0].request):
        return None
    return "all splits" if plan.tasks[0].corpus is not None else "each split"


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


def _open(request: Request) -> Table:
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


def upkeep_after_delete(table: Table, policy: UpkeepPolicy) -> Answer:
    """Return what may be due after a delete: `table` is the table after it. A delete writes no split."""
    due = _upkeep(policy, table.version - 1, table.snapshot.files.expected)
    return due if due["merge_tasks"] == 0 else due | {"merge_tasks": None}


def _upkeep(policy: UpkeepPolicy, base_version: int | None, base_files: int) -> Answer:
    """Return how many tasks must have written for a merge to be due, or null, and whether a purge is due."""
    version = 0 if base_version is None else base_version + 1
    missing = None if policy.min_splits is None else max(policy.min_splits - base_files, 0)
    if missing == 0 and not policy.may_merge(files=base_files, version=version):
        missing = None
    return {
        "merge_tasks": missing,
        "purge": policy.purge_due(before=base_version, version=version),
        "purge_after_merge": policy.after_merge,
        "asynchronous": policy.is_asynchronous,
    }


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

"""Planning a batch: a scan of exactly the files between two offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from indextables.config import Settings
from indextables.errors import ConfigError, SchemaError
from indextables.log import AddFile, LiveFiles, Snapshot
from indextables.log.snapshots import LiveFilesEdit
from indextables.schema import SCORE, SNIPPET, TableSchema, field_json, spark_types_by_name, struct_json
from indextables.split import RestoredRows
from indextables.stats import total
from indextables.streams.new_files import NewFile
from indextables.streams.offsets import Offset
from indextables.streams.options import StreamOptions
from indextables.streams.source import StreamSource
from indextables.table import (
    ANY_FIELDS,
    PastColumns,
    PastTable,
    ScanPlan,
    ScanRequest,
    check_predicate,
    parse_condition,
    plan_scan,
)

_COMPUTED: Final = {SCORE: "double", SNIPPET: "string"}
"""The columns that the index computes, and their types in Spark."""

_ADVICE: Final = (
    "Leave the column out of the stream, or start a query with a new checkpointLocation, which begins with the rows of "
    "now"
)


def stream_columns(table: Snapshot, options: StreamOptions) -> dict[str, Any]:
    """Return the columns of a stream, and the type of each as Spark's schema JSON has it.

    They are those that the options name, which may be `_score` and `_snippet` too, or else all columns of the table.
    """
    types = spark_types_by_name(table.schema.to_json())
    if options.columns is None:
        return types
    names = [name if name in _COMPUTED else table.schema.field(name).name for name in options.columns]
    if len(set(names)) < len(names):
        raise ConfigError("option columns names a column more than once")
    return {name: _COMPUTED.get(name) or types[name] for name in names}


def stream_schema(table: Snapshot, options: StreamOptions, settings: Settings) -> str:
    """Return the columns of a stream as Spark's schema JSON, after checking what the options say about the table."""
    columns = stream_columns(table, options)
    request, settings = batch_request(table.schema, options, settings, tuple(columns))
    check_predicate(table, request.predicate, settings)
    return struct_json(field_json(name, kind) for name, kind in columns.items())


def plan_batch(
    source: StreamSource,
    start: Offset,
    end: Offset,
    columns: Mapping[str, Any] | None = None,
    *,
    parallelism: int = 1,
    hosts: Sequence[str] = (),
) -> ScanPlan:
    """Plan the scan of a batch. `columns` are those of the stream when it was started, to notice that they changed."""
    table = source.newest()
    now = stream_columns(table, source.options)
    if columns is not None and dict(columns) != now:
        raise SchemaError(
            f"the columns of {source.uri} have changed since the stream was started: it has {_column_list(now)}, and "
            f"had {_column_list(columns)}; start the query again to read them as they are now"
        )
    request, settings = batch_request(table.schema, source.options, source.settings, tuple(now))
    past = PastColumns(source.store, table, source.settings)
    added = list(source.files(table, start, end, past.follow))
    plans = []
    for group in _groups((_table_of(past, version, new.file), new) for version, new in added):
        group.table.check(request, _ADVICE)
        snapshot = replace(group.table.snapshot, files=group.files.done())
        plan = plan_scan(source.uri, snapshot, request, settings, parallelism=parallelism, hosts=hosts)
        plans.append(_read_restored(plan, group.restored) if group.restored else plan)
    if not plans:
        nothing = replace(table, files=LiveFiles())
        plans = [plan_scan(source.uri, nothing, request, settings, parallelism=parallelism, hosts=hosts)]
    return plans[0] if len(plans) == 1 else _join(plans)


def batch_request(
    schema: TableSchema, options: StreamOptions, settings: Settings, columns: tuple[str, ...]
) -> tuple[ScanRequest, Settings]:
    """Return what every batch of a stream asks of its files, and the settings of the scan."""
    predicate = parse_condition(options.query, options.where, schema, settings, options.zone)
    return ScanRequest(columns, predicate), Settings(dict(settings) | ANY_FIELDS)


def _table_of(past: PastColumns, version: int, file: AddFile) -> PastTable:
    """Return the table of the stream for a file that a version adds."""
    if file.doc_mapping_ref is not None and file.doc_mapping_ref == past.own_ref:
        return past.newest  # the file has the columns of now, and no version needs to be read to know it
    return past.at(version)


@dataclass
class _Group:
    """Files of the same columns, each once. `restored` are the rows to read of some of them."""

    table: PastTable
    files: LiveFilesEdit = field(default_factory=lambda: LiveFiles().edit())
    keys: set[str] = field(default_factory=set)
    restored: dict[str, RestoredRows] = field(default_factory=dict)


def _groups(files: Iterable[tuple[PastTable, NewFile]]) -> Iterator[_Group]:
    """Yield the files in groups, in their order. A file that is added again is in another group."""
    group: _Group | None = None
    for table, new in files:
        if group is None or group.table is not table or new.key in group.keys:
            if group is not None:
                yield group
            group = _Group(table)
        group.keys.add(new.key)
        group.files.add(new.key, table.file(new.file), version=0, timestamp_ms=0)
        if new.restored is not None:
            group.restored[new.key] = new.restored
    if group is not None:
        yield group


def _read_restored(plan: ScanPlan, restored: Mapping[str, RestoredRows]) -> ScanPlan:
    """Return a plan that reads of some splits the rows that were restored only."""
    tasks = tuple(
        replace(
            task,
            splits=tuple(
                replace(ref, delta_log=restored.get(ref.path, ref.delta_log)) for ref in task.splits
            ),
        )
        for task in plan.tasks
    )
    return replace(plan, tasks=tasks, rows=total(ref.num_live for task in tasks for ref in task.splits))


def _join(plans: Sequence[ScanPlan]) -> ScanPlan:
    rows = [plan.rows for plan in plans]
    stages = {stage for plan in plans for stage in plan.dropped}
    return ScanPlan(
        tasks=tuple(task for plan in plans for task in plan.tasks),
        rows=None if None in rows else sum(count for count in rows if count is not None),
        bytes=sum(plan.bytes for plan in plans),
        splits_total=sum(plan.splits_total for plan in plans),
        splits_read=sum(plan.splits_read for plan in plans),
        dropped={stage: sum(plan.dropped.get(stage, 0) for plan in plans) for stage in stages},
        locations=tuple(host for plan in plans for host in plan.locations),
    )


def _column_list(columns: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())

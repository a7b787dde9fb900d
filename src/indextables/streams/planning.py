"""Planning a batch: a scan of exactly the files between two offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from indextables.config import Settings
from indextables.errors import ConfigError, SchemaError
from indextables.log import AddFile, LiveFiles, Snapshot
from indextables.schema import SCORE, SNIPPET, TableSchema
from indextables.streams.offsets import Offset
from indextables.streams.options import StreamOptions
from indextables.streams.source import StreamSource
from indextables.table import (
    ANY_FIELDS,
    ScanPlan,
    ScanRequest,
    check_predicate,
    parse_condition,
    plan_scan,
)

_COMPUTED: Final = {SCORE: "double", SNIPPET: "string"}
"""The columns that the index computes, and their types in Spark."""


def stream_columns(table: Snapshot, options: StreamOptions) -> dict[str, Any]:
    """Return the columns of a stream, and the type of each as Spark's schema JSON has it.

    They are those that the options name, which may be `_score` and `_snippet` too, or else all columns of the table.
    """
    types = {field["name"]: field["type"] for field in orjson.loads(table.schema.to_json())["fields"]}
    if options.columns is None:
        return types
    names = [name if name in _COMPUTED else table.schema.field(name).name for name in options.columns]
    if len(set(names)) < len(names):
        raise ConfigError("option columns names a column more than once")
    return {name: _COMPUTED.get(name) or types[name] for name in names}


def stream_schema(table: Snapshot, options: StreamOptions, settings: Settings) -> str:
    """Return the columns of a stream as Spark's schema JSON, after checking what the options say about the table."""
    request, settings = batch_request(table.schema, options, settings, tuple(stream_columns(table, options)))
    check_predicate(table, request.predicate, settings)
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in stream_columns(table, options).items()
    ]
    return orjson.dumps({"type": "struct", "fields": fields}).decode()


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
            f"the columns of {source.uri} have changed since the stream was started: it has {_listed(now)}, and had "
            f"{_listed(columns)}; start the query again to read them as they are now"
        )
    request, settings = batch_request(table.schema, source.options, source.settings, tuple(now))
    plans = [
        plan_scan(
            source.uri, replace(table, files=files), request, settings, parallelism=parallelism, hosts=hosts
        )
        for files in _groups(source.files(table, start, end))
    ]
    return plans[0] if len(plans) == 1 else _join(plans)


def batch_request(
    schema: TableSchema, options: StreamOptions, settings: Settings, columns: tuple[str, ...]
) -> tuple[ScanRequest, Settings]:
    """Return what every batch of a stream asks of its files, and the settings of the scan."""
    predicate = parse_condition(options.query, options.where, schema, settings, options.zone)
    return ScanRequest(columns, predicate), Settings(dict(settings) | ANY_FIELDS)


def _groups(files: Iterable[tuple[str, AddFile]]) -> Iterator[LiveFiles]:
    """Yield the files, at least once. A file that was added again, after its removal, is in another group."""
    keys: set[str] = set()
    edit = LiveFiles().edit()
    for key, file in files:
        if key in keys:
            yield edit.done()
            keys, edit = set(), LiveFiles().edit()
        keys.add(key)
        edit.add(key, file, version=0, timestamp_ms=0)
    yield edit.done()


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


def _listed(columns: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())

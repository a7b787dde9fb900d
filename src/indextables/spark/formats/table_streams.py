"""Tables as streams: what Spark asks of a stream while it plans, and the tasks of a batch."""

from __future__ import annotations

import dataclasses
from typing import Any

from indextables.config import Settings
from indextables.errors import ConfigError
from indextables.schema import spark_types_by_name
from indextables.spark.formats.plan_json import DecodedScan, encode_scan
from indextables.spark.formats.protocol import Answer
from indextables.spark.formats.tasks import TaskReader
from indextables.spark.request import Request, refused
from indextables.storage import table_uri
from indextables.streams import (
    Limits,
    Offset,
    StreamOptions,
    StreamSource,
    batch_request,
    batch_tasks,
    check_feed_stream,
    plan_batch,
    range_tasks,
)
from indextables.table import FeedTask, ScanPlan, ScanTask, run_feed_task, run_scan_task


def stream_limits(request: Request) -> Answer:
    """Return how much a batch reads, unless the trigger reads everything at once."""
    return dataclasses.asdict(_source(request).options.limits)


def stream_newest(request: Request) -> Answer:
    """Return the newest version."""
    return {"version": _source(request).newest().version}


def stream_start(request: Request) -> Answer:
    """Return where a query without a checkpoint begins."""
    return {"offset": _source(request).initial_offset().to_json()}


def stream_latest(request: Request) -> Answer:
    """Return where a batch within limits ends."""
    arguments = request.arguments
    limits = Limits(arguments.get("max_files"), arguments.get("max_bytes"))
    start = Offset.parse(arguments["start"])
    return {"offset": _source(request).latest_offset(start, limits, arguments.get("until")).to_json()}


def stream_plan(request: Request) -> Answer:
    """Return the plan of a batch as text, or none if it is too large, and the hosts of its tasks."""
    if _is_feed(request):
        _feed_tasks(request)  # for its errors: the tasks are planned again where they start
        return {"plan": None, "hosts": ()}
    plan = _plan(request)
    text = encode_scan(plan.tasks)
    return {"plan": text, "hosts": () if text is None else plan.locations}


def stream_reader(request: Request) -> TaskReader:
    """Return the reader of a batch."""
    if _is_feed(request):
        return TaskReader(_feed_tasks(request), run_feed_task)
    return TaskReader(_stream_tasks(request), run_scan_task)


def feed_plan(request: Request) -> Answer:
    """Check a batch read of changes, and return the number of its tasks."""
    return {"tasks": len(_range_tasks(request))}


def feed_reader(request: Request) -> TaskReader:
    """Return the reader of a batch read of changes."""
    return TaskReader(_range_tasks(request), run_feed_task)


def _range_tasks(request: Request) -> tuple[FeedTask, ...]:
    if request.version is None or request.stream is None:
        raise refused("a read of changes needs a version and the options of a range")
    source = StreamSource(table_uri(request.path), Settings(request.options), request.stream)
    return range_tasks(source, request.version, _columns(request), request.arguments["parallelism"])


def _is_feed(request: Request) -> bool:
    return request.stream is not None and request.stream.read_change_feed


def _feed_tasks(request: Request) -> tuple[FeedTask, ...]:
    return batch_tasks(*_batch(request), request.arguments["parallelism"])


def _stream_tasks(request: Request) -> tuple[ScanTask, ...]:
    """Return the tasks of a batch, from the plan in the request where it has one."""
    text = request.arguments.get("plan")
    if text is None:
        return _plan(request).tasks
    plan, source = DecodedScan(text), _source(request)
    scan, settings = batch_request(plan.schema, source.options, source.settings, tuple(_columns(request)))
    return plan.tasks(source.uri, settings, scan)


def _plan(request: Request) -> ScanPlan:
    arguments = request.arguments
    return plan_batch(
        *_batch(request), parallelism=arguments["parallelism"], hosts=arguments.get("hosts", ())
    )


def _batch(request: Request) -> tuple[StreamSource, Offset, Offset, dict[str, Any]]:
    """Return the stream, the offsets of the batch, and the columns that Spark expects."""
    source, arguments = _source(request), request.arguments
    return source, Offset.parse(arguments["start"]), Offset.parse(arguments["end"]), _columns(request)


def _source(request: Request) -> StreamSource:
    if request.version is not None or request.as_of is not None:
        raise ConfigError(
            "a stream is not of one version: use startingVersion or startingTimestamp instead of versionAsOf and "
            "timestampAsOf"
        )
    options = request.stream or StreamOptions()
    source = StreamSource(table_uri(request.path), Settings(request.options), options)
    if options.read_change_feed:
        check_feed_stream(source, _columns(request))
    return source


def _columns(request: Request) -> dict[str, Any]:
    """Return the names and types of the columns that Spark expects."""
    try:
        return spark_types_by_name(request.arguments["schema"])
    except (ValueError, TypeError, KeyError):
        raise refused("its schema is not one of Spark's") from None

"""Requests of the JVM to Python. One option holds a request as JSON, since Spark folds the case of option keys.

Without that option, Spark itself uses the source, in a session that lacks the jar.

Anyone who can write SQL can write that option (`USING indextables OPTIONS (__request ...)`), so a request is input like
any other: its size is bounded, its fields and their types are checked here, and it holds plain values only.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from indextables.config import layered
from indextables.errors import ConfigError, InputError
from indextables.spark.commands import COMMANDS, CommandSpec
from indextables.spark.request import Request, bounded_object, is_number, is_text, is_texts, refused
from indextables.spark.write_options import take_merge_schema, take_txn
from indextables.streams import FEED_NAMES, StreamOptions, split_options

OPTION: Final = "__request"
MAX_REQUEST_BYTES: Final = 64 << 20
"""The largest requests are those with long lists of literals in a filter, a few megabytes."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_request(text: str) -> Request:
    """Return the request in the JSON that the jar sends. InputError for anything else.

    >>> request = parse_request('{"command":"describe","path":"/t","options":{"A":"1"},"timestamp":1500000}')
    >>> request.command, request.options, str(request.as_of)
    ('describe', {'A': '1'}, '1970-01-01 00:00:01.500000+00:00')
    >>> parse_request('{"command":"describe","path":1}')
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: not a request of the Spark jar: field 'path' is not a string
    """
    fields = _parse_fields(text)
    micros = fields.pop("timestamp", None)
    spec = COMMANDS[fields.pop("command")]
    own_options = fields.pop("options", {})
    txn, merges_schema = None, False
    if spec.takes_write_options and "column_groups" not in fields:
        txn, own_options = take_txn(own_options)
        merges_schema, own_options = take_merge_schema(own_options)
    zone = fields.pop("time_zone", "UTC")
    stream, own_options = _take_stream_options(spec, own_options, zone)
    options, warnings = layered(fields.pop("session", {}), own_options)
    return Request(
        command=spec.name,
        path=fields.pop("path", None) or "",  # a command in SQL names its table itself
        options=options,
        version=fields.pop("version", None),
        zone=zone,
        as_of=None if micros is None else _timestamp(micros),
        warnings=warnings,
        arguments=fields,
        txn=txn,
        merges_schema=merges_schema,
        stream=stream,
    )


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_text, value.values()))


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_timestamp(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_filters(value: Any) -> bool:
    """Return True for a list of filter trees (see `predicates.spark`). Trees may be deep, so this does not recurse."""
    pending = [value]
    while pending:
        nodes = pending.pop()
        if not isinstance(nodes, list):
            return False
        for node in nodes:
            if not isinstance(node, dict) or not all(
                name in _FILTER_FIELDS and _FILTER_FIELDS[name](item) for name, item in node.items()
            ):
                return False
            if "lit" in node and "type" not in node:
                return False
            pending.append(node.get("args", []))
    return True


def _is_aggregate(value: Any) -> bool:
    """Return True for the groups and the measures of an aggregate (see `formats.aggregate_json`)."""
    if not isinstance(value, dict) or value.keys() != {"groups", "measures"}:
        return False
    return all(map(_are_filters, value.values()))


def _are_changes(value: Any) -> bool:
    """Return True for a list of flat objects. What a change may be is for `altering` to check."""
    kinds = (str, bool, type(None))
    return isinstance(value, list) and all(
        isinstance(change, dict)
        and all(
            is_texts(item) if name == "column" else isinstance(item, kinds) for name, item in change.items()
        )
        for change in value
    )


_FILTER_FIELDS: Final[dict[str, Callable[[Any], bool]]] = {
    "col": is_texts,
    "lit": lambda value: value is None or is_text(value),
    "type": is_text,
    "op": is_text,
    "udf": is_text,
    "args": lambda value: isinstance(value, list),
    "opaque": is_text,
}
_FIELDS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "command": (is_text, "a string"),
    "path": (is_text, "a string"),
    "options": (_is_text_map, "an object of strings"),
    "session": (_is_text_map, "an object of strings"),
    "time_zone": (is_text, "a string"),
    "version": (is_number, "a version"),
    "timestamp": (_is_timestamp, "a whole number"),
    "column_groups": (_is_text_map, "an object of strings"),
    "columns": (is_texts, "a list of strings"),
    "filters": (_are_filters, "a list of filters"),
    "parallelism": (is_number, "a whole number"),
    "terms": (is_texts, "a list of strings"),
    "search_column": (is_text, "a string"),
    "limit": (is_number, "a whole number"),
    "top": (is_number, "a whole number"),
    "aggregate": (_is_aggregate, "an aggregate"),
    "mode": (is_text, "a string"),
    "schema": (is_text, "a string"),
    "partition_by": (is_texts, "a list of strings"),
    "statement": (is_text, "a string"),
    "skip": (_is_boolean, "true or false"),
    "replace_where": (is_text, "a string"),
    "replace_filters": (_are_filters, "a list of filters"),
    "replace_partitions": (_is_boolean, "true or false"),
    "in_tasks": (_is_boolean, "true or false"),
    "start": (is_text, "a string"),
    "end": (is_text, "a string"),
    "until": (is_number, "a version"),
    "max_files": (is_number, "a whole number"),
    "max_bytes": (is_number, "a whole number"),
    "plan": (is_text, "a string"),
    "sql": (is_text, "a string"),
    "located": (is_text, "a string"),
    "hosts": (is_texts, "a list of strings"),
    "executors": (is_texts, "a list of strings"),
    "driver": (is_text, "a string"),
    "figures": (_is_boolean, "true or false"),
    "job": (is_text, "a string"),
    "step": (lambda value: value in ("merge", "release", "purge"), "merge, release or purge"),
    "claim": (is_text, "a string"),
    "after_merge": (_is_boolean, "true or false"),
    "running_since": (is_number, "a whole number"),
    "merge_jobs": (is_texts, "a list of strings"),
    "changes": (_are_changes, "a list of changes"),
    "results": (is_texts, "a list of strings"),
    "places": (is_texts, "a list of strings"),
}


def _take_stream_options(
    spec: CommandSpec, options: dict[str, str], zone: str
) -> tuple[StreamOptions | None, dict[str, str]]:
    """Return the options that only streams have, if any were given, and the others."""
    ours, others = split_options(options)
    if not ours:
        return None, others
    if not spec.takes_stream_options:
        name = min(ours)
        if {key.lower() for key in ours} & {option.lower() for option in FEED_NAMES}:
            raise ConfigError(
                f"{FEED_NAMES[0]} is an option of load, as in spark.read.format('indextables')"
                f".option('{FEED_NAMES[0]}', 'true').option('startingVersion', 1).load(path)"
            )
        raise ConfigError(
            f"option {name} is one of streams, as in spark.readStream.format('indextables').option({name!r}, ...); "
            "a read of one version takes versionAsOf or timestampAsOf, select and filter"
        )
    return StreamOptions.parse(ours, zone), others


def _parse_fields(text: str) -> dict[str, Any]:
    document = bounded_object(text, MAX_REQUEST_BYTES, "it")
    fields = {name: value for name, value in document.items() if value is not None}
    for name, value in fields.items():
        if name not in _FIELDS:
            raise refused(f"unknown field {name[:100]!r}")
        is_one, kind = _FIELDS[name]
        if not is_one(value):
            raise refused(f"field {name!r} is not {kind}")
    command = fields.get("command", "")
    spec = COMMANDS.get(command)
    if spec is None:
        raise refused(f"unknown command {command[:100]!r}")
    missing = [name for name in spec.required if name not in fields]
    if missing:
        raise refused(f"command {command!r} needs the field {missing[0]!r}")
    if "column_groups" in fields and spec.is_of_tables:
        raise refused(f"command {command!r} takes no field 'column_groups'")
    if ("terms" in fields) != ("search_column" in fields) or ("terms" in fields and not spec.takes_terms):
        raise refused("terms and their column go together, in a scan")
    if ("job" in fields) != ("results" in fields or command == "job"):
        raise refused("a job and its results go together")
    return fields


def _timestamp(micros: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise InputError(
            f"the timestamp of {micros} microseconds since 1970 is not between the years 1 and 9999"
        ) from None

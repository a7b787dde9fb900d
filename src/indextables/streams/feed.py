"""The feed of changes, read by Spark: its columns, the versions of a batch read, and the tasks that read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from indextables.errors import ConfigError, InputError, SchemaError
from indextables.log import Snapshot, load_snapshot
from indextables.log.diffs import read_range, version_at
from indextables.schema import spark_types_by_name
from indextables.streams.offsets import Offset
from indextables.streams.options import LATEST
from indextables.streams.source import StreamSource
from indextables.table import (
    FEED_FIELDS,
    FeedTask,
    FileChange,
    PastColumns,
    changes_of,
    check_feed,
    feed_task,
)

_TYPES: Final = dict(zip((field.name for field in FEED_FIELDS), ("string", "long", "timestamp"), strict=True))
"""The columns that a feed adds to those of the table, and their types in Spark."""

_TASK_BYTES: Final = 256 << 20


def feed_columns(table: Snapshot) -> dict[str, Any]:
    """Return the columns of the feed of a table, and the type of each as Spark's schema JSON has it."""
    check_feed(table)
    return spark_types_by_name(table.schema.to_json()) | _TYPES


def last_table(source: StreamSource) -> Snapshot:
    """Return the table as of the last version that a batch read of changes has: the newest, unless options name one."""
    newest, options = source.newest(), source.options
    if options.ending_version is not None:
        if options.ending_version > newest.version:
            raise InputError(
                f"endingVersion is {options.ending_version}, and the newest version of {source.uri} is {newest.version}"
            )
        return load_snapshot(source.store, options.ending_version, settings=source.settings)
    if options.ending_ms is None:
        return newest
    last = version_at(source.store, options.ending_ms, source.settings)
    if last < 0:
        raise InputError(f"endingTimestamp is before the first version of {source.uri}")
    return load_snapshot(source.store, last, settings=source.settings)


def first_change(source: StreamSource, last: int) -> int:
    """Return the first version of a batch read of changes up to version `last`."""
    options = source.options
    if options.starting_version == LATEST:
        raise ConfigError(
            "startingVersion=latest is for streams; a batch read of changes takes the number of a version"
        )
    if options.starting_version is not None:
        first, name = int(options.starting_version), "startingVersion"
    elif options.starting_ms is not None:
        first, name = (
            version_at(source.store, options.starting_ms - 1, source.settings) + 1,
            "startingTimestamp",
        )
    else:
        raise ConfigError(
            "a batch read with readChangeFeed needs startingVersion or startingTimestamp: which changes to read"
        )
    if first > last:
        raise InputError(f"{name} is after version {last} of {source.uri}, the last one to read changes of")
    return first


def range_tasks(
    source: StreamSource, last: int, columns: Mapping[str, Any], parallelism: int
) -> tuple[FeedTask, ...]:
    """Return the tasks of a batch read of changes. VersionNotFoundError if clean-up has deleted one of the versions."""
    table = load_snapshot(source.store, last, settings=source.settings)
    past = PastColumns(source.store, table, source.settings)
    first = first_change(source, last)
    versions = list(past.follow(read_range(source.store, table.metadata.id, first, last)))
    return _tasks(source, past, changes_of(source.uri, versions, past), columns, parallelism)


def batch_tasks(
    source: StreamSource, start: Offset, end: Offset, columns: Mapping[str, Any], parallelism: int
) -> tuple[FeedTask, ...]:
    """Return the tasks of a batch of a stream of changes."""
    past = PastColumns(source.store, source.newest(), source.settings)
    return _tasks(source, past, source.changes(past, start, end), columns, parallelism)


def check_feed_stream(source: StreamSource, columns: Mapping[str, Any]) -> None:
    """Raise ConfigError for a stream of changes with options of a batch read, or of a table by its name."""
    if source.options.ending_version is not None or source.options.ending_ms is not None:
        raise ConfigError(
            "endingVersion and endingTimestamp are for a batch read of changes; a stream does not end"
        )
    if not _TYPES.keys() & columns.keys():
        raise ConfigError(
            "readChangeFeed of a stream takes a table by its path, as in spark.readStream.format('indextables')"
            ".option('readChangeFeed', 'true').load(path)"
        )


def _tasks(
    source: StreamSource,
    past: PastColumns,
    changes: Iterable[FileChange],
    columns: Mapping[str, Any],
    parallelism: int,
) -> tuple[FeedTask, ...]:
    """Divide the changes among tasks, in their order. There is at least one task."""
    now = feed_columns(past.table)
    other = [name for name, kind in columns.items() if now.get(name) != kind]
    if other:
        raise SchemaError(
            f"the columns of {source.uri} have changed since the read of its changes was started: {other[0]!r} is "
            "not there any more, or has another type; start the query again to read them as they are now"
        )
    in_order = list(changes)
    limit = min(sum(change.file.size for change in in_order) // max(parallelism, 1) + 1, _TASK_BYTES)
    return tuple(
        feed_task(source.store, past, group, tuple(columns), source.settings)
        for group in _groups(in_order, limit)
    )


def _groups(changes: Sequence[FileChange], limit: int) -> list[list[FileChange]]:
    groups: list[list[FileChange]] = [[]]
    size = 0
    for change in changes:
        if groups[-1] and size + change.file.size > limit:
            groups.append([])
            size = 0
        groups[-1].append(change)
        size += change.file.size
    return groups

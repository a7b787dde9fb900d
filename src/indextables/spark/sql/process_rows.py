"""What each process of a cluster reports for a command, and the rows of the command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.config import Settings
from indextables.spark.sql.cluster import DRIVER, Executor, Place
from indextables.spark.sql.statements import Subject
from indextables.split import CacheLooks
from indextables.table import (
    DISK_CACHE_SCHEMA,
    ENVIRONMENT_SCHEMA,
    STORAGE_SCHEMA,
    disk_cache_rows,
    environment_rows,
    flush_caches,
    storage_rows,
)

Row: TypeAlias = Mapping[str, Any]

_UNREACHED: Final = "was busy and not reached"
_PLACE: Final = (pa.field("executor_id", pa.string()), pa.field("host", pa.string()))
SCHEMAS: Final[dict[Subject, pa.Schema]] = {
    "ENVIRONMENT": pa.schema([_PLACE[1], pa.field("role", pa.string()), *ENVIRONMENT_SCHEMA]),
    "STORAGE STATS": pa.schema([*_PLACE, *STORAGE_SCHEMA]),
    "DISK CACHE": pa.schema([*_PLACE, *DISK_CACHE_SCHEMA]),
    "FLUSH DISK CACHE": pa.schema(
        {
            "executor_id": pa.string(),
            "cache_type": pa.string(),
            "status": pa.string(),
            "bytes_freed": pa.int64(),
            "files_deleted": pa.int64(),
            "message": pa.string(),
        }
    ),
    "FLUSH SEARCHER CACHE": pa.schema(
        {
            "cache_type": pa.string(),
            "status": pa.string(),
            "cleared_entries": pa.int64(),
            "message": pa.string(),
        }
    ),
}


def report(subject: Subject, settings: Settings) -> list[Row]:
    """Do what a command asks of this process, and return what it has to say."""
    return _REPORTS[subject](settings)


def rows_at(place: Place, subject: Subject, reported: list[Row]) -> list[Row]:
    """Return the rows of one process with its place, and with the figures that only the JVM has."""
    rows = reported
    if subject == "STORAGE STATS":
        rows = storage_rows(place.counts).to_pylist()
    if subject == "DISK CACHE":
        looks = CacheLooks.of(place.counts)
        rows = [{**row, "hits": looks.hits, "misses": looks.misses} for row in rows]
    return [{**row, **_names(place.executor)} for row in rows]


def process_table(subject: Subject, rows: Sequence[Row], missing: Sequence[Executor]) -> pa.Table:
    """Return the rows in the columns of the command. An executor that was not reached has a row without figures."""
    if subject == "FLUSH SEARCHER CACHE":
        total = sum(row["cleared_entries"] for row in rows)
        rows = [{"cache_type": "searcher", "cleared_entries": total, **_status(missing)}]
    elif subject == "FLUSH DISK CACHE":
        rows = [{**row, "cache_type": "disk", **_status(())} for row in rows]
        rows += [{**_names(executor), "cache_type": "disk", **_status([executor])} for executor in missing]
    elif subject == "ENVIRONMENT":
        status = {"property_type": "executor", "property_name": "status", "property_value": _UNREACHED}
        rows = [*rows, *({**_names(executor), **status} for executor in missing)]
    else:
        rows = [*rows, *map(_names, missing)]
    schema = SCHEMAS[subject]
    return pa.Table.from_pylist(
        [{name: row.get(name) for name in schema.names} for row in rows], schema=schema
    )


def _names(executor: Executor) -> Row:
    role = "driver" if executor.executor_id == DRIVER else "worker"
    return {"executor_id": executor.executor_id, "host": executor.host, "role": role}


def _status(missing: Sequence[Executor]) -> Row:
    if not missing:
        return {"status": "success", "message": "flushed"}
    names = ", ".join(f"{executor.executor_id} on {executor.host}" for executor in missing)
    return {"status": "partial_success", "message": f"executor {names} {_UNREACHED}; run the command again"}


def _environment(settings: Settings) -> list[Row]:
    return list(environment_rows(settings).to_pylist())


def _disk_cache(settings: Settings) -> list[Row]:
    return list(disk_cache_rows(settings, {}).to_pylist())


def _no_rows(_settings: Settings) -> list[Row]:
    """Return nothing: the figures come with the place, and are of all Python processes of an executor."""
    return []


def _flush_disk(settings: Settings) -> list[Row]:
    flushed = flush_caches(memory=False, settings=settings)
    return [{"bytes_freed": flushed.bytes_freed, "files_deleted": flushed.files_deleted}]


def _flush_searchers(settings: Settings) -> list[Row]:
    return [{"cleared_entries": flush_caches(disk=False, settings=settings).indexes_closed}]


_REPORTS: Final[dict[Subject, Callable[[Settings], list[Row]]]] = {
    "ENVIRONMENT": _environment,
    "STORAGE STATS": _no_rows,
    "DISK CACHE": _disk_cache,
    "FLUSH DISK CACHE": _flush_disk,
    "FLUSH SEARCHER CACHE": _flush_searchers,
}

"""What this process and its machine are, have done and keep: versions, settings, requests, caches."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.runtime import current
from indextables.split import CacheLooks, cache_usage, flush_entries, forget_open_indexes
from indextables.storage import open_store, request_figures, scratch_parent
from indextables.table.arguments import to_settings, to_uri
from indextables.table.scans import reader_cache, skipping_figures, skipping_table

REDACTED: Final = "***REDACTED***"
_PACKAGES: Final = ("indextables", "pyarrow", "tantivy", "obstore", "numpy", "pyspark")
_USER_INFO: Final = re.compile(r"://[^/@\s]+@")

STORAGE_SCHEMA: Final = pa.schema(
    {
        "bytes_fetched": pa.int64(),
        "requests": pa.int64(),
        "operation": pa.string(),
        "bytes_sent": pa.int64(),
    }
)
DISK_CACHE_SCHEMA: Final = pa.schema(
    {
        "enabled": pa.bool_(),
        "total_bytes": pa.int64(),
        "max_bytes": pa.int64(),
        "usage_percent": pa.float64(),
        "splits_cached": pa.int64(),
        "components_cached": pa.int64(),
        "directory": pa.string(),
        "hits": pa.int64(),
        "misses": pa.int64(),
    }
)
ENVIRONMENT_SCHEMA: Final = pa.schema(
    {"property_type": pa.string(), "property_name": pa.string(), "property_value": pa.string()}
)


@dataclass(frozen=True)
class FlushedCaches:
    """What was flushed: indexes that were open, and the indexes on disk with their files and bytes."""

    indexes_closed: int
    indexes_deleted: int
    files_deleted: int
    bytes_freed: int


def storage_stats() -> pa.Table:
    """Return the requests of this process to stores since it started, one row for each kind.

    >>> import indextables as it, pyarrow as pa
    >>> _ = it.write("memory://doc-storage-stats", pa.table({"n": [1]}))
    >>> stats = {row["operation"]: row for row in it.storage_stats().to_pylist()}
    >>> stats["create"]["requests"] > 0, stats["create"]["bytes_sent"] > 0
    (True, True)
    """
    return storage_rows(current().counters.values())


def data_skipping_stats(path: str | PathLike[str] | None = None) -> pa.Table:
    """Return how many files scans of this process have considered, skipped by each stage of pruning, and read.

    One row for each table, or for the table at `path` alone. A table that was not scanned has no row.

    >>> import indextables as it, pyarrow as pa
    >>> _ = it.write("memory://doc-skipping", pa.table({"day": [1, 2], "n": [1, 2]}), partition_by=["day"])
    >>> it.open("memory://doc-skipping").count(where="day = 2")
    1
    >>> it.data_skipping_stats("memory://doc-skipping").select(["files_considered", "files_read"]).to_pylist()
    [{'files_considered': 2, 'files_read': 1}]
    """
    return skipping_rows(skipping_figures(), None if path is None else to_uri(path))


def disk_cache_stats(settings: Mapping[str, str] | Settings | None = None) -> pa.Table:
    """Return the size of the index cache on this machine's disk, and how often this process found an index there.

    >>> import indextables as it
    >>> it.disk_cache_stats().column("enabled").to_pylist()
    [True]
    """
    return disk_cache_rows(to_settings(settings), current().counters.values())


def environment(settings: Mapping[str, str] | Settings | None = None) -> pa.Table:
    """Return versions, settings, memory and directories of this process. Secrets among the settings are hidden.

    >>> import indextables as it
    >>> shown = it.environment({"spark.indextables.aws.secretKey": "hunter2"}).to_pylist()
    >>> [row["property_value"] for row in shown if row["property_type"] == "setting"]
    ['***REDACTED***']
    """
    return environment_rows(to_settings(settings))


def flush_caches(
    path: str | PathLike[str] | None = None,
    *,
    memory: bool = True,
    disk: bool = True,
    settings: Mapping[str, str] | Settings | None = None,
) -> FlushedCaches:
    """Close the indexes that this process has open, and delete the indexes on this machine's disk.

    Of the table at `path`, or of all tables. No answer changes: the next search extracts what it needs again. An index
    that another process has open stays usable there.

    >>> import indextables as it, pyarrow as pa
    >>> _ = it.write("memory://doc-flush", pa.table({"message": ["disk full"]}), text=["message"])
    >>> it.open("memory://doc-flush").count("disk")
    1
    >>> flushed = it.flush_caches("memory://doc-flush")
    >>> flushed.indexes_closed, flushed.indexes_deleted
    (1, 1)
    """
    checked = to_settings(settings)
    uri = None if path is None else open_store(to_uri(path), checked).uri
    closed = _close_indexes(uri) if memory else 0
    if not disk:
        return FlushedCaches(closed, 0, 0, 0)
    deleted = flush_entries(checked, uri)
    return FlushedCaches(closed, deleted.entries, deleted.files, deleted.bytes)


def skipping_rows(figures: Mapping[str, Mapping[str, int]], uri: str | None = None) -> pa.Table:
    """Return the figures of one table, or of all tables."""
    return skipping_table([{table: of for table, of in figures.items() if uri in (None, table)}])


def storage_rows(counts: Mapping[str, int]) -> pa.Table:
    """Return the requests in some counters, one row for each kind."""
    rows = [
        {name: getattr(figures, name) for name in STORAGE_SCHEMA.names} for figures in request_figures(counts)
    ]
    return pa.Table.from_pylist(rows, schema=STORAGE_SCHEMA)


def disk_cache_rows(settings: Settings, counts: Mapping[str, int]) -> pa.Table:
    """Return the figures of the cache on this machine, with the hits and misses in some counters."""
    usage, looks = cache_usage(settings), CacheLooks.of(counts)
    row = {
        "enabled": True,
        "total_bytes": usage.total_bytes,
        "max_bytes": usage.max_bytes,
        "usage_percent": 100 * usage.total_bytes / usage.max_bytes if usage.max_bytes else None,
        "splits_cached": usage.entries,
        "components_cached": usage.files,
        "directory": usage.directory,
        "hits": looks.hits,
        "misses": looks.misses,
    }
    return pa.Table.from_pylist([row], schema=DISK_CACHE_SCHEMA)


def environment_rows(settings: Settings) -> pa.Table:
    """Return the properties of this process, one row each."""
    properties = [
        *(("version", name, version) for name, version in _versions().items()),
        *(("setting", name, value) for name, value in sorted(_without_secrets(settings).items())),
        *(("memory", name, str(number)) for name, number in _memory().items()),
        ("cache", "directory", cache_usage(settings).directory),
        ("cache", "max_bytes", str(settings.get(keys.CACHE_MAX_SIZE))),
        ("cache", "scratch_directory", str(scratch_parent(settings))),
    ]
    rows = [dict(zip(ENVIRONMENT_SCHEMA.names, row, strict=True)) for row in properties]
    return pa.Table.from_pylist(rows, schema=ENVIRONMENT_SCHEMA)


def _close_indexes(uri: str | None) -> int:
    if uri is None:
        reader_cache().clear()
    else:
        reader_cache().forget(uri)
    return forget_open_indexes(uri)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            module = sys.modules.get(
                package
            )  # a source tree on the path, or a Spark that was not installed by pip
            if module is not None:
                versions[package] = str(getattr(module, "__version__", "unknown"))
    return versions


def _without_secrets(settings: Settings) -> dict[str, str]:
    """Return the settings without their secrets."""
    shown = {}
    for key, value in settings:
        family = next((family for family in keys.FAMILIES if key.startswith(family.prefix)), None)
        is_secret = family is not None and not family.may_show(key[len(family.prefix) :])
        shown[key] = REDACTED if is_secret else _USER_INFO.sub(f"://{REDACTED}@", value)
    return shown


def _memory() -> dict[str, int]:
    figures = {"cpus": os.cpu_count() or 1}
    names = os.sysconf_names
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        figures["machine_bytes"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    figures["arrow_bytes"] = pa.total_allocated_bytes()
    limit = os.environ.get("PYSPARK_EXECUTOR_MEMORY_MB", "")
    if limit.isdecimal():
        figures["worker_limit_bytes"] = int(limit) << 20
    return figures

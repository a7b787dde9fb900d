"""IndexTables: search tables for Spark and for plain Python.

>>> import indextables as it
>>> import pyarrow as pa
>>> it.write("memory://welcome", pa.table({"message": ["disk full", "all well"]}), text=["message"])
0
>>> it.open("memory://welcome").search("disk", columns=["message"]).column("message").to_pylist()
['disk full']

Every error that the package raises and every type that a method of `Table` returns can be imported from here. Names
are loaded at first use, so that a program that imports the package and reads no table does not load Arrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from indextables.errors import (
    CommandError,
    CommitConflictError,
    CommitError,
    CommitUnknownError,
    ConfigError,
    CorruptTableError,
    ForkedProcessError,
    IndexTablesError,
    InputError,
    IrregularFileError,
    ObjectExistsError,
    ObjectNotFoundError,
    PredicateError,
    ProtocolError,
    QueryError,
    SchemaError,
    StorageDeniedError,
    StorageError,
    StorageFullError,
    TableError,
    TableExistsError,
    TableNotFoundError,
    UnreadableSplitError,
    UnsafeStoreError,
    VersionNotFoundError,
)

if TYPE_CHECKING:
    from indextables.config import Settings
    from indextables.log import AddFile, Metadata, Protocol, RemoveFile, Snapshot
    from indextables.maintenance import CleanedVersions, Merged, Purged, StateDescription, Truncated
    from indextables.runtime import CacheFigures
    from indextables.table import (
        ChangeSet,
        ColumnStats,
        FlushedCaches,
        Hits,
        Prewarmed,
        RowChange,
        SearchPlan,
        Snippet,
        Table,
        data_skipping_stats,
        disk_cache_stats,
        environment,
        flush_caches,
        page_token,
        score_text,
        storage_stats,
    )
    from indextables.table import open_table as open  # noqa: A004 - users call it.open(path)
    from indextables.table import write_table as write

__version__ = "0.1.0"

__all__ = [
    "AddFile",
    "CacheFigures",
    "ChangeSet",
    "CleanedVersions",
    "ColumnStats",
    "CommandError",
    "CommitConflictError",
    "CommitError",
    "CommitUnknownError",
    "ConfigError",
    "CorruptTableError",
    "FlushedCaches",
    "ForkedProcessError",
    "Hits",
    "IndexTablesError",
    "InputError",
    "IrregularFileError",
    "Merged",
    "Metadata",
    "ObjectExistsError",
    "ObjectNotFoundError",
    "PredicateError",
    "Prewarmed",
    "Protocol",
    "ProtocolError",
    "Purged",
    "QueryError",
    "RemoveFile",
    "RowChange",
    "SchemaError",
    "SearchPlan",
    "Settings",
    "Snapshot",
    "Snippet",
    "StateDescription",
    "StorageDeniedError",
    "StorageError",
    "StorageFullError",
    "Table",
    "TableError",
    "TableExistsError",
    "TableNotFoundError",
    "Truncated",
    "UnreadableSplitError",
    "UnsafeStoreError",
    "VersionNotFoundError",
    "__version__",
    "data_skipping_stats",
    "disk_cache_stats",
    "environment",
    "flush_caches",
    "open",
    "page_token",
    "score_text",
    "storage_stats",
    "write",
]

_LAZY: Final = {
    "FlushedCaches": ("indextables.table", "FlushedCaches"),
    "Hits": ("indextables.table", "Hits"),
    "Prewarmed": ("indextables.table", "Prewarmed"),
    "data_skipping_stats": ("indextables.table", "data_skipping_stats"),
    "disk_cache_stats": ("indextables.table", "disk_cache_stats"),
    "environment": ("indextables.table", "environment"),
    "flush_caches": ("indextables.table", "flush_caches"),
    "SearchPlan": ("indextables.table", "SearchPlan"),
    "Snippet": ("indextables.table", "Snippet"),
    "page_token": ("indextables.table", "page_token"),
    "score_text": ("indextables.table", "score_text"),
    "storage_stats": ("indextables.table", "storage_stats"),
    "AddFile": ("indextables.log", "AddFile"),
    "CacheFigures": ("indextables.runtime", "CacheFigures"),
    "ChangeSet": ("indextables.table", "ChangeSet"),
    "ColumnStats": ("indextables.table", "ColumnStats"),
    "CleanedVersions": ("indextables.maintenance", "CleanedVersions"),
    "Merged": ("indextables.maintenance", "Merged"),
    "Metadata": ("indextables.log", "Metadata"),
    "Protocol": ("indextables.log", "Protocol"),
    "Purged": ("indextables.maintenance", "Purged"),
    "RemoveFile": ("indextables.log", "RemoveFile"),
    "RowChange": ("indextables.table", "RowChange"),
    "Settings": ("indextables.config", "Settings"),
    "Snapshot": ("indextables.log", "Snapshot"),
    "StateDescription": ("indextables.maintenance", "StateDescription"),
    "Table": ("indextables.table", "Table"),
    "Truncated": ("indextables.maintenance", "Truncated"),
    "open": ("indextables.table", "open_table"),
    "write": ("indextables.table", "write_table"),
}
"""The package and the name there of each public name that needs Arrow."""

_PACKAGES: Final = frozenset({"columns", "config", "demo", "log", "maintenance", "spark", "table"})
"""Packages that are loaded when they are first used as an attribute, as in `indextables.columns.open`."""


def __getattr__(name: str) -> Any:
    """Load a public name at its first use (PEP 562)."""
    if name in _LAZY:
        package, attribute = _LAZY[name]
        globals()[name] = value = getattr(import_module(package), attribute)
        return value
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those not loaded yet included."""
    return sorted({*globals(), *__all__, *_PACKAGES})

"""The pages Versions, Health, Files and Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any, Final

from indextables.columns import Manifest
from indextables.config import keys
from indextables.errors import InputError
from indextables.log import LOG_DIRECTORY
from indextables.maintenance import check_health
from indextables.split import components, open_bundle
from indextables.split.container import MANIFEST, Bundle
from indextables.storage import open_store
from indextables.table import Table, file_differences, plain_rows
from indextables.ui.conditions import time_column
from indextables.ui.discovery import text_column

_MOST_FILES: Final = 2000
_MOST_VERSIONS: Final = 1000
_MOST_CHANGES: Final = 500
_ADDING: Final = ("added", "rows restored")
_REMOVING: Final = ("removed", "rows deleted")


def describe_answer(table: Table) -> dict[str, Any]:
    """Return what the table is."""
    kinds = {field.name: field.kind for field in table.snapshot.mapping.fields}
    files = table.files()
    sizes = files.column("size").to_pylist()
    return {
        "uri": table.uri,
        "version": table.version,
        "rows": table.count(),
        "bytes": sum(size or 0 for size in sizes),
        "splits": files.num_rows,
        "time": time_column(table),
        "text": text_column(table),
        "partition_columns": table.partition_columns,
        "min_reader_version": table.protocol.min_reader_version,
        "min_writer_version": table.protocol.min_writer_version,
        "columns": [
            {
                "name": field.name,
                "type": str(field.type),
                "index": "partition"
                if field.name in table.partition_columns
                else kinds.get(field.name, "none"),
            }
            for field in table.schema
        ],
    }


def history_answer(table: Table) -> dict[str, Any]:
    """Return the versions, newest first, and the oldest that can be read."""
    rows = list(plain_rows(table.refresh().history().slice(0, _MOST_VERSIONS)))
    return {"versions": rows, "newest": rows[0]["version"] if rows else None}


def diff_answer(table: Table, old: int) -> dict[str, Any]:
    """Return the files by which the table differs from an older version, and the rows added and removed by them."""
    files = file_differences(table, old)
    rows_added, rows_removed = (
        _sum(file.rows for file in files if file.change in changes) for changes in (_ADDING, _REMOVING)
    )
    return {
        "files": [
            {"change": file.change, "path": file.path, "rows": file.rows, "bytes": file.size}
            for file in files[:_MOST_CHANGES]
        ],
        "added": sum(file.change == "added" for file in files),
        "removed": sum(file.change == "removed" for file in files),
        "changed": sum(file.change.startswith("rows") for file in files),
        "rows_added": rows_added,
        "rows_removed": rows_removed,
    }


def health_answer(table: Table) -> dict[str, Any]:
    """Return what was checked, with the command that helps."""
    findings = check_health(open_store(table.uri, table.settings), table.snapshot, table.settings)
    log = quote(f"{table.uri}/{LOG_DIRECTORY}")
    return {
        "findings": [
            {
                "check": finding.check,
                "severity": finding.severity,
                "message": finding.message,
                "command": finding.command
                and f"indextables {finding.command.replace('{table}', quote(table.uri)).replace('{log}', log)}",
            }
            for finding in findings
        ]
    }


def files_answer(table: Table) -> dict[str, Any]:
    """Return the live splits, largest first."""
    names = ["path", "partition_values", "num_records", "size", "modification_time", "num_merge_ops"]
    files = table.files().select(names).sort_by([("size", "descending")])
    return {"files": list(plain_rows(files.slice(0, _MOST_FILES))), "total": files.num_rows}


def split_answer(table: Table, path: str) -> dict[str, Any]:
    """Return the parts of one live split. A path that the version does not name is not opened."""
    files = table.files()
    sizes = dict(zip(files.column("path").to_pylist(), files.column("size").to_pylist(), strict=True))
    if path not in sizes:
        raise InputError(f"version {table.version} has no split {path!r}")
    bundle = open_bundle(open_store(table.uri, table.settings), path, sizes[path])
    groups = _column_groups(table, bundle)
    parts = [
        {
            "part": part.key,
            "type": part.type,
            "columns": groups.get(part.key, [] if part.field_name is None else [part.field_name]),
            "bytes": part.size,
        }
        for part in components(bundle)
    ]
    return {
        "path": path,
        "bytes": bundle.size,
        "parts": sorted(parts, key=lambda part: -int(str(part["bytes"]))),
    }


def _column_groups(table: Table, bundle: Bundle) -> dict[str, list[str]]:
    """Return the columns of each file of rows in a split; a split of another program has none."""
    if MANIFEST not in bundle.members:
        return {}
    names = {field.stored_name: field.name for field in table.snapshot.schema}
    return {
        file.path: [names.get(column, f"{column} (dropped)") for column in group.columns]
        for group in Manifest.from_bytes(bundle.read(MANIFEST)).column_groups
        for file in group.files
    }


def settings_answer(table: Table) -> dict[str, Any]:
    """Return the table's properties, and every setting with its default."""
    properties: Mapping[str, str] = table.metadata.configuration
    return {
        "properties": {key: properties[key] for key in sorted(properties) if not _is_long(properties[key])},
        "settings": [
            {"key": setting.key, "default": _text(setting.default), "meaning": setting.meaning}
            for setting in sorted(keys.ALL, key=lambda setting: setting.key.lower())
        ],
    }


def _is_long(value: str) -> bool:
    return len(value) > 500


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)

"""The pages Versions, Health, Files and Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from shlex import quote
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.columns import Manifest
from indextables.config import keys
from indextables.errors import InputError
from indextables.log import LOG_DIRECTORY
from indextables.maintenance import check_health
from indextables.split import components, open_bundle
from indextables.split.container import MANIFEST, Bundle
from indextables.storage import open_store
from indextables.table import Table, file_differences, plain_rows
from indextables.ui.conditions import has_zone, time_column
from indextables.ui.discovery import text_column

_FILE_COLUMNS: Final = ("path", "partition", "num_records", "size", "modification_time", "num_merge_ops")
_FILES_OF_PAGE: Final = 100
_VERSIONS_OF_PAGE: Final = 100
_MOST_PARTITIONS: Final = 2000
_MOST_PIECES: Final = 4000
_PIECES_OF_PARTITION: Final = 40
_MOST_CHANGES: Final = 500
_BARS: Final = 240
_LONG: Final = 160
_ADDING: Final = ("added", "rows restored")
_REMOVING: Final = ("removed", "rows deleted")


def describe_answer(table: Table) -> dict[str, Any]:
    """Return what the table is."""
    kinds = {field.name: field.kind for field in table.snapshot.mapping.fields}
    files, time = table.files(), time_column(table)
    return {
        "uri": table.uri,
        "version": table.version,
        "rows": table.count(),
        "bytes": pc.sum(files.column("size")).as_py() or 0,
        "splits": files.num_rows,
        "time": time,
        "zoned": time is None or has_zone(table, time),
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


def history_answer(table: Table, before: int | None = None) -> dict[str, Any]:
    """Return a page of versions, newest first, those below `before` if it is given, and bars over all of them.

    `oldest` and `newest` are the first and the last version of the history. Each bar stands for `per_bar` versions, the
    first one for those from `oldest`, and has their rows added and removed.
    """
    history = table.refresh().history()
    numbers = history.column("version").to_pylist()
    if not numbers:
        return {"versions": [], "oldest": None, "newest": None, "total": 0, "bars": [], "per_bar": 1}
    newest, oldest = numbers[0], numbers[-1]
    per_bar = -(-(newest - oldest + 1) // _BARS)
    bars = [{"added": 0, "removed": 0} for _ in range(-(-(newest - oldest + 1) // per_bar))]
    for name in ("added", "removed"):
        for number, rows in zip(numbers, history.column(f"rows_{name}").to_pylist(), strict=True):
            bars[(number - oldest) // per_bar][name] += rows or 0
    page = history if before is None else history.filter(pc.less(history.column("version"), before))
    return {
        "versions": list(plain_rows(page.slice(0, _VERSIONS_OF_PAGE))),
        "oldest": oldest,
        "newest": newest,
        "total": len(numbers),
        "bars": bars,
        "per_bar": per_bar,
    }


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
        "more": max(0, len(files) - _MOST_CHANGES),
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


def files_answer(table: Table, offset: int = 0) -> dict[str, Any]:
    """Return the partitions by name with exact totals, and a page of the live splits, largest first.

    A partition has its largest splits; `rest` is the number of its others. What is not listed is counted: `partitions`
    are the first of `num_partitions`.
    """
    files = table.files()
    files = files.append_column(
        "partition", _partitions(files.column("partition_values"), table.partition_columns)
    )
    files = files.select(_FILE_COLUMNS).sort_by(
        [("partition", "ascending"), ("size", "descending"), ("path", "ascending")]
    )
    sums = [("size", "sum"), ("path", "count"), ("num_records", "sum"), ("num_records", "count")]
    totals = files.group_by("partition").aggregate(sums).sort_by([("partition", "ascending")])
    listed = totals.slice(0, _MOST_PARTITIONS).to_pylist()
    pieces = _largest(files, totals, max(1, min(_PIECES_OF_PARTITION, _MOST_PIECES // max(1, len(listed)))))
    page = files.sort_by([("size", "descending"), ("path", "ascending")]).slice(offset, _FILES_OF_PAGE)
    return {
        "splits": files.num_rows,
        "bytes": pc.sum(files.column("size")).as_py() or 0,
        "num_partitions": totals.num_rows,
        "partitions": [
            {
                "name": total["partition"],
                "splits": total["path_count"],
                "bytes": total["size_sum"] or 0,
                "rows": total["num_records_sum"]
                if total["num_records_count"] == total["path_count"]
                else None,
                "largest": (largest := pieces[total["partition"]]),
                "rest": total["path_count"] - len(largest),
            }
            for total in listed
        ],
        "files": list(plain_rows(page)),
    }


def _partitions(values: pa.ChunkedArray, columns: Sequence[str]) -> pa.ChunkedArray:
    """Return the partition of each split as text: `day=2026-01-31/level=INFO`, empty without partition columns."""
    names = [
        pc.coalesce(
            pc.binary_join_element_wise(f"{column}=", pc.map_lookup(values, pa.scalar(column), "first"), ""),
            f"{column} is null",
        )
        for column in columns
    ]
    return (
        pc.binary_join_element_wise(*names, "/") if names else pa.chunked_array([pa.repeat("", len(values))])
    )


def _largest(files: pa.Table, totals: pa.Table, most: int) -> dict[str, list[dict[str, Any]]]:
    """Return the largest splits of each partition, at most so many, from files in the order of partition and size."""
    counts = totals.column("path_count").to_numpy()
    place = np.arange(files.num_rows) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = (
        files.filter(pa.array(place < most)).select(["partition", "path", "size", "num_records"]).to_pylist()
    )
    return {
        name: [{"path": row["path"], "bytes": row["size"], "rows": row["num_records"]} for row in rows]
        for name, rows in groupby(chosen, key=lambda row: row["partition"])
    }


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
        "properties": {key: _shortened(properties[key]) for key in sorted(properties)},
        "settings": [
            {"key": setting.key, "default": setting.default_text, "meaning": setting.meaning}
            for setting in sorted(keys.ALL, key=lambda setting: setting.key.lower())
        ],
    }


def _shortened(value: str) -> str:
    return value if len(value) <= _LONG else f"{value[:_LONG]}… ({len(value):,} characters)"


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)

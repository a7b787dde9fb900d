"""Commands that look at tables: ls, describe, files, history, show, diff, du and explain."""

from __future__ import annotations

import dataclasses
import os
from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any

from indextables.cli.exit_codes import DONE, NOTHING_FOUND
from indextables.cli.index_names import index_name
from indextables.cli.opening import at_version, open_at, open_version, to_settings
from indextables.cli.output import Output
from indextables.cli.text import counted, size
from indextables.config import Settings
from indextables.errors import IndexTablesError, InputError
from indextables.storage import LOG_DIRECTORY, is_on_this_machine, open_store, table_uri
from indextables.table import Table, file_differences, open_table, plain_rows, row_differences

_FILES = ["path", "partition_values", "num_records", "size", "modification_time"]
_HISTORY = {
    "files_added": "+files",
    "files_removed": "-files",
    "rows_added": "+rows",
    "rows_removed": "-rows",
    "bytes_added": "+bytes",
}
_TABLES = ["name", "version", "rows", "files", "bytes", "last_commit", "error"]


def ls(args: Namespace, output: Output) -> int:
    """Print the tables below a directory; one that cannot be opened has an error in place of figures."""
    settings = to_settings(args)
    tables = (_summary(args.path, name, settings) for name in _tables(args.path, settings))
    found = output.rows(_TABLES, tables, sizes=["bytes"])
    if not found:
        output.note(f"no table below {args.path}")
    return DONE if found else NOTHING_FOUND


def describe(args: Namespace, output: Output) -> int:
    """Print what a table is."""
    table = open_at(args)
    kinds = {field.name: field.kind for field in table.snapshot.mapping.fields}
    columns = [
        {
            "name": field.name,
            "type": str(field.type),
            "index": "partition" if field.name in table.partition_columns else kinds.get(field.name, "none"),
        }
        for field in table.schema
    ]
    values = {
        "path": table.uri,
        "version": table.version,
        **_figures(table),
        "partition_columns": table.partition_columns,
        "min_reader_version": table.protocol.min_reader_version,
        "min_writer_version": table.protocol.min_writer_version,
        "columns": columns,
    }
    lines = [f"{table.uri}, version {table.version}"]
    lines.append(f"{_rows(values['rows'])} in {counted(values['files'], 'split')}, {size(values['bytes'])}")
    if table.partition_columns:
        lines.append(f"partitioned by {', '.join(table.partition_columns)}")
    longest = max((len(column["name"]) for column in columns), default=0)
    lines += [
        f"  {c['name']:{longest}}  {c['type']:22}  {index_name(c['index'], c['type'])}" for c in columns
    ]
    output.record(values, "\n".join(lines))
    return DONE


def files(args: Namespace, output: Output) -> int:
    """Print the live splits."""
    if not output.rows(_FILES, plain_rows(open_at(args).files(where=args.where)), sizes=["size"]):
        output.note("no split" if args.where is None else "no split that may hold such a row")
    return DONE


def history(args: Namespace, output: Output) -> int:
    """Print the versions, newest first."""
    names = [
        "version",
        "timestamp",
        "operation",
        "files_added",
        "files_removed",
        "rows_added",
        "rows_removed",
        "bytes_added",
        "engine",
    ]
    rows = islice(plain_rows(open_at(args).history()), args.limit)
    output.rows(names, rows, sizes=["bytes_added"], heads=_HISTORY)
    return DONE


def show(args: Namespace, output: Output) -> int:
    """Print the files that one version added and removed."""
    if args.number is None:
        path, version = at_version(args.path)
        if version is None:
            raise InputError(f"which version? indextables show {quote(args.path)} VERSION")
        args.path, args.number = path, version
    table = open_version(args, args.number)
    changed = _changed_files(table, args.number - 1)
    if not output.rows(["change", "path", "rows", "size"], changed, sizes=["size"]):
        output.note(f"version {args.number} changed no file")
    return DONE


def diff(args: Namespace, output: Output) -> int:
    """Print the files, or the rows, by which two versions differ."""
    table = open_version(args, args.new)
    open_version(args, args.old)
    if args.rows:
        rows = row_differences(table, args.old)
        count = output.rows(rows.column_names, plain_rows(rows))
    else:
        count = output.rows(
            ["change", "path", "rows", "size"], _changed_files(table, args.old), sizes=["size"]
        )
    if not count:
        output.note(f"versions {args.old} and {args.new} have the same {'rows' if args.rows else 'files'}")
    return NOTHING_FOUND if args.exit_code and not count else DONE


def du(args: Namespace, output: Output) -> int:
    """Print the bytes of each kind of part."""
    sizes: dict[str, int] = {}
    for row in plain_rows(open_at(args).component_sizes(args.where)):
        sizes[row["component_type"]] = sizes.get(row["component_type"], 0) + row["size_bytes"]
    whole = sum(sizes.values())
    rows = [
        {"part": part, "bytes": count, "percent": round(100 * count / whole, 1) if whole else 0.0}
        for part, count in sorted(sizes.items(), key=lambda item: -item[1])
    ]
    output.rows(["part", "bytes", "percent"], rows, sizes=["bytes"])
    return DONE


def explain(args: Namespace, output: Output) -> int:
    """Print how many splits a query considers, skips and reads."""
    plan = open_at(args).explain(args.query, where=args.where)
    values = {
        "version": plan.version,
        "splits": plan.splits,
        "splits_read": plan.splits_read,
        "skipped_by": plan.skipped_by,
        "rows_in_splits_read": plan.rows,
        "bytes_of_splits_read": plan.bytes,
        "foreign_splits_read": plan.splits_foreign,
        "notes": plan.notes,
    }
    output.record(values, str(plan))
    return DONE


def _rows(count: int | None) -> str:
    return "? rows" if count is None else counted(count, "row")


def _tables(directory: str, settings: Settings) -> Iterator[str]:
    """Yield the paths of tables below a directory, relative to it, without looking inside of tables."""
    uri = table_uri(directory)
    if is_on_this_machine(uri) and (root := open_store(uri, settings).local_path("x")) is not None:
        for place, names, _ in os.walk(root.parent):
            if LOG_DIRECTORY in names:
                names.clear()
                yield Path(place).relative_to(root.parent).as_posix()
            names.sort()
        return
    store, after = open_store(uri, settings), None
    while True:
        logs = (key for key in (i.key for i in store.list_from("", after)) if f"{LOG_DIRECTORY}/" in key)
        key = next(logs, None)
        if key is None:
            return
        name = key.partition(f"{LOG_DIRECTORY}/")[0].rstrip("/")
        yield name or "."
        if not name:
            return
        after = f"{name}0"  # the first name after everything below `name/`


def _summary(directory: str, name: str, settings: Settings) -> dict[str, Any]:
    path = directory if name == "." else f"{directory.rstrip('/')}/{name}"
    try:
        table = open_table(path, settings=settings)
        last = next(plain_rows(table.history()), {}).get("timestamp")
        return {"name": path, "version": table.version, **_figures(table), "last_commit": last}
    except IndexTablesError as error:
        return {"name": path, "error": str(error)}


def _figures(table: Table) -> dict[str, Any]:
    live = table.files()
    rows, sizes = (live.column(name).to_pylist() for name in ("num_records", "size"))
    return {
        "rows": None if None in rows else sum(rows),
        "files": live.num_rows,
        "bytes": None if None in sizes else sum(sizes),
    }


def _changed_files(table: Table, since: int) -> list[dict[str, Any]]:
    return [dataclasses.asdict(file) for file in file_differences(table, since)]

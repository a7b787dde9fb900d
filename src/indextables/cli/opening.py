"""The table and the settings that the arguments of a command name."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from shlex import quote
from typing import Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import ConfigError, TableNotFoundError
from indextables.predicates import ALL_FIELDS, Predicate, QueryLimits, TextQuery, conjunction, parse_where
from indextables.table import ScanRequest, Table, open_table, plan_scan, run_scan_task, scan_schema

_OURS: Final = ("spark.indextables.", "spark.tantivy4spark.", "indextables.")


def to_settings(args: Namespace) -> Settings:
    """Return the settings of `--set key=value`. A key may be given without `indextables.`."""
    options = {}
    for text in args.set:
        key, separator, value = text.partition("=")
        if not separator:
            raise ConfigError(f"--set takes key=value, not {text!r}")
        if key.lower().startswith("spark.") and not key.lower().startswith(_OURS):
            raise ConfigError(f"{key!r} is not a setting of indextables")
        options[key if key.lower().startswith(_OURS) else f"indextables.{key}"] = value
    return Settings(options)


def open_at(args: Namespace) -> Table:
    """Open the table at the version or time that the arguments give, or at its newest version."""
    check_no_file(args.path)
    try:
        return open_table(args.path, version=args.version, as_of=args.as_of, settings=to_settings(args))
    except TableNotFoundError as reason:
        path, version = at_version(args.path)
        if version is not None:
            reason.add_note(f"To read version {version}: {quote(path)} --version {version}")
        raise


def at_version(text: str) -> tuple[str, int | None]:
    """Return the path and the version of `TABLE@VERSION`.

    >>> at_version("s3://bucket/logs@12"), at_version("logs")
    (('s3://bucket/logs', 12), ('logs', None))
    """
    path, at, version = text.rpartition("@")
    return (path, int(version)) if at and path and version.isdecimal() else (text, None)


def open_newest(args: Namespace) -> Table:
    """Open the table at its newest version."""
    check_no_file(args.path)
    return open_table(args.path, settings=to_settings(args))


def open_version(args: Namespace, version: int) -> Table:
    """Open the table at a version."""
    check_no_file(args.path)
    return open_table(args.path, version=version, settings=to_settings(args))


def check_no_file(path: str) -> None:
    """Raise TableNotFoundError if the path is a file: a table is a directory."""
    if Path(path).is_file():
        raise TableNotFoundError(
            f"{path} is a file and no table; to make a table of it: indextables import NEW_TABLE {quote(path)}"
        )


def split_names(text: str | None) -> list[str] | None:
    """Return the names of a list with commas; None for None."""
    return None if text is None else [name.strip() for name in text.split(",")]


def condition_of(table: Table, query: str | None, where: str | None) -> tuple[Predicate, Settings]:
    """Return the condition of a query and of `--where`, and the settings with which words may be in any field."""
    settings = Settings(dict(table.settings) | {keys.INDEX_ALL_MAX_FIELDS.key: "0"})
    conditions: list[Predicate] = []
    if query is not None:
        conditions.append(TextQuery("INDEXQUERY", ALL_FIELDS, query))
    if where is not None:
        conditions.append(parse_where(where, table.snapshot.schema, limits=QueryLimits.of(settings)))
    return conjunction(conditions), settings


def matching_batches(
    table: Table, query: str | None, where: str | None, columns: list[str] | None
) -> pa.RecordBatchReader:
    """Return every matching row as a stream, in the order of the table."""
    if query is None:
        return table.to_batches(columns, where=where)
    predicate, settings = condition_of(table, query, where)
    names = [table.snapshot.schema.field(name).name for name in columns or table.schema.names]
    request = ScanRequest(tuple(names), predicate)
    plan = plan_scan(table.uri, table.snapshot, request, settings)
    batches = (batch for task in plan.tasks for batch in run_scan_task(task))
    return pa.RecordBatchReader.from_batches(scan_schema(table.snapshot.schema, request), batches)

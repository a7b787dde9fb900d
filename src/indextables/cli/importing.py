"""`import`: rows of files into a table, which is created if there is none."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from itertools import chain

import pyarrow as pa

from indextables.cli.asking import confirm
from indextables.cli.exit_codes import DONE
from indextables.cli.log_lines import ARROW_TYPES, MESSAGE, to_pattern
from indextables.cli.opening import split_names, to_settings
from indextables.cli.output import Output
from indextables.cli.sources import Source, SourceOptions, format_of, open_source, to_types
from indextables.cli.terminal_progress import progress_of
from indextables.errors import InputError, SchemaError, TableNotFoundError
from indextables.progress import Progress
from indextables.table import Table, open_table, write_table

_SAMPLE = 200
_WORDS = 3


def import_files(args: Namespace, output: Output) -> int:
    """Import files, each in one commit, or one for every so many rows."""
    existing = _existing(args)
    replaced = args.mode == "overwrite" and existing is not None
    if replaced and not args.dry_run:
        confirm(f"Replace the {len(existing or ())} rows of {args.path}?", yes=args.yes)
    started, total, unmatched, version, mode = time.monotonic(), 0, 0, None, args.mode
    kinds = _column_types(None if replaced else existing)
    for name in args.files:
        with open_source(name, _options(args, name, kinds)) as source:
            first = next(source.batches, None)
            text = _text_columns(args, existing, source, first)
            if args.dry_run:
                _print_plan(source, text, output)
                continue
            output.note(f"{name}: {source.format}, {_columns(source.schema, text)}")
            batches = iter([] if first is None else chain([first], source.batches))
            with progress_of(args, f"importing {name}") as progress:
                for part in _parts(batches, args.commit_every):
                    counted = _Counted(part, progress, total)
                    version = _write(args, source.schema, counted, mode, text)
                    mode, existing, total = "append", None, counted.rows
            unmatched += source.log.unmatched if source.log is not None else 0
    if args.dry_run:
        return DONE
    seconds = time.monotonic() - started
    if version is None:
        raise InputError(f"there is no row in {', '.join(args.files)}; the table is as it was")
    values = {"rows": total, "version": version, "unmatched_lines": unmatched, "seconds": round(seconds, 3)}
    lines = [f"imported {total:,} rows in {seconds:.1f} s; {args.path} is at version {version}"]
    if unmatched:
        lines.append(
            f"{unmatched:,} lines do not match the pattern: their text is the message, the rest is null"
        )
    output.record(values, "\n".join(lines))
    return DONE


class _Counted:
    def __init__(self, batches: Iterator[pa.RecordBatch], progress: Progress | None, before: int) -> None:
        self._batches, self._progress, self.rows = batches, progress, before

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch
            if self._progress is not None:
                self._progress(self.rows, None)


def _write(args: Namespace, schema: pa.Schema, rows: _Counted, mode: str, text: list[str]) -> int:
    reader = pa.RecordBatchReader.from_batches(schema, iter(rows))
    try:
        return write_table(
            args.path,
            reader,
            mode=mode,
            partition_by=split_names(args.partition_by),
            text=text,
            settings=to_settings(args),
        )
    except SchemaError as reason:
        raise SchemaError(f"{reason}. --types column=type chooses another type") from None


def _existing(args: Namespace) -> Table | None:
    try:
        return open_table(args.path, settings=to_settings(args))
    except TableNotFoundError:
        return None


def _options(args: Namespace, name: str, existing: dict[str, pa.DataType]) -> SourceOptions:
    types = to_types(args.types)
    pattern = to_pattern(args.pattern, {}, args.time_format)
    kind = args.source or (None if name == "-" else format_of(name))
    if kind == "log":
        pattern = to_pattern(args.pattern, types, args.time_format)
    elif args.pattern is not None or args.time_format is not None:
        raise InputError(f"--pattern and --time-format are for raw logs, and {name} is {kind or 'stdin'}")
    return SourceOptions(
        kind, existing | {column: ARROW_TYPES[kind] for column, kind in types.items()}, pattern
    )


def _column_types(existing: Table | None) -> dict[str, pa.DataType]:
    """Return the types of the table that rows are appended to: a column of digits may be a string there."""
    return {} if existing is None else {field.name: field.type for field in existing.schema}


def _text_columns(
    args: Namespace, existing: Table | None, source: Source, first: pa.RecordBatch | None
) -> list[str]:
    """Return the columns to index as text: those named, or of a new table those that look like sentences."""
    if args.text is not None:
        return [name for name in split_names(args.text) or [] if name]
    if existing is not None and args.mode != "overwrite":
        return []
    if source.format == "log":
        return [MESSAGE]
    if first is None:
        return []
    partitions = split_names(args.partition_by) or []
    return [
        field.name
        for field in source.schema
        if pa.types.is_string(field.type)
        and field.name not in partitions
        and _has_words(first.column(field.name))
    ]


def _has_words(column: pa.Array) -> bool:
    texts = [text for text in column.slice(0, _SAMPLE).to_pylist() if text]
    return bool(texts) and sum(len(text.split()) for text in texts) >= _WORDS * len(texts)


def _parts(batches: Iterator[pa.RecordBatch], rows: int | None) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yield the batches of each commit: all of them, or `rows` rows."""
    if rows is None:
        first = next(batches, None)
        if first is not None:
            yield chain([first], batches)
        return
    part: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, rows - count)
            part.append(piece)
            start += piece.num_rows
            count += piece.num_rows
            if count == rows:
                yield iter(part)
                part, count = [], 0
    if part:
        yield iter(part)


def _print_plan(source: Source, text: list[str], output: Output) -> None:
    columns = [
        {
            "file": source.name,
            "column": f.name,
            "type": str(f.type),
            "index": "text" if f.name in text else "exact",
        }
        for f in source.schema
    ]
    output.rows(["file", "column", "type", "index"], columns)


def _columns(schema: pa.Schema, text: list[str]) -> str:
    names = (f"{field.name} {field.type}{' (text)' if field.name in text else ''}" for field in schema)
    return ", ".join(names)

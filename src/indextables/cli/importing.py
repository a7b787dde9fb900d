"""`import`: rows of files into a table, which is created if there is none."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from shlex import quote

import pyarrow as pa

from indextables.cli.asking import confirm
from indextables.cli.commits import Commits
from indextables.cli.exit_codes import DONE
from indextables.cli.formats import SourceOptions
from indextables.cli.log_lines import (
    ARROW_TYPES,
    MESSAGE,
    PLAIN,
    LogPattern,
    LogRows,
    recognized_pattern,
    to_pattern,
)
from indextables.cli.opening import check_no_file, split_names, to_settings
from indextables.cli.output import Output
from indextables.cli.sources import STDIN, Source, format_of, open_source, other_delimiter, to_types
from indextables.cli.terminal_progress import progress_of
from indextables.cli.text import counted
from indextables.errors import IndexTablesError, InputError, SchemaError, TableNotFoundError
from indextables.progress import Progress
from indextables.table import Table, open_table, text_columns, write_table

_SAMPLE = 200
_WORDS = 3


def import_files(args: Namespace, output: Output) -> int:
    """Import files, each in one commit, or one for every so many rows."""
    check_no_file(args.path)
    existing = _existing(args)
    replaced = args.mode == "overwrite" and existing is not None
    if replaced and not args.dry_run:
        confirm(f"Replace the {len(existing or ())} rows of {args.path}?", yes=args.yes)
    started, total, unmatched, version, mode = time.monotonic(), 0, 0, None, args.mode
    commits = Commits(args.commit_every, args.commit_seconds)
    patience = commits.patience if commits.are_divided else None
    for place, name in enumerate(args.files):
        try:
            kept = None if replaced else existing
            with open_source(name, _options(args, name, kept, output), patience) as source:
                first = next(source.batches, None)
                _check_delimiter(args, source, output)
                text = _text_columns(args, kept, source, first)
                indexed = text if kept is None else text_columns(kept)
                if args.dry_run:
                    _print_plan(args, kept, source, first, indexed, output)
                    continue
                output.note(f"{_shown(name)}: {source.format}, {_columns(source.schema, indexed)}")
                if source.is_live and kept is None and first is not None and source.format != "log":
                    output.warn(_guess(name, first, to_types(args.types)))
                batches = iter([] if first is None else chain([first], source.batches))
                with progress_of(args, f"importing {_shown(name)}") as progress:
                    for part in commits.parts(batches):
                        batches_read = _Counted(part, progress, total)
                        version = _write(args, source.schema, batches_read, mode, text)
                        mode, total = "append", batches_read.rows
                        if source.is_live:
                            output.note(f"version {version}: {counted(total, 'row')}")
            if version is not None:
                existing, replaced = _existing(args), False
        except IndexTablesError as reason:
            if version is not None:
                reason.add_note(_what_is_committed(args, place, total, version))
            raise
        except KeyboardInterrupt:
            if not args.dry_run:
                output.warn(_interrupted(args, place, total, version))
            raise
        unmatched += source.log.unmatched if source.log is not None else 0
        if source.moments.without_zone:
            columns = ", ".join(sorted(source.moments.without_zone))
            output.warn(f"{_shown(name)}: times of {columns} have no zone and are read as UTC")
    if args.dry_run:
        return DONE
    if version is None:
        raise InputError(f"there is no row in {', '.join(map(_shown, args.files))}; the table is as it was")
    seconds = time.monotonic() - started
    values = {"rows": total, "version": version, "unmatched_lines": unmatched, "seconds": round(seconds, 3)}
    output.record(values, _summary(args.path, total, existing, unmatched, seconds))
    return DONE


def _check_delimiter(args: Namespace, source: Source, output: Output) -> None:
    names = source.schema.names
    if source.format != "csv" or args.delimiter is not None or len(names) != 1:
        return
    if (other := other_delimiter(names[0])) is not None:
        looks = f"which looks separated by {other}: --delimiter {other}"
        output.warn(f"{_shown(source.name)}: it has one column {names[0]!r}, {looks}")


def _summary(path: str, rows: int, table: Table | None, unmatched: int, seconds: float) -> str:
    text = f"imported {counted(rows, 'row')} in {seconds:.1f} s"
    if table is not None:
        text += f"; {path} is at version {table.version} and has {counted(len(table), 'row')}"
    if not unmatched:
        return text
    lines = counted(unmatched, "line")
    return f"{text}\n{lines} without a match of the pattern: the text is the message, the rest is null"


def _interrupted(args: Namespace, place: int, rows: int, version: int | None) -> str:
    if version is None:
        return "interrupted; nothing was committed"
    return f"interrupted: {_what_is_committed(args, place, rows, version)}"


def _what_is_committed(args: Namespace, place: int, rows: int, version: int) -> str:
    """Return what a failed import has committed, and how to go on."""
    done, rest = args.files[:place], args.files[place:]
    committed = f"{counted(rows, 'row')} committed, up to version {version} of {args.path}"
    if args.commit_every is not None or args.commit_seconds is not None:
        return (
            f"{committed}: of {_shown(rest[0])} some may be among them. Restore the version before this import, or "
            f"import {_shown(rest[0])} without the rows that the table has"
        )
    return (
        f"{committed}: all of {', '.join(map(_shown, done))}. Go on with the rest: "
        f"indextables import {quote(args.path)} {' '.join(map(quote, rest))}"
    )


def _guess(name: str, first: pa.RecordBatch, types: Collection[str]) -> str:
    """Return how the columns of a new table were found, and those for which the first rows tell no type."""
    empty = [
        field.name
        for field, column in zip(first.schema, first.columns, strict=True)
        if column.null_count == len(column) and field.name not in types
    ]
    unknown = (
        f"; {', '.join(empty)} {'has' if len(empty) == 1 else 'have'} no value there: string" if empty else ""
    )
    return (
        f"{_shown(name)}: columns and types are those of the first {counted(first.num_rows, 'row')}{unknown}; "
        "--types column=type gives others, --text the columns with words"
    )


def _shown(name: str) -> str:
    return "stdin" if name == STDIN else name


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
        if "type" in str(reason):
            reason.add_note("--types column=type gives a column another type")
        raise


def _existing(args: Namespace) -> Table | None:
    try:
        return open_table(args.path, settings=to_settings(args))
    except TableNotFoundError:
        return None


def _options(args: Namespace, name: str, existing: Table | None, output: Output) -> SourceOptions:
    """Return how to read a file. Columns that the table has keep their types: digits may be a string there."""
    asked = to_types(args.types)
    kind = args.source or (None if name == STDIN else format_of(name))
    if kind != "log" and (args.pattern is not None or args.time_format is not None):
        raise InputError(
            f"--pattern and --time-format are for raw logs, and {_shown(name)} is {kind or 'of no format'}"
        )
    if args.delimiter is not None and kind != "csv":
        raise InputError(f"--delimiter is for CSV, and {_shown(name)} is {kind or 'of no format'}")
    kept = {} if existing is None else {field.name: field.type for field in existing.schema}
    return SourceOptions(
        format=kind,
        types=kept | {column: ARROW_TYPES[kind] for column, kind in asked.items()},
        asked=frozenset(asked),
        pattern=lambda lines: _log_pattern(args, name, lines, list(kept), asked, output),
        encoding=args.encoding,
        delimiter=_delimiter(args.delimiter),
        has_pattern=args.pattern is not None,
    )


def _delimiter(text: str | None) -> str:
    r"""Return the character between values; `\t` is a tab.

    >>> _delimiter(None), _delimiter(";"), _delimiter(r"\t")
    (',', ';', '\t')
    """
    delimiter = "," if text is None else text.replace(r"\t", "\t")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise InputError(f"--delimiter is {text!r}; it takes one character, such as ';'")
    return delimiter


def _log_pattern(
    args: Namespace,
    name: str,
    lines: Sequence[str],
    columns: list[str],
    types: dict[str, str],
    output: Output,
) -> LogPattern:
    """Return the pattern of a raw log: the one that is given, or one that fits the lines and the table."""
    if args.pattern is not None:
        return to_pattern(args.pattern, types, args.time_format)
    recognized = recognized_pattern(lines)
    pattern = to_pattern(recognized or PLAIN, types, args.time_format)
    unknown = set(LogRows(pattern).names) - set(columns)
    if columns and (unknown or (recognized is None and columns != [MESSAGE])):
        raise InputError(
            f"{args.path} has the columns {', '.join(columns)}, and "
            + (
                f"the pattern {recognized} of these lines gives others"
                if recognized
                else "no pattern of a name fits"
            )
            + "; give the --pattern that its rows were imported with"
        )
    if recognized is not None:
        output.warn(
            f"{_shown(name)}: the lines have the pattern {recognized}; --pattern {PLAIN} imports whole lines"
        )
    elif not columns:
        output.warn(
            f"{_shown(name)}: no pattern of a name fits, so each line is a message without a time; --pattern takes a "
            r"regular expression with groups, such as '(?P<at>\S+) (?P<level>\w+) (?P<message>.*)'"
        )
    return pattern


def _text_columns(
    args: Namespace, existing: Table | None, source: Source, first: pa.RecordBatch | None
) -> list[str]:
    """Return the columns to index as text: those named, or of a new table those that look like sentences."""
    if args.text is not None:
        return [name for name in split_names(args.text) or [] if name]
    if existing is not None:
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


def _print_plan(
    args: Namespace,
    existing: Table | None,
    source: Source,
    first: pa.RecordBatch | None,
    text: Collection[str],
    output: Output,
) -> None:
    asked = split_names(args.partition_by) or []
    partitions = asked if existing is None else existing.partition_columns
    columns = [
        {"file": source.name, "column": f.name, "type": str(f.type), "index": _index(f, text, partitions)}
        for f in source.schema
    ]
    output.rows(["file", "column", "type", "index"], columns)
    if source.log is not None and first is not None and source.log.unmatched:
        lines = f"{source.log.unmatched:,} of the first {counted(first.num_rows, 'line')}"
        output.warn(f"{_shown(source.name)}: {lines} do not match the pattern")


def _index(field: pa.Field, text: Collection[str], partitions: Collection[str]) -> str:
    """Return in one word how a column is going to be indexed."""
    if field.name in partitions:
        return "partition"
    if field.name in text:
        return "text"
    if pa.types.is_temporal(field.type):
        return "times"
    is_number = (
        pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
    )
    return "numbers" if is_number else "exact"


def _columns(schema: pa.Schema, text: list[str]) -> str:
    names = (f"{field.name} {field.type}{' (text)' if field.name in text else ''}" for field in schema)
    return ", ".join(names)

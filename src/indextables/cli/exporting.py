"""`export`: rows of a table into a file. `sql`: a query of DuckDB over tables."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from indextables.cli.asking import confirm
from indextables.cli.exit_codes import DONE, NOTHING_FOUND
from indextables.cli.opening import check_no_file, matching_batches, open_at, split_names, to_settings
from indextables.cli.output import Output, to_json
from indextables.cli.terminal_progress import progress_of
from indextables.cli.text import counted
from indextables.errors import InputError
from indextables.progress import Progress
from indextables.table import open_table, plain_rows

FORMATS: Final = ("parquet", "csv", "ndjson", "arrow")
_SUFFIXES: Final = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_BINARY: Final = ("parquet", "arrow")
_STDOUT: Final = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_SEARCH: Final = re.compile(r"\b(?:TEXTSEARCH|FIELDMATCH|INDEXQUERY)\b", re.IGNORECASE)
_NESTED: Final = (pa.types.is_map, pa.types.is_list, pa.types.is_struct)


def export(args: Namespace, output: Output) -> int:
    """Write rows to a file, which appears when it is complete, or to stdout or another stream."""
    target = None if args.output in _STDOUT else Path(args.output)
    kind = args.to or ("ndjson" if target is None else _SUFFIXES.get(target.suffix.lower()))
    if kind is None:
        raise InputError(f"the name {target} does not tell its format; give it with --to {'|'.join(FORMATS)}")
    table = open_at(args)
    batches = matching_batches(table, args.query, args.where, split_names(args.columns))
    name = "stdout" if target is None else str(target)
    if args.dry_run:
        rows = table.count(args.query, where=args.where)
        values = {"status": "dry_run", "rows": rows, "format": kind, "file": name, "version": table.version}
        text = f"would write {counted(rows, 'row')} of version {table.version} to {name} as {kind}"
        output.record({**values, "columns": batches.schema.names}, text)
        return DONE
    if target is None or _is_stream(target):
        rows = _to_stream(kind, target, batches)
        output.note(f"wrote {counted(rows, 'row')} of version {table.version} to {name}")
        return DONE if rows else NOTHING_FOUND
    if target.exists():
        confirm(f"{target} exists. Replace it?", yes=args.yes)
    with progress_of(args, f"exporting to {target}") as progress, _replacing(target) as partial:
        rows = _write(kind, partial, batches, progress)
    values = {"rows": rows, "bytes": target.stat().st_size, "file": name, "version": table.version}
    output.record(values, f"wrote {counted(rows, 'row')} of version {table.version} to {target}")
    return DONE if rows else NOTHING_FOUND


def _is_stream(target: Path) -> bool:
    """Return True for a pipe or a device, which is written as it is. InputError for a directory."""
    if target.is_dir():
        raise InputError(f"{target} is a directory; -o takes a file")
    return target.exists() and not target.is_file()


def _to_stream(kind: str, target: Path | None, batches: pa.RecordBatchReader) -> int:
    """Write to stdout, or to a pipe or a device: rows of text as they come, other formats from a complete file."""
    if target is None and kind in _BINARY and sys.stdout.isatty():
        raise InputError(f"{kind} is no text for a terminal; name a file with -o, or pipe the output")
    sys.stdout.flush()
    out = sys.stdout.buffer if target is None else target.open("wb")
    with nullcontext() if target is None else out:
        if kind not in _BINARY:
            with _WRITERS[kind](out, batches.schema) as write:
                return _copy(batches, write)
        with tempfile.NamedTemporaryFile() as complete:
            rows = _write(kind, Path(complete.name), batches, None)
            shutil.copyfileobj(complete, out)
        return rows


def _write(kind: str, path: Path, batches: pa.RecordBatchReader, progress: Progress | None) -> int:
    with path.open("wb") as file, _WRITERS[kind](file, batches.schema) as write:
        return _copy(batches, write, progress)


def _copy(batches: pa.RecordBatchReader, write: Any, progress: Progress | None = None) -> int:
    rows = 0
    for batch in batches:
        write(batch)
        rows += batch.num_rows
        if progress is not None:
            progress(rows, None)
    return rows


def sql(args: Namespace, output: Output) -> int:
    """Print the rows of a SELECT over tables."""
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        raise InputError(
            "the command sql runs in DuckDB, which is not installed: pip install duckdb. "
            "Without it, search, count and export take a condition with --where"
        ) from None
    connection = duckdb.connect(":memory:", config={"enable_external_access": "false"})
    for text in args.tables:
        name, path = _named(text)
        check_no_file(path)
        table = open_table(path, version=args.version, as_of=args.as_of, settings=to_settings(args))
        connection.register(name, table)
    try:
        result = connection.sql(args.statement)
        if result is None:
            raise InputError("the statement gives no rows; tables are read here, and written by import")
        reader: pa.RecordBatchReader = result.to_arrow_reader(10_000)
        if reader.schema.names != list(dict.fromkeys(reader.schema.names)):
            raise InputError("two columns of the result have one name; name them with AS")
        count = output.rows(reader.schema.names, plain_rows(reader))
    except duckdb.Error as reason:
        word = _SEARCH.search(args.statement)
        if word is not None:
            raise InputError(
                f"DuckDB does not know {word[0].upper()}. To search: indextables search TABLE QUERY, or --where with "
                f"{word[0].upper()} for search, count, head and export; DuckDB reads what export writes"
            ) from None
        raise InputError(f"DuckDB: {reason}") from None
    if not count:
        output.note("no row")
    return DONE if count else NOTHING_FOUND


def _named(text: str) -> tuple[str, str]:
    """Return the name and the path of a table.

    >>> _named("errors=s3://logs/errors"), _named("/data/web-logs/")
    (('errors', 's3://logs/errors'), ('web_logs', '/data/web-logs/'))
    """
    name, separator, path = text.partition("=")
    if separator and name.isidentifier():
        return name, path
    last = text.rstrip("/").rpartition("/")[2]
    name = "".join(char if char.isalnum() else "_" for char in last)
    if not name or name[0].isdigit():
        raise InputError(f"{text!r} gives the table no name for SQL; write NAME={text}")
    return name, text


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary file in the directory of the target; it becomes the target if the block ends well."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
    except OSError as reason:
        raise InputError(f"{target} cannot be written: {reason.strerror}") from None
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o666 & ~_umask())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@contextmanager
def _parquet(file: IO[bytes], schema: pa.Schema) -> Iterator[Any]:
    with pq.ParquetWriter(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _csv(file: IO[bytes], schema: pa.Schema) -> Iterator[Any]:
    plain = pa.schema([field.with_type(_flat(field.type)) for field in schema])
    with pc_csv.CSVWriter(file, plain) as writer:

        def write(batch: pa.RecordBatch) -> None:
            writer.write_batch(_flattened(batch, plain))

        yield write


@contextmanager
def _ndjson(file: IO[bytes], schema: pa.Schema) -> Iterator[Any]:  # noqa: ARG001 - rows name their columns
    def write(batch: pa.RecordBatch) -> None:
        file.writelines(f"{to_json(row)}\n".encode() for row in plain_rows([batch]))

    yield write


@contextmanager
def _arrow(file: IO[bytes], schema: pa.Schema) -> Iterator[Any]:
    with pa_ipc.new_file(file, schema) as writer:
        yield writer.write_batch


def _flat(kind: pa.DataType) -> pa.DataType:
    nested = any(is_nested(kind) for is_nested in _NESTED) or pa.types.is_binary(kind)
    return pa.string() if nested else kind


def _flattened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
    rows = list(plain_rows([batch]))
    columns = [
        column
        if column.type == field.type
        else pa.array([_text(row[field.name]) for row in rows], pa.string())
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_WRITERS: Final = {"parquet": _parquet, "csv": _csv, "ndjson": _ndjson, "arrow": _arrow}

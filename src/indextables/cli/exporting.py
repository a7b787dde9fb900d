"""`export`: rows of a table into a file. `sql`: a query of DuckDB over tables."""

from __future__ import annotations

import json
import os
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from indextables.cli.asking import confirm
from indextables.cli.exit_codes import DONE, NOTHING_FOUND
from indextables.cli.opening import matching_batches, open_at, split_names, to_settings
from indextables.cli.output import Output, to_json
from indextables.cli.terminal_progress import progress_of
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
_NESTED: Final = (pa.types.is_map, pa.types.is_list, pa.types.is_struct)


def export(args: Namespace, output: Output) -> int:
    """Write rows to a file, which appears when it is complete."""
    target = Path(args.output)
    kind = args.to or _SUFFIXES.get(target.suffix.lower())
    if kind is None:
        raise InputError(f"the name {target} does not tell its format; give it with --to {'|'.join(FORMATS)}")
    table = open_at(args)
    batches = matching_batches(table, args.query, args.where, split_names(args.columns))
    if target.exists():
        if not target.is_file():
            raise InputError(f"{target} is not a file")
        confirm(f"{target} exists. Replace it?", yes=args.yes)
    with progress_of(args, f"exporting to {target}") as progress, _replacing(target) as partial:
        rows = _write(kind, partial, batches, progress)
    values = {"rows": rows, "bytes": target.stat().st_size, "file": str(target), "version": table.version}
    output.record(values, f"wrote {rows:,} rows of version {table.version} to {target}")
    return DONE if rows else NOTHING_FOUND


def _write(kind: str, path: Path, batches: pa.RecordBatchReader, progress: Progress | None) -> int:
    rows = 0
    with _WRITERS[kind](path, batches.schema) as write:
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
        connection.register(name, open_table(path, settings=to_settings(args)))
    try:
        result = connection.sql(args.statement)
        if result is None:
            raise InputError("the statement gives no rows; tables are read here, and written by import")
        reader: pa.RecordBatchReader = result.to_arrow_reader(10_000)
        if reader.schema.names != list(dict.fromkeys(reader.schema.names)):
            raise InputError("two columns of the result have one name; name them with AS")
        count = output.rows(reader.schema.names, plain_rows(reader))
    except duckdb.Error as reason:
        raise InputError(f"DuckDB: {reason}") from None
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
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Any]:
    with pq.ParquetWriter(path, schema) as writer:
        yield writer.write_batch


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Iterator[Any]:
    plain = pa.schema([field.with_type(_flat(field.type)) for field in schema])
    with pc_csv.CSVWriter(path, plain) as writer:

        def write(batch: pa.RecordBatch) -> None:
            writer.write_batch(_flattened(batch, plain))

        yield write


@contextmanager
def _ndjson(path: Path, schema: pa.Schema) -> Iterator[Any]:  # noqa: ARG001 - rows name their columns
    with path.open("w", encoding="utf-8") as out:

        def write(batch: pa.RecordBatch) -> None:
            out.writelines(f"{to_json(row)}\n" for row in plain_rows([batch]))

        yield write


@contextmanager
def _arrow(path: Path, schema: pa.Schema) -> Iterator[Any]:
    with pa_ipc.new_file(path, schema) as writer:
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

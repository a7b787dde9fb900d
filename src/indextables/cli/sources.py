"""Files to import as streams of Arrow batches: CSV, JSON, Parquet and raw logs, also compressed and from stdin."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from indextables.cli.log_lines import ARROW_TYPES, LogPattern, LogRows
from indextables.errors import InputError

FORMATS: Final = ("csv", "tsv", "json", "ndjson", "parquet", "log")
STDIN: Final = "-"
_SUFFIXES: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".log": "log",
    ".txt": "log",
}
_COMPRESSED: Final[Mapping[str, Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_BLOCK: Final = 8 << 20
_MAX_ARRAY: Final = 512 << 20
_MAX_LINE: Final = 1 << 20
"""A longer line of a raw log is several rows."""


@dataclass(frozen=True)
class SourceOptions:
    """How to read the files: the format, None to go by the name; types of columns; the pattern of raw logs."""

    format: str | None
    types: Mapping[str, pa.DataType]
    pattern: LogPattern


@dataclass
class Source:
    """An open file: its columns, its batches, and, of a log, the rows in which lines that do not match are counted."""

    name: str
    format: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    log: LogRows | None = None


def format_of(name: str) -> str:
    """Return the format that the name of a file says.

    >>> format_of("a/b.csv.gz"), format_of("x.jsonl")
    ('csv', 'ndjson')
    """
    path = Path(name)
    suffix = Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix
    kind = _SUFFIXES.get(suffix.lower())
    if kind is None:
        raise InputError(
            f"the name {name!r} does not tell its format; give it with --from {'|'.join(FORMATS)}"
        )
    return kind


@contextmanager
def open_source(name: str, options: SourceOptions) -> Iterator[Source]:
    """Open a file, or stdin for `-`. What cannot be read is an InputError, then or while its batches are read."""
    if name == STDIN and options.format is None:
        raise InputError(f"stdin has no name that tells its format; give it with --from {'|'.join(FORMATS)}")
    kind = options.format or format_of(name)
    try:
        with _opened(name) as file:
            schema, batches, log = _OPENERS[kind](file, options)
            schema = pa.schema([_usable(field) for field in schema])
            yield Source(name, kind, schema, _conformed(batches, schema), log)
    except BrokenPipeError:
        raise  # of the output, not of the file
    except OSError as reason:
        raise InputError(f"{name} cannot be read: {reason.strerror or reason}") from None
    except (
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
        UnicodeDecodeError,
        EOFError,
        lzma.LZMAError,
    ) as reason:
        raise _unreadable(name, kind, reason) from None


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == STDIN:
        yield sys.stdin.buffer
        return
    path = Path(name)
    opener = _COMPRESSED.get(path.suffix.lower())
    with opener(path, "rb") if opener is not None else path.open("rb") as file:
        yield file


def _unreadable(name: str, kind: str, reason: Exception) -> InputError:
    return InputError(f"{name} cannot be read as {kind}: {reason}")


def _conformed(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.cast(schema)


def _usable(field: pa.Field) -> pa.Field:
    """Return the field with a type that tables have: times in UTC, and strings where no value tells the type."""
    kind = field.type
    if pa.types.is_null(kind):
        return field.with_type(pa.string())
    if pa.types.is_timestamp(kind):
        return field.with_type(pa.timestamp("us", "UTC"))
    return field


def _csv(file: IO[bytes], options: SourceOptions, delimiter: str = ",") -> Any:
    reader = pc_csv.open_csv(
        file,
        read_options=pc_csv.ReadOptions(block_size=_BLOCK),
        parse_options=pc_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pc_csv.ConvertOptions(column_types=dict(options.types), strings_can_be_null=True),
    )
    return reader.schema, iter(reader), None


def _tsv(file: IO[bytes], options: SourceOptions) -> Any:
    return _csv(file, options, "\t")


def _ndjson(file: IO[bytes], options: SourceOptions) -> Any:
    schema = pa.schema(list(options.types.items())) if options.types else None
    reader = pa_json.open_json(
        file,
        read_options=pa_json.ReadOptions(block_size=_BLOCK),
        parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
    )
    return reader.schema, iter(reader), None


def _json(file: IO[bytes], options: SourceOptions) -> Any:
    """Read an array of objects, or, as many programs name it so too, one object a line."""
    peek = getattr(file, "peek", None)
    start = peek(64) if peek is not None else b""
    if start.lstrip()[:1] != b"[":
        return _ndjson(file, options)
    data = file.read(_MAX_ARRAY + 1)
    if len(data) > _MAX_ARRAY:
        raise InputError(f"a JSON array of more than {_MAX_ARRAY >> 20} MiB; write one object a line instead")
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError) as reason:
        raise pa.ArrowInvalid(str(reason)) from None
    if not all(isinstance(row, dict) for row in rows):
        raise pa.ArrowInvalid("the array has values other than objects")
    lines = "\n".join(json.dumps(row) for row in rows)
    return _ndjson(io.BytesIO(lines.encode()), options)


def _parquet(file: IO[bytes], options: SourceOptions) -> Any:
    if file is sys.stdin.buffer:
        file = io.BytesIO(file.read())  # its footer is at the end
    reader = pq.ParquetFile(file)
    schema = reader.schema_arrow
    for name, kind in options.types.items():
        place = schema.get_field_index(name)
        schema = schema if place < 0 else schema.set(place, schema.field(place).with_type(kind))
    return schema, reader.iter_batches(), None


def _log(file: IO[bytes], options: SourceOptions) -> Any:
    rows = LogRows(options.pattern)
    lines = (line.decode("utf-8", "replace") for line in iter(lambda: file.readline(_MAX_LINE), b""))
    return rows.schema, rows.batches(lines), rows


_OPENERS: Final = {
    "csv": _csv,
    "tsv": _tsv,
    "json": _json,
    "ndjson": _ndjson,
    "parquet": _parquet,
    "log": _log,
}


def to_types(text: str | None) -> dict[str, str]:
    """Return the types of `--types name=type,...`.

    >>> to_types("id=string,at=timestamp")
    {'id': 'string', 'at': 'timestamp'}
    """
    types = {}
    for part in (text or "").split(","):
        if part:
            name, separator, kind = part.partition("=")
            if not separator or kind.strip() not in ARROW_TYPES:
                raise InputError(f"--types takes column=type,... with the types {', '.join(ARROW_TYPES)}")
            types[name.strip()] = kind.strip()
    return types

"""Files to import as streams of Arrow batches: CSV, JSON, Parquet and raw logs, also compressed and from stdin."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from indextables.cli.byte_streams import Rejoined, in_utf8
from indextables.cli.log_lines import ARROW_TYPES, LogPattern, LogRows
from indextables.cli.moments import MOMENT, Moments, are_moments
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
_PEEK: Final = 64
_FIRST_LINES: Final = 100
_MAX_ARRAY: Final = 512 << 20
_MAX_LINE: Final = 1 << 20
"""A longer line of a raw log is several rows."""
_ENCODING: Final = "If it is text in another encoding, name it, for example --encoding latin-1"


PatternChoice = Callable[[Sequence[str]], LogPattern]
"""The pattern of a raw log, by its first lines."""


@dataclass(frozen=True)
class SourceOptions:
    """How to read the files.

    The format, None to go by the name; the types of columns, of which those in `asked` must be in the file; how to
    choose the pattern of raw logs; the encoding of text, None for UTF-8.
    """

    format: str | None
    types: Mapping[str, pa.DataType]
    asked: frozenset[str]
    pattern: PatternChoice
    encoding: str | None = None

    def type_of(self, name: str) -> pa.DataType | None:
        """Return the type of a column by its name in any case; None: the values tell."""
        lower = {known.lower(): kind for known, kind in self.types.items()}
        return self.types.get(name, lower.get(name.lower()))


@dataclass
class Source:
    """An open file: its columns, its batches, and, of a log, the rows in which lines that do not match are counted.

    `moments` knows after the batches which columns had times without a zone.
    """

    name: str
    format: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    moments: Moments
    log: LogRows | None = None


@dataclass
class _Content:
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    times: Collection[str] = ()
    """Columns of text that are times."""
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
    if options.encoding is not None and kind == "parquet":
        raise InputError(f"--encoding is for text, and {name} is parquet")
    try:
        with _opened(name) as file:
            text = file if options.encoding is None else in_utf8(file, options.encoding)
            content = _OPENERS[kind](text, options)
            moments = Moments(content.times)
            schema = pa.schema(
                [_usable(field, is_time=field.name in content.times) for field in content.schema]
            )
            yield Source(
                name=name,
                format=kind,
                schema=schema,
                batches=moments.convert(content.batches, schema),
                moments=moments,
                log=content.log,
            )
    except BrokenPipeError:
        raise  # of the output, not of the file
    except OSError as reason:
        raise InputError(f"{_shown(name)} cannot be read: {reason.strerror or reason}") from None
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
        if sys.stdin is None:
            raise InputError("stdin is closed, and - imports from it")
        yield sys.stdin.buffer
        return
    path = Path(name)
    opener = _COMPRESSED.get(path.suffix.lower())
    with opener(path, "rb") if opener is not None else path.open("rb") as file:
        yield file


def _shown(name: str) -> str:
    return "stdin" if name == STDIN else name


def _unreadable(name: str, kind: str, reason: Exception) -> InputError:
    message = f"{_shown(name)} cannot be read as {kind}: {reason}"
    if isinstance(reason, UnicodeDecodeError) or re.search(r"UTF-?8|encoding", str(reason)):
        message += f". {_ENCODING}"
    return InputError(message)


def _usable(field: pa.Field, *, is_time: bool) -> pa.Field:
    """Return the field with a type that tables have: times in UTC, and strings where no value tells the type."""
    if is_time or pa.types.is_timestamp(field.type):
        return field.with_type(MOMENT)
    return field.with_type(pa.string()) if pa.types.is_null(field.type) else field


def _csv(file: IO[bytes], options: SourceOptions, delimiter: str = ",") -> _Content:
    def reader(data: IO[bytes] | Rejoined, types: Mapping[str, pa.DataType]) -> pc_csv.CSVStreamingReader:
        return pc_csv.open_csv(
            data,
            read_options=pc_csv.ReadOptions(block_size=_BLOCK),
            parse_options=pc_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pc_csv.ConvertOptions(column_types=types, strings_can_be_null=True),
        )

    head = file.read(2 * _BLOCK)
    first = reader(io.BytesIO(head), {})
    _check_asked(options, first.schema.names)
    types = {name: kind for name in first.schema.names if (kind := options.type_of(name)) is not None}
    binary = next((f.name for f in first.schema if pa.types.is_binary(f.type) and f.name not in types), None)
    if binary is not None:
        raise InputError(f"column {binary!r} has bytes that are not UTF-8. {_ENCODING}")
    times = _times(first.schema, next(iter(first), None), types)
    found = reader(Rejoined(head, file), types | dict.fromkeys(times, pa.string()))
    return _Content(found.schema, iter(found), times)


def _tsv(file: IO[bytes], options: SourceOptions) -> _Content:
    return _csv(file, options, "\t")


def _ndjson(file: IO[bytes], options: SourceOptions) -> _Content:
    """Read one object a line. Columns of the table that the first block lacks may come later."""

    def reader(data: IO[bytes] | Rejoined, types: Mapping[str, pa.DataType]) -> pa_json.JSONStreamingReader:
        schema = pa.schema(list(types.items())) if types else None
        return pa_json.open_json(
            data,
            read_options=pa_json.ReadOptions(block_size=_BLOCK),
            parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
        )

    head = file.read(2 * _BLOCK)
    absent = frozenset(name for name in options.asked if not _has_key(head, name))
    as_text = {name: pa.string() if _is_moment(kind) else kind for name, kind in options.types.items()}
    first = reader(io.BytesIO(head), as_text)
    if absent and len(head) < 2 * _BLOCK:
        raise _unknown_columns(absent, [name for name in first.schema.names if name not in absent])
    times = _times(first.schema, next(iter(first), None), options.types)
    found = reader(Rejoined(head, file), as_text | dict.fromkeys(times, pa.string()))
    return _Content(found.schema, _with_values(_checked(found), absent), times)


def _checked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches. ArrowInvalid if text is not UTF-8, which the reader of JSON does not look at."""
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _has_key(head: bytes, name: str) -> bool:
    keys = (json.dumps(name, ensure_ascii=is_ascii).encode() for is_ascii in (False, True))
    return any(re.search(re.escape(key) + rb"\s*:", head) for key in keys)


def _with_values(batches: Iterator[pa.RecordBatch], names: frozenset[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches. InputError at their end if one of the columns had no value."""
    empty = set(names)
    for batch in batches:
        empty -= {name for name in empty if batch.column(name).null_count < batch.num_rows}
        yield batch
    if empty:
        raise _unknown_columns(empty)


def _json(file: IO[bytes], options: SourceOptions) -> _Content:
    """Read an array of objects, or, as many programs name it so too, one object a line."""
    head = file.read(_PEEK)
    if head.lstrip()[:1] != b"[":
        return _ndjson(io.BufferedReader(Rejoined(head, file)), options)
    data = head + file.read(_MAX_ARRAY + 1 - len(head))
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


def _parquet(file: IO[bytes], options: SourceOptions) -> _Content:
    if not file.seekable():
        file = io.BytesIO(file.read())  # its footer is at the end
    reader = pq.ParquetFile(file)
    schema = reader.schema_arrow
    _check_asked(options, schema.names)
    for place, name in enumerate(schema.names):
        kind = options.type_of(name)
        schema = schema if kind is None else schema.set(place, schema.field(place).with_type(kind))
    return _Content(schema, reader.iter_batches())


def _log(file: IO[bytes], options: SourceOptions) -> _Content:
    read = (line.decode("utf-8", "replace") for line in iter(lambda: file.readline(_MAX_LINE), b""))
    first = list(islice(read, _FIRST_LINES))
    rows = LogRows(options.pattern(first))
    return _Content(rows.schema, rows.batches(chain(first, read)), log=rows)


def _times(
    schema: pa.Schema, first: pa.RecordBatch | None, types: Mapping[str, pa.DataType]
) -> frozenset[str]:
    """Return the columns of moments: those of that type, or without a type and with times in the first block."""
    return frozenset(
        field.name
        for field in schema
        if (
            _is_moment(types[field.name])
            if field.name in types
            else pa.types.is_timestamp(field.type)
            or (first is not None and are_moments(first.column(field.name)))
        )
    )


def _is_moment(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _check_asked(options: SourceOptions, names: Collection[str]) -> None:
    unknown = options.asked - set(names)
    if unknown:
        raise _unknown_columns(unknown, names)


def _unknown_columns(unknown: Collection[str], names: Collection[str] = ()) -> InputError:
    columns = f"; it has {', '.join(names)}" if names else ""
    return InputError(f"--types names {', '.join(sorted(unknown))}, which the file does not have{columns}")


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

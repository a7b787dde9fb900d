"""What files hold, by their format: CSV, JSON, Parquet and raw logs as columns and batches."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import IO, Final

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from indextables.cli.arrivals import Arrivals, RecordEnds, last_line_end
from indextables.cli.byte_streams import Rejoined
from indextables.cli.log_lines import MOST_BEFORE_MATCH, LogPattern, LogRows, recognized_pattern
from indextables.cli.moments import are_moments
from indextables.errors import InputError

_BLOCK: Final = 8 << 20
_PEEK: Final = 64
_FIRST_LINES: Final = 100
_MAX_ARRAY: Final = 512 << 20
_MAX_LINE: Final = 1 << 20
"""A longer line of a raw log is several rows."""
ENCODING: Final = "If it is text in another encoding, name it, for example --encoding latin-1"


PatternChoice = Callable[[Sequence[str]], LogPattern]
"""The pattern of a raw log, by its first lines."""


@dataclass(frozen=True)
class SourceOptions:
    """How to read the files.

    The format, None to go by the name; the types of columns, of which those in `asked` must be in the file; how to
    choose the pattern of raw logs; the encoding of text, None for UTF-8; what separates the values of CSV.
    """

    format: str | None
    types: Mapping[str, pa.DataType]
    asked: frozenset[str]
    pattern: PatternChoice
    encoding: str | None = None
    delimiter: str = ","
    has_pattern: bool = False
    """True if the pattern of raw logs is given, so that it does not depend on their lines."""

    def type_of(self, name: str) -> pa.DataType | None:
        """Return the type of a column by its name in any case; None: the values tell."""
        lower = {known.lower(): kind for known, kind in self.types.items()}
        return self.types.get(name, lower.get(name.lower()))


@dataclass
class Content:
    """The columns and the rows of a file, as its format has them."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    times: Collection[str] = ()
    """Columns of text that are times."""
    log: LogRows | None = None


def _csv(file: IO[bytes] | Arrivals, options: SourceOptions) -> Content:
    delimiter = options.delimiter

    def reader(
        data: IO[bytes] | Rejoined, types: Mapping[str, pa.DataType], names: Sequence[str] | None = None
    ) -> pc_csv.CSVStreamingReader:
        return pc_csv.open_csv(
            data,
            read_options=pc_csv.ReadOptions(block_size=_BLOCK, column_names=names),
            parse_options=pc_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pc_csv.ConvertOptions(column_types=types, strings_can_be_null=True),
        )

    if isinstance(file, Arrivals):
        record_ends = RecordEnds(delimiter.encode())
        file.divide(record_ends)
        head = file.head(2, record_ends.count)  # the names of the columns, and a row
    else:
        head = file.read(2 * _BLOCK)
    first = reader(io.BytesIO(head), {})
    _check_asked(options, first.schema.names)
    types = {name: kind for name in first.schema.names if (kind := options.type_of(name)) is not None}
    binary = next((f.name for f in first.schema if pa.types.is_binary(f.type) and f.name not in types), None)
    if binary is not None:
        raise InputError(f"column {binary!r} has bytes that are not UTF-8. {ENCODING}")
    times = _times(first.schema, next(iter(first), None), types)
    as_read = types | dict.fromkeys(times, pa.string())
    if isinstance(file, Arrivals):
        schema = _without_nulls(reader(io.BytesIO(head), as_read).schema)
        as_read = {field.name: field.type for field in schema}
        rows = reader(io.BytesIO(head), as_read)
        more = (
            reader(io.BytesIO(data), as_read, schema.names) if data.strip(b"\r\n") else () for data in file
        )
        return Content(schema, _as_they_arrive(schema, chain([rows], more)), times)
    found = reader(Rejoined(head, file), as_read)
    return Content(found.schema, iter(found), times)


def _tsv(file: IO[bytes] | Arrivals, options: SourceOptions) -> Content:
    return _csv(file, replace(options, delimiter="\t"))


def _ndjson(file: IO[bytes] | Arrivals, options: SourceOptions) -> Content:
    """Read one object a line. Columns of the table that the first block lacks may come later."""

    def reader(data: IO[bytes] | Rejoined, types: Mapping[str, pa.DataType]) -> pa_json.JSONStreamingReader:
        schema = pa.schema(list(types.items())) if types else None
        return pa_json.open_json(
            data,
            read_options=pa_json.ReadOptions(block_size=_BLOCK),
            parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
        )

    live = isinstance(file, Arrivals)
    if isinstance(file, Arrivals):
        file.divide(last_line_end)
        head = file.head(1)
    else:
        head = file.read(2 * _BLOCK)
    absent = frozenset(name for name in options.asked if not _has_key(head, name))
    as_text = {name: pa.string() if _is_moment(kind) else kind for name, kind in options.types.items()}
    first = reader(io.BytesIO(head), as_text)
    if absent and len(head) < 2 * _BLOCK and not live:
        raise _unknown_columns(absent, [name for name in first.schema.names if name not in absent])
    times = _times(first.schema, next(iter(first), None), options.types)
    as_read = as_text | dict.fromkeys(times, pa.string())
    if isinstance(file, Arrivals):
        schema = _without_nulls(reader(io.BytesIO(head), as_read).schema)
        as_read = {field.name: field.type for field in schema}
        parts = (
            _checked_names(reader(io.BytesIO(data), as_read), schema) if data.strip() else ()
            for data in chain([head], file)
        )
        return Content(schema, _as_they_arrive(schema, parts), times)
    found = reader(Rejoined(head, file), as_read)
    return Content(found.schema, _with_values(_checked(found), absent), times)


def _as_they_arrive(schema: pa.Schema, parts: Iterable[Iterable[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of each part; one without rows for an empty part, which means that nothing has come yet."""
    nothing = pa.RecordBatch.from_pylist([], schema)
    for part in parts:
        batches = _checked(part)
        yield next(batches, nothing)
        yield from batches


def _checked_names(reader: pa_json.JSONStreamingReader, schema: pa.Schema) -> pa_json.JSONStreamingReader:
    """Return the reader. ArrowInvalid if its rows have a column that those of the schema do not have."""
    for field in reader.schema:
        if field.name not in schema.names or field.type != schema.field(field.name).type:
            raise pa.ArrowInvalid(
                f"the column {field.name!r} is {field.type} in later lines, and was not in the first"
            )
    return reader


def _without_nulls(schema: pa.Schema) -> pa.Schema:
    """Return the schema with strings where no value tells the type: values may come later."""
    return pa.schema([field.with_type(_with_strings(field.type)) for field in schema])


def _with_strings(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_strings(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_strings(field.type)) for field in kind])
    return kind


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


def _json(file: IO[bytes] | Arrivals, options: SourceOptions) -> Content:
    """Read an array of objects, or, as many programs name it so too, one object a line."""
    if isinstance(file, Arrivals):
        if file.first_byte() != b"[":
            return _ndjson(file, options)
        file = io.BytesIO(file.read(_MAX_ARRAY + 1))
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


def _parquet(file: IO[bytes], options: SourceOptions) -> Content:
    if not file.seekable():
        file = io.BytesIO(file.read())  # its footer is at the end
    reader = pq.ParquetFile(file)
    schema = reader.schema_arrow
    _check_asked(options, schema.names)
    for place, name in enumerate(schema.names):
        kind = options.type_of(name)
        schema = schema if kind is None else schema.set(place, schema.field(place).with_type(kind))
    return Content(schema, reader.iter_batches())


def _log(file: IO[bytes] | Arrivals, options: SourceOptions) -> Content:
    if isinstance(file, Arrivals):
        return _log_as_it_arrives(file, options)
    read = (line.decode("utf-8", "replace") for line in iter(lambda: file.readline(_MAX_LINE), b""))
    first = list(islice(read, _FIRST_LINES))
    rows = LogRows(options.pattern(first))
    return Content(rows.schema, rows.batches(chain(first, read)), log=rows)


def _log_as_it_arrives(arrivals: Arrivals, options: SourceOptions) -> Content:
    """Read the lines that are there.

    Lines before the first that matches wait for it, up to a number of lines, and so do the first lines for a pattern
    that is recognized.
    """
    arrivals.divide(last_line_end, most=_MAX_LINE)
    parts = (_lines(data) for data in arrivals)
    first = _lines(arrivals.head(1))
    if not options.has_pattern:
        while len(first) < _FIRST_LINES and recognized_pattern(first) is None:
            more = next(parts, None)
            if more is None:
                break
            first += more
    rows = LogRows(options.pattern(first[:_FIRST_LINES]))

    def batches() -> Iterator[pa.RecordBatch]:
        lines = list(first)
        more: list[str] | None = first
        while more is not None and len(lines) < MOST_BEFORE_MATCH and not rows.has_match(more):
            more = next(parts, None)
            lines += more or []
        for part in chain([lines], parts):
            yield from rows.batches(part)
            if not part:
                yield pa.RecordBatch.from_pylist([], rows.schema)

    return Content(rows.schema, batches(), log=rows)


def _lines(data: bytes) -> list[str]:
    """Return the lines of a log; only a newline ends one."""
    lines = data.split(b"\n")
    return [line.decode("utf-8", "replace") for line in (lines if lines[-1] else lines[:-1])]


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


OPENERS: Final[Mapping[str, Callable[..., Content]]] = {
    "csv": _csv,
    "tsv": _tsv,
    "json": _json,
    "ndjson": _ndjson,
    "parquet": _parquet,
    "log": _log,
}
LIVE: Final = frozenset(OPENERS) - {"parquet"}
"""Formats that are read as they arrive; the columns of Parquet are at its end."""

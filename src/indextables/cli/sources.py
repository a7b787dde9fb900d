"""Files to import as streams of Arrow batches: CSV, JSON, Parquet and raw logs, also compressed and from stdin."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from indextables.cli.arrivals import Arrivals, Patience, is_pipe
from indextables.cli.byte_streams import in_utf8
from indextables.cli.formats import ENCODING, LIVE, OPENERS, SourceOptions
from indextables.cli.log_lines import ARROW_TYPES, LogRows
from indextables.cli.moments import MOMENT, Moments
from indextables.errors import InputError

FORMATS: Final = tuple(OPENERS)
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
_OTHER: Final = re.compile("changed from|later lines|conversion error|couldn't parse")
"""What Arrow says about values that do not fit the types of the first lines."""
_FIRST_LINES: Final = (
    "The columns and types are those of the first lines; --types column=type gives others, or adds one"
)


@dataclass
class Source:
    """An open file: its columns, its batches, and, of a log, the rows in which lines that do not match are counted.

    `moments` knows after the batches which columns had times without a zone. The batches of a live source come as its
    rows arrive; one without rows says that none have.
    """

    name: str
    format: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    moments: Moments
    log: LogRows | None = None
    is_live: bool = False


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
def open_source(name: str, options: SourceOptions, patience: Patience | None = None) -> Iterator[Source]:
    """Open a file, or stdin for `-`. What cannot be read is an InputError, then or while its batches are read.

    With a `patience`, a pipe is a live source.
    """
    if name == STDIN and options.format is None:
        raise InputError(f"stdin has no name that tells its format; give it with --from {'|'.join(FORMATS)}")
    kind = options.format or format_of(name)
    if options.encoding is not None and kind == "parquet":
        raise InputError(f"--encoding is for text, and {name} is parquet")
    live = False
    try:
        with _opened(name) as file:
            live = patience is not None and kind in LIVE and is_pipe(file)
            content = OPENERS[kind](_text(file, options.encoding, patience if live else None), options)
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
                is_live=live,
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
        raise _unreadable(name, kind, reason, live=live) from None


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


def _text(file: IO[bytes], encoding: str | None, patience: Patience | None) -> IO[bytes] | Arrivals:
    if patience is not None:
        return Arrivals(file.fileno(), patience, encoding)
    return file if encoding is None else in_utf8(file, encoding)


def _shown(name: str) -> str:
    return "stdin" if name == STDIN else name


def _unreadable(name: str, kind: str, reason: Exception, *, live: bool) -> InputError:
    if re.search("^Empty (?:CSV|JSON) (?:file|stream)", str(reason)):
        return InputError(f"{_shown(name)} is empty; nothing of it was imported")
    message = f"{_shown(name)} cannot be read as {kind}: {reason}"
    wrong = re.search(r"Expected \d+ columns, got \d+: (.*)", str(reason)) if kind == "csv" else None
    if isinstance(reason, UnicodeDecodeError) or re.search(r"UTF-?8|encoding", str(reason)):
        message += f". {ENCODING}"
    elif "unexpected field" in str(reason) or (live and _OTHER.search(str(reason))):
        message += f". {_FIRST_LINES}"
    elif wrong is not None and (other := other_delimiter(wrong[1])) is not None:
        message += f". It looks separated by {other}: --delimiter {other}"
    return InputError(message)


def other_delimiter(line: str) -> str | None:
    r"""Return, as a shell takes it, what else than a comma separates the values of a line of CSV; None without it.

    >>> other_delimiter("id;name"), other_delimiter("id\tname"), other_delimiter("id")
    ("';'", "'\\t'", None)
    """
    found = next((character for character in ";\t|" if character in line), None)
    return None if found is None else f"'{found}'".replace("\t", r"\t")


def _usable(field: pa.Field, *, is_time: bool) -> pa.Field:
    """Return the field with a type that tables have: times in UTC, and strings where no value tells the type."""
    if is_time or pa.types.is_timestamp(field.type):
        return field.with_type(MOMENT)
    return field.with_type(pa.string()) if pa.types.is_null(field.type) else field


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

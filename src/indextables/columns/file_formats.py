"""What a file format offers: rows going in, and rows coming out by number, in pieces that are read alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from indextables.columns.parquet_files import ParquetRows, ParquetSink
from indextables.columns.stored_files import StoredFile
from indextables.columns.vortex_files import VortexRows, VortexSink, check_types
from indextables.errors import InputError
from indextables.predicates import Bounds
from indextables.rows import RowIds

PARQUET: Final = "parquet"
VORTEX: Final = "vortex"
FORMATS: Final = (PARQUET, VORTEX)


@dataclass(frozen=True)
class WriteOptions:
    """How files are written. A size counts bytes of rows in memory, before they are encoded.

    A `dictionary` of None is for the columns whose values repeat.
    """

    compression: str
    compression_level: int | None
    dictionary: bool | None
    row_group_bytes: int | None
    rolling_bytes: int


class FileSink(Protocol):
    """A local file that is being written."""

    def write(self, rows: pa.Table) -> None:
        """Store these rows as one row group, where the format has them."""

    def close(self) -> Mapping[str, str]:
        """Finish the file; return its properties for the manifest."""

    def abort(self) -> None:
        """Release the file, whatever state it is in."""


class FileRows(Protocol):
    """A file that is read. Methods may be called from several threads.

    A chunk is the smallest piece that can be read alone; `starts` has the first row of each and, at the end, the number
    of rows.
    """

    schema: pa.Schema
    starts: RowIds

    def bounds(self, chunk: int, columns: Sequence[str]) -> dict[str, Bounds]:
        """Return the bounds of the values in a chunk, without the columns that have none."""

    def memory(self, chunk: int) -> int:
        """Return about how many bytes the chunk takes once it is read."""

    def row_bytes(self, columns: Sequence[str]) -> float:
        """Return about how many bytes a row of these columns takes."""

    def read(self, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        """Return the rows from `start` (included) to `stop` (excluded)."""

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.Table:
        """Return just these rows, which are ascending."""


def new_sink(file_format: str, path: Path, schema: pa.Schema, options: WriteOptions) -> FileSink:
    match file_format:
        case "parquet":
            return ParquetSink(path, schema, options)
        case "vortex":
            return VortexSink(path, schema, options)
        case _:
            raise unknown_format(file_format)


def check_schema(file_format: str, schema: pa.Schema) -> None:
    """Raise an error if files of this format cannot hold these columns, before there are any rows."""
    if file_format not in FORMATS:
        raise unknown_format(file_format)
    if file_format == VORTEX:
        check_types(schema)


def open_rows(file_format: str, stored: StoredFile) -> FileRows:
    match file_format:
        case "parquet":
            return ParquetRows(stored)
        case "vortex":
            return VortexRows(stored)
        case _:
            raise unknown_format(file_format)


def unknown_format(file_format: str) -> InputError:
    return InputError(f"there is no file format {file_format!r}; choose {' or '.join(FORMATS)}")

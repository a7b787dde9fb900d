"""The file formats by the names that manifests give them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa

from indextables.columns.file_rows import FileRows, FileSink, WriteOptions
from indextables.columns.parquet_files import ParquetRows, ParquetSink
from indextables.columns.stored_files import StoredFile
from indextables.columns.vortex_files import VortexRows, VortexSink, check_types
from indextables.errors import InputError

PARQUET: Final = "parquet"
VORTEX: Final = "vortex"
FORMATS: Final = (PARQUET, VORTEX)


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
    return InputError(
        f"files of format {file_format!r} are not known here; there are {' and '.join(FORMATS)}"
    )

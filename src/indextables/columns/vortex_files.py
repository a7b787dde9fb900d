"""Column groups in Vortex files, which find single rows faster than Parquet does. Needs the package `vortex-data`.

Rows wait on the local disk as Arrow until the file is closed: Vortex takes a file's rows in one go.

Vortex has no checksums, and reads any bytes it likes of a file. So a file is checked in blocks of one size, whose
checksums are in its tail (see `file_checksums`): what Vortex asks for is read as the blocks around it.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from indextables.columns.file_checksums import add_sections
from indextables.columns.stored_files import FILE_SIZE, StoredFile
from indextables.errors import IndexTablesError, InputError, SchemaError
from indextables.predicates import Bounds
from indextables.rows import RowIds

if TYPE_CHECKING:
    from indextables.columns.file_formats import WriteOptions

CHUNK_ROWS: Final = 8192
"""Vortex reads any rows; this many are called a chunk where the caller counts in chunks."""

BLOCK_BYTES: Final = 64 << 10
"""Bytes that have one checksum."""

_MAGIC: Final = b"VTXF"
_END: Final = 8
"""A version and the length of the postscript, both in 16 bits, and the magic number."""


class VortexSink:
    def __init__(self, path: Path, schema: pa.Schema, options: WriteOptions) -> None:  # noqa: ARG002 - it compresses as it sees fit
        self._vortex = _package()
        self._path = path
        self._spool = path.with_name(f"{path.name}.arrow")
        self._writer = pa.ipc.new_file(str(self._spool), schema)

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)

    def close(self) -> Mapping[str, str]:
        self._writer.close()
        with pa.memory_map(str(self._spool)) as spool:
            file = pa.ipc.open_file(spool)
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
            self._vortex.io.write(pa.RecordBatchReader.from_batches(file.schema, batches), str(self._path))
        self._spool.unlink()
        footer = _postscript_size(self._path)
        stated = add_sections(self._path, footer, _block_checksums(self._path, footer))
        return {FILE_SIZE: str(self._path.stat().st_size), **stated}

    def abort(self) -> None:
        with contextlib.suppress(Exception):
            self._writer.close()
        self._spool.unlink(missing_ok=True)


class VortexRows:
    def __init__(self, stored: StoredFile) -> None:
        vortex = _package()
        self._array = vortex.array
        self._stored = stored
        path = stored.store.local_path(stored.key)
        sections = stored.read_sections()
        tail = None if sections is None else sections[1]
        self._source = None if path is not None and tail is None else _Ranges(stored, tail)
        with self._source or contextlib.nullcontext(), stored.decoding():
            self._file = (
                vortex.open(str(path)) if self._source is None else vortex.open_readable(self._source)
            )
            self._rows = len(self._file)
            self.schema: pa.Schema = _with_plain_strings(self._file.dtype.to_arrow_schema())
        self.starts: RowIds = np.append(np.arange(0, self._rows, CHUNK_ROWS, dtype=np.int64), self._rows)

    def bounds(self, chunk: int, columns: Sequence[str]) -> dict[str, Bounds]:  # noqa: ARG002 - it tells of none
        return {}

    def memory(self, chunk: int) -> int:
        rows = int(self.starts[chunk + 1] - self.starts[chunk])
        return int(rows * self.row_bytes(self.schema.names))

    def row_bytes(self, columns: Sequence[str]) -> float:
        """Return an estimate by the size of the file, which is some times smaller than its rows."""
        share = len(columns) / max(1, len(self.schema))
        return 4 * share * self._stored.size / max(1, self._rows)

    def read(self, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        return self.fetch(np.arange(start, stop, dtype=np.int64), columns)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.Table:
        schema = pa.schema([self.schema.field(name) for name in columns])
        if not len(rows):
            return schema.empty_table()
        with self._source or contextlib.nullcontext(), self._stored.decoding():
            indices = self._array(pa.array(rows.astype(np.uint64)))
            table: pa.Table = self._file.to_arrow(list(columns), indices=indices, schema=schema).read_all()
            if table.num_rows != len(rows):
                raise self._stored.damaged(f"it gave {table.num_rows} rows where {len(rows)} were asked for")
            if self._stored.tail is None:
                table.validate(full=True)  # nothing has checked its bytes
            return table.select(list(columns))


class _Ranges:
    """The byte ranges that Vortex asks for, from blocks that are verified where the file has checksums of them.

    An error raised below Vortex loses its type on the way out. As a context manager this raises the error itself.
    """

    def __init__(self, stored: StoredFile, tail: bytes | None) -> None:
        self._stored = stored
        self._tail = tail
        self._error: IndexTablesError | None = None
        path = stored.store.local_path(stored.key)
        with stored.decoding():
            self._mapped = None if path is None else memoryview(pa.memory_map(str(path)).read_buffer())
            if tail is not None:
                self._sums = _stated_checksums(tail, stored.size)

    def size(self) -> int:
        return self._stored.size

    def read_at(self, offset: int, length: int) -> bytes:
        try:
            return self._read(offset, length)
        except IndexTablesError as error:
            self._error = error
            raise

    def __enter__(self) -> None:
        self._error = None

    def __exit__(self, _kind: object, raised: BaseException | None, _trace: object) -> None:
        if raised is not None and self._error is not None:
            raise self._error from None

    def _read(self, offset: int, length: int) -> bytes:
        if self._tail is None:
            return bytes(self._bytes(offset, length))
        end, body = offset + length, self._stored.size - len(self._tail)
        data = b""
        if offset < body:
            start = offset - offset % BLOCK_BYTES
            stop = min(body, end + -end % BLOCK_BYTES)
            blocks = memoryview(self._bytes(start, stop - start))
            for at in range(0, len(blocks), BLOCK_BYTES):
                if zlib.crc32(blocks[at : at + BLOCK_BYTES]) != self._sums[(start + at) // BLOCK_BYTES]:
                    raise self._stored.damaged(f"the checksum of its block from byte {start + at} is wrong")
            data = bytes(blocks[offset - start : min(end, body) - start])
        return data + self._tail[max(0, offset - body) : max(0, end - body)]

    def _bytes(self, start: int, length: int) -> bytes | memoryview:
        if self._mapped is None:
            return self._stored.range(start, length)
        return self._mapped[start : start + length]


def check_types(schema: pa.Schema) -> None:
    """Raise SchemaError for a column that Vortex has no type for."""
    convert = _package().array
    for field in schema:
        try:
            convert(pa.nulls(1, field.type))
        except (ValueError, TypeError, RuntimeError, pa.ArrowException):
            raise SchemaError(
                f"column {field.name!r} is {field.type}, which files of format vortex cannot hold; "
                f"cast it (fixed-size binary to binary, a duration to int64), or use the format parquet for it"
            ) from None


def _block_checksums(path: Path, footer: int) -> bytes:
    """Return the checksums of a finished file up to its postscript."""
    sums: list[int] = []
    remaining = path.stat().st_size - footer
    with path.open("rb") as file:
        while remaining:
            block = file.read(min(BLOCK_BYTES, remaining))
            sums.append(zlib.crc32(block))
            remaining -= len(block)
    return bytes(np.array(sums, dtype="<u4").tobytes())


def _stated_checksums(tail: bytes, size: int) -> list[int]:
    footer = _size_of_postscript(tail)
    sums: list[int] = np.frombuffer(tail[:-footer], dtype="<u4").tolist()
    if len(sums) != -(-(size - len(tail)) // BLOCK_BYTES):
        raise ValueError(f"it has {len(sums)} checksums of blocks, which is not one for each")
    return sums


def _postscript_size(path: Path) -> int:
    with path.open("rb") as file:
        file.seek(-_END, 2)
        return _size_of_postscript(file.read())


def _size_of_postscript(end: bytes) -> int:
    """Return the number of bytes from the postscript to the end of the file."""
    if len(end) < _END or end[-4:] != _MAGIC:
        raise ValueError("it does not end as a Vortex file does")
    return int.from_bytes(end[-6:-4], "little") + _END


def _with_plain_strings(schema: pa.Schema) -> pa.Schema:
    """Return the schema without views of strings: Vortex prefers them, and much of Arrow cannot compute with them."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return pa.schema([field.with_type(plain.get(field.type, field.type)) for field in schema])


def _package() -> Any:
    try:
        import vortex  # noqa: PLC0415 - an optional package
    except ImportError as reason:
        raise InputError(
            'files of format vortex need the package vortex-data: pip install "CLONE[vortex]", CLONE being the '
            "directory of your clone"
        ) from reason
    return vortex

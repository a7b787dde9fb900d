"""Column groups in Vortex files, which find single rows faster than Parquet does. Needs the package `vortex-data`.

Rows wait on the local disk as Arrow until the file is closed: Vortex takes a file's rows in one go.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from indextables.columns.filerows import RowIds, WriteOptions
from indextables.columns.stored_files import FILE_SIZE, StoredFile
from indextables.errors import InputError
from indextables.predicates import Bounds

CHUNK_ROWS: Final = 8192
"""Vortex reads any rows; this many are called a chunk where the caller counts in chunks."""


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
        return {FILE_SIZE: str(self._path.stat().st_size)}

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
        with self._damage():
            self._file = vortex.open(str(path)) if path is not None else vortex.open_readable(_Ranges(stored))
            self._rows = len(self._file)
            self.schema: pa.Schema = _with_plain_strings(self._file.dtype.to_arrow_schema())
        self.starts: RowIds = np.append(np.arange(0, self._rows, CHUNK_ROWS, dtype=np.int64), self._rows)

    def bounds(self, chunk: int, columns: Sequence[str]) -> dict[str, Bounds]:  # noqa: ARG002 - it tells of none
        return {}

    def memory(self, chunk: int) -> int:
        rows = int(self.starts[chunk + 1] - self.starts[chunk])
        return int(rows * self.row_bytes(self.schema.names))

    def row_bytes(self, columns: Sequence[str]) -> float:
        """By the size of the file, which is some times smaller than its rows."""
        share = len(columns) / max(1, len(self.schema))
        return 4 * share * self._stored.size / max(1, self._rows)

    def read(self, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        return self.fetch(np.arange(start, stop, dtype=np.int64), columns)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.Table:
        schema = pa.schema([self.schema.field(name) for name in columns])
        if not len(rows):
            return schema.empty_table()
        with self._damage():
            indices = self._array(pa.array(rows.astype(np.uint64)))
            found: pa.Table = self._file.to_arrow(list(columns), indices=indices, schema=schema).read_all()
            return found.select(list(columns))

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, ValueError, RuntimeError) as reason:
            raise self._stored.damaged(reason) from reason


class _Ranges:
    """A stored file as Vortex asks for it."""

    def __init__(self, stored: StoredFile) -> None:
        self._stored = stored

    def size(self) -> int:
        return self._stored.size

    def read_at(self, offset: int, length: int) -> bytes:
        return self._stored.range(offset, length)


def _with_plain_strings(schema: pa.Schema) -> pa.Schema:
    """Vortex gives views of strings where nobody says otherwise, which much of Arrow cannot compute with."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return pa.schema([field.with_type(plain.get(field.type, field.type)) for field in schema])


def _package() -> Any:
    try:
        import vortex  # noqa: PLC0415 - an optional package
    except ImportError as reason:
        raise InputError(
            "files of format vortex need the package vortex-data: pip install 'indextables[vortex]'"
        ) from reason
    return vortex

"""Rows by partition: batches in any order become one stream of batches for each partition value.

Rows are spilled to local Arrow files, a file for each partition, and read back one partition at a time, so
that a task holds one open index however many partitions its input mixes, and memory stays bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.schema import TableSchema, encode_value

PartitionKey: TypeAlias = tuple[str | None, ...]
"""The partition values of a row in column order, as the log writes them."""

_MAX_OPEN_FILES: Final = 64
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")


def split_by_partition(
    batch: pa.RecordBatch, schema: TableSchema, columns: tuple[str, ...]
) -> Iterator[tuple[PartitionKey, pa.RecordBatch]]:
    """The rows of a batch, grouped by partition value, order kept within a group."""
    if batch.num_rows == 0:
        return
    encoded = [pc.dictionary_encode(batch.column(name), null_encoding="encode") for name in columns]
    codes = np.zeros(batch.num_rows, dtype=np.int64)
    for column in encoded:
        codes = codes * len(column.dictionary) + column.indices.to_numpy(zero_copy_only=False)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    for group, row in enumerate(first):
        key = tuple(
            encode_value(batch.column(name)[int(row)].as_py(), schema.field(name).type) for name in columns
        )
        rows = batch if len(first) == 1 else batch.take(pa.array(np.flatnonzero(inverse == group)))
        yield key, rows


class PartitionSpill:
    """Holds spilled rows until they are read back; deletes its files when it is closed."""

    def __init__(self, directory: Path, schema: TableSchema, columns: tuple[str, ...]) -> None:
        self._directory = directory
        self._schema = schema
        self._columns = columns
        self._stored = [name for name in schema.names if name not in columns]
        self._files: dict[PartitionKey, list[Path]] = {}
        self._open: OrderedDict[PartitionKey, pa.ipc.RecordBatchStreamWriter] = OrderedDict()

    def add(self, batch: pa.RecordBatch) -> None:
        for key, rows in split_by_partition(batch, self._schema, self._columns):
            self._writer(key, rows).write_batch(rows.select(self._stored))

    def partitions(self) -> Iterator[tuple[PartitionKey, Iterator[pa.RecordBatch]]]:
        """Each partition with its rows; a partition's files go as soon as it has been read."""
        self._close_writers()
        for key in list(self._files):
            yield key, self._read(self._files.pop(key))

    def _writer(self, key: PartitionKey, rows: pa.RecordBatch) -> pa.ipc.RecordBatchStreamWriter:
        if key in self._open:
            self._open.move_to_end(key)
            return self._open[key]
        if len(self._open) >= _MAX_OPEN_FILES:
            self._open.popitem(last=False)[1].close()
        files = self._files.setdefault(key, [])
        path = self._directory / f"spill-{len(self._files)}-{len(files)}.arrow"
        files.append(path)
        schema = rows.select(self._stored).schema
        self._open[key] = pa.ipc.new_stream(str(path), schema, options=_OPTIONS)
        return self._open[key]

    @staticmethod
    def _read(paths: list[Path]) -> Iterator[pa.RecordBatch]:
        for path in paths:
            with pa.ipc.open_stream(pa.memory_map(str(path))) as reader:
                yield from reader
            path.unlink()

    def _close_writers(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_writers()
        for paths in self._files.values():
            for path in paths:
                path.unlink(missing_ok=True)

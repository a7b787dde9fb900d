"""Group rows by partition: batches in any order become one stream of batches for each partition value.

Rows are collected until they fill a run, grouped by partition, and spilled to one local Arrow file, a record
batch for each partition of the run. A task therefore has one open file, however many partitions its input mixes
and however many batches it comes in, and memory stays bounded.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.schema import TableSchema, encode_value
from indextables.storage import SCRATCH_ADVICE, disk_errors

PartitionKey: TypeAlias = tuple[str | None, ...]
"""The partition values of a row in column order, as the log writes them."""

_RUN_BYTES: Final = 16 << 20
"""The size of a run. It is held in memory twice while it is grouped, and its batches should not be tiny."""

_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")


def split_by_partition(
    batch: pa.RecordBatch, schema: TableSchema, columns: tuple[str, ...]
) -> Iterator[tuple[PartitionKey, pa.RecordBatch]]:
    """Yield the rows of each partition value in the batch, in the batch's order: one sort, then slices of it."""
    if batch.num_rows == 0:
        return
    codes = _partition_codes(batch, columns)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ends = [*starts[1:].tolist(), batch.num_rows]
    grouped = batch if len(starts) == 1 else batch.take(pa.array(order))
    firsts = grouped.select(list(columns)).take(pa.array(starts))
    kinds = [schema.field(name).type for name in columns]
    values = zip(*(column.to_pylist() for column in firsts.columns), strict=True)
    for start, end, row in zip(starts.tolist(), ends, values, strict=True):
        key = tuple(encode_value(value, kind) for value, kind in zip(row, kinds, strict=True))
        yield key, grouped.slice(start, end - start)


def _partition_codes(batch: pa.RecordBatch, columns: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """Return one number from 0 for each distinct combination of values.

    The codes are made dense after each column, so that both factors of the product are at most the number of rows
    and no number of columns overflows it.
    """
    codes: npt.NDArray[np.int64] = np.zeros(batch.num_rows, dtype=np.int64)
    for name in columns:
        encoded = pc.dictionary_encode(batch.column(name), null_encoding="encode")
        combined = codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return codes


class PartitionSpill:
    """Holds spilled rows until they are read back; deletes its file when it is closed."""

    def __init__(
        self, directory: Path, schema: TableSchema, columns: tuple[str, ...], *, run_bytes: int = _RUN_BYTES
    ) -> None:
        self._path = directory / "spill.arrow"
        self._schema = schema
        self._columns = columns
        self._stored = schema.without(columns).arrow
        self._run_bytes = run_bytes
        self._run: list[pa.RecordBatch] = []
        self._size = 0
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._written = 0
        self._batches: dict[PartitionKey, list[int]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in rows that have the schema's columns and types."""
        self._run.append(batch)
        self._size += batch.nbytes
        if self._size >= self._run_bytes:
            with self._disk_errors():
                self._spill()

    @contextlib.contextmanager
    def opened(self) -> Iterator[Sequence[tuple[PartitionKey, Iterator[pa.RecordBatch]]]]:
        """Give the partitions, each with its rows in the order in which they came. Threads may read one each."""
        with self._disk_errors():
            self._spill()
            self._close_writer()
        if not self._batches:
            yield ()
            return
        with pa.memory_map(str(self._path)) as source, pa.ipc.open_file(source) as reader:
            lock = threading.Lock()

            def batch(number: int) -> pa.RecordBatch:
                with lock:  # Arrow does not say that threads may share a reader
                    return reader.get_batch(number)

            yield [(key, map(batch, numbers)) for key, numbers in self._batches.items()]

    def partitions(self) -> Iterator[tuple[PartitionKey, Iterator[pa.RecordBatch]]]:
        """Yield each partition with its rows in the order in which they came."""
        with self.opened() as partitions:
            yield from partitions

    def _spill(self) -> None:
        # Texts of more than 2 GB do not fit into one batch; the table then keeps them in several.
        table = pa.Table.from_batches(self._run, self._schema.arrow).combine_chunks()
        for batch in table.to_batches():
            for key, rows in split_by_partition(batch, self._schema, self._columns):
                self._write(rows.select(self._stored.names))
                self._batches.setdefault(key, []).append(self._written - 1)
        self._run, self._size = [], 0

    def _write(self, rows: pa.RecordBatch) -> None:
        if self._writer is None:
            self._writer = pa.ipc.new_file(str(self._path), self._stored, options=_OPTIONS)
        self._writer.write_batch(rows)
        self._written += 1

    def _close_writer(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def _disk_errors(self) -> AbstractContextManager[None]:
        return disk_errors("sort rows by partition in", str(self._path.parent), SCRATCH_ADVICE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(
            OSError
        ):  # a full disk; the file is deleted next, so its content does not matter
            self._close_writer()
        self._path.unlink(missing_ok=True)

"""Writing one split: rows go to Parquet and to the index as they arrive, and into one container at the end."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.runtime import new_id
from indextables.schema import FieldMapping, TableSchema, conform
from indextables.split.assembly import FinishedSplit, assemble_split
from indextables.split.index import IndexBuilder, IndexFields, RowRuns, new_base
from indextables.split.rows_writer import RowsWriter
from indextables.split.statistics import RowStatistics
from indextables.split.stored_form import StoredForm
from indextables.storage import SCRATCH_ADVICE, disk_errors


class SplitWriter:
    """Writes one split in `directory`. `schema` and `mapping` do not have the partition columns.

    `max_heap` bounds the memory of the index writer below what the settings allow.
    """

    def __init__(
        self,
        schema: TableSchema,
        mapping: FieldMapping,
        *,
        settings: Settings,
        directory: Path,
        max_heap: int | None = None,
    ) -> None:
        self.rows = 0
        self.input_bytes = 0
        self._schema = schema
        self._stored = StoredForm.of(schema, mapping, settings)
        name = f"split-{new_id()}"
        self._target = directory / f"{name}.split"
        self._work = directory / f".{name}"
        with self._disk_errors():
            self._work.mkdir(parents=True)
        stored = self._stored
        self._parquet = RowsWriter(self._work, stored.schema, stored.mapping, stored.settings)
        self._base = new_base()
        heap = settings.get(keys.HEAP_SIZE)
        self._index = IndexBuilder(
            IndexFields(stored.mapping),
            self._work / "index",
            heap if max_heap is None else min(heap, max_heap),
            self._base,
        )
        self._statistics = RowStatistics(stored.schema, stored.mapping, stored.settings)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows. Columns may have any order, and any Arrow type that casts to the table's without loss."""
        batch = self._stored.batch(conform(batch, self._schema))
        with self._disk_errors():
            for piece in self._parquet.pieces(batch):
                self._index.add(piece)
                self._statistics.add(piece)
                self._parquet.write(piece)
        self.rows += batch.num_rows
        self.input_bytes += batch.nbytes

    def finish(self) -> FinishedSplit:
        """Write the container and return it. The writer must not be used after that."""
        with self._disk_errors():
            parts = self._parquet.finish()
            split = assemble_split(
                self._target,
                work=self._work,
                index=self._index.finish(),
                parts=parts,
                mapping=self._stored.mapping,
                row_runs=RowRuns.single(self._base, self.rows),
                statistics=self._statistics,
                uncompressed_size=self.input_bytes,
            )
            shutil.rmtree(self._work, ignore_errors=True)
        return split

    def _disk_errors(self) -> AbstractContextManager[None]:
        return disk_errors("build a split in", str(self._target.parent), SCRATCH_ADVICE)

    def abort(self) -> None:
        """Delete everything that was written. It may be called at any time, and more than once."""
        self._index.abort()
        self._parquet.abort()
        shutil.rmtree(self._work, ignore_errors=True)
        self._target.unlink(missing_ok=True)

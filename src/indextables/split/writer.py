"""Writing one split: rows go to Parquet and to the index as they arrive, and into one container at the end."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.runtime import new_id
from indextables.schema import FieldMapping, TableSchema, conform
from indextables.split.assembly import RowsPart, assemble_split
from indextables.split.container import rows_member
from indextables.split.index import IndexBuilder, IndexFields, RowRuns, new_base
from indextables.split.rows_writer import RowsMemberWriter, column_groups
from indextables.stats import BloomCollector, MinMaxCollector, inline_stats
from indextables.storage import SCRATCH_ADVICE, disk_errors

_ROW_GROUP_BYTES: Final = 64 << 20
"""A row group ends at this many bytes even if it has few rows, so that the buffer is bounded."""


@dataclass(frozen=True)
class FinishedSplit:
    """A finished split on local disk, and what the log records about it."""

    path: Path
    size: int
    num_records: int
    footer_start: int
    footer_end: int
    uncompressed_size: int
    min_values: dict[str, str]
    max_values: dict[str, str]
    stats: str | None = None


class SplitWriter:
    """Writes one split in `directory`. `schema` and `mapping` do not have the partition columns."""

    def __init__(
        self, schema: TableSchema, mapping: FieldMapping, *, settings: Settings, directory: Path
    ) -> None:
        self.rows = 0
        self.input_bytes = 0
        self._schema = schema
        self._mapping = mapping
        name = f"split-{new_id()}"
        self._target = directory / f"{name}.split"
        self._work = directory / f".{name}"
        with self._disk_errors():
            self._work.mkdir(parents=True)
        groups = column_groups(schema.names, settings.get(keys.COLUMN_GROUPS))
        texts = {field.name for field in mapping.of_kind("text")}
        compression = settings.get(keys.ROW_COMPRESSION)
        self._parts = [
            RowsMemberWriter(
                self._work / rows_member(i), TableSchema(tuple(map(schema.field, names))), texts, compression
            )
            for i, names in enumerate(groups)
        ]
        self._base = new_base()
        self._index = IndexBuilder(
            IndexFields(mapping), self._work / "index", settings.get(keys.HEAP_SIZE), self._base
        )
        self._stats = MinMaxCollector(schema, *statistics_columns(schema, mapping, settings))
        filtered = [name for name in settings.get(keys.BLOOM_COLUMNS) if schema.get(name) is not None]
        self._blooms = BloomCollector(schema, filtered, settings.get(keys.BLOOM_FPP))
        self._max_inline = settings.get(keys.BLOOM_MAX_INLINE_BYTES)
        self._row_group_rows = settings.get(keys.ROW_GROUP_ROWS)
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows. Columns may have any order, and any Arrow type that casts to the table's without loss."""
        batch = conform(batch, self._schema)
        with self._disk_errors():
            for start in range(0, batch.num_rows, self._row_group_rows):
                piece = batch.slice(start, self._row_group_rows)
                self._index.add(piece)
                self._stats.add(piece)
                self._blooms.add(piece)
                self._buffer(piece)
        self.rows += batch.num_rows
        self.input_bytes += batch.nbytes

    def finish(self) -> FinishedSplit:
        """Write the container and return it. The writer must not be used after that."""
        with self._disk_errors():
            return self._finish()

    def _disk_errors(self) -> AbstractContextManager[None]:
        return disk_errors("build a split in", str(self._target.parent), SCRATCH_ADVICE)

    def _finish(self) -> FinishedSplit:
        self._flush()
        index_files = self._index.finish()
        filters = self._blooms.filters()
        written = assemble_split(
            self._target,
            work=self._work,
            index_files=index_files,
            parts=[RowsPart(part.path, part.columns, part.finish()) for part in self._parts],
            mapping=self._mapping,
            row_runs=RowRuns.single(self._base, self.rows),
            filters=filters,
        )
        shutil.rmtree(self._work, ignore_errors=True)
        return FinishedSplit(
            path=self._target,
            size=written.size,
            num_records=self.rows,
            footer_start=written.footer_start,
            footer_end=written.size,
            uncompressed_size=self.input_bytes,
            min_values=self._stats.min_values(),
            max_values=self._stats.max_values(),
            stats=inline_stats(filters, self._max_inline),
        )

    def abort(self) -> None:
        """Delete everything that was written. It may be called at any time, and more than once."""
        self._index.abort()
        for part in self._parts:
            part.abort()
        shutil.rmtree(self._work, ignore_errors=True)
        self._target.unlink(missing_ok=True)

    def _buffer(self, piece: pa.RecordBatch) -> None:
        while piece.num_rows:
            taken = piece.slice(0, self._row_group_rows - self._pending_rows)
            self._pending.append(taken)
            self._pending_rows += taken.num_rows
            self._pending_bytes += taken.nbytes
            piece = piece.slice(taken.num_rows)
            if self._pending_rows >= self._row_group_rows or self._pending_bytes >= _ROW_GROUP_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._pending_rows:
            rows = pa.Table.from_batches(self._pending, self._schema.arrow)
            for part in self._parts:
                part.write_group(rows)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0


def statistics_columns(
    schema: TableSchema, mapping: FieldMapping, settings: Settings
) -> tuple[list[str], int | None]:
    """Return the columns with minimum and maximum, and how many characters of a string are kept.

    Unless the settings name them, these are the first columns except texts, for which they are of little use.
    """
    length = settings.get(keys.STATS_MAX_LENGTH) if settings.get(keys.STATS_TRUNCATION) else None
    configured = settings.get(keys.STATS_COLUMNS)
    if configured:
        return [column.name for name in configured if (column := schema.get(name)) is not None], length
    count = settings.get(keys.STATS_COLUMNS_COUNT)
    text = {field.name for field in mapping.of_kind("text")}
    leading = schema.names if count < 0 else schema.names[:count]
    return [name for name in leading if name not in text], length

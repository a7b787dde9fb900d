"""The files of one column group while rows come in: row groups of a size, files of a size, each stored when full."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from indextables.columns.file_formats import FileSink, WriteOptions, check_schema, new_sink
from indextables.columns.layout import DATA_DIR
from indextables.columns.manifest import ColumnGroup, ColumnGroupFile
from indextables.columns.policies import GroupPlan
from indextables.runtime import new_id
from indextables.storage import Store

_ROW_GROUP_BYTES: Final = 1 << 20
_COLUMN_CHUNK_BYTES: Final = 64 << 10
"""Below this a column chunk costs more in the footer and in page headers than it holds."""


@dataclass(frozen=True)
class Target:
    """What the groups of one write share. Files are made in `directory`, which is local, and stored below `base`."""

    base: str
    store: Store
    directory: Path
    schema: pa.Schema
    options: WriteOptions


class GroupWriter:
    """Writes the files of one group, one after the other."""

    def __init__(self, number: int, plan: GroupPlan, target: Target) -> None:
        self.plan = plan
        self._number = number
        self._target = target
        self._schema = pa.schema([target.schema.field(name) for name in plan.columns])
        check_schema(plan.format, self._schema)
        requested = target.options.row_group_bytes
        size = requested or max(_ROW_GROUP_BYTES, _COLUMN_CHUNK_BYTES * len(plan.columns))
        # A file is closed between row groups, so that none may be larger than a file.
        self._row_group_bytes = min(size, target.options.rolling_bytes)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._sink: FileSink | None = None
        self._name = ""
        self._rows = 0
        self._bytes = 0
        self._files: list[ColumnGroupFile] = []

    def add(self, batch: pa.RecordBatch) -> None:
        target = self._row_group_bytes
        at = 0
        while at < batch.num_rows:
            rest = batch.slice(at)
            row_bytes = max(1.0, rest.nbytes / rest.num_rows)
            piece = rest.slice(0, max(1, math.ceil((target - self._waiting_bytes) / row_bytes)))
            at += piece.num_rows
            self._waiting.append(piece)
            self._waiting_bytes += piece.nbytes
            if self._waiting_bytes >= target or at < batch.num_rows:
                self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        rows = pa.Table.from_batches(self._waiting, self._schema)
        self._waiting, self._waiting_bytes = [], 0
        if self._sink is None:
            self._name = f"{self._number}_{new_id()}.{self.plan.format}"
            self._sink = new_sink(
                self.plan.format, self._target.directory / self._name, self._schema, self._target.options
            )
        self._sink.write(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._bytes >= self._target.options.rolling_bytes:
            self._store_file()

    def finish(self) -> ColumnGroup:
        self.flush()
        self._store_file()
        return ColumnGroup(self.plan.columns, self.plan.format, tuple(self._files))

    def abort(self) -> None:
        if self._sink is not None:
            self._sink.abort()
            self._sink = None
        for file in self._files:
            self._target.store.delete(file.path.removeprefix(f"{self._target.base}/"))
        self._files = []

    def _store_file(self) -> None:
        if self._sink is None:
            return
        properties = self._sink.close()
        self._sink = None
        key = f"{DATA_DIR}/{self._name}"
        # Recorded before it is stored: if the store fails with an unknown outcome, `abort` deletes this file too.
        self._files.append(
            ColumnGroupFile(f"{self._target.base}/{key}", 0, self._rows, properties=properties)
        )
        self._target.store.put_file(key, self._target.directory / self._name)
        (self._target.directory / self._name).unlink(missing_ok=True)  # a local store has moved it
        self._rows = self._bytes = 0

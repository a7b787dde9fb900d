"""Horizontal concatenation of column groups: each column comes from the group that has it, or is null."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from indextables.columns.conformance import empty_rows
from indextables.columns.group_rows import GroupRows
from indextables.columns.manifest import ColumnGroup
from indextables.columns.stored_files import Files
from indextables.errors import CorruptTableError
from indextables.rows import RowIds
from indextables.runtime import current

WINDOW_ROWS: Final = 1 << 20
WINDOW_BYTES: Final = 64 << 20
"""Rows are read in windows of about this size, so that memory does not grow with the dataset."""


class HorizontalRows:
    def __init__(self, groups: Sequence[ColumnGroup], schema: pa.Schema, files: Files) -> None:
        self._schema = schema
        self.groups = tuple(GroupRows(group, schema, files) for group in groups)
        self._group_of: dict[str, GroupRows] = {}
        for group in self.groups:
            for name in group.columns:
                if name in self._group_of:
                    raise CorruptTableError(
                        f"the manifest has column {name!r} in two column groups; a column must be in exactly one"
                    )
                self._group_of[name] = group
        counts = {group.num_rows for group in self.groups}
        if len(counts) > 1:
            counted = "; ".join(f"{', '.join(group.columns)}: {group.num_rows}" for group in groups)
            raise CorruptTableError(f"the column groups have different numbers of rows ({counted})")
        self.num_rows = counts.pop() if counts else 0

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Return the schema of these columns. A column that no group has is nullable, whatever the schema declares."""
        fields = [self._schema.field(name) for name in columns]
        return pa.schema([f if f.name in self._group_of else f.with_nullable(True) for f in fields])

    def read(self, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        """Return the rows from `start` (included) to `stop` (excluded)."""
        tables = [group.read(start, stop, names) for group, names in self._sources(columns)]
        return self._assemble(tables, columns, stop - start)

    def fetch(self, rows: RowIds, columns: Sequence[str], parallelism: int = 1) -> pa.Table:
        """Return just these rows, which are ascending."""
        sources = list(self._sources(columns))
        if parallelism == 1 or len(rows) < 2:
            return self._assemble([group.fetch(rows, names) for group, names in sources], columns, len(rows))
        parts = [part for part in np.array_split(rows, parallelism) if len(part)]
        tasks = [(group, part, names) for group, names in sources for part in parts]
        pieces = list(current().threads.map(lambda task: task[0].fetch(*task[1:]), tasks, parallelism))
        tables = [
            pa.concat_tables(pieces[start : start + len(parts)])
            for start in range(0, len(pieces), len(parts))
        ]
        return self._assemble(tables, columns, len(rows))

    def windows(self, spans: Iterable[tuple[int, int]], columns: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield the spans in pieces that fit in memory comfortably when these columns are read."""
        row_bytes = sum(group.row_bytes(names) for group, names in self._sources(columns))
        step = max(1, min(WINDOW_ROWS, int(WINDOW_BYTES / max(1.0, row_bytes))))
        for start, stop in spans:
            for low in range(start, stop, step):
                yield low, min(stop, low + step)

    def _sources(self, columns: Sequence[str]) -> Iterator[tuple[GroupRows, list[str]]]:
        for group in self.groups:
            names = [name for name in columns if self._group_of.get(name) is group]
            if names:
                yield group, names

    def _assemble(self, tables: Iterable[pa.Table], columns: Sequence[str], rows: int) -> pa.Table:
        if not columns:
            return empty_rows(rows)
        by_name = {name: table.column(name) for table in tables for name in table.schema.names}
        schema = self.schema(columns)
        arrays = [
            by_name[field.name]
            if field.name in by_name
            else pa.chunked_array([pa.nulls(rows, field.type)], field.type)
            for field in schema
        ]
        return pa.table(arrays, schema=schema)

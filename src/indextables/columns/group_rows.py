"""The rows of one column group, numbered from 0 through all of its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from indextables.columns.conformance import cast_columns, check_type
from indextables.columns.file_formats import FileRows, open_rows
from indextables.columns.manifest import ColumnGroup, ColumnGroupFile
from indextables.columns.stored_files import Files
from indextables.errors import CorruptTableError
from indextables.rows import RowIds
from indextables.runtime import Cache

OPEN_FILES: Final = 32
"""The number of files of a group that are held open: a scan does not need the footers of more."""


@dataclass(frozen=True)
class Chunk:
    """A piece of one file that is read alone: its place in the file, and the rows of the dataset that it is."""

    file: int
    number: int
    start: int
    stop: int


class GroupRows:
    def __init__(self, group: ColumnGroup, schema: pa.Schema, files: Files) -> None:
        self.columns = frozenset(group.columns)
        self._group = group
        self._schema = schema
        self._known = frozenset(schema.names)
        self._files = files
        for file in group.files:
            if not 0 <= file.start_index <= file.end_index:
                raise CorruptTableError(
                    f"the manifest declares rows {file.start_index} to {file.end_index} of {file.path}"
                )
        counts = [file.end_index - file.start_index for file in group.files]
        self._starts: RowIds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        self._opened = Cache[int, FileRows](entries=OPEN_FILES)

    @property
    def num_rows(self) -> int:
        return int(self._starts[-1])

    def row_bytes(self, columns: Sequence[str]) -> float:
        """Return about how many bytes a row of these columns takes, by the first file."""
        return self.opened(0).row_bytes(columns) if self._group.files and self.num_rows else 0.0

    def read(self, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        """Return the rows from `start` (included) to `stop` (excluded)."""
        pieces = []
        for number in self._overlapping(start, stop):
            low, high = max(start, int(self._starts[number])), min(stop, int(self._starts[number + 1]))
            shift = self._shift(number)
            rows = self.opened(number).read(low + shift, high + shift, columns)
            pieces.append(self._cast(rows, number, columns))
        return self._concat(pieces, columns)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.Table:
        """Return just these rows, which are ascending."""
        of_rows = np.searchsorted(self._starts, rows, side="right") - 1
        pieces = []
        for number in np.unique(of_rows).tolist():
            part = rows[of_rows == number] + self._shift(number)
            pieces.append(self._cast(self.opened(number).fetch(part, columns), number, columns))
        return self._concat(pieces, columns)

    def chunks(self, start: int, stop: int) -> Iterator[Chunk]:
        """Yield the chunks that overlap these rows, cut to the rows that belong to the group."""
        for number in self._overlapping(start, stop):
            shift = self._shift(number)
            begin, end = int(self._starts[number]), int(self._starts[number + 1])
            starts = self.opened(number).starts - shift
            first = int(np.searchsorted(starts, max(start, begin), side="right")) - 1
            for chunk in range(first, len(starts) - 1):
                low, high = max(int(starts[chunk]), begin), min(int(starts[chunk + 1]), end)
                if low >= min(stop, end):
                    break
                if low < high:
                    yield Chunk(number, chunk, low, high)

    def opened(self, number: int) -> FileRows:
        # Opened outside of the cache's lock: other threads need not wait for a store that takes its time.
        return self._opened.get_or_make(number, lambda: self._open(self._group.files[number]))

    def _open(self, file: ColumnGroupFile) -> FileRows:
        rows = open_rows(self._group.format, self._files.open(file.path, file.properties))
        if file.end_index > rows.starts[-1]:
            raise CorruptTableError(
                f"{file.path} has {rows.starts[-1]} rows, but the manifest declares {file.end_index}"
            )
        for name in self._group.columns:
            index = rows.schema.get_field_index(name)
            if index < 0:
                raise CorruptTableError(f"{file.path} has no column {name!r}, though the manifest names it")
            if name in self._known:
                check_type(rows.schema.field(index).type, self._schema.field(name), file.path)
        return rows

    def _shift(self, number: int) -> int:
        """Return the difference from a row of the dataset to the same row of the file."""
        return self._group.files[number].start_index - int(self._starts[number])

    def _overlapping(self, start: int, stop: int) -> Iterator[int]:
        if start >= stop:
            return
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, stop, side="left"))
        for number in range(first, last):
            if self._starts[number] < self._starts[number + 1]:
                yield number

    def _cast(self, rows: pa.Table, number: int, columns: Sequence[str]) -> pa.Table:
        return cast_columns(rows, self._schema_of(columns), self._group.files[number].path)

    def _schema_of(self, columns: Sequence[str]) -> pa.Schema:
        return pa.schema([self._schema.field(name) for name in columns])

    def _concat(self, pieces: list[pa.Table], columns: Sequence[str]) -> pa.Table:
        if not pieces:
            return self._schema_of(columns).empty_table()
        return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)

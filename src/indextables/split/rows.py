"""The rows of a split: one or more Parquet members inside the bundle, each with some of the columns.

The members have the same row groups: the same rows are in the same group of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from indextables.predicates import Bounds, Predicate, columns_of, may_match
from indextables.split.footer import RowIds
from indextables.split.part import ParquetPart

WINDOW_ROWS: Final = 65536
"""How many rows are read and handed out together, about."""

_WINDOW_BYTES: Final = 256 << 20


@dataclass(frozen=True)
class Window:
    """Row groups that are read together, and the rows wanted of them, ascending; None wants all."""

    groups: tuple[int, ...]
    wanted: RowIds | None


class RowStore:
    """The rows of one split. `parts` says which member has a column."""

    def __init__(self, parts: Mapping[str, ParquetPart]) -> None:
        self._parts = parts
        self._members = list(dict.fromkeys(parts.values()))

    @property
    def _first(self) -> ParquetPart:
        return self._members[0]

    def windows(self, wanted: RowIds | None, predicate: Predicate) -> Iterator[Window]:
        """The row groups that hold wanted rows and whose statistics do not rule the predicate out."""
        for groups in self._together(self._groups(wanted, predicate), wanted):
            yield Window(tuple(groups), None if wanted is None else self._within(groups, wanted))

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        """The rows of these groups, in the order in which `read` gives them."""
        return self._first.row_ids(groups)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
        if not columns:
            return empty_batch(len(self.row_ids(groups)))
        return self._joined(columns, lambda part, names: part.read(groups, names))

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Just these rows, ascending."""
        if not columns:
            return empty_batch(len(rows))
        runs = self._together(self._first.groups_of(rows), rows)
        pieces = [self._fetched(self._within(run, rows), columns) for run in runs]
        return pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)

    def _fetched(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        return self._joined(columns, lambda part, names: part.fetch(rows, names))

    def _joined(
        self, columns: Sequence[str], read: Callable[[ParquetPart, list[str]], pa.RecordBatch]
    ) -> pa.RecordBatch:
        """The columns side by side, each from its own member."""
        wanted: dict[ParquetPart, list[str]] = {}
        for name in columns:
            wanted.setdefault(self._parts[name], []).append(name)
        batches = [read(part, names) for part, names in wanted.items()]
        if len(batches) == 1:
            return batches[0]
        found = {name: batch.column(name) for batch in batches for name in batch.schema.names}
        return pa.RecordBatch.from_arrays([found[name] for name in columns], names=list(columns))

    def _together(self, groups: Iterable[int], wanted: RowIds | None) -> Iterator[list[int]]:
        """Row groups in runs that, with what is wanted of them, fit in memory comfortably."""
        if wanted is not None and self._is_little(wanted):
            run = list(groups)
            if run:
                yield run
            return
        run = []
        rows = size = 0
        for group in groups:
            more = all_rows = int(self._first.starts[group + 1] - self._first.starts[group])
            if wanted is not None:
                more = min(all_rows, self._first.rows_decoded_for(self._within([group], wanted)))
            bytes_of_all = sum(part.group_bytes[group] for part in self._members)
            more_bytes = bytes_of_all * more // max(1, all_rows)
            if run and (rows + more > WINDOW_ROWS or size + more_bytes > _WINDOW_BYTES):
                yield run
                run, rows, size = [], 0, 0
            run.append(group)
            rows += more
            size += more_bytes
        if run:
            yield run

    def _is_little(self, wanted: RowIds) -> bool:
        """Whether the wanted rows fit in memory whichever groups they are in."""
        rows = self._first.rows_decoded_for(wanted)
        if rows > WINDOW_ROWS:
            return False
        every = int(self._first.starts[-1])
        return rows * sum(sum(part.group_bytes) for part in self._members) <= _WINDOW_BYTES * max(1, every)

    def _within(self, groups: Sequence[int], wanted: RowIds) -> RowIds:
        """The wanted rows of a run of groups, of which those between are not wanted."""
        low, high = self._first.starts[groups[0]], self._first.starts[groups[-1] + 1]
        found: RowIds = wanted[np.searchsorted(wanted, low) : np.searchsorted(wanted, high)]
        return found

    def _groups(self, wanted: RowIds | None, predicate: Predicate) -> Iterator[int]:
        every = range(len(self._first.starts) - 1)
        columns = columns_of(predicate)
        for group in every if wanted is None else self._first.groups_of(wanted):
            if not columns or may_match(predicate, self._bounds(group, columns).get):
                yield group

    def _bounds(self, group: int, columns: Iterable[str]) -> dict[str, Bounds]:
        bounds: dict[str, Bounds] = {}
        for part in {self._parts[name] for name in columns if name in self._parts}:
            bounds |= part.bounds(group)
        return bounds


def empty_batch(rows: int) -> pa.RecordBatch:
    """Rows without columns, which still number."""
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None], children=[]))

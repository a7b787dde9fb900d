"""Aggregates of groups of rows, computed batch by batch in bounded memory.

The state of a measure is one or more columns that combine by sum, minimum or maximum, so that states of batches and
of splits are merged in the same way. Sums of integers and decimals are exact: their state is digits of 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from indextables.schema import TableSchema
from indextables.table.grouping.aggregation import Aggregate, result_fields
from indextables.table.grouping.group_counts import canonical
from indextables.table.grouping.measure_states import MeasureState, one_array, state_of

BLOCK_ROWS: Final = 1 << 16
"""Rows are grouped in blocks of about so many: each call has a cost of its own."""

MAX_BYTES: Final = 32 << 20
"""Groups that take more memory are returned, and the task continues with none: partial results are combined later."""

_MIN_PENDING_BYTES: Final = 4 << 20


class GroupTotals:
    """The measures of each group of the rows that were added.

    >>> from indextables.schema import Field
    >>> from indextables.table import GroupKey, Measure
    >>> schema = TableSchema((Field("level", "string"), Field("ms", "integer")))
    >>> aggregate = Aggregate((GroupKey("level"),), (Measure("count"), Measure("sum", "ms")))
    >>> totals = GroupTotals(schema, aggregate)
    >>> totals.add(pa.record_batch({"level": ["a", "b", "a"], "ms": pa.array([1, 2, None], pa.int32())}))
    >>> [tuple(row.values()) for row in totals.whole().sort_by("group_0").to_pylist()]
    [('a', 2, 1), ('b', 1, 2)]
    """

    def __init__(self, schema: TableSchema, aggregate: Aggregate) -> None:
        self._aggregate = aggregate
        fields = result_fields(schema, aggregate)
        self._rows = pa.schema([(name, schema.field(name).arrow_type) for name in aggregate.columns])
        self.schema = pa.schema([(field.name, field.arrow_type) for field in fields])
        self._keys = [f"k{i}" for i in range(len(aggregate.groups))]
        self._states: list[MeasureState] = [
            state_of(measure, None if measure.column is None else schema.field(measure.column), f"s{i}_")
            for i, measure in enumerate(aggregate.measures)
        ]
        self._block: list[pa.RecordBatch] = []
        self._block_rows = 0
        self._merged: pa.Table | None = None
        self._pending: list[pa.Table] = []
        self._pending_bytes = 0

    def add(self, batch: pa.RecordBatch, times: int = 1) -> None:
        """Add rows that have the columns of the aggregate; or one row, so many times. It may have no columns."""
        if times != 1 or not batch.num_columns:
            self._add_repeated(batch, times)
            return
        self._block.append(batch)
        self._block_rows += batch.num_rows
        if self._block_rows >= BLOCK_ROWS:
            self._close_block()

    def _add_repeated(self, row: pa.RecordBatch, times: int) -> None:
        if times:
            table = self._group(pa.Table.from_batches([row]), 1)
            for state in self._states:
                table = state.times(table, times)
            self._append(table)

    @property
    def is_full(self) -> bool:
        """Whether the groups take so much memory that they should be returned."""
        return self._merged is not None and self._merged.nbytes > MAX_BYTES

    def parts(self) -> Iterator[pa.RecordBatch]:
        """Yield the groups and forget them. Without keys there is always a row.

        A sum that the type of its measure cannot hold is several rows of its group, which have it together.
        """
        table = self._take()
        yield from self._results(table, limited=True).to_batches(max_chunksize=BLOCK_ROWS)
        for rows in self._overflow_rows(table):
            yield from rows.to_batches(max_chunksize=BLOCK_ROWS)

    def whole(self) -> pa.Table | None:
        """Return one row for each group, and forget them; None if a sum is outside of the type of its measure."""
        table = self._take()
        if not all(state.fits(table) for state in self._states):
            return None
        return self._results(table, limited=False)

    def _results(self, table: pa.Table, *, limited: bool) -> pa.Table:
        keys = [table.column(name) for name in self._keys]
        return pa.table(
            [*keys, *(state.result(table, limited=limited) for state in self._states)], schema=self.schema
        )

    def _overflow_rows(self, table: pa.Table) -> Iterator[pa.Table]:
        for number, state in enumerate(self._states):
            rows, values = state.overflow(table)
            if len(rows):
                keys = [table.column(name).take(rows) for name in self._keys]
                results = [other.neutral(len(rows)) for other in self._states]
                results[number] = values
                yield pa.table([*keys, *results], schema=self.schema)

    def _take(self) -> pa.Table:
        self._close_block()
        self._merge()
        merged, self._merged = self._merged, None
        return self._group(self._rows.empty_table(), 0) if merged is None else merged

    def _close_block(self) -> None:
        if self._block:
            rows, self._block, self._block_rows = pa.Table.from_batches(self._block), [], 0
            self._append(self._group(rows, rows.num_rows))

    def _group(self, rows: pa.Table, num_rows: int) -> pa.Table:
        """Return the states of the groups of some rows."""
        columns: dict[str, pa.Array | pa.ChunkedArray] = {"": pa.nulls(num_rows)}
        for name, key in zip(self._keys, self._aggregate.groups, strict=True):
            values = one_array(rows.column(key.column))
            columns[name] = canonical(values if key.buckets is None else key.buckets.keys(values))
        for state in self._states:
            columns |= state.inputs(rows)
        aggregates = [item for state in self._states for item in state.first]
        grouped = pa.table(columns).group_by(self._keys, use_threads=False).aggregate(aggregates)
        return self._rename(grouped)

    def _rename(self, grouped: pa.Table) -> pa.Table:
        """Return grouped columns under the names of the states. Arrow has the keys first, then the aggregates."""
        names = [name for state in self._states for name in state.names]
        return grouped.rename_columns([*self._keys, *names])

    def _append(self, table: pa.Table) -> None:
        self._pending.append(table)
        self._pending_bytes += table.nbytes
        self._merge_if_due()

    def _merge_if_due(self) -> None:
        size = 0 if self._merged is None else self._merged.nbytes
        if self._pending_bytes > max(_MIN_PENDING_BYTES, size):
            self._merge()

    def _merge(self) -> None:
        if not self._pending:
            return
        parts = self._pending if self._merged is None else [self._merged, *self._pending]
        self._pending, self._pending_bytes = [], 0
        if len(parts) == 1:
            self._merged = parts[0]
            return
        again = [item for state in self._states for item in state.again]
        merged = pa.concat_tables(parts).group_by(self._keys, use_threads=False).aggregate(again)
        merged = self._rename(merged)
        for state in self._states:
            merged = state.carried(merged)
        self._merged = merged

"""An overview of the rows that match: a histogram over time and the most frequent values of columns, in one scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings
from indextables.errors import InputError
from indextables.predicates import Predicate
from indextables.schema import Field
from indextables.table.answers.aggregates import bucket_keys, check_values, counted_batches, value_counts
from indextables.table.arguments import ANY_FIELDS, parse_condition
from indextables.table.grouping import COUNT, COUNT_ROWS, Buckets, GroupCounts, buckets_of
from indextables.table.scans import ScanPlan, ScanRequest, plan_scan

if TYPE_CHECKING:
    from indextables.table.handle import Table

_BUCKET: Final = "bucket"
_END: Final = "end"
_MAX_BYTES: Final = 32 << 20


@dataclass(frozen=True)
class Overview:
    """What was found. `histogram` has `bucket`, `value` (of `by`, else null) and `count`, in the order of buckets.

    Its `end` is where the bucket ends: the start of the next one.

    `top` has `value` and `count` of each column, most frequent first; None for a column with too many values.
    `total` is the number of all rows that match. `counted` is the number of rows in the histogram and the values: it is
    smaller if the time was up. `nulls` is how many of them have no value in a column.
    """

    total: int
    counted: int
    histogram: pa.Table | None
    top: dict[str, pa.Table | None]
    nulls: dict[str, int]
    plan: ScanPlan

    @property
    def is_complete(self) -> bool:
        """True if the histogram and the values are those of all rows."""
        return self.counted == self.total


def find_overview(
    table: Table,
    *,
    query: str | None,
    where: str | None,
    time: str | None,
    every: str | float,
    by: str | None,
    fields: Sequence[str],
    n: int = 10,
    is_time_up: Callable[[], bool] = lambda: False,
) -> Overview:
    """Return the overview of the rows that `Table.count` counts, with columns that each take bounded memory.

    `is_time_up` is asked after every batch of rows. Once it is True, the rest is not counted, but for the total.
    """
    schema = table.snapshot.schema
    time_field, by_field = (None if name is None else schema.field(name) for name in (time, by))
    top_fields = [check_values(schema.field(name)) for name in fields]
    columns = dict.fromkeys(f.name for f in (time_field, by_field, *top_fields) if f is not None)
    plan = plan_matching(table, tuple(columns), query, where)
    if not columns:
        total = table.count(query, where=where)
        return Overview(total=total, counted=total, histogram=None, top={}, nulls={}, plan=plan)
    bars = None if time_field is None else _Bars(time_field, every, by_field)
    counts: dict[str, GroupCounts | None] = {f.name: value_counts(f, _MAX_BYTES) for f in top_fields}
    counted, is_complete = 0, True
    for batch, weight in counted_batches(plan):
        counted += weight * batch.num_rows
        if bars is not None:
            bars.add(batch, weight)
        for name, groups in counts.items():
            counts[name] = _add(groups, batch.column(name), weight)
        if is_time_up():
            is_complete = False
            break
    total = counted if is_complete else table.count(query, where=where)
    values = {name: _values(groups) for name, groups in counts.items()}
    return Overview(
        total=total,
        counted=counted,
        histogram=None if bars is None else bars.result(),
        top={name: None if of is None else _top(of, n) for name, of in values.items()},
        nulls={name: _nulls(of) for name, of in values.items() if of is not None},
        plan=plan,
    )


def plan_matching(table: Table, columns: tuple[str, ...], query: str | None, where: str | None) -> ScanPlan:
    """Return the plan of a scan of the rows that a query and a condition select."""
    settings = Settings(dict(table.settings) | ANY_FIELDS)
    return plan_rows(table, columns, parse_condition(query, where, table.snapshot.schema, settings))


def plan_rows(table: Table, columns: tuple[str, ...], predicate: Predicate) -> ScanPlan:
    """Return the plan of a scan of the rows that a predicate selects."""
    settings = Settings(dict(table.settings) | ANY_FIELDS)
    request = ScanRequest(columns, predicate, aggregate=None if columns else COUNT_ROWS)
    return plan_scan(table.uri, table.snapshot, request, settings)


class _Bars:
    """The bars of the histogram while rows are counted."""

    def __init__(self, column: Field, every: str | float, by: Field | None) -> None:
        self._column, self._by = column, by
        self._buckets: Buckets = buckets_of(column, every)
        key = pa.float64() if self._buckets.type == pa.float64() else pa.int64()
        value = pa.null() if by is None else by.arrow_type
        groups = pa.schema([(_BUCKET, key), ("value", value)])
        self._counts = GroupCounts(groups, max_bytes=_MAX_BYTES, subject="the histogram")

    def add(self, batch: pa.RecordBatch, weight: int) -> None:
        values = pa.nulls(batch.num_rows) if self._by is None else batch.column(self._by.name)
        self._counts.add([bucket_keys(self._buckets, batch.column(self._column.name)), values], weight)

    def result(self) -> pa.Table:
        counts = self._counts.result().sort_by([(_BUCKET, "ascending")]).combine_chunks()
        column = counts.column(_BUCKET)
        bounds = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        starts = counts.set_column(0, _BUCKET, self._buckets.starts(bounds))
        return starts.append_column(_END, self._ends(bounds))

    def _ends(self, bounds: pa.Array) -> pa.Array:
        try:
            return self._buckets.starts(pc.add(bounds, 1))
        except InputError:  # the last bucket ends after the greatest time that its type has
            return pa.nulls(len(bounds), self._buckets.type)


def _add(groups: GroupCounts | None, values: pa.Array, weight: int) -> GroupCounts | None:
    """Count values; None once they take more memory than one column may."""
    if groups is None:
        return None
    try:
        groups.add([values], weight)
    except InputError:
        return None
    return groups


def _values(groups: GroupCounts | None) -> pa.Table | None:
    try:
        return None if groups is None else groups.result()
    except InputError:
        return None


def _top(values: pa.Table, n: int) -> pa.Table:
    return values.sort_by([(COUNT, "descending"), ("value", "ascending")]).slice(0, n).combine_chunks()


def _nulls(values: pa.Table) -> int:
    return pc.sum(values.filter(pc.is_null(values.column("value"))).column(COUNT)).as_py() or 0

"""Aggregates on the driver: by the log alone where it has the figures, else from few rows of splits on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pyarrow as pa

from indextables.predicates import bind
from indextables.schema import Value
from indextables.state import KEY
from indextables.storage import is_on_this_machine
from indextables.table.grouping import Aggregate, GroupTotals
from indextables.table.scans.leases import SplitLeases
from indextables.table.scans.scan import ScanPlan, ScanTask, SplitRef, count_from_log, row_schema, split_rows
from indextables.table.scans.scan_tasks import uniform_row

MAX_SPLITS: Final = 32
"""The number of indexes that a process keeps open. With more splits, each search would open all of them again."""

MAX_UNPACKED_BYTES: Final = 32 << 20
"""The total size of splits whose indexes may be unpacked while a scan is planned."""

_ROWS_PER_RESULT: Final = 125
"""An aggregate may read so many rows for each that a driver-side answer may have."""

_MAX_READ_BYTES: Final = 32 << 20
"""The size of the rows in their splits, with all columns and the index."""

_DOUBLE_LIMIT: Final = 1 << 53
"""Whole numbers up to this are doubles."""


def may_open(uri: str, splits: int) -> bool:
    """Return True if the driver may open this many splits of the table.

    >>> may_open("/data/logs", 16), may_open("/data/logs", 1000), may_open("s3://bucket/logs", 1)
    (True, False, False)
    >>> may_open("s3://bucket/logs", 0)
    True
    """
    return splits == 0 or (splits <= MAX_SPLITS and is_on_this_machine(uri))


def totals_on_driver(plan: ScanPlan, max_rows: int) -> pa.Table | None:
    """Return one row for each group, at most `max_rows`; None if tasks must compute them."""
    first, aggregate = plan.tasks[0], plan.tasks[0].request.aggregate
    assert aggregate is not None
    totals = GroupTotals(first.schema, aggregate)
    to_open = [
        (task, ref)
        for task, ref in _splits(plan)
        if count_from_log(task, ref) != 0 and not _add_by_log(task, ref, totals)
    ]
    if to_open and _is_in_log(first, aggregate):
        log_rows = _LogRows(plan, aggregate)
        to_open = [(task, ref) for task, ref in to_open if not log_rows.add(task, ref, totals)]
    if not may_open(first.uri, len(to_open)) or not _read(to_open, totals, _ROWS_PER_RESULT * max_rows):
        return None
    rows = totals.whole()
    return rows if rows is not None and rows.num_rows <= max_rows else None


def sums_as_doubles(plan: ScanPlan, column: str) -> bool:
    """Return True if every sum of a column's values is exact as a double, whatever rows it is of and in what order.

    The log must prove it. Spark's average of a long adds doubles, where a sum of longs might overflow.
    """
    field = plan.tasks[0].schema.field(column)
    bounds = {} if plan.files is None else _extremes(plan, field.name)
    total = 0
    for _, ref in _splits(plan):
        low, high = _least_and_greatest(ref, field.name, bounds)
        if ref.num_records is None or not isinstance(low, int) or not isinstance(high, int):
            return False
        total += ref.num_records * max(abs(low), abs(high))
    return total <= _DOUBLE_LIMIT


def _splits(plan: ScanPlan) -> Iterator[tuple[ScanTask, SplitRef]]:
    return ((task, ref) for task in plan.tasks for ref in task.splits)


def _add_by_log(task: ScanTask, ref: SplitRef, totals: GroupTotals) -> bool:
    """Add the rows of a split if they are equal in all columns and the log has their number."""
    schema, count = row_schema(task.schema, task.request), count_from_log(task, ref)
    if count is None or not ref.partition_values.keys() >= set(schema.names):
        return False
    totals.add(uniform_row(ref, schema), count)
    return True


def _is_in_log(task: ScanTask, aggregate: Aggregate) -> bool:
    """Return True if the log may have the figures: it has minima and maxima, and does not count nulls."""
    partitioned = (
        set.intersection(*(set(ref.partition_values) for ref in task.splits)) if task.splits else set()
    )
    return all(key.column in partitioned for key in aggregate.groups) and all(
        measure.column is None or measure.column in partitioned or measure.function in ("min", "max")
        for measure in aggregate.measures
    )


class _LogRows:
    """Stands for the rows of a split two that have the least and the greatest value of each column."""

    def __init__(self, plan: ScanPlan, aggregate: Aggregate) -> None:
        names = () if plan.files is None else aggregate.columns
        self._bounds = {name: _extremes(plan, name) for name in names}

    def add(self, task: ScanTask, ref: SplitRef, totals: GroupTotals) -> bool:
        """Add the rows of a split to `totals`; False if the log does not have its figures."""
        count = count_from_log(task, ref)
        is_changed = ref.delta_log is not None and ref.delta_log.num_deleted > 0
        if count is None or is_changed or not self._bounds:
            return False
        schema = row_schema(task.schema, task.request)
        pairs = [_least_and_greatest(ref, name, self._bounds[name]) for name in schema.names]
        bounded = zip(schema.names, pairs, strict=True)
        if any(low is None and name not in ref.partition_values for name, (low, _) in bounded):
            return False
        lows, highs = (
            pa.RecordBatch.from_arrays(
                [pa.array([pair[side]], column.type) for pair, column in zip(pairs, schema, strict=True)],
                schema=schema,
            )
            for side in (0, 1)
        )
        totals.add(highs)
        totals.add(lows, count - 1)  # of one row, both are equal
        return True


def _extremes(plan: ScanPlan, name: str) -> dict[str, tuple[Value, Value] | None]:
    """Return the least and greatest value of a column in each split, by its path, where the log has them."""
    assert plan.files is not None
    field = plan.tasks[0].schema.field(name)
    if field.name in {column.name for column in plan.files.partition_columns}:
        return {}
    return dict(zip(plan.files.column(KEY), plan.files.extremes(field), strict=True))


def _least_and_greatest(
    ref: SplitRef, name: str, bounds: dict[str, tuple[Value, Value] | None]
) -> tuple[Value | None, Value | None]:
    if name in ref.partition_values:
        value = ref.partition_values[name]
        return value, value
    return bounds.get(ref.path) or (None, None)


def _read(splits: list[tuple[ScanTask, SplitRef]], totals: GroupTotals, max_rows: int) -> bool:
    """Add the matching rows of splits; False if they are more, or cannot be read at once."""
    if not splits:
        return True
    may_extract = sum(ref.size for _, ref in splits) <= MAX_UNPACKED_BYTES
    lease, size = SplitLeases(splits[0][0]), 0.0
    with ExitStack() as stack:
        readers = []
        for task, ref in splits:
            predicate = bind(task.request.predicate, ref.partition_values)
            split = stack.enter_context(lease(ref))
            if not split.is_ready(predicate, may_extract=may_extract):
                return False
            is_uniform = ref.partition_values.keys() >= set(task.request.columns)
            rows = split.hits(predicate, counting=is_uniform, keep=0 if is_uniform else max_rows)
            if rows is None and is_uniform:
                return False
            rows = split.num_live if rows is None else rows
            readers.append((task, ref, split, rows if is_uniform else None))
            if not is_uniform:
                max_rows -= rows
                size += rows * ref.size / max(1, split.num_rows)
            if max_rows < 0 or size > _MAX_READ_BYTES:
                return False
        for task, ref, split, count in readers:
            if count is not None:
                totals.add(uniform_row(ref, row_schema(task.schema, task.request)), count)
            else:
                for batch in split_rows(task, ref, split, None):
                    totals.add(batch)
    return True

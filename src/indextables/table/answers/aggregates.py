"""Aggregates of one column: histograms, most frequent values, statistics.

Batches are aggregated as they are read, with only the columns that the aggregate needs. Where these are partition
columns, no row is read: the log has the number of rows of each split, or the index counts those that match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import InputError
from indextables.predicates import bind
from indextables.schema import FLOAT_TYPES, INTEGER_TYPES, Field, Value, decimal_size, is_nested
from indextables.table.grouping import (
    COUNT,
    Buckets,
    DecimalSum,
    FloatSum,
    GroupCounts,
    IntegerSum,
    canonical,
)
from indextables.table.scans import (
    ScanPlan,
    ScanTask,
    SplitLeases,
    SplitRef,
    count_rows,
    split_rows,
    split_values,
)

_BUCKET = "bucket"
_VALUE = "value"


@dataclass(frozen=True)
class ColumnStats:
    """Figures of one column. `count` is the number of values that are not null, as that of SQL's COUNT(column).

    `distinct` does not count null; it is None where it was not asked for. `min` and `max` are None if there is no
    value. NaN is the greatest number, as in SQL. `sum` and `mean` are None for columns that are not numeric, and if
    there is no value. A sum of integers or decimals is exact: it may be above 64 bits, or have more digits than the
    column. A sum of floating-point numbers is the exact sum, rounded once. The mean of decimals has four digits more
    after the point than they have.
    """

    count: int
    nulls: int
    distinct: int | None
    min: Value | None
    max: Value | None
    sum: int | float | Decimal | None
    mean: float | Decimal | None


def histogram(
    plan: ScanPlan, column: Field, buckets: Buckets, by: Field | None, *, fill: bool, max_bytes: int
) -> pa.Table:
    """Return the number of rows of each bucket and value of `by`, in the order of both."""
    key_type = pa.float64() if buckets.type == pa.float64() else pa.int64()
    groups = pa.schema([(_BUCKET, key_type), *([] if by is None else [(by.name, by.arrow_type)])])
    counts = GroupCounts(groups, max_bytes=max_bytes, subject=f"the histogram of {column.name!r}")
    for batch, weight in counted_batches(plan):
        values = [] if by is None else [batch.column(by.name)]
        counts.add([bucket_keys(buckets, batch.column(column.name)), *values], weight)
    table = counts.result()
    if fill and table.num_rows:
        table = _fill(table, buckets, groups, max_bytes)
    table = table.sort_by([(name, "ascending") for name in groups.names]).combine_chunks()
    starts = buckets.starts(_array(table, _BUCKET))
    return table.set_column(0, _BUCKET, starts)


def bucket_keys(buckets: Buckets, values: pa.Array) -> pa.Array:
    """Return the key of each value's bucket. A dictionary array has the keys of its distinct values."""
    if not pa.types.is_dictionary(values.type):
        return buckets.keys(values)
    return pa.DictionaryArray.from_arrays(values.indices, buckets.keys(values.dictionary))


def top_values(plan: ScanPlan, column: Field, n: int | None, *, max_bytes: int) -> pa.Table:
    """Return the `n` most frequent values, or all of them, with their counts; equal counts in the order of values."""
    counts = _count_values(plan, column, max_bytes)
    return counts.sort_by([(COUNT, "descending"), (_VALUE, "ascending")]).slice(0, n).combine_chunks()


def column_stats(plan: ScanPlan, column: Field, *, distinct: bool, max_bytes: int) -> ColumnStats:
    """Return the figures of a column."""
    groups = value_counts(column, max_bytes) if distinct else None
    total = _sum_of(column)
    count = nulls = 0
    extremes: list[pa.Array] = []
    for batch, weight in weighted_batches(plan):
        values = canonical(batch.column(column.name))
        nulls += weight * values.null_count
        values = values.drop_null()
        count += weight * len(values)
        if not len(values) or not weight:
            continue
        extremes = [_extremes(pa.concat_arrays([*extremes, _extremes(values)]))]
        if total is not None:
            _add(total, values, weight)
        if groups is not None:
            groups.add([values], weight)
    least, greatest = (None, None) if not extremes else (_python_value(column, v) for v in extremes[0])
    has_sum = total is not None and count > 0
    return ColumnStats(
        count=count,
        nulls=nulls,
        distinct=None if groups is None else groups.result().num_rows,
        min=least,
        max=greatest,
        sum=total.value() if total is not None and has_sum else None,
        mean=total.mean(count) if total is not None and has_sum else None,
    )


def weighted_batches(plan: ScanPlan) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of the plan's rows, and how many rows each row of the batch stands for."""
    for task, ref, lease in _splits(plan):
        if (constants := _constants(task, ref)) is not None:
            yield constants, count_rows(task, ref, lease)
        else:
            with lease(ref) as split:
                for batch in split_rows(task, ref, split, None):
                    yield batch, 1


def counted_batches(plan: ScanPlan) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches as `weighted_batches` does, whose columns may be dictionary arrays: see `SplitReader.values_of`."""
    for task, ref, lease in _splits(plan):
        if (constants := _constants(task, ref)) is not None:
            yield constants, count_rows(task, ref, lease)
        else:
            with lease(ref) as split:
                rows = split.matching(bind(task.request.predicate, ref.partition_values))
                for batch in split_values(task, ref, split, rows):
                    yield batch, 1


def _splits(plan: ScanPlan) -> Iterator[tuple[ScanTask, SplitRef, SplitLeases]]:
    lease = SplitLeases(plan.tasks[0])
    return ((task, ref, lease) for task in plan.tasks for ref in task.splits)


def _constants(task: ScanTask, ref: SplitRef) -> pa.RecordBatch | None:
    """Return one row with the columns if all of them are partition columns."""
    schema = pa.schema([(name, task.schema.field(name).arrow_type) for name in task.request.columns])
    if not all(name in ref.partition_values for name in schema.names):
        return None
    values = [pa.array([ref.partition_values[column.name]], column.type) for column in schema]
    return pa.RecordBatch.from_arrays(values, schema=schema)


def _count_values(plan: ScanPlan, column: Field, max_bytes: int) -> pa.Table:
    counts = value_counts(column, max_bytes)
    for batch, weight in counted_batches(plan):
        counts.add([batch.column(column.name)], weight)
    return counts.result()


def check_values(column: Field) -> Field:
    """Return a column whose values can be counted and ordered. InputError for a nested one."""
    if is_nested(column.type):
        raise InputError(
            f"column {column.name!r} is {column.type_name}, whose values have no order and are not counted; write the "
            "field or element as a column of its own"
        )
    return column


def value_counts(column: Field, max_bytes: int) -> GroupCounts:
    schema = pa.schema([(_VALUE, column.arrow_type)])
    return GroupCounts(schema, max_bytes=max_bytes, subject=f"column {column.name!r}")


def _fill(table: pa.Table, buckets: Buckets, groups: pa.Schema, max_bytes: int) -> pa.Table:
    """Add a row with count 0 for each bucket in the range, and each value of `by`, that has no rows."""
    other = groups.names[1:]
    values = table.select(other).group_by(other).aggregate([]) if other else None
    num_values = 1 if values is None else max(1, values.num_rows)
    row_bytes = 16 + (0 if values is None else values.nbytes // num_values)
    missing = pa.table(
        {_BUCKET: buckets.between(_array(table, _BUCKET), max_bytes // (row_bytes * num_values))}
    )
    if values is not None:
        rows, repeats = missing.num_rows, values.num_rows
        buckets_of_rows = pa.array(np.repeat(np.arange(rows), repeats))
        values_of_rows = pa.array(np.tile(np.arange(repeats), rows))
        missing = missing.take(buckets_of_rows).append_column(
            groups[1], values.take(values_of_rows).column(0)
        )
    missing = missing.append_column(COUNT, pa.repeat(pa.scalar(0, pa.int64()), missing.num_rows))
    merged = pa.concat_tables([table, missing]).group_by(groups.names).aggregate([(COUNT, "sum")])
    return merged.select([*groups.names, f"{COUNT}_sum"]).rename_columns([*groups.names, COUNT])


def _array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _add(total: IntegerSum | FloatSum | DecimalSum, values: pa.Array, weight: int) -> None:
    if isinstance(total, DecimalSum):
        total.add(values, weight)
    else:
        total.add(values.to_numpy(zero_copy_only=False), weight)


def _sum_of(column: Field) -> IntegerSum | FloatSum | DecimalSum | None:
    if column.type in INTEGER_TYPES:
        return IntegerSum()
    if decimal_size(column.type) is not None:
        return DecimalSum()
    return FloatSum() if column.type in FLOAT_TYPES else None


def _extremes(values: pa.Array) -> pa.Array:
    """Return the least and the greatest of values that are not null. NaN is above all other numbers."""
    bounds = pc.min_max(values)
    least, greatest = bounds["min"], bounds["max"]
    if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
        greatest = pa.scalar(float("nan"), values.type)
    return pa.array([least, greatest], values.type)


def _python_value(column: Field, value: pa.Scalar) -> Value:
    try:
        result: Value = value.as_py()
    except (ValueError, OverflowError) as reason:
        raise InputError(
            f"the least or greatest value of {column.name!r} is outside of the years 1 to 9999, which Python's dates "
            "can hold; leave such values out with `where`"
        ) from reason
    return result

"""An overview of the rows that match: a histogram over time and the most frequent values of columns, in one scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.predicates import ALL_FIELDS, Predicate, QueryLimits, TextQuery, conjunction, parse_where
from indextables.table.aggregates import check_values, value_counts, weighted_batches
from indextables.table.buckets import buckets_of
from indextables.table.group_counts import COUNT, GroupCounts
from indextables.table.scan import ScanPlan, ScanRequest, plan_scan

if TYPE_CHECKING:
    from indextables.table.handle import Table

_BUCKET: Final = "bucket"
_MAX_BYTES: Final = 32 << 20


@dataclass(frozen=True)
class Overview:
    """What was found. `histogram` has `bucket`, `value` (of `by`, else null) and `count`, in the order of buckets.

    `top` has `value` and `count` of each column, most frequent first; None for a column with too many values.
    """

    total: int
    histogram: pa.Table | None
    top: dict[str, pa.Table | None]
    plan: ScanPlan


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
) -> Overview:
    """Return the overview of the rows that `Table.count` counts, with columns that each take bounded memory."""
    schema = table.snapshot.schema
    time_field, by_field = (None if name is None else schema.field(name) for name in (time, by))
    top_fields = [check_values(schema.field(name)) for name in fields]
    columns = dict.fromkeys(f.name for f in (time_field, by_field, *top_fields) if f is not None)
    settings = Settings(dict(table.settings) | {keys.INDEX_ALL_MAX_FIELDS.key: "0"})
    conditions: list[Predicate] = [] if query is None else [TextQuery("INDEXQUERY", ALL_FIELDS, query)]
    if where is not None:
        conditions.append(parse_where(where, schema, limits=QueryLimits.of(settings)))
    request = ScanRequest(tuple(columns), conjunction(conditions), count_only=not columns)
    plan = plan_scan(table.uri, table.snapshot, request, settings)
    if not columns:
        return Overview(table.count(query, where=where), None, {}, plan)
    buckets = None if time_field is None else buckets_of(time_field, every)
    value_type = pa.null() if by_field is None else by_field.arrow_type
    bars: GroupCounts | None = None
    if buckets is not None:
        key = pa.float64() if buckets.type == pa.float64() else pa.int64()
        groups = pa.schema([(_BUCKET, key), ("value", value_type)])
        bars = GroupCounts(groups, max_bytes=_MAX_BYTES, subject="the histogram")
    counts: dict[str, GroupCounts | None] = {f.name: value_counts(f, _MAX_BYTES) for f in top_fields}
    total = 0
    for batch, weight in weighted_batches(plan):
        total += weight * batch.num_rows
        if bars is not None and buckets is not None and time_field is not None:
            values = pa.nulls(batch.num_rows) if by_field is None else batch.column(by_field.name)
            bars.add([buckets.keys(batch.column(time_field.name)), values], weight)
        for name, groups_of in counts.items():
            counts[name] = _added(groups_of, batch.column(name), weight)
    histogram = None
    if bars is not None and buckets is not None:
        found = bars.result().sort_by([(_BUCKET, "ascending")]).combine_chunks()
        column = found.column(_BUCKET)
        starts = buckets.starts(
            pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        )
        histogram = found.set_column(0, _BUCKET, starts)
    return Overview(total, histogram, {name: _top(group, n) for name, group in counts.items()}, plan)


def _added(groups: GroupCounts | None, values: pa.Array, weight: int) -> GroupCounts | None:
    """Count values; None once they take more memory than one column may."""
    if groups is None:
        return None
    try:
        groups.add([values], weight)
    except InputError:
        return None
    return groups


def _top(groups: GroupCounts | None, n: int) -> pa.Table | None:
    if groups is None:
        return None
    try:
        counted = groups.result()
    except InputError:
        return None
    return counted.sort_by([(COUNT, "descending"), ("value", "ascending")]).slice(0, n).combine_chunks()

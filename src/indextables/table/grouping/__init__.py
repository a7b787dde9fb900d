"""Aggregates without their rows: what one asks for, the keys of groups, and states that combine."""

from indextables.table.grouping.aggregation import (
    COUNT_ROWS,
    Aggregate,
    Function,
    GroupKey,
    Measure,
    is_supported,
    result_fields,
)
from indextables.table.grouping.bucket_keys import BucketKeys, NumberBuckets, Range, RangeBuckets, TimeBuckets
from indextables.table.grouping.buckets import Buckets, buckets_of
from indextables.table.grouping.exact_sums import DecimalSum, FloatSum, IntegerSum
from indextables.table.grouping.group_counts import COUNT, GroupCounts, canonical
from indextables.table.grouping.group_totals import GroupTotals

__all__ = [
    "COUNT",
    "COUNT_ROWS",
    "Aggregate",
    "BucketKeys",
    "Buckets",
    "DecimalSum",
    "FloatSum",
    "Function",
    "GroupCounts",
    "GroupKey",
    "GroupTotals",
    "IntegerSum",
    "Measure",
    "NumberBuckets",
    "Range",
    "RangeBuckets",
    "TimeBuckets",
    "buckets_of",
    "canonical",
    "is_supported",
    "result_fields",
]

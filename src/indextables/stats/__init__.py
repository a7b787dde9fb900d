"""Statistics of a split: minima and maxima of its columns, Bloom filters, and plausible counts and times."""

from indextables.stats.bloom import BloomCollector, BloomFilter, ColumnFilter
from indextables.stats.bounds import CUT_LENGTH, bounds_of
from indextables.stats.figures import (
    EARLIEST_MS,
    LATEST_MS,
    MAX_LONG,
    MAX_RECORDS,
    is_count,
    is_moment,
    total,
    total_bytes,
)
from indextables.stats.inline import inline_filters, inline_stats
from indextables.stats.minmax import MinMaxCollector, cut_above

__all__ = [
    "CUT_LENGTH",
    "EARLIEST_MS",
    "LATEST_MS",
    "MAX_LONG",
    "MAX_RECORDS",
    "BloomCollector",
    "BloomFilter",
    "ColumnFilter",
    "MinMaxCollector",
    "bounds_of",
    "cut_above",
    "inline_filters",
    "inline_stats",
    "is_count",
    "is_moment",
    "total",
    "total_bytes",
]

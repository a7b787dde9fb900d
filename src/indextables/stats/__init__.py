"""What is known of a split without searching it: minima and maxima of its columns, and which values they lack."""

from indextables.stats.bloom import BloomCollector, BloomFilter, ColumnFilter
from indextables.stats.bounds import bounds_of
from indextables.stats.inline import inline_filters, inline_stats
from indextables.stats.minmax import MinMaxCollector, cut_above

__all__ = [
    "BloomCollector",
    "BloomFilter",
    "ColumnFilter",
    "MinMaxCollector",
    "bounds_of",
    "cut_above",
    "inline_filters",
    "inline_stats",
]

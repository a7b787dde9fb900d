"""What is known of a split without opening it: the smallest and largest value of its columns."""

from indextables.stats.bounds import bounds_of
from indextables.stats.minmax import MinMaxCollector, cut_above

__all__ = ["MinMaxCollector", "bounds_of", "cut_above"]

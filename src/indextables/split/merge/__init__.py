"""Merging splits: the rows and indexes of several splits of one partition become one split."""

from indextables.split.merge.merging import MergedSplit, MergeMethod, merge_splits
from indextables.split.merge.sources import MergeSource

__all__ = ["MergeMethod", "MergeSource", "MergedSplit", "merge_splits"]

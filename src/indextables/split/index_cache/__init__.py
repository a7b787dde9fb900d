"""Indexes on local disk: extracted from splits, checked, and kept within a bounded size."""

from indextables.split.index_cache.cache import (
    OpenIndex,
    entry_name,
    is_cached,
    open_cached,
    open_index,
    read_cached,
)
from indextables.split.index_cache.entry_record import checksum
from indextables.split.index_cache.extraction import extract_members

__all__ = [
    "OpenIndex",
    "checksum",
    "entry_name",
    "extract_members",
    "is_cached",
    "open_cached",
    "open_index",
    "read_cached",
]

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
from indextables.split.index_cache.extraction import extract_members, index_bytes, verify_members
from indextables.split.index_cache.split_ends import open_remote_bundle
from indextables.split.index_cache.usage import (
    CacheLooks,
    CacheUsage,
    FlushedEntries,
    cache_usage,
    flush_entries,
    forget_open_indexes,
)

__all__ = [
    "CacheLooks",
    "CacheUsage",
    "FlushedEntries",
    "OpenIndex",
    "cache_usage",
    "checksum",
    "entry_name",
    "extract_members",
    "flush_entries",
    "forget_open_indexes",
    "index_bytes",
    "is_cached",
    "open_cached",
    "open_index",
    "open_remote_bundle",
    "read_cached",
    "verify_members",
]

"""How full the index cache is, and emptying it: the entries on disk, and the indexes that a process has open."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from indextables.config import Settings
from indextables.runtime import current
from indextables.split.index_cache.cache import (
    DISK_HITS,
    MEMORY_HITS,
    MISSES,
    OPEN_INDEXES,
    IndexCache,
    table_mark,
)
from indextables.split.index_cache.directory import ADVICE
from indextables.split.index_cache.entry_record import RECORD
from indextables.storage import disk_errors


@dataclass(frozen=True)
class CacheUsage:
    """The entries of the cache on disk. An entry is the index of one split, or what was derived from one."""

    directory: str
    max_bytes: int
    total_bytes: int
    entries: int
    files: int


@dataclass(frozen=True)
class FlushedEntries:
    """What a flush has deleted."""

    entries: int
    files: int
    bytes: int


@dataclass(frozen=True)
class CacheLooks:
    """How often an index was found open, found on disk, or had to be extracted or built."""

    memory_hits: int
    disk_hits: int
    misses: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> CacheLooks:
        """Return the figures from the counters of one process or the sum of several."""
        return cls(*(counts.get(name, 0) for name in (MEMORY_HITS, DISK_HITS, MISSES)))

    @property
    def hits(self) -> int:
        """The indexes that were found, open or on disk."""
        return self.memory_hits + self.disk_hits


def cache_usage(settings: Settings) -> CacheUsage:
    """Return the figures of the cache on this machine's disk. Other processes may change it at the same time."""
    cache = IndexCache.of(settings)
    with disk_errors("list", str(cache.root), ADVICE):
        entries = cache.entries()
    return CacheUsage(
        directory=str(cache.root),
        max_bytes=cache.max_bytes,
        total_bytes=sum(entry.size for entry in entries),
        entries=len(entries),
        files=sum(_files(cache, entry.name) for entry in entries),
    )


def flush_entries(settings: Settings, uri: str | None = None) -> FlushedEntries:
    """Delete the entries of the table at `uri`, the address of its store, or all entries.

    A process that has an index open keeps its open files. A process that opens one at the same time finds the entry
    whole or not at all, and then extracts it again.
    """
    cache = IndexCache.of(settings)
    mark = "" if uri is None else table_mark(uri)
    with disk_errors("delete indexes in", str(cache.root), ADVICE):
        doomed = [
            (entry, _files(cache, entry.name)) for entry in cache.entries() if entry.name.startswith(mark)
        ]
        cache.work()
        removed = cache.remove([entry.name for entry, _ in doomed])
    gone = [(entry.size, files) for entry, files in doomed if entry.name in removed]
    return FlushedEntries(len(gone), sum(files for _, files in gone), sum(size for size, _ in gone))


def forget_open_indexes(uri: str | None = None) -> int:
    """Drop the open indexes of the table at `uri`, or all, from the memory of this process. Return how many."""
    mark = "" if uri is None else table_mark(uri)
    return current().cache(OPEN_INDEXES).discard(lambda name: name.startswith(mark))


def _files(cache: IndexCache, name: str) -> int:
    """Return the number of index files of an entry; 0 if another process has evicted it."""
    with contextlib.suppress(OSError):
        return sum(not path.name.startswith(RECORD) for path in (cache.root / name).iterdir())
    return 0

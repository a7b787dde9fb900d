"""The snapshot cache: snapshots that this process has read, from which the next reader or writer starts.

A cached snapshot is used only after a request to the store has confirmed it (see `incremental`), so commits of other
processes are never missed. The cache is bounded by age, by number of snapshots and by number of files; the least
recently used snapshots are evicted first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from indextables.config import Settings, keys
from indextables.log.snapshots.snapshot import Snapshot
from indextables.runtime import CacheFigures, CacheSpec, current


@dataclass(frozen=True)
class CacheLimits:
    """How many snapshots and files are cached, and for how long; with 0 `seconds` nothing is cached."""

    seconds: int = keys.LOG_CACHE_SECONDS.default
    snapshots: int = keys.LOG_CACHE_SNAPSHOTS.default
    files: int = keys.LOG_CACHE_FILES.default

    @classmethod
    def of(cls, settings: Settings) -> CacheLimits:
        enabled = settings.get(keys.LOG_CACHE_ENABLED)
        return cls(
            seconds=settings.get(keys.LOG_CACHE_SECONDS) if enabled else 0,
            snapshots=settings.get(keys.LOG_CACHE_SNAPSHOTS),
            files=settings.get(keys.LOG_CACHE_FILES),
        )


class _Stored(NamedTuple):
    snapshot: Snapshot
    since: float


_DEFAULT: Final = CacheLimits()
SNAPSHOTS: Final = CacheSpec[tuple[str, int], _Stored]("snapshots", entries=_DEFAULT.snapshots)
"""By the address of the table and the version."""

_FIGURES: Final = CacheSpec[str, CacheFigures]("figures of the snapshot cache", entries=1000)
"""By the address of the table."""


def recall(uri: str, version: int | None = None, limits: CacheLimits = _DEFAULT) -> Snapshot | None:
    """Return the cached snapshot of the table at that version, or the newest one; None if there is none."""
    runtime = current()
    snapshots = runtime.cache(SNAPSHOTS)
    if version is None:
        version = max((cached for table, cached in snapshots if table == uri), default=-1)
    stored = snapshots.get((uri, version))
    if stored is None:
        return None
    if runtime.monotonic() - stored.since >= limits.seconds:
        snapshots.pop((uri, version))
        return None
    return stored.snapshot


def remember(snapshot: Snapshot, limits: CacheLimits = _DEFAULT) -> None:
    """Cache the snapshot, unless it has no transaction id to confirm it by, or more files than the limit."""
    if snapshot.txn_id is None or not limits.seconds or snapshot.files.expected > limits.files:
        return
    runtime = current()
    runtime.cache(SNAPSHOTS).put(
        (snapshot.uri, snapshot.version),
        _Stored(snapshot, runtime.monotonic()),
        weight=snapshot.files.expected,
        max_weight=limits.files,
        max_entries=limits.snapshots,
    )


def forget(uri: str | None = None) -> None:
    """Drop the cached snapshots of one table, or of all."""
    current().cache(SNAPSHOTS).discard(lambda key: uri in (None, key[0]))


def count(uri: str, *, hit: bool) -> None:
    """Count a lookup of a snapshot of the table as a hit or a miss."""

    def add_lookup(figures: CacheFigures | None) -> CacheFigures:
        figures = figures or CacheFigures()
        return CacheFigures(figures.hits + hit, figures.misses + (not hit))

    current().cache(_FIGURES).update(uri, add_lookup)


def invalidate_cache(uri: str | None = None) -> CacheFigures:
    """Drop the cached snapshots of one table, or of all, and return the figures up to now. Counting starts over.

    >>> count("memory://doc-cache", hit=True)
    >>> invalidate_cache("memory://doc-cache"), invalidate_cache("memory://doc-cache")
    (CacheFigures(hits=1, misses=0), CacheFigures(hits=0, misses=0))
    """
    forget(uri)
    by_table = current().cache(_FIGURES)
    figures = [by_table.pop(table) or CacheFigures() for table in by_table if uri in (None, table)]
    return CacheFigures(sum(part.hits for part in figures), sum(part.misses for part in figures))

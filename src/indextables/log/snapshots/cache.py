"""Snapshots that this process has read, so that the next reader or writer starts from them.

Nothing here is believed without a look at the store (see `loading`), so what others write is never missed. Bounded
by age, by number, and by the files that the kept snapshots name, the least recently used going first.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, NamedTuple

from indextables.config import Settings, keys
from indextables.log.snapshots.snapshot import Snapshot
from indextables.runtime import ForkSafeLock


@dataclass(frozen=True)
class CacheLimits:
    """How much is kept, and for how long; `seconds` 0: nothing is."""

    seconds: int = keys.LOG_CACHE_SECONDS.default
    snapshots: int = keys.LOG_CACHE_SNAPSHOTS.default
    files: int = keys.LOG_CACHE_FILES.default

    @classmethod
    def of(cls, settings: Settings) -> CacheLimits:
        enabled = settings.get(keys.LOG_CACHE_ENABLED)
        return cls(
            settings.get(keys.LOG_CACHE_SECONDS) if enabled else 0,
            settings.get(keys.LOG_CACHE_SNAPSHOTS),
            settings.get(keys.LOG_CACHE_FILES),
        )


@dataclass(frozen=True)
class CacheFigures:
    """How often a snapshot was found here, and how often it had to be read.

    >>> CacheFigures(hits=3, misses=1).hit_rate
    0.75
    """

    hits: int = 0
    misses: int = 0

    @property
    def hit_rate(self) -> float | None:
        """The part that was found; None before the first look."""
        looks = self.hits + self.misses
        return self.hits / looks if looks else None


class _Kept(NamedTuple):
    snapshot: Snapshot
    since: float


_DEFAULT: Final = CacheLimits()
_lock: Final = ForkSafeLock()
_kept: Final[OrderedDict[tuple[str, int], _Kept]] = OrderedDict()
_figures: Final[dict[str, CacheFigures]] = {}
_clock = time.monotonic


def recall(uri: str, version: int | None = None, limits: CacheLimits = _DEFAULT) -> Snapshot | None:
    """The snapshot of the table at that version, or the newest one kept."""
    with _lock:
        if version is None:
            version = max((kept for table, kept in _kept if table == uri), default=-1)
        found = _kept.get((uri, version))
        if found is None:
            return None
        if _clock() - found.since >= limits.seconds:
            del _kept[uri, version]
            return None
        _kept.move_to_end((uri, version))
        return found.snapshot


def remember(snapshot: Snapshot, limits: CacheLimits = _DEFAULT) -> None:
    """Keep it, if there is a way to tell later that it still holds, and room."""
    if snapshot.txn_id is None or not limits.seconds or snapshot.files.expected > limits.files:
        return
    with _lock:
        _kept[snapshot.uri, snapshot.version] = _Kept(snapshot, _clock())
        _kept.move_to_end((snapshot.uri, snapshot.version))
        files = sum(kept.snapshot.files.expected for kept in _kept.values())
        while len(_kept) > limits.snapshots or files > limits.files:
            _, dropped = _kept.popitem(last=False)
            files -= dropped.snapshot.files.expected


def forget(uri: str | None = None) -> None:
    """Drop what is kept of one table, or of all."""
    with _lock:
        for key in [key for key in _kept if uri in (None, key[0])]:
            del _kept[key]


def count(uri: str, *, hit: bool) -> None:
    """Note whether a look for a snapshot of the table found one that still holds."""
    with _lock:
        so_far = _figures.get(uri, CacheFigures())
        _figures[uri] = CacheFigures(so_far.hits + hit, so_far.misses + (not hit))


def invalidate(uri: str | None = None) -> CacheFigures:
    """Drop what is kept of one table, or of all, and begin to count anew; the figures up to now.

    >>> count("memory://doc-cache", hit=True)
    >>> invalidate("memory://doc-cache"), invalidate("memory://doc-cache")
    (CacheFigures(hits=1, misses=0), CacheFigures(hits=0, misses=0))
    """
    forget(uri)
    with _lock:
        found = [_figures.pop(table) for table in list(_figures) if uri in (None, table)]
    return CacheFigures(sum(part.hits for part in found), sum(part.misses for part in found))

"""Loading a snapshot incrementally: from one that this process has read before.

`load_snapshot` is what most callers need: it uses the cached snapshot of the table, if that still holds. `refresh`
brings a snapshot up to date. It requests the next version by name, so its cost depends on the number of newer versions
and not on the size of the log.
"""

from __future__ import annotations

import logging
from typing import Final

from indextables.config import Settings
from indextables.errors import CorruptTableError
from indextables.log.snapshots import cache
from indextables.log.snapshots.loader import VersionSelector, read_snapshot
from indextables.log.snapshots.snapshot import Snapshot, replay
from indextables.log.versions import (
    VersionActions,
    list_versions_after,
    read_txn_id,
    read_unlisted_version,
    read_versions,
)
from indextables.state import read_pointer
from indextables.storage import Store

_log: Final = logging.getLogger(__name__)

_PROBES: Final = 8
"""How many newer versions are requested one by one before a listing is cheaper."""

_REBASE: Final = 100
"""How many versions a cached snapshot may be ahead of its state before a newer state is looked for."""


def load_snapshot(
    store: Store, version: int | None = None, as_of_ms: int | None = None, settings: Settings | None = None
) -> Snapshot:
    """Return the newest snapshot, or that of `version`, or the newest one as of `as_of_ms`.

    Raises TableNotFoundError if there is no log, VersionNotFoundError if the version cannot be read, ProtocolError
    if the table requires a newer release.
    """
    limits = cache.CacheLimits.of(settings or Settings())
    if as_of_ms is None:
        cached = _recall(store, version, limits)
        cache.count(store.uri, hit=cached is not None)
        if cached is not None:
            _log.debug("%s: version %d is in the cache of snapshots", store.uri, cached.version)
            return cached
    snapshot = read_snapshot(store, VersionSelector(version, as_of_ms), settings)
    _log.debug(
        "%s: read version %d with %d files; %d versions were replayed",
        store.uri,
        snapshot.version,
        snapshot.files.expected,
        snapshot.version - snapshot.files.base_version,
    )
    if snapshot.gap is None:
        cache.remember(snapshot, limits)
    return snapshot


def refresh(store: Store, snapshot: Snapshot) -> Snapshot:
    """Return the newest snapshot, given an older one: only the versions between them are read."""
    if snapshot.gap is not None or snapshot.by_state:
        return load_snapshot(store)  # only a listing shows whether a gap was closed, or a state was added
    newer: list[VersionActions] = []
    while (version := read_unlisted_version(store, snapshot.version + 1 + len(newer))) is not None:
        newer.append(version)
        if len(newer) == _PROBES:
            try:
                newer += read_versions(store, list_versions_after(store, snapshot.version + len(newer)))
            except CorruptTableError:
                # Clean-up may have deleted a listed version before it was read. A state covers it.
                return read_snapshot(store)
    if not newer:
        return snapshot
    try:
        return replay(store.uri, snapshot, newer) or snapshot
    except CorruptTableError:
        # A version that does not follow the one before it may be an orphaned commit, or belong to another table that
        # was created at this path. Reading from the store alone tells these from damage.
        return read_snapshot(store)


def _recall(store: Store, version: int | None, limits: cache.CacheLimits) -> Snapshot | None:
    """Return the snapshot of `version`, or the newest one, from the cache if it still holds, else None.

    Another table may be at this path by now. The transaction id in the version file tells: ids are unique.
    """
    cached = cache.recall(store.uri, version, limits)
    if cached is None:
        return None
    newest = cached if version is not None else refresh(store, cached)
    # This check comes after the refresh. Clean-up deletes versions from old to new, so if the cached version still
    # exists now, every later version existed during the refresh: a version that the refresh did not find was not
    # deleted but does not exist yet.
    if read_txn_id(store, cached.version) != cached.txn_id:
        cache.forget(store.uri)
        return None
    if version is not None:
        return cached
    if newest.version - newest.files.base_version > _REBASE:
        pointer = read_pointer(store)
        if pointer is not None and pointer.version > newest.files.base_version:
            return None  # a snapshot based on the newer state is smaller
    cache.remember(newest, limits)
    return newest

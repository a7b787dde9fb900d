"""The snapshot at a version: the newest readable state or checkpoint before it, and the versions since.

Bringing a snapshot up to date asks for the next version by name, so its cost is the number of newer versions
and not of all; and a table that this process has read before is only brought up to date.
"""

from __future__ import annotations

import logging
from typing import Final

from indextables.config import Settings
from indextables.errors import CorruptTableError, VersionNotFoundError
from indextables.log.snapshots import cache
from indextables.log.snapshots.rebuild import NEWEST, SnapshotLoader, VersionSelector
from indextables.log.snapshots.snapshot import Snapshot, VersionActions, replay
from indextables.log.versions.listing import list_log
from indextables.log.versions.reader import (
    list_versions_after,
    read_txn_id,
    read_unlisted_version,
    read_versions,
)
from indextables.log.versions.watermark import NO_WATERMARK, read_watermark
from indextables.state import read_pointer
from indextables.storage import Store

__all__ = ["VersionSelector", "load_snapshot", "read_snapshot", "refresh"]

_log: Final = logging.getLogger(__name__)

_PROBES: Final = 8
"""How many newer versions are asked for one by one before a listing is cheaper."""

_REBASE: Final = 100
"""How many versions a kept snapshot may be ahead of its state before a newer state is looked for."""


def load_snapshot(
    store: Store, version: int | None = None, as_of_ms: int | None = None, settings: Settings | None = None
) -> Snapshot:
    """The newest snapshot, or that of `version`, or the newest one that is not younger than `as_of_ms`.

    TableNotFoundError where there is no log, VersionNotFoundError for a version that cannot be read,
    ProtocolError for a table that takes a newer release.
    """
    limits = cache.CacheLimits.of(settings or Settings())
    if as_of_ms is None:
        known = _recall(store, version, limits)
        cache.count(store.uri, hit=known is not None)
        if known is not None:
            _log.debug("%s: version %d is in the cache of snapshots", store.uri, known.version)
            return known
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


def read_snapshot(
    store: Store, wanted: VersionSelector = NEWEST, settings: Settings | None = None
) -> Snapshot:
    """The same from the store alone, whatever this process remembers."""
    passed = NO_WATERMARK
    while True:
        try:
            return _read(store, wanted, settings or Settings())
        except (CorruptTableError, VersionNotFoundError) as reason:
            # What is missing may have been cleaned up since it was listed: then there is something newer to read.
            end = read_watermark(store)
            if end == passed:
                if (
                    isinstance(reason, CorruptTableError)
                    and wanted.version is not None
                    and wanted.version <= end
                ):
                    raise VersionNotFoundError(  # that it is gone is no damage
                        f"{store.uri} has no version {wanted.version} any more: history up to version {end} has been "
                        f"cleaned up; read version {end + 1} or a later one"
                    ) from reason
                raise
            passed = end


def _read(store: Store, wanted: VersionSelector, settings: Settings) -> Snapshot:
    pointer = read_pointer(store)  # first: what it names is then in any later listing
    hinted = pointer.version if pointer is not None and wanted.as_of_ms is None else 0
    rebuild = SnapshotLoader(store, wanted, settings, claimed=hinted)
    if hinted and (wanted.version is None or wanted.version >= hinted):
        found = rebuild.read(list_log(store, after=hinted - 1))
        if found is not None:
            return found
    found = rebuild.read(list_log(store))
    assert found is not None, "a whole listing has an answer or an error"
    return found


def refresh(store: Store, snapshot: Snapshot) -> Snapshot:
    """The newest snapshot, from an older one: only the versions between are read."""
    if snapshot.gap is not None or snapshot.by_state:
        return load_snapshot(store)  # only a listing can tell of a mended hole, or of another state
    fresh: list[VersionActions] = []
    while (found := read_unlisted_version(store, snapshot.version + 1 + len(fresh))) is not None:
        fresh.append(found)
        if len(fresh) == _PROBES:
            try:
                fresh += read_versions(store, list_versions_after(store, snapshot.version + len(fresh)))
            except CorruptTableError:
                return read_snapshot(
                    store
                )  # a clean-up may have taken what was listed; from a state it is no loss
    if not fresh:
        return snapshot
    try:
        return replay(store.uri, snapshot, fresh) or snapshot
    except CorruptTableError:
        # A version that does not follow the one before it may be a stray of a writer that came after a clean-up, or of
        # another table at this path. A whole reading tells them from damage.
        return read_snapshot(store)


def _recall(store: Store, version: int | None, limits: cache.CacheLimits) -> Snapshot | None:
    """The snapshot of `version`, or the newest one, from what this process read before, if it still holds.

    The path may have another table by now. The version file itself says: no two transactions have one id.
    """
    known = cache.recall(store.uri, version, limits)
    if known is None:
        return None
    newest = known if version is not None else refresh(store, known)
    # After the refresh: clean-up goes from old to new, so if this version is still there, those after it are too,
    # and that there was no next one did not mean that it was gone.
    if read_txn_id(store, known.version) != known.txn_id:
        cache.forget(store.uri)
        return None
    if version is not None:
        return known
    if newest.version - newest.files.base_version > _REBASE:
        pointer = read_pointer(store)
        if pointer is not None and pointer.version > newest.files.base_version:
            return None  # from the newer state there is less to keep and to search
    cache.remember(newest, limits)
    return newest

"""The snapshot at a version, found by one listing and the replay of the versions up to it.

Bringing a snapshot up to date asks for the next version by name, so its cost is the number of newer versions
and not of all; and a table that this process has read before is only brought up to date.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from indextables.errors import VersionNotFoundError
from indextables.log import cache
from indextables.log.snapshot import Gap, Snapshot, VersionActions, replay
from indextables.log.versions import (
    VersionFile,
    listed_after,
    read_next,
    read_txn_id,
    read_versions,
    readable_versions,
)
from indextables.storage import Store

_PROBES: Final = 8
"""How many newer versions are asked for one by one before a listing is cheaper."""


class VersionGapWarning(UserWarning):
    """A version file is missing in the middle of the log; the table is read up to there."""


def load_snapshot(store: Store, version: int | None = None, as_of_ms: int | None = None) -> Snapshot:
    """The newest snapshot, or that of `version`, or the newest one that is not younger than `as_of_ms`.

    TableNotFoundError where there is no log, VersionNotFoundError for a version that cannot be read,
    ProtocolError for a table that takes a newer release.

    >>> from indextables.log import Append, Metadata, commit
    >>> from indextables.storage import open_store
    >>> store = open_store("memory:doc-load")
    >>> made = commit(store, Append((), Metadata("some-id", '{"type": "struct", "fields": []}')), base=None)
    >>> load_snapshot(store, 0) == made.snapshot
    True
    """
    known = _recall(store, version) if as_of_ms is None else None
    if known is not None:
        return known
    found, gap = readable_versions(store)
    if version is not None:
        if not found[0].version <= version <= found[-1].version:
            raise VersionNotFoundError(f"{store.uri} has no version {version}; {_range(found, gap)}")
        found = found[: version + 1]
    elif gap is not None:
        warnings.warn(
            f"{store.uri}: version {gap.first} is missing although version {gap.next} is there; "
            f"reading up to version {gap.first - 1}",
            VersionGapWarning,
            stacklevel=2,
        )
    versions = read_versions(store, found)
    if as_of_ms is not None:
        versions = _not_younger(versions, as_of_ms)
    snapshot = replay(store.uri, None, versions)
    if snapshot is None:
        first = next(read_versions(store, found[:1])).raw_timestamp_ms
        raise VersionNotFoundError(
            f"{store.uri} did not exist yet at {_moment(as_of_ms or 0)}; its first version is of {_moment(first)}"
        )
    if gap is not None:
        return dataclasses.replace(snapshot, gap=gap)
    cache.remember(snapshot)
    return snapshot


def refresh(store: Store, snapshot: Snapshot) -> Snapshot:
    """The newest snapshot, from an older one: only the versions between are read."""
    if snapshot.gap is not None:
        return load_snapshot(store)  # only a listing can tell whether the hole is still there
    fresh: list[VersionActions] = []
    while (found := read_next(store, snapshot.version + 1 + len(fresh))) is not None:
        fresh.append(found)
        if len(fresh) == _PROBES:
            fresh += read_versions(store, listed_after(store, snapshot.version + len(fresh)))
    return (replay(store.uri, snapshot, fresh) if fresh else None) or snapshot


def _recall(store: Store, version: int | None) -> Snapshot | None:
    """The snapshot of `version`, or the newest one, from what this process read before, if it still holds.

    The path may have another table by now. The version file itself says: no two transactions have one id.
    """
    known = cache.recall(store.uri, version)
    if known is None:
        return None
    if read_txn_id(store, known.version) != known.txn_id:
        cache.forget(store.uri)
        return None
    if version is not None:
        return known
    newest = refresh(store, known)
    cache.remember(newest)
    return newest


def _not_younger(versions: Iterator[VersionActions], as_of_ms: int) -> Iterator[VersionActions]:
    for found in versions:
        # Times never go backwards (replay sees to it), so the first younger version ends the search.
        if found.raw_timestamp_ms > as_of_ms:
            return
        yield found


def _moment(ms: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


def _range(found: list[VersionFile], gap: Gap | None) -> str:
    end = f" (version {gap.first} is missing)" if gap else ""
    return f"it can be read from version {found[0].version} to {found[-1].version}{end}"

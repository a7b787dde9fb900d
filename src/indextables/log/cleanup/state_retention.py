"""How long states and manifests are kept. Pure: functions of what exists, without I/O.

A state expires when it is not among the newest states, it is older than the retention, `_last_checkpoint` does not name
it, and no remaining version file needs it. Version files may be kept for longer than states. Some states are kept for
them all the same, an eighth of the retention apart: the versions after one are read from it, so that clean-up can
delete the version files before it. A manifest is orphaned when no remaining state and no pin names it, and it is older
than a window.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from indextables.config import HOUR_MS, Settings, keys
from indextables.state import Pinned, StateManifest, manifest_key
from indextables.storage import LOG_DIRECTORY, ObjectInfo

_SPACED_PER_RETENTION: Final = 8
_MANIFEST: Final = re.compile(rf"{LOG_DIRECTORY}/(?:manifests|state-v[0-9]{{20}})/manifest-[^/]+\.avro")


@dataclass(frozen=True)
class StateRetention:
    """The newest `versions` states are kept, and all states that are younger than `age_ms`."""

    versions: int = keys.STATE_RETENTION_VERSIONS.default
    age_ms: int = keys.STATE_RETENTION_HOURS.default * HOUR_MS
    manifest_age_ms: int = keys.MANIFEST_MIN_AGE_HOURS.default * HOUR_MS

    @property
    def spacing_ms(self) -> int:
        """The time that older states cover each, as long as there are version files that follow them."""
        return max(self.age_ms // _SPACED_PER_RETENTION, HOUR_MS)

    @classmethod
    def of(cls, settings: Settings, hours: int | None = None) -> StateRetention:
        """Return the retention from the settings; `hours` overrides the age of states."""
        legacy_ms = settings.get(keys.STATE_RETENTION_MS)
        if hours is None and legacy_ms is not None and not settings.is_set(keys.STATE_RETENTION_HOURS):
            age_ms = legacy_ms
        else:
            age_ms = (settings.get(keys.STATE_RETENTION_HOURS) if hours is None else hours) * HOUR_MS
        return cls(
            versions=settings.get(keys.STATE_RETENTION_VERSIONS),
            age_ms=age_ms,
            manifest_age_ms=settings.get(keys.MANIFEST_MIN_AGE_HOURS) * HOUR_MS,
        )


class Base(NamedTuple):
    """A state or JSON checkpoint from which later versions are read."""

    version: int
    created_ms: int


def expired_bases(
    bases: Sequence[Base],
    versions: Collection[int],
    *,
    named: int | None,
    retention: StateRetention,
    now_ms: int,
) -> list[int]:
    """Return the versions whose states may be deleted.

    `bases` ascend. `versions` are those that have a version file. `named` is the version in `_last_checkpoint`.

    >>> bases = [Base(10, 0), Base(20, 0), Base(30, 0)]
    >>> expired_bases(bases, range(40), named=30, retention=StateRetention(1, 5), now_ms=9)
    [10, 20]
    >>> expired_bases(bases, range(15, 40), named=30, retention=StateRetention(1, 5), now_ms=9)
    [10]
    """
    base_versions = [base.version for base in bases]
    spaced = _first_in_each_period(bases, retention.spacing_ms)
    old = {
        base.version
        for base in bases[: -retention.versions]
        if now_ms - base.created_ms >= retention.age_ms
        and base.version != named
        and not (base.version in spaced and base.version + 1 in versions)
    }
    expired: list[int] = []
    start = -1  # the base from which the versions up to the next base can be read
    for base in base_versions:
        begins = base in versions or (base + 1 in versions and base + 1 not in base_versions)
        if base in old and not (begins and not all(v in versions for v in range(start + 1, base + 1))):
            expired.append(base)
        else:
            start = base
    return expired


def _first_in_each_period(bases: Sequence[Base], period_ms: int) -> set[int]:
    """Return the versions of the first base in each period of time but that of the newest base.

    The first one of a period stays the first one when others expire, so the same bases are kept every time.
    """
    firsts: dict[int, int] = {}
    for base in bases:
        firsts.setdefault(base.created_ms // period_ms, base.version)
    if bases:
        del firsts[bases[-1].created_ms // period_ms]
    return set(firsts.values())


def named_manifests(states: Mapping[int, StateManifest]) -> frozenset[str]:
    """Return the keys of the manifests that states name."""
    return frozenset(
        manifest_key(info.path, version) for version, state in states.items() for info in state.manifests
    )


def orphaned_manifests(
    infos: Sequence[ObjectInfo],
    named: Collection[str],
    pinned: Pinned = Pinned(),  # noqa: B008 - it never changes
    *,
    min_age_ms: int,
) -> list[str]:
    """Return the keys of manifests in a listing of the log that are not `named` by any state and are old enough.

    The writers of states that are not there yet rely on those that are `pinned`.

    Ages are measured by the store's clock: now is the time of its newest file. A wrong clock of the caller could
    delete a manifest whose state is being written.
    """
    now_ms = max((info.modified_ms for info in infos), default=0)
    return [
        info.key
        for info in infos
        if is_manifest(info.key)
        and info.key not in named
        and not pinned.keeps(info)
        and now_ms - info.modified_ms >= min_age_ms
    ]


def is_manifest(key: str) -> bool:
    """Return True if this is the key of a manifest; some older writers store them next to their state."""
    return _MANIFEST.fullmatch(key) is not None

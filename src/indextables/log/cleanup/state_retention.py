"""How long states and manifests are kept. Pure: what there is, and what of it may go.

A state goes when it is neither among the newest nor young, `_last_checkpoint` does not name it, and no version file
that is left needs it. A manifest goes when no state that is left names it and it is older than a window, for a state
in the making may name it yet.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from indextables.config import Settings, keys
from indextables.state import LOG_DIRECTORY, StateManifest, manifest_key
from indextables.storage import ObjectInfo

_HOUR_MS: Final = 3_600_000
_MANIFEST: Final = re.compile(rf"{LOG_DIRECTORY}/(?:manifests|state-v[0-9]{{20}})/manifest-[^/]+\.avro")


@dataclass(frozen=True)
class StateRetention:
    """`versions` of the newest states stay, and all that are younger than `age_ms`."""

    versions: int = keys.STATE_RETENTION_VERSIONS.default
    age_ms: int = keys.STATE_RETENTION_HOURS.default * _HOUR_MS
    manifest_age_ms: int = keys.MANIFEST_MIN_AGE_HOURS.default * _HOUR_MS

    @classmethod
    def of(cls, settings: Settings, hours: int | None = None) -> StateRetention:
        """As the settings say, unless the caller knows better how old a state may become."""
        older = settings.get(keys.STATE_RETENTION_MS)
        if hours is None and older is not None and not settings.is_set(keys.STATE_RETENTION_HOURS):
            age_ms = older
        else:
            age_ms = (settings.get(keys.STATE_RETENTION_HOURS) if hours is None else hours) * _HOUR_MS
        return cls(
            settings.get(keys.STATE_RETENTION_VERSIONS),
            age_ms,
            settings.get(keys.MANIFEST_MIN_AGE_HOURS) * _HOUR_MS,
        )


class Base(NamedTuple):
    """A state or a JSON checkpoint, from which later versions are read."""

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
    """The versions whose states may go. `bases` ascend; `versions` have a file; `named` is in `_last_checkpoint`.

    >>> bases = [Base(10, 0), Base(20, 0), Base(30, 0)]
    >>> expired_bases(bases, range(40), named=30, retention=StateRetention(1, 5), now_ms=9)
    [10, 20]
    >>> expired_bases(bases, range(15, 40), named=30, retention=StateRetention(1, 5), now_ms=9)
    [10]
    """
    old = {
        base.version
        for base in bases[: -retention.versions]
        if now_ms - base.created_ms >= retention.age_ms and base.version != named
    }
    found = [base.version for base in bases]
    expired: list[int] = []
    start = -1  # from where the versions up to the next base can be read
    for base in found:
        begins = base + 1 in versions and base + 1 not in found
        if base in old and not (begins and not all(v in versions for v in range(start + 1, base + 1))):
            expired.append(base)
        else:
            start = base
    return expired


def named_manifests(states: Mapping[int, StateManifest]) -> frozenset[str]:
    """Return the keys of the manifests that states name."""
    return frozenset(
        manifest_key(info.path, version) for version, state in states.items() for info in state.manifests
    )


def orphaned_manifests(infos: Sequence[ObjectInfo], named: Collection[str], *, min_age_ms: int) -> list[str]:
    """The keys of the manifests in a listing of the log that are not `named` by any state and are old enough.

    They are as old as the store says: now is the moment of its newest file. The caller's clock may be wrong, and with
    it a manifest would go whose state is just being written.
    """
    now_ms = max((info.modified_ms for info in infos), default=0)
    return [
        info.key
        for info in infos
        if is_manifest(info.key) and info.key not in named and now_ms - info.modified_ms >= min_age_ms
    ]


def is_manifest(key: str) -> bool:
    """Whether this is a file of entries, by its name; those of some older writers lie beside their state."""
    return _MANIFEST.fullmatch(key) is not None

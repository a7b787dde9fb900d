"""When a state is compacted instead of extended: pure functions of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings, keys

TOO_MANY: Final = "there are too many small manifests"
"""The one reason for which merging some of the manifests is enough."""


@dataclass(frozen=True)
class CompactionRules:
    """The thresholds; a `large_remove` of 0 means none."""

    tombstone_ratio: float = keys.STATE_TOMBSTONE_THRESHOLD.default
    max_manifests: int = keys.STATE_MAX_MANIFESTS.default
    large_remove: int = keys.STATE_LARGE_REMOVE.default

    @classmethod
    def of(cls, settings: Settings) -> CompactionRules:
        return cls(
            settings.get(keys.STATE_TOMBSTONE_THRESHOLD),
            settings.get(keys.STATE_MAX_MANIFESTS),
            settings.get(keys.STATE_LARGE_REMOVE),
        )


def compaction_reason(
    rules: CompactionRules, *, live_files: int, tombstones: int, manifests: int, new_removes: int = 0
) -> str | None:
    """Return why a state with these numbers is to be compacted, or None. `manifests` does not count full ones.

    >>> compaction_reason(CompactionRules(), live_files=1000, tombstones=100, manifests=20)
    >>> compaction_reason(CompactionRules(), live_files=1000, tombstones=101, manifests=20)
    'tombstones are more than 10% of the live files'
    """
    if tombstones > rules.tombstone_ratio * max(live_files, 0):
        return f"tombstones are more than {rules.tombstone_ratio:.0%} of the live files"
    if rules.large_remove and new_removes > rules.large_remove:
        return f"more than {rules.large_remove} files were removed at once"
    if manifests > rules.max_manifests:
        return TOO_MANY
    return None


def to_merge(rules: CompactionRules, sizes: Sequence[int], added: int) -> set[int]:
    """Return the positions of the small manifests to merge with `added` new entries when there are too many.

    The smallest are merged until half of the allowed number remains, and then each that is no larger than all before it
    together. So an entry is rewritten only into a manifest of at least twice the size, and the bytes written for the
    states of a table grow with its commits, not with their square.

    >>> to_merge(CompactionRules(max_manifests=4), [900, 10, 10, 10], added=10)
    {1, 2, 3}
    >>> to_merge(CompactionRules(max_manifests=4), [30, 10, 10, 10], added=10)
    {0, 1, 2, 3}
    """
    enough = len(sizes) + 1 - rules.max_manifests // 2
    merged: set[int] = set()
    total = added
    for place in sorted(range(len(sizes)), key=lambda at: (sizes[at], -at)):
        if len(merged) >= enough and sizes[place] > total:
            break
        merged.add(place)
        total += sizes[place]
    return merged

"""When a state is written anew instead of added to. Pure: numbers in, a reason out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from indextables.config import Settings, keys

TOO_MANY: Final = "there are too many small manifests"
"""The one reason for which it is enough to merge those."""


@dataclass(frozen=True)
class CompactionRules:
    """The thresholds; `large_remove` 0 is none."""

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
    """Why a state with these figures is to be compacted, or None. Full manifests are not meant to be counted.

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

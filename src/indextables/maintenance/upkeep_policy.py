"""What automatic upkeep does after a write, as the settings say. Pure: no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from indextables.config import HOUR_MS, Settings, keys
from indextables.maintenance.purges import retention_hours

_PURGES_PER_RETENTION: Final = 8
_FILES_PER_LOOK: Final = 1000
"""Looking for small splits takes time in proportion to the live files. After every write it may look at this many."""


@dataclass(frozen=True)
class UpkeepPolicy:
    """The settings `mergeOnWrite.*` and `purgeOnWrite.*` of a write. `min_splits` None: nothing is merged.

    A purge is due after a merge if `after_merge`, and after every so many versions if `after_writes` is not 0.
    """

    min_splits: int | None
    after_merge: bool
    after_writes: int
    split_hours: int
    log_hours: int
    is_asynchronous: bool
    exit_seconds: float

    @classmethod
    def of(cls, settings: Settings) -> UpkeepPolicy:
        """Return the policy of the settings. Called before a write, so that a mistake in them fails it at once.

        >>> UpkeepPolicy.of(Settings()).min_splits, UpkeepPolicy.of(Settings()).after_merge
        (32, False)
        """
        purges = settings.get(keys.PURGE_ON_WRITE)
        hours = settings.get(keys.PURGE_ON_WRITE_HOURS)
        settings.get(keys.MERGE_ON_WRITE_TARGET)
        return cls(
            min_splits=settings.get(keys.MERGE_ON_WRITE_SPLITS)
            if settings.get(keys.MERGE_ON_WRITE)
            else None,
            after_merge=purges and settings.get(keys.PURGE_AFTER_MERGE),
            after_writes=settings.get(keys.PURGE_AFTER_WRITES) if purges else 0,
            split_hours=retention_hours(settings, hours) if purges else hours,
            log_hours=settings.get(keys.PURGE_ON_WRITE_LOG_HOURS),
            is_asynchronous=settings.get(keys.MERGE_ON_WRITE_ASYNC),
            exit_seconds=settings.get(keys.MERGE_ON_WRITE_EXIT_MS) / 1000,
        )

    @property
    def purge_interval_ms(self) -> int:
        """The least time between two purges that follow merges: an eighth of the retention, and an hour at least.

        A purge reads all of the log. What is past its retention stays for this much longer at most.

        >>> UpkeepPolicy.of(Settings()).purge_interval_ms / 3_600_000
        21.0
        """
        return max(min(self.split_hours, self.log_hours) * HOUR_MS // _PURGES_PER_RETENTION, HOUR_MS)

    def may_merge(self, *, files: int, version: int) -> bool:
        """Return True if it is worth looking for small splits: there are enough files, and it is the turn of a version.

        A table with many files is looked at after one of so many versions only. Which ones is as good as random: other
        writers may take every other version, and may not look.

        >>> policy = UpkeepPolicy.of(Settings())
        >>> [policy.may_merge(files=files, version=1) for files in (31, 32, 1999, 2000)]
        [False, True, True, False]
        >>> [version for version in range(10) if policy.may_merge(files=2000, version=version)]
        [0, 2, 3, 4, 7, 8]
        """
        mixed = int.from_bytes(blake2b(version.to_bytes(8, "big"), digest_size=4).digest(), "big")
        is_turn = mixed % max(1, files // _FILES_PER_LOOK) == 0
        return self.min_splits is not None and files >= self.min_splits and is_turn

    def purge_due(self, *, before: int | None, version: int) -> bool:
        """Return True if a purge is due because of the versions after `before`, up to `version`.

        >>> policy = UpkeepPolicy.of(Settings({keys.PURGE_ON_WRITE.key: "true", keys.PURGE_AFTER_WRITES.key: "10"}))
        >>> [policy.purge_due(before=before, version=before + 1) for before in (8, 9, 10)]
        [False, True, False]
        """
        if not self.after_writes:
            return False
        return version // self.after_writes > (-1 if before is None else before) // self.after_writes

    def purge_hours(self, *, running_since: int | None, now: int) -> int:
        """Return how old splits must be that a purge deletes: as the settings say, and older than any running job.

        `running_since` is when the oldest job that is running now began.

        >>> policy = UpkeepPolicy.of(Settings())
        >>> policy.purge_hours(running_since=None, now=0), policy.purge_hours(running_since=0, now=200 * 3_600_000 + 1)
        (168, 201)
        """
        if running_since is None:
            return self.split_hours
        return max(self.split_hours, -(-(now - running_since) // HOUR_MS))

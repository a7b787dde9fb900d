"""How long version files are kept, and their clean-up: after a checkpoint, or when it is asked for.

A version file may go when all of this is true, and version 0 is no exception:
it is older than the retention; a state or checkpoint that was read back covers it; it is not the current version.

They go oldest first and one after the other, so that what is left is always a run up to the current version: a
reader that finds the version it knows still in its place knows that all later ones are too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, StorageError
from indextables.log.actions.paths import version_key
from indextables.log.cleanup.validation import newest_valid_checkpoint
from indextables.log.versions.listing import LogListing, VersionFile, parse_listing
from indextables.log.versions.reader import read_txn_id
from indextables.log.versions.watermark import advance_watermark, read_watermark
from indextables.state import LOG_DIRECTORY
from indextables.storage import Store

_HOUR_MS: Final = 3_600_000
_FILES_PER_VERSION: Final = 1000
"""Reading a state back is worth so many of its files for each version file that may go then."""


def retention_ms(settings: Settings, hours: int | None = None) -> int:
    """The retention of version files: as given, by the newer key, or by the older one.

    >>> retention_ms(Settings({"spark.indextables.logRetention.duration": "5000"}))
    5000
    """
    if hours is None:
        hours = settings.get(keys.LOG_RETENTION_HOURS)
    return settings.get(keys.LOG_RETENTION_MS) if hours is None else hours * _HOUR_MS


def expired_versions(
    files: Sequence[VersionFile], *, covered_by: int, passed: int, retention_ms: int, now_ms: int
) -> list[int]:
    """The versions whose files may go: the longest run from the oldest on for which all conditions hold.

    `files` ascend, the last is the current version; `covered_by` is the version of a state that was read back, or
    -1; up to `passed` an earlier clean-up went, and what still lies there goes whatever its age. A hole ends the run:
    who knows what the missing file was.

    >>> files = [VersionFile(0, 1000), VersionFile(1, 2000), VersionFile(2, 3000)]
    >>> expired_versions(files, covered_by=2, passed=-1, retention_ms=500, now_ms=2400)
    [0]
    """
    expired: list[int] = []
    for file in files[:-1]:
        old = now_ms - file.modified_ms > retention_ms
        beyond_a_hole = bool(expired) and expired[-1] > passed and file.version != expired[-1] + 1
        if file.version >= covered_by or beyond_a_hole or not (old or file.version <= passed):
            break
        expired.append(file.version)
    return expired


def clean_if_due(store: Store, settings: Settings, *, live_files: int) -> int:
    """After a checkpoint, delete the version files that are past their retention; return how many.

    The state is read back before, which takes as long as it is large. So a table of many files waits until there is
    enough to delete. Ages are by the clock of the store: a caller whose clock is ahead deletes nothing too early.
    """
    if settings.get(keys.CLEANUP_DRY_RUN):
        return 0
    infos = list(store.list_from(LOG_DIRECTORY))
    listing = parse_listing(infos)
    now_ms = max((info.modified_ms for info in infos), default=0)
    passed = read_watermark(store, listed=listing.cleanups)

    def expired(covered_by: int) -> list[int]:
        return expired_versions(
            listing.versions,
            covered_by=covered_by,
            passed=passed,
            retention_ms=retention_ms(settings),
            now_ms=now_ms,
        )

    # By names alone first: mostly there is nothing to delete.
    found = expired(max((*listing.states, *(file.version for file in listing.checkpoints)), default=-1))
    if not found or len(found) * _FILES_PER_VERSION < live_files:
        return 0
    deleted, _ = delete_versions(store, expired(newest_valid_checkpoint(store, listing, settings)), settings)
    return deleted


def versions_to_clean(
    store: Store, listing: LogListing, settings: Settings, *, covered_by: int, hours: int | None, now_ms: int
) -> list[int]:
    """Which of the version files of a whole listing may go, now."""
    return expired_versions(
        listing.versions,
        covered_by=covered_by,
        passed=read_watermark(store),
        retention_ms=retention_ms(settings, hours),
        now_ms=now_ms,
    )


def delete_versions(store: Store, versions: Sequence[int], settings: Settings) -> tuple[int, tuple[str, ...]]:
    """Deletes the files of versions that ascend and are covered; how many, and what went wrong.

    The boundary goes first: a writer that was held up since before must find it.
    """
    if not versions:
        return 0, ()
    advance_watermark(store, versions[-1], lambda version: _transaction(store, version))
    for done, version in enumerate(versions):
        try:
            store.delete(version_key(version))
        except StorageError as reason:
            if settings.get(keys.CLEANUP_FAILURE_POLICY) == "stop":
                raise
            # The later ones stay too: a hole in the middle would look like the end to those who read on from before.
            return done, (f"{version_key(version)} and the later ones stay: {reason}",)
    return len(versions), ()


def _transaction(store: Store, version: int) -> str | None:
    try:
        return read_txn_id(store, version)
    except CorruptTableError:
        return None  # the writer of a damaged file is unknown, and the state has what it did

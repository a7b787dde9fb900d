"""How long version files are kept, and the one way to delete them.

A version is retained as long as it was the current one at some time within the retention. A reader that opened it then
can go on, and every time within the retention can be travelled to. A version file may be deleted if all of this holds;
version 0 is no exception:

- it is older than the retention;
- a state or checkpoint that was read back and validated covers it;
- no retained version is read from it: the state that covers it is not newer than the oldest retained version.

Every clean-up (after a checkpoint, on demand, by a purge, by giving up time travel) decides with `plan_expiry` and
deletes with `delete_versions`.

Files are deleted one after the other, oldest first, so that what remains is always an unbroken run up to the current
version. A reader whose version still exists knows from this that all later versions exist too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from indextables.config import HOUR_MS, Settings, keys
from indextables.errors import CorruptTableError, StorageError
from indextables.log.actions import version_key
from indextables.log.cleanup.validation import newest_valid_checkpoint
from indextables.log.versions import (
    LogListing,
    VersionFile,
    advance_watermark,
    list_log,
    parse_listing,
    read_txn_id,
    read_watermark,
)
from indextables.storage import LOG_DIRECTORY, Store

_FILES_PER_VERSION: Final = 1000
"""Validating a state of this many files is worth it for each version file that may be deleted then."""


@dataclass(frozen=True)
class Expiry:
    """The version files to delete, all covered by the state or checkpoint of version `covered_by`.

    `listed` is the number of version files that the log has.
    """

    versions: tuple[int, ...]
    covered_by: int
    listed: int


def retention_ms(settings: Settings, hours: int | None = None) -> int:
    """Return the retention of version files: `hours` if given, else by the newer setting, else by the older one.

    >>> retention_ms(Settings({"spark.indextables.logRetention.duration": "5000"}))
    5000
    """
    if hours is None:
        hours = settings.get(keys.LOG_RETENTION_HOURS)
    return settings.get(keys.LOG_RETENTION_MS) if hours is None else hours * HOUR_MS


def oldest_retained(
    files: Sequence[VersionFile], *, watermark: int, retention_ms: int, now_ms: int
) -> int | None:
    """Return the version that was the current one when the retention began; None if there are no version files.

    It is the oldest version that must remain readable. If all are younger, it is the first one that clean-up has not
    passed. `files` ascend.

    >>> files = [VersionFile(0, 1000), VersionFile(1, 2000), VersionFile(2, 3000)]
    >>> [oldest_retained(files, watermark=-1, retention_ms=500, now_ms=now) for now in (1200, 2400, 2500, 9000)]
    [0, 0, 1, 2]
    """
    oldest: int | None = None
    for file in files:
        if oldest is None or oldest <= watermark or now_ms - file.modified_ms >= retention_ms:
            oldest = file.version
        else:
            break
    return oldest


def expired_versions(
    files: Sequence[VersionFile], *, covered_by: int, watermark: int, retention_ms: int, now_ms: int
) -> list[int]:
    """Return the versions whose files may be deleted: the longest run from the oldest on for which all rules hold.

    `files` ascend, and the last is the current version. `covered_by` is the version of a validated state, or -1.
    Files at or below the `watermark` were left by an earlier clean-up and expire whatever their age. A gap above the
    watermark ends the run, because nothing is known about the missing file.

    >>> files = [VersionFile(0, 1000), VersionFile(1, 2000), VersionFile(2, 3000)]
    >>> expired_versions(files, covered_by=2, watermark=-1, retention_ms=500, now_ms=2400)
    [0]
    """
    expired: list[int] = []
    for file in files[:-1]:
        is_old = now_ms - file.modified_ms > retention_ms
        after_gap = bool(expired) and expired[-1] > watermark and file.version != expired[-1] + 1
        if file.version >= covered_by or after_gap or not (is_old or file.version <= watermark):
            break
        expired.append(file.version)
    return expired


def plan_expiry(
    store: Store,
    settings: Settings,
    *,
    retention_ms: int | None,
    now_ms: int,
    listing: LogListing | None = None,
    covered_by: int | None = None,
    watermark: int | None = None,
) -> Expiry:
    """Decide which version files may be deleted. Deletes nothing.

    `retention_ms` None drops the whole history: every version before `covered_by`, whatever its age. `covered_by` is
    the version of a state that the caller has validated; without it, the newest valid one from which the oldest
    retained version can be read is searched for. `listing` is a whole listing of the log, and `watermark` the
    watermark, if the caller has read them.
    """
    listing = list_log(store) if listing is None else listing
    if retention_ms is None:
        if covered_by is None:
            covered_by = newest_valid_checkpoint(store, listing, settings)
        versions = [file.version for file in listing.versions if file.version < covered_by]
    else:
        if watermark is None:
            watermark = read_watermark(store)
        if covered_by is None:
            oldest = oldest_retained(
                listing.versions, watermark=watermark, retention_ms=retention_ms, now_ms=now_ms
            )
            covered_by = newest_valid_checkpoint(store, listing, settings, up_to=oldest)
        versions = expired_versions(
            listing.versions,
            covered_by=covered_by,
            watermark=watermark,
            retention_ms=retention_ms,
            now_ms=now_ms,
        )
    return Expiry(tuple(versions), covered_by, len(listing.versions))


def delete_versions(store: Store, expiry: Expiry, settings: Settings) -> tuple[int, tuple[str, ...]]:
    """Delete the version files of a plan. Return how many were deleted, and what could not be deleted and why.

    The watermark advances before the first file is deleted. A writer that was paused before the deletion, and creates
    one of these versions after it, reads the watermark after its create. It finds the number covered, and that the
    recorded transaction is not its own, and retries (see `versions.superseded`).
    """
    versions = expiry.versions
    if not versions:
        return 0, ()
    advance_watermark(store, versions[-1], lambda version: _transaction(store, version))
    for deleted, version in enumerate(versions):
        try:
            store.delete(version_key(version))
        except StorageError as reason:
            if settings.get(keys.CLEANUP_FAILURE_POLICY) == "stop":
                raise
            # Keep the later versions too. A gap in the middle would look like the end of the log to a reader that
            # continues from an earlier version.
            return deleted, (f"{version_key(version)} and the later ones stay: {reason}",)
    return len(versions), ()


def clean_if_due(store: Store, settings: Settings, *, live_files: int) -> int:
    """Delete expired version files after a checkpoint, if it is worth it; return how many.

    The state must be read back first, which takes time in proportion to its size. So a table with many files waits
    until there are enough versions to delete. Ages are measured by the store's clock: a process whose own clock is
    ahead deletes nothing too early.
    """
    if settings.get(keys.CLEANUP_DRY_RUN):
        return 0
    infos = list(store.list_from(LOG_DIRECTORY))
    listing = parse_listing(infos)
    now_ms = max((info.modified_ms for info in infos), default=0)
    watermark = read_watermark(store, listed=listing.cleanups)

    def plan(covered_by: int | None) -> Expiry:
        return plan_expiry(
            store,
            settings,
            retention_ms=retention_ms(settings),
            now_ms=now_ms,
            listing=listing,
            covered_by=covered_by,
            watermark=watermark,
        )

    # Decide by names alone first: usually there is nothing to delete.
    oldest = oldest_retained(
        listing.versions, watermark=watermark, retention_ms=retention_ms(settings), now_ms=now_ms
    )
    bases = (*listing.states, *(file.version for file in listing.checkpoints))
    candidates = plan(max((base for base in bases if oldest is None or base <= oldest), default=-1)).versions
    if not candidates or len(candidates) * _FILES_PER_VERSION < live_files:
        return 0
    deleted, _ = delete_versions(store, plan(None), settings)
    return deleted


def _transaction(store: Store, version: int) -> str | None:
    try:
        return read_txn_id(store, version)
    except CorruptTableError:
        return None  # the writer of a damaged file is unknown; the validated state includes its changes

"""Diffs between two versions of a stored table, from what clean-up has left of the log.

The version files give the exact changeset. If clean-up has deleted some of them, the snapshots of both versions may
still be readable and are compared. If the earlier one is gone too, the state records when each of its files was added,
so the added files are known and the removed ones are not.
"""

from __future__ import annotations

from indextables.config import Settings
from indextables.errors import CorruptTableError, InputError, VersionNotFoundError
from indextables.log.diffs.changeset import (
    FileChangeset,
    changeset_of_snapshots,
    changeset_of_versions,
    in_order,
    rows_of,
)
from indextables.log.snapshots import Snapshot, load_snapshot
from indextables.log.versions import NO_WATERMARK, list_log, read_versions, read_watermark
from indextables.storage import Store

BEGINNING = -1
"""The version before the first."""


def diff_versions(store: Store, since: int, after: Snapshot, settings: Settings) -> FileChangeset:
    """Return the changeset of the versions after `since`, up to that of `after`.

    Raises VersionNotFoundError, naming the earliest usable `since`, if the removes can no longer be determined.
    """
    _check_range(since, after)
    if since == after.version:
        return FileChangeset()
    if since == BEGINNING:
        return changeset_of_snapshots(None, after)
    changeset = _from_versions(store, since, after)
    if changeset is not None:
        return changeset
    try:
        before = load_snapshot(store, since, settings=settings)
    except VersionNotFoundError:
        raise VersionNotFoundError(
            f"what was removed from {store.uri} since version {since} is not known any more: clean-up has deleted "
            f"version files; ask since version {_earliest_since(store, after)} to {after.version}, or with "
            f"adds_only=True"
        ) from None
    return changeset_of_snapshots(before, after)


def files_added_since(since: int, after: Snapshot, *, after_ms: int | None = None) -> FileChangeset:
    """Return the live files that were added after a version, and after a time if one is given, from the state alone.

    A file that was removed and added again counts as new. Raises VersionNotFoundError if the state does not record
    when its files were added.
    """
    _check_range(since, after)
    exact_from = after.files.exact_from
    if since < exact_from:
        raise VersionNotFoundError(
            f"when the files of version {exact_from} of {after.uri} were added is not known: their state does not "
            f"record it; ask since version {exact_from} to {after.version}"
        )
    added = in_order(dict(after.files.added_after(since, after_ms)))
    rows = rows_of(added, all_new=since == BEGINNING and after_ms is None)
    return FileChangeset(adds=tuple(added.values()), removes=(), rows=rows)


def version_at(store: Store, as_of_ms: int, settings: Settings) -> int:
    """Return the newest version as of a time, or BEGINNING if the time is before the first version.

    Raises VersionNotFoundError if the versions of that time have been cleaned up.
    """
    try:
        return load_snapshot(store, as_of_ms=as_of_ms, settings=settings).version
    except VersionNotFoundError:
        first = list_log(store).versions[:1]
        if first and first[0].version == 0 and read_watermark(store) == NO_WATERMARK:
            return BEGINNING
        raise


def _check_range(since: int, after: Snapshot) -> None:
    if not BEGINNING <= since <= after.version:
        raise InputError(
            f"changes of {after.uri} up to version {after.version} were requested since version {since}; "
            f"`since` must be a version from {BEGINNING} (before the first) to {after.version}"
        )


def _from_versions(store: Store, since: int, after: Snapshot) -> FileChangeset | None:
    """Return the changeset from the version files, or None if clean-up has passed one of them.

    The watermark is read again after the files. If it is still at or below `since`, no clean-up had deleted any of
    these versions while they were read, and none of them can be an orphaned commit.
    """
    if since < read_watermark(store):
        return None  # a file at or below the watermark is about to be deleted, or is an orphaned commit
    run = [
        file for file in list_log(store, after=since).run_after(since, store) if file.version <= after.version
    ]
    if len(run) < after.version - since:
        return None
    try:
        changeset = changeset_of_versions(store.uri, read_versions(store, run))
    except CorruptTableError:
        if read_watermark(store) <= since:
            raise
        return None  # cleaned up after it was listed
    return changeset if read_watermark(store) <= since else None


def _earliest_since(store: Store, after: Snapshot) -> int:
    """Return the earliest version since which all version files exist."""
    existing = {file.version for file in list_log(store).versions}
    first = after.version
    while first in existing and first > read_watermark(store):
        first -= 1
    return first

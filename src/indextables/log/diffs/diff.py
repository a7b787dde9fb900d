"""What changed between two versions, from whatever of the log is still there.

The version files say it exactly. Where clean-up has taken some of them, the two ends may still be readable and be
compared. Where the beginning is gone too, the state knows which of its files came since, and nobody knows what went.
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
    """What the versions after `since`, up to that of `after`, changed.

    VersionNotFoundError, with the versions since which it can be told, if what was removed is not known any more.
    """
    _check_range(since, after)
    if since == after.version:
        return FileChangeset()
    if since == BEGINNING:
        return changeset_of_snapshots(None, after)
    found = _from_versions(store, since, after)
    if found is not None:
        return found
    try:
        before = load_snapshot(store, since, settings=settings)
    except VersionNotFoundError:
        raise VersionNotFoundError(
            f"what was removed from {store.uri} since version {since} is not known any more: clean-up has deleted "
            f"version files; ask since version {_known_from(store, after)} to {after.version}, or with adds_only=True"
        ) from None
    return changeset_of_snapshots(before, after)


def files_added_since(since: int, after: Snapshot, *, after_ms: int | None = None) -> FileChangeset:
    """The live files that came after a version, and after a time if one is given, by the word of the state alone.

    A file that was removed and came back counts as new.
    """
    _check_range(since, after)
    exact_from = after.files.exact_from
    if since < exact_from:
        raise VersionNotFoundError(
            f"when the files of version {exact_from} of {after.uri} came is not known: the state that has them does "
            f"not say; ask since version {exact_from} to {after.version}"
        )
    came = in_order(dict(after.files.added_after(since, after_ms)))
    return FileChangeset(
        tuple(came.values()), (), rows_of(came, all_new=since == BEGINNING and after_ms is None)
    )


def version_at(store: Store, moment_ms: int, settings: Settings) -> int:
    """The newest version that is not younger than a moment, or BEGINNING if the first one is.

    VersionNotFoundError if that is too long ago to tell.
    """
    try:
        return load_snapshot(store, as_of_ms=moment_ms, settings=settings).version
    except VersionNotFoundError:
        first = list_log(store).versions[:1]
        if first and first[0].version == 0 and read_watermark(store) == NO_WATERMARK:
            return BEGINNING
        raise


def _check_range(since: int, after: Snapshot) -> None:
    if not BEGINNING <= since <= after.version:
        raise InputError(
            f"changes of {after.uri} up to version {after.version} were asked for since version {since}; "
            f"it takes a version from {BEGINNING} (before the first) to {after.version}"
        )


def _from_versions(store: Store, since: int, after: Snapshot) -> FileChangeset | None:
    """By all version files after `since`, or None when there is one of them that cannot be relied upon."""
    if since < read_watermark(store):
        return None  # what still lies there is about to go, or a stray
    run = [
        file for file in list_log(store, after=since).run_after(since, store) if file.version <= after.version
    ]
    if len(run) < after.version - since:
        return None
    try:
        found = changeset_of_versions(store.uri, read_versions(store, run))
    except CorruptTableError:
        if read_watermark(store) <= since:
            raise
        return None  # cleaned up since it was listed
    return (
        found if read_watermark(store) <= since else None
    )  # the same, and what was read may have been strays


def _known_from(store: Store, after: Snapshot) -> int:
    """The earliest version since which version files tell everything."""
    there = {file.version for file in list_log(store).versions}
    first = after.version
    while first in there and first > read_watermark(store):
        first -= 1
    return first

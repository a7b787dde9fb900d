"""Versions that came too late: their number was history already when their file was created.

Their writers find out and take them back; those of writers that died meanwhile lie about until the next clean-up.
"""

from __future__ import annotations

from collections.abc import Mapping

from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.log.snapshots.snapshot import Snapshot
from indextables.log.versions.listing import LogListing, VersionFile
from indextables.log.versions.reader import read_txn_id
from indextables.log.versions.watermark import NO_WATERMARK, read_watermark, recorded_transaction
from indextables.state import state_key
from indextables.storage import Store


def is_superseded(store: Store, current: Snapshot | None, version: int, txn_id: str) -> bool:
    """Whether the commit of `version`, made after `current` by `txn_id`, is lost and must be made anew.

    To be asked after the create: a boundary that does not cover the version now did not when it was created.
    """
    if _replaced_by_state(store, current, version):
        return True
    table_id = None if current is None else current.metadata.id
    # What this process remembers may be of a table that was there before; a doubt is worth a listing.
    if read_watermark(store, table_id) < version or read_watermark(store) < version:
        return False
    # Covered. Either it was the version and clean-up came after it, with a state that has it, or it was free again.
    return recorded_transaction(store, version) != txn_id


def cut_at_orphaned_commit(store: Store, run: list[VersionFile]) -> list[VersionFile]:
    """The versions up to the first that is not the one which clean-up found there.

    Worth its requests only for versions that clean-up may have passed: those before the newest state.
    """
    end = read_watermark(store) if run else NO_WATERMARK
    for i, file in enumerate(run):
        if file.version > end:
            break
        if read_txn_id(store, file.version) != recorded_transaction(store, file.version):
            return run[:i]
    return run


def check_no_orphaned_commit(store: Store, read: Mapping[int, str | None], listing: LogListing) -> None:
    """CorruptTableError if a version that was read, made by that transaction, is another than clean-up found there.

    To be asked after they were read. The listing grows old: between it and the reading clean-up may have passed, and a
    writer that came too late may have put its own version in the place.
    """
    end = read_watermark(store, listed=listing.cleanups)
    for version, txn_id in read.items():
        if version <= end and recorded_transaction(store, version) != txn_id:
            raise CorruptTableError(
                f"{store.uri}: version {version} was cleaned up while it was being read; open it again"
            )


def _replaced_by_state(store: Store, current: Snapshot | None, version: int) -> bool:
    """Some older writers commit by a state and leave version files alone: on their tables it is worth a look."""
    if current is None or not current.by_state:
        return False
    try:
        store.head(state_key(version))
    except ObjectNotFoundError:
        return False
    return True

"""Versions that came too late: their number was history already when their file was created.

Their writers find out and take them back; those of writers that died meanwhile lie about until the next clean-up.
"""

from __future__ import annotations

from indextables.errors import ObjectNotFoundError
from indextables.log.boundary import NONE, boundary, transaction_of
from indextables.log.listing import VersionFile
from indextables.log.snapshot import Snapshot
from indextables.log.versions import read_txn_id
from indextables.state import state_key
from indextables.storage import Store


def overtaken(store: Store, current: Snapshot | None, version: int, txn_id: str) -> bool:
    """Whether the commit of `version`, made after `current` by `txn_id`, is lost and must be made anew.

    To be asked after the create: a boundary that does not cover the version now did not when it was created.
    """
    if _replaced_by_state(store, current, version):
        return True
    table_id = None if current is None else current.metadata.id
    # What this process remembers may be of a table that was there before; a doubt is worth a listing.
    if boundary(store, table_id) < version or boundary(store) < version:
        return False
    # Covered. Either it was the version and clean-up came after it, with a state that has it, or it was free again.
    return transaction_of(store, version) != txn_id


def without_strays(store: Store, run: list[VersionFile]) -> list[VersionFile]:
    """The versions up to the first that is not the one which clean-up found there.

    Worth its requests only for versions that clean-up may have passed: those before the newest state.
    """
    end = boundary(store) if run else NONE
    for i, file in enumerate(run):
        if file.version > end:
            break
        if read_txn_id(store, file.version) != transaction_of(store, file.version):
            return run[:i]
    return run


def _replaced_by_state(store: Store, current: Snapshot | None, version: int) -> bool:
    """Some older writers commit by a state and leave version files alone: on their tables it is worth a look."""
    if current is None or not current.by_state:
        return False
    try:
        store.head(state_key(version))
    except ObjectNotFoundError:
        return False
    return True

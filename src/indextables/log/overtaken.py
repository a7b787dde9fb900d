"""Whether a version that was just created came too late: its number was history already, and no reader sees it."""

from __future__ import annotations

from indextables.errors import ObjectNotFoundError
from indextables.log.boundary import boundary, transaction_of
from indextables.log.snapshot import Snapshot
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


def _replaced_by_state(store: Store, current: Snapshot | None, version: int) -> bool:
    """Some older writers commit by a state and leave version files alone: on their tables it is worth a look."""
    if current is None or not current.by_state:
        return False
    try:
        store.head(state_key(version))
    except ObjectNotFoundError:
        return False
    return True

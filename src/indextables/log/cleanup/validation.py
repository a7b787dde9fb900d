"""Which state or checkpoint stands in for the versions before it: one that was read back, whole, and by itself.

What a state leaves to version files (as those of some writers leave the metadata) dies with them. So it is read
here as if there were no version files, down to its last entry.
"""

from __future__ import annotations

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, ObjectNotFoundError, SchemaError
from indextables.log.actions.model import Protocol
from indextables.log.snapshots.json_checkpoint import read_checkpoint
from indextables.log.snapshots.json_form import snapshot_of_actions
from indextables.log.snapshots.snapshot import Snapshot
from indextables.log.snapshots.state_form import snapshot_of_state
from indextables.log.versions.listing import LogListing
from indextables.state import read_state
from indextables.storage import Store

NOTHING_ELSE = LogListing((), (), ())


def newest_valid_checkpoint(store: Store, listing: LogListing, settings: Settings) -> int:
    """The newest version whose state or checkpoint needs nothing before it, or -1."""
    checkpoints = {file.version for file in listing.checkpoints}
    for version in sorted({*listing.states, *checkpoints}, reverse=True):
        if version in listing.states and validate_state(store, version, settings) is not None:
            return version
        if version in checkpoints and validate_checkpoint(store, version) is not None:
            return version
    return -1


def validate_state(store: Store, version: int, settings: Settings) -> Snapshot | None:
    """The snapshot that a state holds without any other file of the log, or None if it does not."""
    try:
        manifest = read_state(store, version)
        if manifest.metadata is None or "protocol" not in manifest.carried:
            return None
        snapshot = snapshot_of_state(
            store, version, NOTHING_ELSE, parallelism=settings.get(keys.STATE_READ_PARALLELISM)
        )
        whole = len(snapshot.files) == manifest.num_files
    except (CorruptTableError, ObjectNotFoundError, SchemaError):
        return None
    return snapshot if whole else None


def validate_checkpoint(store: Store, version: int) -> Snapshot | None:
    """Likewise for a JSON checkpoint."""
    try:
        actions = read_checkpoint(store, version)
        if not any(isinstance(action, Protocol) for action in actions):
            return None
        return snapshot_of_actions(store.uri, version, actions)
    except (CorruptTableError, ObjectNotFoundError):
        return None

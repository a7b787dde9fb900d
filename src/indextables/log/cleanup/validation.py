"""Checkpoint validation: which state or checkpoint can replace the versions before it.

What a state leaves to version files (some writers leave the metadata to them) is lost when these are deleted. So
validation reads a state as if there were no version files, down to its last entry.
"""

from __future__ import annotations

from typing import Final

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, ObjectNotFoundError, SchemaError
from indextables.log.actions import Protocol
from indextables.log.snapshots import Snapshot, read_checkpoint, snapshot_of_actions, snapshot_of_state
from indextables.log.versions import LogListing
from indextables.state import read_state
from indextables.storage import Store

_EMPTY_LOG: Final = LogListing(versions=(), states=(), checkpoints=())


def newest_valid_checkpoint(
    store: Store, listing: LogListing, settings: Settings, up_to: int | None = None
) -> int:
    """Return the newest version whose state or checkpoint is complete without the versions before it, or -1.

    Versions after `up_to` are left out.
    """
    checkpoints = {file.version for file in listing.checkpoints}
    for version in sorted({*listing.states, *checkpoints}, reverse=True):
        if up_to is not None and version > up_to:
            continue
        if version in listing.states and validate_state(store, version, settings) is not None:
            return version
        if version in checkpoints and validate_checkpoint(store, version) is not None:
            return version
    return -1


def validate_state(store: Store, version: int, settings: Settings) -> Snapshot | None:
    """Return the snapshot that a state holds without any other file of the log, or None if it is not complete."""
    try:
        manifest = read_state(store, version)
        if manifest.metadata is None or "protocol" not in manifest.extras:
            return None
        snapshot = snapshot_of_state(
            store, version, _EMPTY_LOG, parallelism=settings.get(keys.STATE_READ_PARALLELISM)
        )
        is_complete = len(snapshot.files) == manifest.num_files
    except (CorruptTableError, ObjectNotFoundError, SchemaError):
        return None
    return snapshot if is_complete else None


def validate_checkpoint(store: Store, version: int) -> Snapshot | None:
    """Return the snapshot that a JSON checkpoint holds without any other file of the log, or None."""
    try:
        actions = read_checkpoint(store, version)
        if not any(isinstance(action, Protocol) for action in actions):
            return None
        return snapshot_of_actions(store.uri, version, actions)
    except (CorruptTableError, ObjectNotFoundError):
        return None

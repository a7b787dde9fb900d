"""Writing states and checkpoints: on demand, and automatically after every so many commits."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, VersionNotFoundError
from indextables.log.actions import check_writable
from indextables.log.changes import Change, MergeSplits, RenormalizeSchemas
from indextables.log.cleanup import StateRetention, clean_if_due, collect_if_due
from indextables.log.snapshots import (
    Snapshot,
    VersionSelector,
    is_expired,
    read_snapshot,
    registry_names,
    write_snapshot_checkpoint,
    write_snapshot_state,
)
from indextables.runtime import CacheSpec, current, now_ms
from indextables.state import (
    LastCheckpoint,
    StateManifest,
    StateOptions,
    is_clean,
    read_pointer,
)
from indextables.storage import Store

_log: Final = logging.getLogger(__name__)

REQUESTED: Final = "a checkpoint was requested"
MERGED: Final = "splits were merged"
LOST: Final = "the state that it is based on has been collected"


_STATES: Final = CacheSpec[tuple[str, str], int]("newest states", entries=1000)
"""The newest state of a table that this process wrote or saw, by the table's address and id."""

_NAMES: Final = CacheSpec[tuple[str, str], frozenset[str]]("names of field mappings", entries=1000)
"""The names in the registry of a table when this process last looked which of them are in use."""


@dataclass(frozen=True)
class Checkpointed:
    """The state or JSON checkpoint of a version; `parts` is the number of files of a JSON checkpoint in parts.

    `is_clean` is False if another writer's state of this version was in place and a compaction would make it smaller.
    """

    state_version: int
    num_files: int
    num_actions: int
    protocol_version: int
    parts: int | None = None
    is_clean: bool = True


def checkpoint(
    store: Store,
    settings: Settings,
    clock: Callable[[], int] = now_ms,
    *,
    snapshot: Snapshot | None = None,
) -> Checkpointed:
    """Write the compacted state of the newest version, or its JSON checkpoint, and clean up version files.

    `snapshot` is the newest one, if the caller has just read it. A state that is already in place is not replaced,
    because files of the log are written once. Raises CorruptTableError if it cannot be read.
    """
    if snapshot is None:
        snapshot = read_snapshot(store, VersionSelector(), settings)
    check_writable(snapshot.protocol, store.uri)
    if writes_json(settings):
        written = write_snapshot_checkpoint(store, snapshot, settings, clock())
        files, actions = written.num_files or 0, written.size or 0
        result = Checkpointed(
            state_version=written.version,
            num_files=files,
            num_actions=actions,
            protocol_version=snapshot.protocol.min_reader_version,
            parts=written.parts,
        )
    else:
        base = snapshot.files.base
        if base is not None and base.version == snapshot.version:
            state = base.manifest
        else:
            state = _write(store, snapshot, settings, clock, compact=REQUESTED)
        protocol_and_metadata = 2
        result = Checkpointed(
            state_version=state.state_version,
            num_files=state.num_files,
            num_actions=state.num_files + protocol_and_metadata,
            protocol_version=state.protocol_version,
            is_clean=is_clean(state, StateOptions.of(settings)),
        )
    _clean_up(store, settings, result.num_files)
    return result


def writes_json(settings: Settings) -> bool:
    """Return True if JSON checkpoints are written instead of states."""
    return settings.get(keys.STATE_FORMAT) == "json"


def is_due(change: Change, before: Snapshot, settings: Settings) -> bool:
    """Return True if a state, and not a JSON checkpoint, is due after a commit of this change on top of `before`."""
    return _is_checkpoint_due(change, before, before.version + 1, settings) and not writes_json(settings)


def _is_checkpoint_due(change: Change, snapshot: Snapshot, version: int, settings: Settings) -> bool:
    """Return True if a state or checkpoint is due at `version`, by what this process knows from `snapshot`."""
    interval = settings.get(keys.CHECKPOINT_INTERVAL)
    if version == 0 or interval == 0 or not settings.get(keys.CHECKPOINT_ENABLED):
        return False
    return (
        _is_regular(version, settings)
        or _is_merge(change, settings)
        or version - _newest_state(snapshot) >= interval
    )


def _is_regular(version: int, settings: Settings) -> bool:
    return version % settings.get(keys.CHECKPOINT_INTERVAL) == 0


def checkpoint_if_due(
    store: Store,
    change: Change,
    committed: Snapshot,
    settings: Settings,
    clock: Callable[[], int],
    renormalize: Callable[[RenormalizeSchemas, Snapshot], Snapshot],
) -> None:
    """Write a state or checkpoint after a commit, if one is due. The commit is valid whatever happens here.

    If the live files use too many names for their field mappings, `renormalize` commits that change on top of the
    snapshot first, and the state is that of the version it returns.

    If this fails, or the process dies, the next commit writes a state.
    """
    if not _is_checkpoint_due(change, committed, committed.version, settings):
        return
    try:
        if not (_is_regular(committed.version, settings) or _is_merge(change, settings)):
            # Overdue as far as this process knows. Another process may have written a state: read the hint.
            _remember_state(committed, read_pointer(store))
            if not _is_checkpoint_due(change, committed, committed.version, settings):
                return
        committed = _renormalize_if_due(committed, settings, renormalize)
        if writes_json(settings):
            written = write_snapshot_checkpoint(store, committed, settings, clock())
            _remember_state(committed, written)
            files = written.num_files or 0
        else:
            snapshot = _on_newest_state(store, committed, settings)
            merged = MERGED if _is_merge(change, settings) else None
            files = _write(store, snapshot, settings, clock, compact=merged).num_files
            _remember_state(committed, LastCheckpoint(committed.version))
        _clean_up(store, settings, files)
    except Exception:  # noqa: BLE001 - the commit does not depend on it, and the next one tries again
        _log.warning("no state was written for version %d of %s", committed.version, store.uri, exc_info=True)


def _renormalize_if_due(
    committed: Snapshot, settings: Settings, renormalize: Callable[[RenormalizeSchemas, Snapshot], Snapshot]
) -> Snapshot:
    """Return the snapshot after its schemas were renormalised, if that is due and succeeds, and otherwise itself."""
    table = committed.uri, committed.metadata.id
    names = frozenset(registry_names(committed.metadata.configuration))
    try:
        change = RenormalizeSchemas(settings.get(keys.RENORMALIZE_THRESHOLD))
        # All live files must be decoded to see which names are in use. This is not repeated until there are new names:
        # one that comes into use again is noticed by another process, or by a requested checkpoint.
        if len(names) > change.threshold and current().cache(_NAMES).get(table) != names:
            while change.actions(committed):
                committed = renormalize(change, committed)
            current().cache(_NAMES).put(table, frozenset(registry_names(committed.metadata.configuration)))
    except Exception:  # noqa: BLE001 - a state can be written all the same
        _log.warning("the schemas of %s were not renormalised", committed.uri, exc_info=True)
    return committed


def _newest_state(snapshot: Snapshot) -> int:
    """Return the version of the newest state or checkpoint that this process knows of; 0 without one."""
    cached = current().cache(_STATES).get((snapshot.uri, snapshot.metadata.id)) or 0
    return max(cached, snapshot.files.base_version)


def _remember_state(snapshot: Snapshot, pointer: LastCheckpoint | None) -> None:
    if pointer is None:
        return
    # Not beyond the snapshot: the hint may be a remnant of another table at this path.
    newest = max(snapshot.files.base_version, min(pointer.version, snapshot.version))
    table = snapshot.uri, snapshot.metadata.id
    current().cache(_STATES).update(table, lambda cached: max(cached or 0, newest))


def _clean_up(store: Store, settings: Settings, live_files: int) -> None:
    try:
        clean_if_due(store, settings, live_files=live_files)
    except Exception:  # noqa: BLE001 - nothing depends on it, and the next checkpoint tries again
        _log.warning("old version files of %s were not cleaned up", store.uri, exc_info=True)


def _write(
    store: Store, snapshot: Snapshot, settings: Settings, clock: Callable[[], int], *, compact: str | None
) -> StateManifest:
    """Write the state. After a compaction, also delete superseded states whose retention has expired."""
    try:
        written = write_snapshot_state(store, snapshot, settings, clock(), compact=compact)
    except (CorruptTableError, VersionNotFoundError):
        if not is_expired(store, snapshot):
            raise
        # A collection has deleted the state that the snapshot was read from: read the same version from another one.
        current = read_snapshot(store, VersionSelector(snapshot.version), settings)
        written = write_snapshot_state(store, current, settings, clock(), compact=LOST)
    if written.compacted is not None:
        try:
            retention = StateRetention.of(settings)
            collect_if_due(store, retention, clock(), dry_run=settings.get(keys.CLEANUP_DRY_RUN))
        except Exception:  # noqa: BLE001 - nothing depends on it, and the next compaction tries again
            _log.warning("old states of %s were not collected", store.uri, exc_info=True)
    return written.manifest


def _is_merge(change: Change, settings: Settings) -> bool:
    return isinstance(change, MergeSplits) and settings.get(keys.STATE_COMPACT_AFTER_MERGE)


def _on_newest_state(store: Store, committed: Snapshot, settings: Settings) -> Snapshot:
    """Return the same snapshot based on the newest state, which another process may have written in the meantime."""
    pointer = read_pointer(store)
    if pointer is None or pointer.version <= committed.files.base_version:
        return committed
    return read_snapshot(store, VersionSelector(committed.version), settings)

"""When a state or checkpoint is written: on demand, and by itself every so many commits."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import ObjectNotFoundError
from indextables.log.as_checkpoint import write_snapshot_checkpoint
from indextables.log.as_state import write_snapshot_state
from indextables.log.changes import Change, MergeSplits
from indextables.log.collection import collect_if_due
from indextables.log.loading import read_snapshot
from indextables.log.protocol import check_writable
from indextables.log.rebuild import StateWarning, Wanted
from indextables.log.snapshot import Snapshot
from indextables.log.state_retention import StateRetention
from indextables.state import StateManifest, StateOptions, is_clean, manifest_key, read_pointer, state_key
from indextables.storage import Store

_log: Final = logging.getLogger(__name__)

ASKED: Final = "a checkpoint was asked for"
MERGED: Final = "splits were merged"
LOST: Final = "manifests that it shared with another state have been collected"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Checkpointed:
    """The state or JSON checkpoint of a version; `parts` is how many files the latter is in, if in several."""

    state_version: int
    num_files: int
    num_actions: int
    protocol_version: int
    parts: int | None = None


def checkpoint(store: Store, settings: Settings, clock: Callable[[], int] = now_ms) -> Checkpointed:
    """The compacted state of the newest version, written unless it is there already; or its JSON checkpoint."""
    snapshot = read_snapshot(store, Wanted(), settings)
    check_writable(snapshot.protocol, store.uri)
    if writes_json(settings):
        written = write_snapshot_checkpoint(store, snapshot, settings, clock())
        files, actions = written.num_files or 0, written.size or 0
        return Checkpointed(
            written.version, files, actions, snapshot.protocol.min_reader_version, written.parts
        )
    state = _compacted(store, snapshot, settings, clock)
    protocol_and_metadata = 2
    return Checkpointed(
        state.state_version, state.num_files, state.num_files + protocol_and_metadata, state.protocol_version
    )


def _compacted(
    store: Store, snapshot: Snapshot, settings: Settings, clock: Callable[[], int]
) -> StateManifest:
    base, options = snapshot.files.base, StateOptions.of(settings)
    if base is not None and base.version == snapshot.version and is_clean(base.manifest, options):
        return base.manifest
    return _write(store, snapshot, settings, clock, compact=ASKED)


def writes_json(settings: Settings) -> bool:
    """Whether JSON checkpoints are written instead of states."""
    return settings.get(keys.STATE_FORMAT) == "json"


def is_due(change: Change, version: int, settings: Settings) -> bool:
    """Whether the commit of this change as this version is to be followed by a state, and not by a JSON checkpoint."""
    return _is_turn(change, version, settings) and not writes_json(settings)


def _is_turn(change: Change, version: int, settings: Settings) -> bool:
    turn = version > 0 and version % settings.get(keys.CHECKPOINT_INTERVAL) == 0
    return settings.get(keys.CHECKPOINT_ENABLED) and (turn or _is_merge(change, settings))


def checkpoint_if_due(
    store: Store, change: Change, committed: Snapshot, settings: Settings, clock: Callable[[], int]
) -> None:
    """After a commit: the state, if its turn has come. The commit stands whatever happens here."""
    if not _is_turn(change, committed.version, settings):
        return
    try:
        if writes_json(settings):
            write_snapshot_checkpoint(store, committed, settings, clock())
            return
        snapshot = _on_newest_state(store, committed, settings)
        merged = MERGED if _is_merge(change, settings) else None
        _write(store, snapshot, settings, clock, compact=merged)
    except Exception:  # noqa: BLE001 - a state is a convenience, and the next commits try again
        _log.warning("no state was written for version %d of %s", committed.version, store.uri, exc_info=True)


def _write(
    store: Store, snapshot: Snapshot, settings: Settings, clock: Callable[[], int], *, compact: str | None
) -> StateManifest:
    """The state is written; and when it was compacted, those that it replaces go when their time has come."""
    retention, started = StateRetention.of(settings), clock()
    written = write_snapshot_state(store, snapshot, settings, started, compact=compact)
    late = clock() - started > retention.manifest_age_ms // 2
    if (late or _lost_its_base(store, snapshot)) and not _is_whole(store, written.manifest):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StateWarning)  # of the state that is being replaced
            whole = read_snapshot(store, Wanted(snapshot.version), settings)
            written = write_snapshot_state(store, whole, settings, clock(), compact=LOST)
    if written.compacted is not None:
        try:
            collect_if_due(store, retention, clock())
        except Exception:  # noqa: BLE001 - nothing depends on it, and the next compaction tries again
            _log.warning("old states of %s were not collected", store.uri, exc_info=True)
    return written.manifest


def _lost_its_base(store: Store, snapshot: Snapshot) -> bool:
    """Whether a collection took the state that one was built upon before it was there."""
    base = snapshot.files.base
    return base is not None and not _is_there(store, state_key(base.version))


def _is_whole(store: Store, state: StateManifest) -> bool:
    return all(_is_there(store, manifest_key(info.path, state.state_version)) for info in state.manifests)


def _is_there(store: Store, key: str) -> bool:
    try:
        store.head(key)
    except ObjectNotFoundError:
        return False
    return True


def _is_merge(change: Change, settings: Settings) -> bool:
    return isinstance(change, MergeSplits) and settings.get(keys.STATE_COMPACT_AFTER_MERGE)


def _on_newest_state(store: Store, committed: Snapshot, settings: Settings) -> Snapshot:
    """The same snapshot, based on the newest state there is: others may have written one meanwhile."""
    pointer = read_pointer(store)
    if pointer is None or pointer.version <= committed.files.base_version:
        return committed
    return read_snapshot(store, Wanted(committed.version), settings)

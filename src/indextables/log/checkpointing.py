"""When a state is written: on demand, and by itself every so many commits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from indextables.config import Settings, keys
from indextables.log.as_state import write_snapshot_state
from indextables.log.changes import Change, MergeSplits
from indextables.log.loading import read_snapshot
from indextables.log.protocol import check_writable
from indextables.log.rebuild import Wanted
from indextables.log.snapshot import Snapshot
from indextables.state import StateManifest, StateOptions, is_clean, read_pointer
from indextables.storage import Store

_log: Final = logging.getLogger(__name__)

ASKED: Final = "a checkpoint was asked for"
MERGED: Final = "splits were merged"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def checkpoint(store: Store, settings: Settings, clock: Callable[[], int] = now_ms) -> StateManifest:
    """The compacted state of the newest version, written unless it is there already."""
    snapshot = read_snapshot(store, Wanted(), settings)
    check_writable(snapshot.protocol, store.uri)
    base, options = snapshot.files.base, StateOptions.of(settings)
    if base is not None and base.version == snapshot.version and is_clean(base.manifest, options):
        return base.manifest
    return write_snapshot_state(store, snapshot, settings, clock(), compact=ASKED).manifest


def is_due(change: Change, version: int, settings: Settings) -> bool:
    """Whether the commit of this change as this version is to be followed by a state."""
    turn = version > 0 and version % settings.get(keys.CHECKPOINT_INTERVAL) == 0
    return settings.get(keys.CHECKPOINT_ENABLED) and (turn or _is_merge(change, settings))


def checkpoint_if_due(
    store: Store, change: Change, committed: Snapshot, settings: Settings, clock: Callable[[], int]
) -> None:
    """After a commit: the state, if its turn has come. The commit stands whatever happens here."""
    if not is_due(change, committed.version, settings):
        return
    try:
        snapshot = _on_newest_state(store, committed, settings)
        merged = MERGED if _is_merge(change, settings) else None
        write_snapshot_state(store, snapshot, settings, clock(), compact=merged)
    except Exception:  # noqa: BLE001 - a state is a convenience, and the next commits try again
        _log.warning("no state was written for version %d of %s", committed.version, store.uri, exc_info=True)


def _is_merge(change: Change, settings: Settings) -> bool:
    return isinstance(change, MergeSplits) and settings.get(keys.STATE_COMPACT_AFTER_MERGE)


def _on_newest_state(store: Store, committed: Snapshot, settings: Settings) -> Snapshot:
    """The same snapshot, based on the newest state there is: others may have written one meanwhile."""
    pointer = read_pointer(store)
    if pointer is None or pointer.version <= committed.files.base_version:
        return committed
    return read_snapshot(store, Wanted(committed.version), settings)

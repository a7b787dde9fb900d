"""Snapshots that this process has read, so that the next reader or writer starts from them.

Nothing here is believed without a look at the store (see `loading`). Bounded by the files that the kept
snapshots name, the least recently used going first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from indextables.log.snapshot import Snapshot

MAX_SNAPSHOTS: Final = 32
MAX_FILES: Final = 200_000

_lock: Final = threading.Lock()
_kept: Final[OrderedDict[tuple[str, int], Snapshot]] = OrderedDict()


def recall(uri: str, version: int | None = None) -> Snapshot | None:
    """The snapshot of the table at that version, or the newest one kept."""
    with _lock:
        if version is None:
            version = max((kept for table, kept in _kept if table == uri), default=-1)
        found = _kept.get((uri, version))
        if found is not None:
            _kept.move_to_end((uri, version))
        return found


def remember(snapshot: Snapshot) -> None:
    """Keep it, if there is a way to tell later that it still holds, and room."""
    if snapshot.txn_id is None or snapshot.files.expected > MAX_FILES:
        return
    with _lock:
        _kept[snapshot.uri, snapshot.version] = snapshot
        _kept.move_to_end((snapshot.uri, snapshot.version))
        files = sum(kept.files.expected for kept in _kept.values())
        while len(_kept) > MAX_SNAPSHOTS or files > MAX_FILES:
            _, dropped = _kept.popitem(last=False)
            files -= dropped.files.expected


def forget(uri: str | None = None) -> None:
    """Drop what is kept of one table, or of all."""
    with _lock:
        for key in [key for key in _kept if uri in (None, key[0])]:
            del _kept[key]

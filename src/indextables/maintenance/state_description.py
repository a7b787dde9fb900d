"""What the newest state of a table is like, in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings
from indextables.log import Snapshot
from indextables.log.listing import LogListing, list_log
from indextables.log.loading import Wanted, read_snapshot
from indextables.state import CompactionRules, StateManifest, compaction_reason
from indextables.storage import Store

AVRO: Final = "avro-state"
JSON: Final = "json"
NONE: Final = "none"


@dataclass(frozen=True)
class StateDescription:
    """The newest state, or older JSON checkpoint, that can be read; without one, format `none` and its figures 0.

    `version` and what follows are of the state, not of the table, which may be ahead of it: `status` says so.
    """

    table_path: str
    format: str
    version: int
    num_files: int
    num_manifests: int
    num_tombstones: int
    tombstone_ratio: float
    total_bytes: int
    needs_compaction: bool
    status: str


def describe_state(store: Store, settings: Settings) -> StateDescription:
    """The figures of the state from which a reader of the newest version starts.

    >>> import indextables as it, pyarrow as pa
    >>> it.write("memory://doc-state", pa.table({"n": [1]}))
    0
    >>> table = it.open("memory://doc-state")
    >>> table.describe_state().status
    'no state yet; version 0 is read from its version files'
    >>> table.checkpoint(), table.describe_state().format, table.describe_state().num_files
    (0, 'avro-state', 1)
    """
    snapshot = read_snapshot(store, settings=settings)
    base = snapshot.files.base
    if base is not None:
        return _of_state(snapshot, base.manifest, CompactionRules.of(settings))
    listing = list_log(store)
    if listing.checkpoints:
        return _of_checkpoint(store, snapshot, listing, settings)
    status = f"no state yet; version {snapshot.version} is read from its version files"
    return StateDescription(store.uri, NONE, 0, 0, 0, 0, 0.0, 0, needs_compaction=False, status=status)

"""The newest state of a table in figures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from indextables.config import Settings
from indextables.log import Snapshot
from indextables.log.snapshots import VersionSelector, is_in_parts, read_snapshot
from indextables.log.versions import list_log
from indextables.runtime import EPOCH
from indextables.state import StateManifest, StateOptions, compaction_reason, read_pointer
from indextables.stats import total_bytes
from indextables.storage import Store

AVRO: Final = "avro-state"
JSON: Final = "json"
JSON_MULTIPART: Final = "json-multipart"
NONE: Final = "none"


@dataclass(frozen=True)
class StateDescription:
    """The newest state or JSON checkpoint that can be read; without one, the format is `none` and the figures are 0.

    `version` and the figures are those of the state. The table may be at a later version; `status` tells.
    `created_at` is when the state was written, None without one; `protocol_version` is what a reader must support.
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
    created_at: datetime | None = None
    protocol_version: int | None = None


def describe_state(store: Store, settings: Settings) -> StateDescription:
    """Describe the state from which a reader of the newest version starts.

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
        return _of_state(snapshot, base.manifest, StateOptions.of(settings))
    checkpoints = list_log(store).checkpoints
    if checkpoints:
        older = read_snapshot(store, VersionSelector(checkpoints[-1].version), settings)
        form = JSON_MULTIPART if is_in_parts(store, older.version) else JSON
        pointer = read_pointer(store)
        named = pointer.created_time if pointer is not None and pointer.version == older.version else None
        created_ms = checkpoints[-1].modified_ms if named is None else named
        return _of_checkpoint(older, snapshot, form, created_ms)
    status = f"no state yet; version {snapshot.version} is read from its version files"
    return StateDescription(
        table_path=store.uri,
        format=NONE,
        version=0,
        num_files=0,
        num_manifests=0,
        num_tombstones=0,
        tombstone_ratio=0.0,
        total_bytes=0,
        needs_compaction=False,
        status=status,
        protocol_version=snapshot.protocol.min_reader_version,
    )


def _of_state(snapshot: Snapshot, state: StateManifest, options: StateOptions) -> StateDescription:
    dead, live = len(state.tombstones), state.num_files
    small = sum(info.num_entries < options.entries_per_manifest for info in state.manifests)
    reason = compaction_reason(options.rules, live_files=live, tombstones=dead, manifests=small)
    return StateDescription(
        table_path=snapshot.uri,
        format=AVRO,
        version=state.state_version,
        num_files=live,
        num_manifests=len(state.manifests),
        num_tombstones=dead,
        tombstone_ratio=dead / live if live else float(dead),
        total_bytes=state.total_bytes,
        needs_compaction=reason is not None,
        status=_status(state.state_version, snapshot, reason),
        created_at=_moment(state.created_at),
        protocol_version=state.protocol_version,
    )


def _of_checkpoint(checkpoint: Snapshot, current: Snapshot, form: str, created_ms: int) -> StateDescription:
    files = list(checkpoint.files.values())
    return StateDescription(
        table_path=checkpoint.uri,
        format=form,
        version=checkpoint.version,
        num_files=len(files),
        num_manifests=0,
        num_tombstones=0,
        tombstone_ratio=0.0,
        total_bytes=total_bytes(file.size for file in files),
        needs_compaction=False,
        status=_status(checkpoint.version, current, None),
        created_at=_moment(created_ms),
        protocol_version=checkpoint.protocol.min_reader_version,
    )


def _moment(ms: int) -> datetime | None:
    """Return the time, or None if it is out of range."""
    try:
        return EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None


def _status(version: int, current: Snapshot, reason: str | None) -> str:
    notes = [f"the table is at version {current.version}"] if current.version > version else []
    if current.extras.skips:
        notes.append(f"splits that merges could not read: {len(current.extras.skips)}")
    return "; ".join(["OK", *notes, *([f"to be compacted: {reason}"] if reason else [])])

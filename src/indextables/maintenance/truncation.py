"""Giving up time travel: the table keeps its current version and nothing before it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, ObjectNotFoundError, StorageError
from indextables.log import Snapshot, commit
from indextables.log.actions.protocol import check_writable
from indextables.log.changes.table_changes import NextVersion
from indextables.log.cleanup.validation import validate_checkpoint, validate_state
from indextables.log.cleanup.version_retention import delete_versions
from indextables.log.commits.checkpoints import writes_json
from indextables.log.snapshots.json_form import write_snapshot_checkpoint
from indextables.log.snapshots.loader import read_snapshot
from indextables.log.snapshots.state_form import write_snapshot_state
from indextables.log.versions.listing import list_log
from indextables.runtime import now_ms
from indextables.state import LOG_DIRECTORY, manifest_key, read_state
from indextables.storage import Store

ALONE: Final = "the versions before it are to be deleted"
_TRIES: Final = 3
_OLDER: Final = re.compile(rf"{LOG_DIRECTORY}/(?:state-v([0-9]{{20}})/|([0-9]{{20}})\.checkpoint\.)")


@dataclass(frozen=True)
class Truncated:
    """What was deleted, or in a dry run would be; checkpoints are counted in files. No split is touched."""

    table_path: str
    status: str
    checkpoint_version: int
    versions_deleted: int
    checkpoints_deleted: int
    files_preserved: int
    message: str


def truncate_time_travel(
    store: Store, settings: Settings, *, dry_run: bool | None = None, clock: Callable[[], int] = now_ms
) -> Truncated:
    """Deletes all versions, states and checkpoints before the current version, once its state is known to be good.

    `dry_run` None leaves it to the setting `cleanup.dryRun`.

    >>> import indextables as it, pyarrow as pa
    >>> for n in range(3):
    ...     _ = it.write("memory://doc-truncate", pa.table({"n": [n]}))
    >>> it.open("memory://doc-truncate").truncate_time_travel().versions_deleted
    2
    >>> it.open("memory://doc-truncate").count()
    3
    """
    dry_run = settings.get(keys.CLEANUP_DRY_RUN) if dry_run is None else dry_run
    snapshot = read_snapshot(store, settings=settings)
    check_writable(snapshot.protocol, store.uri)
    current = snapshot.version
    versions = [file.version for file in list_log(store).versions if file.version < current]
    if dry_run:
        checkpoints = _older_checkpoints(store, current, frozenset())
        message = f"would delete {len(versions)} version files and {len(checkpoints)} files of states and checkpoints"
        return _truncated(snapshot, "DRY_RUN", len(versions), len(checkpoints), message)
    snapshot = _secure(store, snapshot, settings, clock())
    current = snapshot.version
    versions = [file.version for file in list_log(store).versions if file.version < current]
    deleted, failures = delete_versions(store, versions, settings)
    checkpoints = _older_checkpoints(store, current, _manifests(store, current))
    gone, more = _delete(store, checkpoints, settings)
    message = f"deleted {deleted} version files and {gone} files of states and checkpoints"
    return _truncated(snapshot, "SUCCESS", deleted, gone, "; ".join([message, *failures, *more]))


def _secure(store: Store, snapshot: Snapshot, settings: Settings, now: int) -> Snapshot:
    """Return a snapshot whose state is there, needs nothing else, and says what the log says.

    It is the given one; or the next, if its state is in place, was written by another writer and needs other files.
    """
    quiet = Settings(dict(settings) | {keys.CHECKPOINT_ENABLED.key: "false"})
    for _ in range(_TRIES):
        if _is_same(_alone(store, snapshot.version, settings), snapshot):
            return snapshot
        with contextlib.suppress(CorruptTableError):  # of what is in its place
            if writes_json(settings):
                write_snapshot_checkpoint(store, snapshot, settings, now)
            else:
                write_snapshot_state(store, snapshot, settings, now, compact=ALONE)
        if _is_same(_alone(store, snapshot.version, settings), snapshot):
            return snapshot
        newest = read_snapshot(store, settings=settings)
        if newest.version == snapshot.version:
            newest = commit(store, NextVersion(), base=snapshot, settings=quiet).snapshot
        snapshot = (
            newest  # otherwise others have gone on, and a collection may have taken the state of before
        )
    raise CorruptTableError(
        f"the state of version {snapshot.version} of {store.uri} does not read back as it was written; "
        f"nothing was deleted"
    )


def _alone(store: Store, version: int, settings: Settings) -> Snapshot | None:
    if writes_json(settings):
        return validate_checkpoint(store, version)
    return validate_state(store, version, settings)


def _is_same(state: Snapshot | None, snapshot: Snapshot) -> bool:
    return (
        state is not None
        and (state.protocol, state.metadata, state.txns, state.extras)
        == (snapshot.protocol, snapshot.metadata, snapshot.txns, snapshot.extras)
        and dict(state.files.items()) == dict(snapshot.files.items())
    )


def _older_checkpoints(store: Store, current: int, needed: frozenset[str]) -> list[str]:
    """The files of older states and checkpoints, but for manifests there that the current state refers to."""
    found = []
    for info in store.list_from(LOG_DIRECTORY):
        match = _OLDER.match(info.key)
        if match and int(match[1] or match[2]) < current and info.key not in needed:
            found.append(info.key)
    return found


def _manifests(store: Store, version: int) -> frozenset[str]:
    """The manifests of the state of a version, if it has one."""
    try:
        return frozenset(manifest_key(info.path, version) for info in read_state(store, version).manifests)
    except ObjectNotFoundError:
        return frozenset()


def _delete(store: Store, names: list[str], settings: Settings) -> tuple[int, list[str]]:
    failures = []
    for key in names:
        try:
            store.delete(key)
        except StorageError as reason:
            if settings.get(keys.CLEANUP_FAILURE_POLICY) == "stop":
                raise
            failures.append(f"{key} stays: {reason}")
    return len(names) - len(failures), failures


def _truncated(snapshot: Snapshot, status: str, versions: int, checkpoints: int, message: str) -> Truncated:
    return Truncated(
        snapshot.uri, status, snapshot.version, versions, checkpoints, len(snapshot.files), message
    )

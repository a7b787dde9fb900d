"""Dropping history: version files past their retention, or the whole history before the current version.

Both decide and delete with `log.cleanup.plan_expiry` and `delete_versions`, like the clean-up after a checkpoint and
PURGE. Giving up time travel also deletes the older states and checkpoints. No split is deleted here.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, ObjectNotFoundError, StorageError, VersionNotFoundError
from indextables.log import Snapshot, commit
from indextables.log.actions import check_writable
from indextables.log.changes import NextVersion
from indextables.log.cleanup import (
    Expiry,
    delete_versions,
    plan_expiry,
    retention_ms,
    validate_checkpoint,
    validate_state,
)
from indextables.log.commits import writes_json
from indextables.log.snapshots import (
    is_expired,
    read_snapshot,
    write_snapshot_checkpoint,
    write_snapshot_state,
)
from indextables.notebook import result_html
from indextables.runtime import now_ms
from indextables.state import manifest_key, read_state
from indextables.storage import LOG_DIRECTORY, Store

ALONE: Final = "the versions before it are to be deleted"
_TRIES: Final = 3
_BASE_FILE: Final = re.compile(rf"{LOG_DIRECTORY}/(?:state-v([0-9]{{20}})/|([0-9]{{20}})\.checkpoint\.)")


@dataclass(frozen=True)
class CleanedVersions:
    """The result of a clean-up of version files. `failures` name what could not be deleted, and why."""

    table_path: str
    covered_by: int
    versions_found: int
    versions_deleted: int
    versions_kept: int
    dry_run: bool
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Truncated:
    """What was deleted, or would be in a dry run; states and checkpoints are counted in files."""

    table_path: str
    status: str
    checkpoint_version: int
    versions_deleted: int
    checkpoints_deleted: int
    files_preserved: int
    message: str

    def _repr_html_(self) -> str:
        return result_html(f"Older versions of {self.table_path}", self)


def clean_versions(
    store: Store,
    settings: Settings,
    *,
    hours: int | None = None,
    dry_run: bool | None = None,
    clock: Callable[[], int] = now_ms,
) -> CleanedVersions:
    """Delete the version files past their retention. Safe next to writers, readers and other clean-ups.

    `hours` overrides the retention of the settings; `dry_run` None leaves it to the setting `cleanup.dryRun`.
    """
    dry_run = settings.get(keys.CLEANUP_DRY_RUN) if dry_run is None else dry_run
    expiry = plan_expiry(store, settings, retention_ms=retention_ms(settings, hours), now_ms=clock())
    deleted, failures = (0, ()) if dry_run else delete_versions(store, expiry, settings)
    return CleanedVersions(
        table_path=store.uri,
        covered_by=expiry.covered_by,
        versions_found=len(expiry.versions),
        versions_deleted=deleted,
        versions_kept=expiry.listed - deleted,
        dry_run=dry_run,
        failures=failures,
    )


def truncate_time_travel(
    store: Store, settings: Settings, *, dry_run: bool | None = None, clock: Callable[[], int] = now_ms
) -> Truncated:
    """Delete all versions, states and checkpoints before the current version, after its state has been validated.

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
    if dry_run:
        versions = len(_history_before(store, snapshot.version, settings).versions)
        checkpoints = len(_older_checkpoints(store, snapshot.version, frozenset()))
        message = f"would delete {versions} version files and {checkpoints} files of states and checkpoints"
        return _result(snapshot, "DRY_RUN", versions, checkpoints, message)
    snapshot = _secure_state(store, snapshot, settings, clock())
    current = snapshot.version
    versions, failures = delete_versions(store, _history_before(store, current, settings), settings)
    older = _older_checkpoints(store, current, _manifests(store, current))
    checkpoints, more = _delete(store, older, settings)
    message = f"deleted {versions} version files and {checkpoints} files of states and checkpoints"
    return _result(snapshot, "SUCCESS", versions, checkpoints, "; ".join([message, *failures, *more]))


def _history_before(store: Store, current: int, settings: Settings) -> Expiry:
    return plan_expiry(store, settings, retention_ms=None, now_ms=0, covered_by=current)


def _secure_state(store: Store, snapshot: Snapshot, settings: Settings, now: int) -> Snapshot:
    """Return a snapshot that has a validated state which agrees with the log.

    It is the given snapshot. If another writer's state of that version is in place, and is not complete by itself, it
    is the snapshot of a new version that changes nothing.
    """
    quiet = Settings(dict(settings) | {keys.CHECKPOINT_ENABLED.key: "false"})
    for _ in range(_TRIES):
        try:
            if _has_valid_state(store, snapshot, settings):
                return snapshot
            with contextlib.suppress(CorruptTableError):  # another writer's state is in place, and is damaged
                if writes_json(settings):
                    write_snapshot_checkpoint(store, snapshot, settings, now)
                else:
                    write_snapshot_state(store, snapshot, settings, now, compact=ALONE)
            if _has_valid_state(store, snapshot, settings):
                return snapshot
        except (CorruptTableError, VersionNotFoundError) as reason:
            if not (isinstance(reason, VersionNotFoundError) or is_expired(store, snapshot)):
                raise
            # A collection has deleted the state that has the files of the snapshot, which were still to be read, or
            # the state of this version that another writer created.
            snapshot = read_snapshot(store, settings=settings)
            continue
        newest = read_snapshot(store, settings=settings)
        if newest.version == snapshot.version:
            newest = commit(store, NextVersion(), base=snapshot, settings=quiet).snapshot
        # If the table was at a newer version already, a collection may have deleted the state of the older one.
        snapshot = newest
    raise CorruptTableError(
        f"the state of version {snapshot.version} of {store.uri} does not read back as it was written; "
        f"nothing was deleted"
    )


def _has_valid_state(store: Store, snapshot: Snapshot, settings: Settings) -> bool:
    return _agrees(_validate(store, snapshot.version, settings), snapshot)


def _validate(store: Store, version: int, settings: Settings) -> Snapshot | None:
    """Return the snapshot in the validated state of a version, or in its checkpoint if those are written, or None."""
    if writes_json(settings):
        return validate_checkpoint(store, version)
    return validate_state(store, version, settings)


def _agrees(state: Snapshot | None, snapshot: Snapshot) -> bool:
    return (
        state is not None
        and (state.protocol, state.metadata, state.txns, state.extras)
        == (snapshot.protocol, snapshot.metadata, snapshot.txns, snapshot.extras)
        and dict(state.files.items()) == dict(snapshot.files.items())
    )


def _older_checkpoints(store: Store, current: int, named: frozenset[str]) -> list[str]:
    """Return the files of older states and checkpoints, except manifests that the current state names."""
    older = []
    for info in store.list_from(LOG_DIRECTORY):
        match = _BASE_FILE.match(info.key)
        if match and int(match[1] or match[2]) < current and info.key not in named:
            older.append(info.key)
    return older


def _manifests(store: Store, version: int) -> frozenset[str]:
    """Return the manifests of the state of a version; none if it has no state."""
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


def _result(snapshot: Snapshot, status: str, versions: int, checkpoints: int, message: str) -> Truncated:
    return Truncated(
        table_path=snapshot.uri,
        status=status,
        checkpoint_version=snapshot.version,
        versions_deleted=versions,
        checkpoints_deleted=checkpoints,
        files_preserved=len(snapshot.files),
        message=message,
    )

"""The commit loop: the change is computed on the newest snapshot and published as the next version, until it is.

Two things bring it back to the start: another writer was faster, or clean-up had passed the version before it came.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata as distribution
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    InputError,
    StorageError,
    TableNotFoundError,
)
from indextables.log.actions import codec
from indextables.log.actions.checksums import UNSEALED, seal_version
from indextables.log.actions.codec import encode_text, pack
from indextables.log.actions.model import Action, CommitInfo, Metadata, Protocol, RemoveFile
from indextables.log.actions.paths import version_key
from indextables.log.actions.protocol import CURRENT, check_writable, required_protocol
from indextables.log.changes.file_changes import Change
from indextables.log.changes.purge_fence import check_purge_fence
from indextables.log.changes.table_changes import Restore, combine_protocols
from indextables.log.commits.checkpoints import checkpoint_if_due, is_due
from indextables.log.snapshots.loader import load_snapshot, read_snapshot, refresh
from indextables.log.snapshots.snapshot import Snapshot, VersionActions, replay
from indextables.log.versions.history import summarize
from indextables.log.versions.publication import publish
from indextables.log.versions.superseded import is_superseded
from indextables.log.versions.watermark import read_watermark
from indextables.runtime import new_id, now_ms, sleep
from indextables.storage import READ_BACKS, Backoff, Store

try:
    ENGINE = f"indextables/{distribution.version('indextables')}"
except distribution.PackageNotFoundError:  # run from a source tree, or from a zip on an executor
    ENGINE = "indextables"

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Committed:
    """The version that holds the change, the table at it, and what was written; `skipped` if that was nothing."""

    version: int
    snapshot: Snapshot
    actions: tuple[Action, ...] = ()
    skipped: bool = False


def commit(
    store: Store,
    change: Change,
    *,
    base: Snapshot | None,
    settings: Settings | None = None,
    clock: Callable[[], int] = now_ms,
    rng: random.Random | None = None,
    sleep: Callable[[float], None] = sleep,
) -> Committed:
    """Make the change the next version of the table, however many others do the same.

    `base` is the snapshot that the caller worked from (None: it saw no table). Every error but
    CommitUnknownError means that nothing was committed.

    >>> from indextables.log import Append, Metadata
    >>> from indextables.storage import open_store
    >>> table = Metadata("some-id", '{"type": "struct", "fields": []}')
    >>> commit(open_store("memory:doc-commit"), Append((), table), base=None).version
    0
    """
    settings = settings or Settings()
    backoff = Backoff.of(settings, rng or random.Random(), sleep)  # noqa: S311 - jitter, not secrecy
    compress = settings.get(keys.COMPRESS_VERSION_FILES)
    tries = settings.get(keys.RETRY_MAX_ATTEMPTS)
    txn_id = str(new_id())
    current = base
    for attempt in range(tries):
        current = _newest(store, current)
        _check_writable(current)
        wanted = _actions(change, current, store.uri)
        if not wanted and current is not None:
            if read_watermark(store, current.metadata.id) <= current.version:
                return Committed(current.version, current, skipped=True)
            current = None  # clean-up passed it between two looks: there are newer versions, and perhaps work in them
            continue
        if not isinstance(change, Restore):  # which brings back what a version named, and sees to it itself
            check_purge_fence(store, current, wanted)
        wanted = _with_protocol(change, current, wanted, settings)
        info = CommitInfo(
            txn_id,
            change.operation,
            dict(change.parameters),
            engine=ENGINE,
            read_version=base.version if base is not None else None,
            previous_sha256=current.checksum if current is not None else None,
            sha256=UNSEALED,
        )
        made, text = _sealed(_made(current, wanted, info, clock()), store.uri)
        # Before it is written: a version that this release could not read back must never exist.
        after = replay(store.uri, current, [made])
        assert after is not None
        data = pack(text, compress=compress)
        if publish(store, made.version, data, txn_id, backoff):
            if _stands(store, current, made.version, txn_id, backoff):
                _log.debug(
                    "%s: committed version %d (%s) at attempt %d",
                    store.uri,
                    made.version,
                    change.operation,
                    attempt + 1,
                )
                checkpoint_if_due(store, change, after, settings, clock)
                return Committed(made.version, after, tuple(made.actions))
            current = None  # what it was built upon is history: begin with the newest snapshot
        else:
            _log.debug(
                "%s: another writer created version %d first; attempt %d of %d",
                store.uri,
                made.version,
                attempt + 1,
                tries,
            )
            backoff.pause(attempt)
    raise CommitConflictError(
        f"other writers of {store.uri} were faster {tries} times in a row; "
        f"try again, or raise {keys.RETRY_MAX_ATTEMPTS.key}"
    )


def _newest(store: Store, known: Snapshot | None) -> Snapshot | None:
    if known is not None:
        newest = refresh(store, known)
        if newest is known or read_watermark(store, known.metadata.id) <= known.version:
            return newest
        # Clean-up has passed it: what looks like the versions after it may be strays of writers that came too late.
        return read_snapshot(store)
    try:
        return load_snapshot(store)
    except TableNotFoundError:
        return None


def _check_writable(current: Snapshot | None) -> None:
    if current is None:
        return
    check_writable(current.protocol, current.uri)
    if current.gap is not None:
        raise CorruptTableError(
            f"version {current.gap.first} of {current.uri} is missing although version {current.gap.next} is there; "
            f"restore the missing file, or remove the later ones if they may be lost, before you write"
        )


def _actions(change: Change, current: Snapshot | None, uri: str) -> list[Action]:
    try:
        return change.actions(current)
    except TableNotFoundError as reason:
        raise TableNotFoundError(f"{uri}: {reason}") from None


def _with_protocol(
    change: Change, current: Snapshot | None, wanted: list[Action], settings: Settings
) -> list[Action]:
    """Return the actions with the protocol that an older table needs from this commit on, unless it has it.

    A state takes today's, as older readers do not look for states; actions take the one that has their fields.
    """
    if current is None:
        return wanted
    given = next((action for action in wanted if isinstance(action, Protocol)), current.protocol)
    due = is_due(change, current, settings)
    raised = combine_protocols(given, CURRENT if due else required_protocol(wanted))
    if raised == given:
        return wanted
    return [raised, *(action for action in wanted if not isinstance(action, Protocol))]


def _made(current: Snapshot | None, wanted: list[Action], info: CommitInfo, now: int) -> VersionActions:
    """The version as it will be written: numbered, timed, and with who made it in front."""
    version, timestamp = (current.version + 1, max(now, current.timestamp_ms + 1)) if current else (0, now)
    actions: list[Action] = []
    for action in wanted:
        if isinstance(action, RemoveFile) and action.deletion_timestamp is None:
            actions.append(dataclasses.replace(action, deletion_timestamp=timestamp))
        elif isinstance(action, Metadata) and action.created_time is None:
            actions.append(dataclasses.replace(action, created_time=timestamp))
        else:
            actions.append(action)
    metrics = summarize(actions, timestamp)
    figures = {
        "filesAdded": metrics.files_added,
        "filesRemoved": metrics.files_removed,
        "rowsAdded": metrics.rows_added,
        "bytesAdded": metrics.bytes_added,
        "bytesRemoved": metrics.bytes_removed,
    }
    stamped = dataclasses.replace(
        info,
        timestamp=timestamp,
        metrics={name: figure for name, figure in figures.items() if figure is not None},
    )
    return VersionActions(version, [stamped, *actions], timestamp)


def _sealed(made: VersionActions, uri: str) -> tuple[VersionActions, bytes]:
    """Return the version with its checksum, and its text. InputError if no reader would take a text so large."""
    text, checksum = seal_version(encode_text(made.actions))
    if len(text) > codec.MAX_INFLATED:
        raise InputError(
            f"a commit to {uri} would write {len(text) >> 20} MB of actions ({len(made.actions)} of them) in one "
            f"version, and readers take up to {codec.MAX_INFLATED >> 20} MB; write fewer and larger splits, or commit "
            f"in several steps"
        )
    info, *others = made.actions
    assert isinstance(info, CommitInfo)
    return dataclasses.replace(made, actions=[dataclasses.replace(info, sha256=checksum), *others]), text


def _stands(store: Store, current: Snapshot | None, version: int, txn_id: str, backoff: Backoff) -> bool:
    """Whether the version that was created is part of the table; if clean-up was there before it, it is taken back."""
    failure: Exception | None = None
    for attempt in range(READ_BACKS):
        try:
            if not is_superseded(store, current, version, txn_id):
                return True
            break
        except (StorageError, CorruptTableError) as reason:
            failure = reason
            backoff.pause(attempt)
    else:
        raise CommitUnknownError(
            f"version {version} of {store.uri} was created, and whether clean-up had passed it cannot be read; "
            f"look in the history for a version with transaction id {txn_id} before you write again"
        ) from failure
    # Safe: a state covers every version here, so nobody needs this file. If it stays, the next clean-up takes it.
    with contextlib.suppress(StorageError):
        store.delete(version_key(version))
    return False

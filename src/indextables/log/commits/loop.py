"""The commit loop: compute the change on the newest snapshot, publish it as the next version, retry until it succeeds.

Other writers, clean-ups and purges may run at any point of the loop. An attempt fails for one of two reasons: another
writer created the version first, or clean-up had already passed the version when this writer created it (see
`versions.superseded`). The next attempt computes the change again from a newer snapshot, so a change is never published
on top of a version that it was not checked against.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata as distribution
from typing import Final, Literal

from indextables.config import Settings, keys
from indextables.errors import (
    CommitConflictError,
    CorruptTableError,
    StorageError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.log.actions import (
    CURRENT,
    UNSEALED,
    Action,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    check_writable,
    pack,
    required_protocol,
    version_key,
    with_required_features,
)
from indextables.log.changes import (
    Change,
    ChecksOwnFiles,
    RenormalizeSchemas,
    check_purge_fence,
    combine_protocols,
)
from indextables.log.commits.checkpoints import checkpoint_if_due, is_due
from indextables.log.snapshots import Snapshot, is_expired, load_snapshot, read_snapshot, refresh, replay
from indextables.log.versions import (
    VersionActions,
    is_recorded,
    is_superseded,
    publish,
    read_watermark,
    seal,
    summarize,
)
from indextables.runtime import new_id, now_ms, sleep
from indextables.storage import Backoff, Store, read_back

try:
    ENGINE = f"indextables/{distribution.version('indextables')}"
except distribution.PackageNotFoundError:  # run from a source tree, or from a zip on an executor
    ENGINE = "indextables"

_log: Final = logging.getLogger(__name__)
_LOST_ATTEMPT: Final = "%s: another writer created version %d first; attempt %d of %d"

_Outcome = Literal["committed", "superseded", "lost"]


@dataclass(frozen=True)
class Committed:
    """The version that holds the change, its snapshot, and what was written; `skipped` if nothing had to be written."""

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
    """Commit the change as the next version of the table. Safe next to any number of concurrent commits.

    `base` is the snapshot that the caller worked from, None if it saw no table. Every error except
    CommitUnknownError means that nothing was committed.

    >>> from indextables.log import Append, Metadata
    >>> from indextables.storage import open_store
    >>> table = Metadata("some-id", '{"type": "struct", "fields": []}')
    >>> commit(open_store("memory:doc-commit"), Append((), table), base=None).version
    0
    """
    settings = settings or Settings()

    def renormalize(change: RenormalizeSchemas, snapshot: Snapshot) -> Snapshot:
        quiet = Settings(dict(settings) | {keys.CHECKPOINT_ENABLED.key: "false"})
        done = commit(store, change, base=snapshot, settings=quiet, clock=clock, rng=rng, sleep=sleep)
        return done.snapshot

    backoff = Backoff.of(settings, rng or random.Random(), sleep)  # noqa: S311 - jitter, not secrecy
    compress = settings.get(keys.COMPRESS_VERSION_FILES)
    tries = settings.get(keys.RETRY_MAX_ATTEMPTS)
    txn_id = str(new_id())
    current = base
    for attempt in range(tries):
        current = _newest(store, current)
        _check_writable(current)
        try:
            actions = _actions(change, current, store.uri)
            if not isinstance(change, ChecksOwnFiles):
                check_purge_fence(store, current, actions)
        except (CorruptTableError, VersionNotFoundError):
            if current is None or not is_expired(store, current):
                raise
            # The files of the snapshot were still to be read, and the state that has them has been deleted since.
            current = read_snapshot(store, settings=settings)
            continue
        if not actions and current is not None:
            if read_watermark(store, current.metadata.id) <= current.version:
                return Committed(current.version, current, skipped=True)
            # Clean-up has passed this snapshot since it was read. Clean-up keeps the newest version, so there is a
            # newer one, on which the change may have something to do: load it.
            current = None
            continue
        info = CommitInfo(
            txn_id=txn_id,
            operation=change.operation,
            parameters=dict(change.parameters),
            engine=ENGINE,
            read_version=base.version if base is not None else None,
            previous_sha256=current.checksum if current is not None else None,
            sha256=UNSEALED,
        )
        actions = _with_protocol(change, current, actions, settings)
        version, text = seal(_next_version(current, actions, info, clock()), store.uri)
        # Replay before publishing: a version that this release could not read back must never exist.
        after = replay(store.uri, current, [version])
        assert after is not None
        data = pack(text, compress=compress)
        match _publish(store, current, version.version, data, txn_id, backoff):
            case "committed":
                _report(store, version, change.operation, attempt + 1)
                checkpoint_if_due(store, change, after, settings, clock, renormalize)
                return Committed(version.version, after, tuple(version.actions))
            case "superseded":
                current = None  # clean-up has passed this snapshot: load the newest one
            case "lost":
                _log.debug(_LOST_ATTEMPT, store.uri, version.version, attempt + 1, tries)
                backoff.pause(attempt)
    raise CommitConflictError(
        f"other writers of {store.uri} created the next version first {tries} times in a row; "
        f"try again, or raise {keys.RETRY_MAX_ATTEMPTS.key}"
    )


def _publish(
    store: Store, current: Snapshot | None, version: int, data: bytes, txn_id: str, backoff: Backoff
) -> _Outcome:
    """Create the version file if it is absent, and return what became of the commit.

    Other writers may create the same file, and a clean-up may delete files up to its watermark, at any time. The store
    lets one create succeed for as long as the file exists. So there are three outcomes:

    - "committed": our file is there, and no clean-up had passed its number before we created it; or another writer's
      file is there, and a clean-up that deleted ours recorded before that our transaction wrote the version;
    - "superseded": our file is there, but a clean-up had passed its number before we created it: we delete it again;
    - "lost": another writer's file is there, and no clean-up has recorded the version as ours, so it never was.
    """
    if publish(store, version, data, txn_id, backoff):
        return "committed" if _is_valid(store, current, version, txn_id, backoff) else "superseded"
    return "committed" if _was_covered(store, current, version, txn_id, backoff) else "lost"


def _report(store: Store, version: VersionActions, operation: str, attempts: int) -> None:
    if _log.isEnabledFor(logging.INFO):
        figures = summarize(list(version.actions), version.modified_ms)
        _log.info(
            "%s: committed version %d (%s): %s files added, %s removed, %s rows added, attempt %d",
            store.uri,
            version.version,
            operation,
            figures.files_added,
            figures.files_removed,
            figures.rows_added,
            attempts,
        )


def _newest(store: Store, snapshot: Snapshot | None) -> Snapshot | None:
    """Return the newest snapshot of the table, or None if there is no table."""
    if snapshot is not None:
        newest = refresh(store, snapshot)
        if newest is snapshot or read_watermark(store, snapshot.metadata.id) <= snapshot.version:
            return newest
        # Clean-up has passed the older snapshot. The files that follow it may be orphaned commits of writers that were
        # paused, and not versions of the table. Reading from the store alone tells them apart.
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
            f"version {current.gap.first} of {current.uri} is missing although version {current.gap.next} exists; "
            f"restore the missing file, or remove the later ones if they may be lost, before you write"
        )


def _actions(change: Change, current: Snapshot | None, uri: str) -> list[Action]:
    try:
        return change.actions(current)
    except TableNotFoundError as reason:
        raise TableNotFoundError(f"{uri}: {reason}") from None


def _with_protocol(
    change: Change, current: Snapshot | None, actions: list[Action], settings: Settings
) -> list[Action]:
    """Return the actions, with a Protocol action if this commit must raise the protocol of an older table.

    A commit that is followed by a state requires the current protocol, because older readers do not look for states.
    Other commits require the oldest protocol that has the fields of their actions.
    """
    if current is None:
        return with_required_features(actions, None)
    protocol = next((action for action in actions if isinstance(action, Protocol)), current.protocol)
    due = is_due(change, current, settings)
    raised = combine_protocols(protocol, required_protocol(actions))
    raised = combine_protocols(raised, CURRENT) if due else raised
    if raised != protocol:
        actions = [raised, *(action for action in actions if not isinstance(action, Protocol))]
    return with_required_features(actions, (current.protocol, current.metadata))


def _next_version(
    current: Snapshot | None, change_actions: list[Action], info: CommitInfo, now: int
) -> VersionActions:
    """Return the version to write: with its number and time, and the commitInfo in front."""
    version, timestamp = (current.version + 1, max(now, current.timestamp_ms + 1)) if current else (0, now)
    actions: list[Action] = []
    for action in change_actions:
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


def _is_valid(store: Store, current: Snapshot | None, version: int, txn_id: str, backoff: Backoff) -> bool:
    """Return True if the version we created is valid.

    If clean-up had already passed its number, delete it and return False. Raises CommitUnknownError if that cannot be
    determined.
    """
    table_id, by_state = (None, False) if current is None else (current.metadata.id, current.by_state)

    def is_ours_superseded() -> bool:
        return is_superseded(store, version, txn_id, table_id=table_id, by_state=by_state)

    if not read_back(is_ours_superseded, backoff, _unanswered(store, version, txn_id)):
        return True
    # Deleting is safe: a state covers every version up to this number, so no reader needs the file. If the deletion
    # fails, the file is an orphaned commit, which readers skip and the next clean-up deletes.
    with contextlib.suppress(StorageError):
        store.delete(version_key(version))
    return False


def _was_covered(store: Store, current: Snapshot | None, version: int, txn_id: str, backoff: Backoff) -> bool:
    """Return True if the version is ours, although its file is another writer's.

    Our create may have succeeded without an answer. If this process was paused then, clean-up may have covered our
    version by a state and deleted its file, and a third process may have created its own orphaned commit in its place.
    """
    if current is None:
        return False
    table_id = current.metadata.id

    def is_ours_recorded() -> bool:
        return is_recorded(store, version, txn_id, table_id=table_id)

    return read_back(is_ours_recorded, backoff, _unanswered(store, version, txn_id))


def _unanswered(store: Store, version: int, txn_id: str) -> str:
    return (
        f"version {version} of {store.uri} was created, but it could not be determined whether clean-up had "
        f"already passed it; look in the history for a version with transaction id {txn_id} before you write again"
    )

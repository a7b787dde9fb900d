"""The commit of a merge: one version replaces the sources of a batch of groups by their new splits.

The new splits are in the store before the commit, and no version names them. A purge of this package commits a fence
before it deletes such splits, and a commit after the fence refuses them (`changes.purge_fence`). Other programs delete
old files without a fence: a purge of another implementation, a lifecycle rule of the bucket. So the commit also looks
for its splits in the store:

- before it publishes the version: a group whose new split is gone is dropped, and its sources stay;
- after it has published the version: a group whose new split is gone is undone by a second version.

Only a file that is deleted after the second look can be missing from the table, like any other live file.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from indextables.config import HOUR_MS, Settings, keys
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    IndexTablesError,
    StorageError,
    TableError,
)
from indextables.log import (
    AddFile,
    MergeGroup,
    MergeSplits,
    Metadata,
    SkipFile,
    Snapshot,
    UndoMerge,
    commit,
    load_snapshot,
    split_key,
)
from indextables.log.cleanup import missing_files
from indextables.log.snapshots import VersionSelector, read_snapshot
from indextables.runtime import now_ms
from indextables.storage import Store

OPERATION: Final = "merge"
"""The name of merging in the log's records of files that merges skip."""

_log: Final = logging.getLogger(__name__)


_REMOVED: Final = "concurrent commits have removed one of their splits, or deleted rows of it"
_DELETED: Final = "their new split was deleted from the store before the commit"
_UNDONE: Final = "their new split was deleted from the store, so the commit was undone"


@dataclass(frozen=True)
class MergedGroup:
    """What a task did: `add` is the stored split with the rows of the files with keys `sources`.

    `add` is None if fewer than two sources could be read. `unreadable` are the keys of the others, each with a reason.
    `size` is that of the sources. `method` says how the split was made, `reason` why, if there is more to say.
    `failure` says why the task did nothing. `delta_logs` are those of the sources that had one.
    """

    sources: tuple[str, ...] = ()
    size: int = 0
    add: AddFile | None = None
    method: str | None = None
    reason: str | None = None
    unreadable: tuple[tuple[str, str], ...] = ()
    failure: str | None = None
    delta_logs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CommittedMerge:
    """The table after the commit of a batch. `dropped` groups are not part of it, for `reason`."""

    snapshot: Snapshot
    merged: tuple[MergedGroup, ...] = ()
    dropped: tuple[MergedGroup, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    reason: str | None = None


def commit_merge(
    store: Store,
    groups: Sequence[MergedGroup],
    *,
    metadata: Metadata,
    base: Snapshot,
    settings: Settings,
    clock: Callable[[], int] = now_ms,
) -> CommittedMerge:
    """Publish the merged groups of a batch, and the splits that could not be read, as one version.

    A group is dropped if a concurrent commit has removed one of its sources: the rows of that source are no longer in
    the table, or another file has them. It is dropped as well if its new split is no longer in the store. The new split
    of a dropped group is deleted, since no version names it and no other process knows it. If the outcome of the commit
    is unknown, CommitUnknownError, and nothing is deleted.
    """
    outputs = tuple(group for group in groups if group.add is not None)
    skipped = tuple(entry for group in groups for entry in group.unreadable)
    try:
        stored, deleted = _by_presence(store, outputs)
        if not stored and not skipped:
            return _drop_groups(base, deleted, _DELETED)
        change = _change(stored, skipped, metadata, settings, clock())
        done = commit(store, change, base=base, settings=settings, clock=clock)
    except CommitUnknownError:
        raise
    except CommitConflictError as reason:
        discard_groups(store, outputs)
        return _drop_groups(base, outputs, str(reason))
    except IndexTablesError:
        discard_groups(store, outputs)
        raise
    added = {action.path for action in done.actions if isinstance(action, AddFile)}
    published = tuple(group for group in stored if group.add is not None and group.add.path in added)
    removed = tuple(group for group in stored if group.add is not None and group.add.path not in added)
    discard_groups(store, removed)
    snapshot, merged, undone = _without_missing(store, done.snapshot, published, settings, clock)
    recorded = {split_key(action.path, store.uri) for action in done.actions if isinstance(action, SkipFile)}
    reasons = ((deleted, _DELETED), (removed, _REMOVED), (undone, _UNDONE))
    return CommittedMerge(
        snapshot=snapshot,
        merged=merged,
        dropped=(*deleted, *removed, *undone),
        skipped=tuple(entry for entry in skipped if entry[0] in recorded),
        reason="; ".join(reason for dropped, reason in reasons if dropped) or None,
    )


def discard_groups(store: Store, groups: Iterable[MergedGroup]) -> None:
    """Delete the new splits of groups that certainly were not committed. A purge deletes what cannot be deleted now."""
    for group in groups:
        if group.add is not None:
            with contextlib.suppress(StorageError):
                store.delete(group.add.path)


def _drop_groups(base: Snapshot, groups: tuple[MergedGroup, ...], reason: str) -> CommittedMerge:
    return CommittedMerge(base, dropped=groups, reason=reason if groups else None)


def _change(
    groups: Sequence[MergedGroup],
    skipped: Sequence[tuple[str, str]],
    metadata: Metadata,
    settings: Settings,
    now: int,
) -> MergeSplits:
    retry_after = now + settings.get(keys.MERGE_SKIP_HOURS) * HOUR_MS
    return MergeSplits(
        groups=_merge_groups(groups),
        metadata=metadata,
        skips=tuple(
            SkipFile(key, skip_timestamp=now, reason=reason, operation=OPERATION, retry_after=retry_after)
            for key, reason in skipped
        ),
    )


def _merge_groups(groups: Iterable[MergedGroup]) -> tuple[MergeGroup, ...]:
    return tuple(
        MergeGroup(group.sources, (group.add,), group.delta_logs) for group in groups if group.add is not None
    )


def _by_presence(
    store: Store, groups: tuple[MergedGroup, ...]
) -> tuple[tuple[MergedGroup, ...], tuple[MergedGroup, ...]]:
    """Return the groups whose new split is in the store, and those whose new split is not."""
    missing = set(missing_files(store, [group.add.path for group in groups if group.add is not None]))
    return (
        tuple(group for group in groups if group.add is not None and group.add.path not in missing),
        tuple(group for group in groups if group.add is not None and group.add.path in missing),
    )


def _without_missing(
    store: Store,
    snapshot: Snapshot,
    groups: tuple[MergedGroup, ...],
    settings: Settings,
    clock: Callable[[], int],
) -> tuple[Snapshot, tuple[MergedGroup, ...], tuple[MergedGroup, ...]]:
    """Undo the groups of a version, just committed, whose new split is live and not in the store.

    Returns the newest snapshot, the groups that stay and those that were undone. This process may have been paused
    since its commit. Others may have removed a new split from the table by then, and a purge may have deleted it:
    that is no loss, and there is nothing to undo.
    """
    try:
        _, missing = _by_presence(store, groups)
    except StorageError as reason:
        # The merge is committed, and an error would say that it is not. The splits were there a moment ago.
        _log.warning("%s: cannot look for the new splits of a merge after its commit: %s", store.uri, reason)
        return snapshot, groups, ()
    missing = _live_groups(store, missing, settings)
    if not missing:
        return snapshot, groups, ()
    names = ", ".join(group.add.path for group in missing if group.add is not None)
    version = snapshot.version - 1
    try:
        before = read_snapshot(store, VersionSelector(version), settings)

        def check(sources: Sequence[str]) -> None:
            # As in a restore: a purge whose fence is in the newest snapshot has kept the files of every version that
            # was readable then, so the version before the merge must be readable now.
            read_snapshot(store, VersionSelector(version), settings)
            gone = missing_files(store, sources)
            if gone:
                raise CorruptTableError(f"{', '.join(gone)} cannot be found in the store either")

        undo = UndoMerge(_merge_groups(missing), before, check)
        done = commit(store, undo, base=snapshot, settings=settings, clock=clock)
    except TableError as reason:
        if not _live_groups(store, missing, settings):  # removed by another commit since
            return snapshot, groups, ()
        raise CorruptTableError(
            f"{names} was deleted from {store.uri} while version {snapshot.version} of the table replaced "
            f"smaller splits by it, and the merge cannot be undone: {reason}; restore an earlier version"
        ) from reason
    lost = {group.add.path for group in missing if group.add is not None}
    stay = tuple(group for group in groups if group.add is not None and group.add.path not in lost)
    return done.snapshot, stay, missing


def _live_groups(
    store: Store, groups: tuple[MergedGroup, ...], settings: Settings
) -> tuple[MergedGroup, ...]:
    """Return the groups whose new split is a file of the newest version."""
    if not groups:
        return ()
    files = load_snapshot(store, settings=settings).files
    return tuple(group for group in groups if group.add is not None and group.add.path in files)

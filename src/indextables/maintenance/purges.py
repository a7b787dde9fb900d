"""PURGE: splits that no version names, version files, states and manifests that retention no longer keeps.

Also what writers that were killed have left: temporary files in a table on a local disk, and temporary directories of
this machine.

prepare_purge  (once)      cleans up the log, finds the splits, and tells writers by a version (see `log.purged`)
deleting them  (anywhere)  in batches (see `orphans`)
finish_purge   (once)      deletes manifests, and adds up
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, InputError
from indextables.log import Snapshot, commit
from indextables.log.actions.protocol import check_writable
from indextables.log.changes.purge_fence import SetPurgeFence
from indextables.log.cleanup.garbage import (
    check_states,
    collect_manifests,
    delete_states,
    expired_states,
    read_log_files,
)
from indextables.log.cleanup.orphans import (
    Deleted,
    abandoned_files,
    delete_files,
    delete_in_process,
    orphaned_splits,
)
from indextables.log.cleanup.reachable import ReachableFiles, files_named_since, reachable_files
from indextables.log.cleanup.state_retention import StateRetention, named_manifests, orphaned_manifests
from indextables.log.cleanup.validation import newest_valid_checkpoint
from indextables.log.cleanup.version_retention import delete_versions, versions_to_clean
from indextables.log.snapshots.loader import read_snapshot
from indextables.log.versions.listing import LogListing, list_log
from indextables.log.versions.watermark import NO_WATERMARK, read_watermark
from indextables.runtime import now_ms
from indextables.storage import ObjectInfo, Store
from indextables.storage.scratch import remove_leftovers

_HOUR_MS: Final = 3_600_000
_MEGABYTE: Final = 1 << 20
_SHOWN: Final = 3


@dataclass(frozen=True)
class Purged:
    """What a purge found and did. In a dry run nothing went, and `tx_log_files_deleted` and the size say what would.

    `orphaned_files_found` counts every split that no version names; those younger than the retention stay. `splits`,
    `versions`, `states` and `manifests` are what was to be deleted: keys, and numbers of versions.
    """

    table_path: str
    status: str
    orphaned_files_found: int
    orphaned_files_deleted: int
    size_mb_deleted: float
    retention_hours: int
    tx_log_files_deleted: int
    expired_states_found: int
    expired_states_deleted: int
    dry_run: bool
    duration_ms: int
    message: str
    manifests_deleted: int = 0
    temporary_files_deleted: int = 0
    splits: tuple[str, ...] = field(default=(), repr=False)
    versions: tuple[int, ...] = field(default=(), repr=False)
    states: tuple[int, ...] = field(default=(), repr=False)
    manifests: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class PreparedPurge:
    """A purge whose splits are found and not deleted yet: `splits` may go, `spared` are too young or too many.

    `named` are the manifests that states named before anything was deleted, `unnamed` in a dry run those that would go.
    """

    started_ms: int
    hours: int
    dry_run: bool
    retention: StateRetention
    versions: tuple[int, ...]
    versions_deleted: int
    states: tuple[int, ...]
    states_deleted: int
    named: frozenset[str]
    unnamed: tuple[str, ...]
    splits: tuple[ObjectInfo, ...]
    spared: int
    failures: tuple[str, ...] = ()
    temporary_files: int = 0


def retention_hours(settings: Settings, hours: int | None = None) -> int:
    """How old splits must be, in hours. InputError below the minimum, unless the settings say that there is none.

    >>> retention_hours(Settings())
    168
    >>> retention_hours(Settings(), 1)
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: a purge of splits older than 1 hours may delete those of a write that is still \
under way; the minimum is 24 hours, unless spark.indextables.purge.retentionCheckEnabled is false
    """
    hours = settings.get(keys.PURGE_RETENTION_HOURS) if hours is None else hours
    least = settings.get(keys.PURGE_MIN_RETENTION_HOURS)
    if hours < least and settings.get(keys.PURGE_RETENTION_CHECK):
        raise InputError(
            f"a purge of splits older than {hours} hours may delete those of a write that is still under way; "
            f"the minimum is {least} hours, unless {keys.PURGE_RETENTION_CHECK.key} is false"
        )
    return hours


def purge(
    store: Store,
    settings: Settings,
    *,
    hours: int | None = None,
    log_hours: int | None = None,
    dry_run: bool | None = None,
    clock: Callable[[], int] = now_ms,
) -> Purged:
    """Deletes what no version that can be read needs. Safe beside writers, readers and other purges.

    `hours` is how old a split must be, `log_hours` a version file or a state. CorruptTableError, and nothing was
    deleted, if a state cannot be read.
    """
    prepared = prepare_purge(store, settings, hours=hours, log_hours=log_hours, dry_run=dry_run, clock=clock)
    deleted = Deleted() if prepared.dry_run else delete_in_process(store, prepared.splits, settings)
    return finish_purge(store, prepared, deleted, clock=clock)


def prepare_purge(
    store: Store,
    settings: Settings,
    *,
    hours: int | None = None,
    log_hours: int | None = None,
    dry_run: bool | None = None,
    clock: Callable[[], int] = now_ms,
) -> PreparedPurge:
    """Cleans up versions and states and finds the splits that may go; after it, no writer commits one of them."""
    hours = retention_hours(settings, hours)
    dry_run = settings.get(keys.CLEANUP_DRY_RUN) if dry_run is None else dry_run
    started = clock()
    _check_purgeable(store, settings)
    retention = StateRetention.of(settings, log_hours)
    files = read_log_files(store)
    listing = list_log(store)
    versions = versions_to_clean(
        store,
        listing,
        settings,
        covered_by=newest_valid_checkpoint(store, listing, settings),
        hours=log_hours,
        now_ms=started,
    )
    left = files.without(versions, ())
    states = expired_states(store, left, retention, started)
    left = left.without((), states)
    check_states(store, left)
    # Before anything is deleted: what cannot be read stops it here.
    newest, needed = _survey(store, settings, _without(versions, states))
    gone = states_gone = 0
    failures: tuple[str, ...] = ()
    if not dry_run:
        gone, failures = delete_versions(store, versions, settings)
        states_gone, more = delete_states(store, files, states)
        failures = (*failures, *more)
        if versions or states:
            # What could not be deleted can be read; and so can what came while the clean-up had not been announced,
            # such as the state of an old version by a writer that was slow.
            newest, needed = _survey(store, settings, _as_it_is)
    orphans = orphaned_splits(store.list_from(""), needed)
    cutoff = started - hours * _HOUR_MS
    temporary, more = _clear_temporary(store, settings, started, hours, dry_run=dry_run)
    failures = (*failures, *more)
    splits = [info for info in orphans if info.modified_ms <= cutoff][: settings.get(keys.PURGE_MAX_FILES)]
    if splits and not dry_run:
        # No later than what is deleted: a clock that is ahead must not keep writers out.
        fence = SetPurgeFence(max(info.modified_ms for info in splits))
        fenced = commit(store, fence, base=newest, settings=settings).snapshot
        meanwhile = files_named_since(store, newest, fenced)
        splits = [info for info in splits if info.key not in meanwhile]
    return PreparedPurge(
        started,
        hours,
        dry_run,
        retention,
        tuple(versions),
        gone,
        tuple(states),
        states_gone,
        named_manifests(left.states),
        tuple(
            orphaned_manifests(left.infos, named_manifests(left.states), min_age_ms=retention.manifest_age_ms)
        )
        if dry_run
        else (),
        tuple(splits),
        len(orphans) - len(splits),
        failures,
        temporary,
    )


def finish_purge(
    store: Store, prepared: PreparedPurge, deleted: Deleted, *, clock: Callable[[], int] = now_ms
) -> Purged:
    """Deletes the manifests that no state names any more, and says what the whole purge did."""
    started = prepared.started_ms
    manifests, gone, more = prepared.unnamed, 0, prepared.failures[:0]
    if not prepared.dry_run:
        manifests, gone, more = collect_manifests(store, prepared.named, prepared.retention)
    failures = (*prepared.failures, *deleted.failures, *more)
    size = sum(info.size for info in prepared.splits) if prepared.dry_run else deleted.bytes
    status = "DRY_RUN" if prepared.dry_run else "PARTIAL_SUCCESS" if failures else "SUCCESS"
    return Purged(
        store.uri,
        status,
        len(prepared.splits) + prepared.spared,
        deleted.files,
        size / _MEGABYTE,
        prepared.hours,
        len(prepared.versions) if prepared.dry_run else prepared.versions_deleted,
        len(prepared.states),
        prepared.states_deleted,
        prepared.dry_run,
        max(clock() - started, 0),
        _message(prepared, deleted, gone if not prepared.dry_run else len(manifests), failures),
        gone,
        0 if prepared.dry_run else prepared.temporary_files,
        tuple(info.key for info in prepared.splits),
        prepared.versions,
        prepared.states,
        manifests,
    )


def _clear_temporary(
    store: Store, settings: Settings, started: int, hours: int, *, dry_run: bool
) -> tuple[int, tuple[str, ...]]:
    """Delete what killed writers have left that is older than the retention: how many files, and what stays.

    No commit keeps a writer from losing a file that it has just begun, so an hour is the least.
    """
    found = abandoned_files(store, started - max(hours, 1) * _HOUR_MS)
    if dry_run:
        return len(found), ()
    remove_leftovers(settings)
    deleted = delete_files(store, found)
    return deleted.files, deleted.failures


def _check_purgeable(store: Store, settings: Settings) -> None:
    snapshot = read_snapshot(store, settings=settings)
    check_writable(snapshot.protocol, store.uri)
    if snapshot.gap is not None:
        raise CorruptTableError(
            f"version {snapshot.gap.first} of {store.uri} is missing although version {snapshot.gap.next} is there: "
            f"which files the table needs cannot be known; repair the table before you purge it"
        )


def _survey(
    store: Store, settings: Settings, after: Callable[[LogListing], LogListing]
) -> tuple[Snapshot, ReachableFiles]:
    """The newest snapshot, and what it and all older ones need; `after` is what clean-up leaves of a listing."""
    passed = NO_WATERMARK - 1
    while True:
        try:
            newest = read_snapshot(store, settings=settings)
            return newest, reachable_files(store, newest, after(list_log(store)), settings)
        except CorruptTableError:
            # A version may have been cleaned up since it was listed: then there is less to ask.
            end = read_watermark(store)
            if end == passed:
                raise
            passed = end


def _without(versions: Sequence[int], bases: Sequence[int]) -> Callable[[LogListing], LogListing]:
    def after(listing: LogListing) -> LogListing:
        return LogListing(
            tuple(file for file in listing.versions if file.version not in versions),
            tuple(state for state in listing.states if state not in bases),
            tuple(file for file in listing.checkpoints if file.version not in bases),
        )

    return after


def _as_it_is(listing: LogListing) -> LogListing:
    return listing


def _message(prepared: PreparedPurge, deleted: Deleted, manifests: int, failures: Iterable[str]) -> str:
    dry = prepared.dry_run
    counts = (
        (len(prepared.splits) if dry else deleted.files, "splits"),
        (len(prepared.versions) if dry else prepared.versions_deleted, "version files"),
        (len(prepared.states) if dry else prepared.states_deleted, "states"),
        (manifests, "manifests"),
        *([(prepared.temporary_files, "temporary files")] if prepared.temporary_files else []),
    )
    said = [
        f"{'would delete' if dry else 'deleted'} {', '.join(f'{count} {what}' for count, what in counts)}"
    ]
    if prepared.spared:
        said.append(
            f"{prepared.spared} splits that no version names stay: they are too young, or too many for one purge"
        )
    problems = list(failures)
    said += problems[:_SHOWN]
    if len(problems) > _SHOWN:
        said.append(f"and {len(problems) - _SHOWN} more failures")
    return "; ".join(said)

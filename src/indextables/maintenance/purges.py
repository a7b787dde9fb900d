"""PURGE: delete splits that no version names, and version files, states and manifests past their retention.

A purge also deletes what killed writers have left: temporary files in a table on a local disk, and temporary
directories of this machine. It has three steps:

prepare_purge  (once)      cleans up the log, finds the splits, and commits the purge fence (see `changes.purge_fence`)
deletion       (anywhere)  deletes the splits in batches (see `cleanup.orphans`)
finish_purge   (once)      deletes manifests, and adds up the results
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from indextables.config import HOUR_MS, Settings, keys
from indextables.errors import CorruptTableError, InputError, VersionNotFoundError
from indextables.log import Snapshot, commit
from indextables.log.actions import check_writable
from indextables.log.changes import SetPurgeFence
from indextables.log.cleanup import (
    Deleted,
    ReachableFiles,
    StateRetention,
    abandoned_files,
    check_states,
    collect_manifests,
    delete_files,
    delete_in_process,
    delete_states,
    delete_versions,
    expired_states,
    files_named_since,
    named_manifests,
    orphaned_manifests,
    orphaned_splits,
    plan_expiry,
    reachable_files,
    read_log_files,
    retention_ms,
)
from indextables.log.snapshots import read_snapshot
from indextables.log.versions import LogListing, list_log
from indextables.notebook import result_html
from indextables.progress import Progress
from indextables.runtime import now_ms
from indextables.storage import ObjectInfo, Store, remove_leftovers

_log: Final = logging.getLogger(__name__)

_MEGABYTE: Final = 1 << 20
_SHOWN: Final = 3
_SURVEYS: Final = 20


@dataclass(frozen=True)
class Purged:
    """The result of a purge. In a dry run, `tx_log_files_deleted` and `size_mb_deleted` are what would be deleted.

    `orphaned_files_found` counts every split that no version names, including those too young to be deleted. `splits`
    and `manifests` (keys), `versions` and `states` (version numbers) are what the purge decided to delete.
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

    def _repr_html_(self) -> str:
        return result_html(f"Purge of {self.table_path}", self)


@dataclass(frozen=True)
class PreparedPurge:
    """A purge whose splits are found and not deleted yet.

    `splits` are to be deleted; `spared` orphaned splits are too young, or too many for one purge. `named` are the
    manifests that the remaining states named before anything was deleted; `unnamed` are, in a dry run, the manifests
    that would be deleted.
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
    """Return how old splits must be, in hours. Raises InputError below the minimum, unless its check is disabled.

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
    progress: Progress | None = None,
    clock: Callable[[], int] = now_ms,
) -> Purged:
    """Delete what no readable version needs. Safe next to writers, readers and other purges.

    `hours` is how old a split must be, `log_hours` how old a version file or state. Raises CorruptTableError, and
    deletes nothing, if a state cannot be read. `progress` is called after each batch of deleted splits.
    """
    prepared = prepare_purge(store, settings, hours=hours, log_hours=log_hours, dry_run=dry_run, clock=clock)
    deleted = Deleted() if prepared.dry_run else delete_in_process(store, prepared.splits, settings, progress)
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
    """Clean up versions and states, and find the splits to delete. After this, no writer can commit one of them.

    What cannot be read raises an error before anything is deleted.
    """
    hours = retention_hours(settings, hours)
    dry_run = settings.get(keys.CLEANUP_DRY_RUN) if dry_run is None else dry_run
    started = clock()
    _check_purgeable(store, settings)
    retention = StateRetention.of(settings, log_hours)
    files = read_log_files(store)
    expiry = plan_expiry(store, settings, retention_ms=retention_ms(settings, log_hours), now_ms=started)
    remaining = files.without(expiry.versions, ())
    states = expired_states(store, remaining, retention, started)
    remaining = remaining.without((), states)
    check_states(store, remaining)
    newest, reachable = _survey(store, settings, _without(expiry.versions, states))
    versions_deleted = states_deleted = 0
    failures: tuple[str, ...] = ()
    if not dry_run:
        versions_deleted, failures = delete_versions(store, expiry, settings)
        states_deleted, more = delete_states(store, files, states)
        failures = (*failures, *more)
        if expiry.versions or states:
            # Survey again. A file that could not be deleted keeps its version readable. So does a file that another
            # process created before the watermark advanced, such as the state of an old version by a slow writer.
            newest, reachable = _survey(store, settings, _same_listing)
    orphans = orphaned_splits(store.list_from(""), reachable)
    cutoff = started - hours * HOUR_MS
    temporary, more = _clear_temporary(store, settings, started, hours, dry_run=dry_run)
    failures = (*failures, *more)
    splits = [info for info in orphans if info.modified_ms <= cutoff][: settings.get(keys.PURGE_MAX_FILES)]
    if splits and not dry_run:
        # The fence is the time of the youngest split to delete, and not the time of this process: a clock that is
        # ahead would make writers fail for no reason.
        fence = SetPurgeFence(max(info.modified_ms for info in splits))
        fenced = commit(store, fence, base=newest, settings=settings).snapshot
        # A commit before the fence may have added one of these splits after the survey. A commit after the fence
        # checks its own files against it. So the splits that no version up to the fence names are safe to delete.
        committed = _named_since(store, newest, fenced, settings)
        splits = [info for info in splits if info.key not in committed]
    named = named_manifests(remaining.states)
    unnamed = orphaned_manifests(remaining.infos, named, min_age_ms=retention.manifest_age_ms)
    return PreparedPurge(
        started_ms=started,
        hours=hours,
        dry_run=dry_run,
        retention=retention,
        versions=expiry.versions,
        versions_deleted=versions_deleted,
        states=tuple(states),
        states_deleted=states_deleted,
        named=named,
        unnamed=tuple(unnamed) if dry_run else (),
        splits=tuple(splits),
        spared=len(orphans) - len(splits),
        failures=failures,
        temporary_files=temporary,
    )


def finish_purge(
    store: Store, prepared: PreparedPurge, deleted: Deleted, *, clock: Callable[[], int] = now_ms
) -> Purged:
    """Delete the manifests that no state names any more, and return the result of the whole purge."""
    started = prepared.started_ms
    manifests, manifests_deleted, more = prepared.unnamed, 0, prepared.failures[:0]
    if not prepared.dry_run:
        manifests, manifests_deleted, more = collect_manifests(store, prepared.named, prepared.retention)
    failures = (*prepared.failures, *deleted.failures, *more)
    size = sum(info.size for info in prepared.splits) if prepared.dry_run else deleted.bytes
    status = "DRY_RUN" if prepared.dry_run else "PARTIAL_SUCCESS" if failures else "SUCCESS"
    manifests_counted = len(manifests) if prepared.dry_run else manifests_deleted
    message = _message(prepared, deleted, manifests_counted, failures)
    _log.info("%s: purge: %s", store.uri, message)
    return Purged(
        table_path=store.uri,
        status=status,
        orphaned_files_found=len(prepared.splits) + prepared.spared,
        orphaned_files_deleted=deleted.files,
        size_mb_deleted=size / _MEGABYTE,
        retention_hours=prepared.hours,
        tx_log_files_deleted=len(prepared.versions) if prepared.dry_run else prepared.versions_deleted,
        expired_states_found=len(prepared.states),
        expired_states_deleted=prepared.states_deleted,
        dry_run=prepared.dry_run,
        duration_ms=max(clock() - started, 0),
        message=message,
        manifests_deleted=manifests_deleted,
        temporary_files_deleted=0 if prepared.dry_run else prepared.temporary_files,
        splits=tuple(info.key for info in prepared.splits),
        versions=prepared.versions,
        states=prepared.states,
        manifests=manifests,
    )


def _clear_temporary(
    store: Store, settings: Settings, started: int, hours: int, *, dry_run: bool
) -> tuple[int, tuple[str, ...]]:
    """Delete temporary files of killed writers that are older than the retention.

    Returns how many files, and what could not be deleted and why. The purge fence does not protect a temporary file
    that a writer has just created, so they are kept for an hour at least.
    """
    abandoned = abandoned_files(store, started - max(hours, 1) * HOUR_MS)
    if dry_run:
        return len(abandoned), ()
    remove_leftovers(settings)
    deleted = delete_files(store, abandoned)
    return deleted.files, deleted.failures


def _check_purgeable(store: Store, settings: Settings) -> None:
    snapshot = read_snapshot(store, settings=settings)
    check_writable(snapshot.protocol, store.uri)
    if snapshot.gap is not None:
        raise CorruptTableError(
            f"version {snapshot.gap.first} of {store.uri} is missing although version {snapshot.gap.next} exists, "
            f"so which files the table needs is unknown; repair the table before you purge it"
        )


def _survey(
    store: Store, settings: Settings, remaining: Callable[[LogListing], LogListing]
) -> tuple[Snapshot, ReachableFiles]:
    """Return the newest snapshot, and the files that it and all older ones need.

    `remaining` returns the part of a listing that remains after clean-up.
    """
    failed: LogListing | None = None
    for attempt in itertools.count(1):
        newest = read_snapshot(store, settings=settings)
        listing = list_log(store)
        try:
            return newest, reachable_files(store, newest, remaining(listing), settings)
        except (CorruptTableError, VersionNotFoundError):
            # Another clean-up may have deleted a file after it was listed, and be deleting others still. Then a new
            # listing differs from the one before. If it does not, the log is damaged.
            if listing == failed or attempt == _SURVEYS:
                raise
            failed = listing
    raise AssertionError("unreachable")


def _named_since(store: Store, before: Snapshot, after: Snapshot, settings: Settings) -> ReachableFiles:
    """Return the files that readable versions need, of those named after one snapshot and up to another."""
    try:
        return files_named_since(store, before, after)
    except CorruptTableError:
        # Another clean-up may have deleted some of these versions, so the files that only they name are not needed. A
        # survey that does not reach the later snapshot, because a listing lags behind, proves nothing.
        newest, reachable = _survey(store, settings, _same_listing)
        if newest.version < after.version:
            raise
        return reachable


def _without(versions: Sequence[int], bases: Sequence[int]) -> Callable[[LogListing], LogListing]:
    def remaining(listing: LogListing) -> LogListing:
        return LogListing(
            versions=tuple(file for file in listing.versions if file.version not in versions),
            states=tuple(state for state in listing.states if state not in bases),
            checkpoints=tuple(file for file in listing.checkpoints if file.version not in bases),
        )

    return remaining


def _same_listing(listing: LogListing) -> LogListing:
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
    parts = (f"1 {what[:-1]}" if count == 1 else f"{count} {what}" for count, what in counts)
    notes = [f"{'would delete' if dry else 'deleted'} {', '.join(parts)}"]
    if prepared.spared:
        notes.append(
            f"{prepared.spared} splits that no version names stay: they are too young, or too many for one purge"
        )
    problems = list(failures)
    notes += problems[:_SHOWN]
    if len(problems) > _SHOWN:
        notes.append(f"and {len(problems) - _SHOWN} more failures")
    return "; ".join(notes)

"""Automatic upkeep: merges and purges that writes start, after their commit and off its path.

A write never waits for upkeep, and never fails because of it: a failure is logged, and shown among the merge jobs. It
runs in a thread of the process, one for each table. A process that dies leaves at most splits that no version names,
and a claim that ends by itself (see `upkeep_claims`); the next write starts over.

Other processes may write, merge and purge at the same time. Nothing here is needed for correctness: the conflict rules
decide what a merge commits, and the fence of a purge and the retention what may be deleted.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from indextables.config import Settings, keys
from indextables.errors import IndexTablesError
from indextables.log import Snapshot, load_snapshot
from indextables.maintenance.merge_jobs import MergeJob, record_job
from indextables.maintenance.merge_plan import MergeTask, plan_due_merge, total_size
from indextables.maintenance.merges import merge_tasks
from indextables.maintenance.purges import Purged, purge
from indextables.maintenance.upkeep_claims import (
    claim_purge,
    extend_claim,
    read_claim,
    release_claim,
    take_claim,
)
from indextables.maintenance.upkeep_policy import UpkeepPolicy
from indextables.runtime import CacheSpec, current, new_id, now_ms
from indextables.storage import Store, open_store

_log: Final = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_WRITES: Final = CacheSpec[str, tuple[str, int]]("running writes", entries=10_000, after_fork="drop")
"""The address of the table and the start of every write that this process is running."""


@contextmanager
def running_write(uri: str) -> Iterator[None]:
    """Record that a write of the table is running, so that no automatic purge of this process deletes its files."""
    writes, number = current().cache(_WRITES), str(new_id())
    writes.put(number, (uri, now_ms()))
    try:
        yield
    finally:
        writes.pop(number)


def change_with_upkeep(
    store: Store,
    settings: Settings,
    change: Callable[[], _Result],
    committed: Callable[[_Result], int | None],
) -> _Result:
    """Return what `change` does to a table, and start what is due after its commit.

    `committed` gets the result, and returns the version that was committed, or None if there was nothing to commit.
    """
    policy = UpkeepPolicy.of(settings)
    with running_write(store.uri):
        result = change()
    version = committed(result)
    if version is not None:
        start_upkeep_at(store, version, settings, policy)
    return result


def start_upkeep_at(store: Store, version: int, settings: Settings, policy: UpkeepPolicy) -> None:
    """Start what is due after the commit of a version. Raises nothing but interrupts: the version is committed."""
    try:
        snapshot = load_snapshot(store, version, settings=settings)
    except IndexTablesError as reason:
        _log.warning("automatic upkeep of %s did not start: %s", store.uri, reason)
    else:
        start_upkeep(snapshot, version - 1, settings, policy)


def start_upkeep(snapshot: Snapshot, before: int | None, settings: Settings, policy: UpkeepPolicy) -> None:
    """Start what is due after a commit: `snapshot` is the table after it, `before` the version before it."""
    merges = policy.may_merge(files=snapshot.files.expected, version=snapshot.version)
    purges = policy.purge_due(before=before, version=snapshot.version)
    if not merges and not purges:
        return
    request = _Request(settings, policy)
    work = _Upkeep(snapshot.uri, request if merges else None, request if purges else None)
    if policy.is_asynchronous:
        current().background.start(
            snapshot.uri,
            work,
            exit_seconds=policy.exit_seconds,
            unite=lambda waiting, new: new.after(waiting),
        )
    else:
        work()


@dataclass(frozen=True)
class _Request:
    """The settings of a write that asks for upkeep, and their policy."""

    settings: Settings
    policy: UpkeepPolicy


@dataclass(frozen=True)
class _Upkeep:
    """The upkeep of a table that writes have asked for. Each part has the settings of the last that asked for it.

    A purge by the settings of another write could delete what that write is to keep.
    """

    uri: str
    merge: _Request | None
    purge: _Request | None

    def after(self, waiting: _Upkeep) -> _Upkeep:
        """Return what does this, and what is waiting to be done."""
        return _Upkeep(self.uri, self.merge or waiting.merge, self.purge or waiting.purge)

    def __call__(self) -> None:
        """Merge and purge now, as far as it is due. Raises nothing but interrupts."""
        try:
            purge_request = self.purge
            if self.merge is not None and self._merge(self.merge) and purge_request is None:
                policy = self.merge.policy
                store = open_store(self.uri, self.merge.settings)
                if policy.after_merge and claim_purge(store, now_ms(), policy.purge_interval_ms):
                    purge_request = self.merge
            if purge_request is not None:
                settings = purge_request.settings
                done = purge_automatically(open_store(self.uri, settings), settings, purge_request.policy)
                _log.info("%s: automatic purge: %s", self.uri, done.message)
        except Exception as reason:  # noqa: BLE001 - the write that started it is committed, and has not failed
            _log.warning("automatic upkeep of %s failed: %s: %s", self.uri, type(reason).__name__, reason)

    def _merge(self, request: _Request) -> bool:
        """Merge what is due. Return True if something was merged. A merge that fails does not stop a purge."""
        try:
            return _merge_if_due(open_store(self.uri, request.settings), request.settings)
        except InterruptedError:
            raise
        except Exception as reason:
            if self.purge is None:
                raise
            _log.warning("automatic merge of %s failed: %s: %s", self.uri, type(reason).__name__, reason)
            return False


def wait_for_upkeep(uri: str, seconds: float | None = None) -> bool:
    """Wait until no upkeep of the table runs in this process; return False if that takes longer than `seconds`."""
    return current().background.wait(uri, seconds=seconds)


def purge_automatically(
    store: Store, settings: Settings, policy: UpkeepPolicy, running_since: int | None = None
) -> Purged:
    """Purge by the retention of automatic purges. No file is deleted that is younger than the longest running job.

    Those are the writes of this process, the merge that has the claim, and what the caller knows to have begun at
    `running_since`. Writes of other processes are why retention has a minimum.
    """
    hours, log_hours = automatic_retention(store, policy, running_since)
    return purge(store, settings, hours=hours, log_hours=log_hours)


def automatic_retention(
    store: Store, policy: UpkeepPolicy, running_since: int | None = None
) -> tuple[int, int]:
    """Return how old splits, and how old files of the log, must be for an automatic purge, in hours."""
    writes = current().cache(_WRITES)
    starts = [
        write[1] for write in map(writes.get, writes.keys()) if write is not None and write[0] == store.uri
    ]
    claim, now = read_claim(store), now_ms()
    # A job that died leaves a claim that is over: its files are orphans, and no reason to keep others.
    starts += [] if claim is None or claim.is_over(now) else [claim.since]
    starts += [] if running_since is None else [running_since]
    return policy.purge_hours(running_since=min(starts, default=None), now=now), policy.log_hours


def due_tasks(store: Store, settings: Settings) -> tuple[Snapshot, tuple[MergeTask, ...]]:
    """Return the newest snapshot, and the groups of it that an automatic merge is to merge."""
    snapshot = load_snapshot(store, settings=settings)
    return snapshot, plan_due_merge(snapshot, settings, now=now_ms())


def _merge_if_due(store: Store, settings: Settings) -> bool:
    """Merge until no partition has too many small splits. Return True if something was merged."""
    _, tasks = due_tasks(store, settings)
    claim = str(new_id())
    if not tasks or not _take_claim(store, settings, tasks, claim):
        return False
    merged = False
    try:
        # Plan again: the job that had the claim before may have merged these splits.
        snapshot, tasks = due_tasks(store, settings)
        while tasks:
            extend_claim(store, claim, size=total_size(tasks), now=now_ms())
            try:
                if not _run_job(store, settings, snapshot, tasks):
                    break  # other commits have removed the sources, or none can be read
            except InterruptedError:
                raise
            except Exception as reason:
                if not merged:
                    raise
                # What the rounds before left fails again. What they merged is committed, and a purge may follow.
                _log.warning("%s: the rest is not merged: %s", store.uri, reason)
                break
            merged = True
            snapshot, tasks = due_tasks(store, settings)
    finally:
        release_claim(store, claim)
    return merged


def _take_claim(store: Store, settings: Settings, tasks: tuple[MergeTask, ...], claim: str) -> bool:
    """Claim the table. A claim that fails is a job that fails."""
    try:
        return take_claim(store, claim, size=total_size(tasks), now=now_ms())
    except Exception as reason:
        record_job(_new_job(store, settings, tasks).ended(f"{type(reason).__name__}: {reason}"))
        raise


def _new_job(store: Store, settings: Settings, tasks: tuple[MergeTask, ...]) -> MergeJob:
    return MergeJob(
        job_id=str(new_id()),
        table_path=store.uri,
        started_ms=now_ms(),
        batch_size=settings.get(keys.MERGE_BATCH_SIZE),
        total_groups=len(tasks),
    )


def _run_job(store: Store, settings: Settings, snapshot: Snapshot, tasks: tuple[MergeTask, ...]) -> bool:
    """Merge the groups as one job. Return True if at least one was committed."""
    job = _new_job(store, settings, tasks)
    record_job(job)
    background = current().background

    def progress(done: int, _: int | None) -> None:
        nonlocal job
        job = dataclasses.replace(job, completed_groups=done)
        record_job(job)
        if background.is_stopping():
            raise InterruptedError("the process ended before the merge did")

    try:
        result = merge_tasks(store, settings, snapshot, tasks, progress=progress)
    except BaseException as reason:
        record_job(job.ended(f"{type(reason).__name__}: {reason}"))
        raise
    record_job(job.ended(message=result.message if result.failed_groups else None))
    _log.info("%s: automatic merge: %s", store.uri, result.message)
    return result.merge_groups > 0

"""Automatic upkeep in Spark: a thread of the driver's JVM asks for one step after the other, and runs the jobs.

merge    the job of the first batch of groups that are due, if there are any and no other process merges the table;
         with the results of a job, the job of the next batch, or how the merge ended
release  ends the claim on the table that `merge` took
purge    purges the table, or returns the job that deletes its splits

Python decides what is due, and commits; the JVM has the session, and runs tasks (see `jobs`). A thread that dies
leaves a claim that ends by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.maintenance import (
    UpkeepPolicy,
    automatic_retention,
    claim_purge,
    due_tasks,
    extend_claim,
    release_claim,
    take_claim,
    total_size,
)
from indextables.runtime import now_ms
from indextables.spark.sql.cluster import Job
from indextables.spark.sql.jobs import (
    WaitingJob,
    WaitingMerge,
    WaitingPurge,
    begin_merge,
    finish_job,
    read_job,
)
from indextables.spark.sql.purging import purge_or_job
from indextables.storage import Store, open_store, table_uri

_DONE: Final[dict[str, Any]] = {"job": None}


def run_upkeep_step(path: str, options: Mapping[str, str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run one step and return the next job, or what there is to say at the end."""
    settings = Settings(options)
    store = open_store(table_uri(path), settings)
    if arguments["step"] == "release":
        release_claim(store, arguments["claim"])
        return dict(_DONE)
    if arguments["step"] == "merge":
        return _merge(store, settings, arguments)
    return _purge(store, settings, arguments)


def _merge(store: Store, settings: Settings, arguments: Mapping[str, Any]) -> dict[str, Any]:
    claim = arguments["claim"]
    if "job" in arguments:
        outcome = _finish(arguments, WaitingMerge)
        if not isinstance(outcome, Job):
            metrics = outcome.column("metrics")[0].as_py()
            return {"job": None, "merged": metrics["merge_groups"], "message": metrics["message"]}
        waiting = read_job(outcome.file)
        assert isinstance(waiting, WaitingMerge), "only a merge has a next batch"
        extend_claim(store, claim, size=total_size(waiting.groups), now=now_ms())
        return outcome.answer() | {"groups": len(waiting.groups), "batch": waiting.batch}
    _, tasks = due_tasks(store, settings)
    if not tasks or not take_claim(store, claim, size=total_size(tasks), now=now_ms(), is_of_process=False):
        return dict(_DONE)
    try:
        # The job that had the claim before may have merged these splits.
        snapshot, tasks = due_tasks(store, settings)
        if not tasks:
            release_claim(store, claim)
            return dict(_DONE)
        # A later round goes on with the claim of the first.
        extend_claim(store, claim, size=total_size(tasks), now=now_ms())
        batch = settings.get(keys.MERGE_BATCH_SIZE)
        return begin_merge(snapshot, tasks, settings, batch).answer() | {"groups": len(tasks), "batch": batch}
    except BaseException:
        release_claim(store, claim)
        raise


def _finish(arguments: Mapping[str, Any], kind: type[WaitingJob[Any, Any]]) -> pa.Table | Job:
    """Finish the job of a step. InputError if it is the job of another statement."""
    file = arguments["job"]
    if not isinstance(read_job(file), kind):
        raise InputError(f"{file[:200]!r} is the job of another statement; upkeep finishes its own jobs only")
    return finish_job(file, arguments["results"])


def _purge(store: Store, settings: Settings, arguments: Mapping[str, Any]) -> dict[str, Any]:
    outcome: pa.Table | Job
    if "job" in arguments:
        outcome = _finish(arguments, WaitingPurge)
    else:
        policy = UpkeepPolicy.of(settings)
        if arguments.get("after_merge") and not claim_purge(store, now_ms(), policy.purge_interval_ms):
            return dict(_DONE)
        hours, log_hours = automatic_retention(store, policy, arguments.get("running_since"))
        outcome = purge_or_job(
            store.uri, settings, hours=hours, log_hours=log_hours, dry_run=None, with_jobs=True
        )
    return outcome.answer() if isinstance(outcome, Job) else dict(_DONE)

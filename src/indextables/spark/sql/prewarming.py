"""PREWARM INDEXTABLES CACHE: the executors that would search a split bring its index into the cache of their machine.

The file of the job names the table, its version and the condition; the tasks are planned from them again, which gives
the same tasks: hosts are assigned by the names of the splits alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson
import pyarrow as pa

from indextables.errors import CommandError, InputError, SchemaError
from indextables.predicates import TRUE
from indextables.spark.sql import job_files
from indextables.spark.sql.cluster import Cluster, Job, TaskOutcome
from indextables.spark.sql.conditions import predicate_of, table_predicate
from indextables.spark.sql.statements import Prewarm
from indextables.spark.sql.tokens import misplaced
from indextables.spark.sql.waiting_prewarm import WaitingPrewarm
from indextables.storage import options_for_tasks
from indextables.table import (
    DEFAULT_THREADS,
    Prewarmed,
    PrewarmTask,
    Table,
    open_table,
    plan_prewarm,
    run_prewarm_task,
)

PREWARM_COLUMNS: Final = pa.schema(
    {
        "host": pa.string(),
        "assigned_host": pa.string(),
        "locality_hits": pa.int32(),
        "locality_misses": pa.int32(),
        "splits_prewarmed": pa.int32(),
        "segments": pa.string(),
        "fields": pa.string(),
        "duration_ms": pa.int64(),
        "status": pa.string(),
        "skipped_fields": pa.string(),
        "retries": pa.int32(),
        "failed_splits_by_host": pa.string(),
        "job_id": pa.string(),
        "async_mode": pa.bool_(),
    }
)
SEGMENTS: Final = "FAST_FIELD,FIELD_NORM,POSITIONS,POSTINGS,TERM_DICT"
"""The parts of an index, by their names in IndexTables for Scala. An index comes into the cache as a whole."""

_TOO_MANY: Final = 1 << 31


def run_prewarm(
    statement: Prewarm, table: Table, sql: str, zone: str, cluster: Cluster, *, with_jobs: bool = False
) -> pa.Table | Job:
    """Prewarm the cache of this machine and return the rows, or return a job for the executors."""
    waiting = _waiting(statement, table, sql, zone, cluster)
    tasks = prewarm_tasks(waiting)
    if not with_jobs or not tasks:
        host = cluster.here.executor.host
        return _table(waiting, [(host, host, run_prewarm_task(task)) for task in tasks])
    file = job_files.save(waiting)
    if file is None:
        raise CommandError("the command is too long for a job")
    description = f"PREWARM INDEXTABLES CACHE {table.uri}"
    return Job(file, description, tuple(task.host for task in tasks))


def prewarm_tasks(waiting: WaitingPrewarm) -> tuple[PrewarmTask, ...]:
    """Return the tasks of a job: the same at every call."""
    table = open_table(waiting.uri, version=waiting.version, settings=waiting.options)
    return plan_prewarm(
        table.snapshot,
        table.settings,
        TRUE if waiting.where is None else table_predicate(waiting.where, table, waiting.zone),
        hosts=waiting.hosts,
        parallelism=waiting.parallelism,
        threads=waiting.threads,
    )


def run_prewarm_job_task(task: PrewarmTask) -> str:
    """Run one task, on any executor, and return its result as text."""
    done = run_prewarm_task(task)
    return orjson.dumps([task.host, done.splits, done.duration_ms, done.failures]).decode()


def finish_prewarm(waiting: WaitingPrewarm, results: Sequence[TaskOutcome]) -> pa.Table:
    """Return a row for each host that has run a task for another or the same host."""
    return _table(waiting, [_decoded(outcome) for outcome in results])


def _waiting(statement: Prewarm, table: Table, sql: str, zone: str, cluster: Cluster) -> WaitingPrewarm:
    predicate_of(statement.where, table, sql, zone)  # an error in it is one of the command, not of a task
    fields = []
    for named in statement.fields:
        try:
            fields.append(table.snapshot.schema.field(named.name).name)
        except SchemaError as reason:
            raise misplaced(str(reason), sql, named.position) from None
    return WaitingPrewarm(
        uri=table.uri,
        version=table.version,
        options=options_for_tasks(table.uri, table.settings),
        where=None if statement.where is None else statement.where.text,
        zone=zone,
        fields=tuple(fields),
        threads=DEFAULT_THREADS if statement.threads is None else statement.threads.number,
        hosts=cluster.hosts,
        parallelism=cluster.parallelism,
    )


def _decoded(outcome: TaskOutcome) -> tuple[str | None, str | None, Prewarmed]:
    try:
        assigned, splits, duration, failures = orjson.loads(outcome.result)
        failed = tuple((str(key), str(reason)) for key, reason in failures)
        done = Prewarmed(int(splits), int(duration), failed)
        if not 0 <= done.splits < _TOO_MANY or not 0 <= done.duration_ms < _TOO_MANY:
            raise ValueError("a number in it is too large")
    except (ValueError, TypeError, OverflowError):
        raise InputError("the result of a task is not the result of a prewarming") from None
    ran_on = None if outcome.place is None else outcome.place.executor.host
    return ran_on, assigned if isinstance(assigned, str) else None, done


def _table(waiting: WaitingPrewarm, results: Sequence[tuple[str | None, str | None, Prewarmed]]) -> pa.Table:
    """Return a row for each pair of a host and the host that its splits are assigned to."""
    pairs = sorted({(ran_on or "", assigned or "") for ran_on, assigned, _ in results})
    rows = []
    for ran_on, assigned in pairs:
        done = [result for on, of, result in results if (on or "", of or "") == (ran_on, assigned)]
        rows.append(_row(waiting, ran_on, assigned, done))
    if not rows:
        rows = [{**_row(waiting, "", "", []), "status": "no_splits"}]
    return pa.Table.from_pylist(rows, schema=PREWARM_COLUMNS)


def _row(waiting: WaitingPrewarm, ran_on: str, assigned: str, done: Sequence[Prewarmed]) -> dict[str, Any]:
    splits = sum(result.splits for result in done)
    failures = [list(failure) for result in done for failure in result.failures]
    is_local = ran_on == assigned or not assigned
    return {
        "host": ran_on or None,
        "assigned_host": assigned or None,
        "locality_hits": splits if is_local else 0,
        "locality_misses": 0 if is_local else splits,
        "splits_prewarmed": splits,
        "segments": SEGMENTS,
        "fields": ",".join(waiting.fields) or "all",
        "duration_ms": max((result.duration_ms for result in done), default=0),
        "status": "success" if not failures else "partial_success" if splits else "failed",
        "skipped_fields": None,
        "retries": 0,
        "failed_splits_by_host": orjson.dumps({ran_on: failures}).decode() if failures else None,
        "job_id": None,
        "async_mode": False,
    }

"""Commands about the processes of a cluster and their caches: each executor runs a task, and the rows are gathered.

The driver answers for itself. Spark runs a task elsewhere if its executor is busy for longer than
`spark.locality.wait`; the rows then say which executor was not reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson
import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError
from indextables.spark.sql import job_files
from indextables.spark.sql.cluster import DRIVER, Cluster, Executor, Job, Place, TaskOutcome
from indextables.spark.sql.statements import Gather, Subject
from indextables.spark.sql.waiting_gather import Row, WaitingGather
from indextables.split import CacheLooks
from indextables.storage import options_for_tasks
from indextables.table import (
    DISK_CACHE_SCHEMA,
    ENVIRONMENT_SCHEMA,
    STORAGE_SCHEMA,
    disk_cache_rows,
    environment_rows,
    flush_caches,
    storage_rows,
)

_UNREACHED: Final = "was busy and not reached"
_PLACE: Final = (pa.field("executor_id", pa.string()), pa.field("host", pa.string()))
SCHEMAS: Final[dict[Subject, pa.Schema]] = {
    "ENVIRONMENT": pa.schema([_PLACE[1], pa.field("role", pa.string()), *ENVIRONMENT_SCHEMA]),
    "STORAGE STATS": pa.schema([*_PLACE, *STORAGE_SCHEMA]),
    "DISK CACHE": pa.schema([*_PLACE, *DISK_CACHE_SCHEMA]),
    "FLUSH DISK CACHE": pa.schema(
        {
            "executor_id": pa.string(),
            "cache_type": pa.string(),
            "status": pa.string(),
            "bytes_freed": pa.int64(),
            "files_deleted": pa.int64(),
            "message": pa.string(),
        }
    ),
    "FLUSH SEARCHER CACHE": pa.schema(
        {
            "cache_type": pa.string(),
            "status": pa.string(),
            "cleared_entries": pa.int64(),
            "message": pa.string(),
        }
    ),
}


@dataclass(frozen=True)
class GatherTask:
    """What one process is to do for a command."""

    subject: Subject
    options: dict[str, str] = field(repr=False)


def run_gather(
    statement: Gather, settings: Settings, cluster: Cluster, *, with_jobs: bool = False
) -> pa.Table | Job:
    """Return the rows of this process, or a job that asks the executors for theirs."""
    subject = statement.subject
    own = _placed(subject, cluster.here, _RUN[subject](settings))
    executors = _asked(subject, cluster) if with_jobs else ()
    if not executors:
        return _table(subject, own, ())
    # The tasks look at their machine, not at a table, so they need no credentials.
    waiting = WaitingGather(subject, options_for_tasks("/", settings), executors, tuple(own))
    file = job_files.save(waiting)
    if file is None:
        raise InputError("there are too many executors for one job")
    return Job(file, f"INDEXTABLES {subject}", tuple(executor.location for executor in executors))


def gather_tasks(waiting: WaitingGather) -> tuple[GatherTask, ...]:
    """Return a task for each executor of the job."""
    return tuple(GatherTask(waiting.subject, dict(waiting.options)) for _ in waiting.executors)


def run_gather_task(task: GatherTask) -> str:
    """Run one task in the process that it has reached, and return its rows as text."""
    return orjson.dumps(_RUN[task.subject](Settings(task.options))).decode()


def finish_gather(waiting: WaitingGather, results: Sequence[TaskOutcome]) -> pa.Table:
    """Return the rows of all processes, and rows that say which executors were not reached."""
    rows, reached = list(waiting.own), set()
    for outcome in results:
        if outcome.place is None:
            raise InputError("the result of a task does not say where it ran")
        executor = outcome.place.executor
        if executor not in reached or waiting.subject.startswith("FLUSH"):
            rows += _placed(waiting.subject, outcome.place, _rows(outcome.result))
        reached.add(executor)
    missing = [executor for executor in dict.fromkeys(waiting.executors) if executor not in reached]
    try:
        return _table(waiting.subject, rows, missing)
    except (pa.ArrowException, KeyError, TypeError, ValueError):
        raise _not_a_result() from None


def _asked(subject: Subject, cluster: Cluster) -> tuple[Executor, ...]:
    """Return the executor of each task.

    In local mode the executor is the driver, on this machine. Open indexes are in the memory of Python processes, of
    which an executor has one for each of its cores.
    """
    if subject != "FLUSH SEARCHER CACHE":
        return tuple(executor for executor in cluster.executors if executor.executor_id != DRIVER)
    cores = math.ceil(cluster.parallelism / max(1, len(cluster.executors)))
    return tuple(executor for executor in cluster.executors for _ in range(cores))


def _rows(result: str) -> list[Row]:
    try:
        rows = orjson.loads(result)
    except ValueError:
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _not_a_result()
    return rows


def _not_a_result() -> InputError:
    return InputError("the result of a task is not that of a command about processes")


def _placed(subject: Subject, place: Place, rows: list[Row]) -> list[Row]:
    """Return the rows of one process with its place, and with the figures that only the JVM has."""
    if subject == "STORAGE STATS":
        rows = storage_rows(place.counts).to_pylist()
    if subject == "DISK CACHE":
        looks = CacheLooks.of(place.counts)
        rows = [{**row, "hits": looks.hits, "misses": looks.misses} for row in rows]
    return [{**row, **_names(place.executor)} for row in rows]


def _names(executor: Executor) -> Row:
    role = "driver" if executor.executor_id == DRIVER else "worker"
    return {"executor_id": executor.executor_id, "host": executor.host, "role": role}


def _table(subject: Subject, rows: Sequence[Row], missing: Sequence[Executor]) -> pa.Table:
    """Return the rows in the columns of the command. An executor that was not reached has a row without figures."""
    if subject == "FLUSH SEARCHER CACHE":
        total = sum(row["cleared_entries"] for row in rows)
        rows = [{"cache_type": "searcher", "cleared_entries": total, **_status(missing)}]
    elif subject == "FLUSH DISK CACHE":
        rows = [{**row, "cache_type": "disk", **_status(())} for row in rows]
        rows += [{**_names(executor), "cache_type": "disk", **_status([executor])} for executor in missing]
    elif subject == "ENVIRONMENT":
        told = {"property_type": "executor", "property_name": "status", "property_value": _UNREACHED}
        rows = [*rows, *({**_names(executor), **told} for executor in missing)]
    else:
        rows = [*rows, *map(_names, missing)]
    schema = SCHEMAS[subject]
    return pa.Table.from_pylist(
        [{name: row.get(name) for name in schema.names} for row in rows], schema=schema
    )


def _status(missing: Sequence[Executor]) -> Row:
    if not missing:
        return {"status": "success", "message": "flushed"}
    names = ", ".join(f"{executor.executor_id} on {executor.host}" for executor in missing)
    return {"status": "partial_success", "message": f"executor {names} {_UNREACHED}; run the command again"}


def _environment(settings: Settings) -> list[Row]:
    return list(environment_rows(settings).to_pylist())


def _disk_cache(settings: Settings) -> list[Row]:
    return list(disk_cache_rows(settings, {}).to_pylist())


def _no_rows(_settings: Settings) -> list[Row]:
    """Return nothing: the figures come with the place, and are of all Python processes of an executor."""
    return []


def _flush_disk(settings: Settings) -> list[Row]:
    flushed = flush_caches(memory=False, settings=settings)
    return [{"bytes_freed": flushed.bytes_freed, "files_deleted": flushed.files_deleted}]


def _flush_searchers(settings: Settings) -> list[Row]:
    return [{"cleared_entries": flush_caches(disk=False, settings=settings).indexes_closed}]


_RUN: Final[dict[Subject, Callable[[Settings], list[Row]]]] = {
    "ENVIRONMENT": _environment,
    "STORAGE STATS": _no_rows,
    "DISK CACHE": _disk_cache,
    "FLUSH DISK CACHE": _flush_disk,
    "FLUSH SEARCHER CACHE": _flush_searchers,
}

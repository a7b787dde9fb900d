"""Commands about the processes of a cluster and their caches: each executor runs a task, and the rows are gathered.

The driver answers for itself. Spark runs a task elsewhere if its executor is busy for longer than
`spark.locality.wait`; the rows then say which executor was not reached.
"""

from __future__ import annotations

import math

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError
from indextables.spark.sql.cluster import DRIVER, Cluster, Executor, Job
from indextables.spark.sql.jobs import WaitingGather
from indextables.spark.sql.process_rows import process_table, report, rows_at
from indextables.spark.sql.statements import Gather, Subject
from indextables.storage import options_for_tasks


def run_gather(
    statement: Gather, settings: Settings, cluster: Cluster, *, with_jobs: bool = False
) -> pa.Table | Job:
    """Return the rows of this process, or a job that asks the executors for theirs."""
    subject = statement.subject
    own = rows_at(cluster.here, subject, report(subject, settings))
    executors = _task_executors(subject, cluster) if with_jobs else ()
    if not executors:
        return process_table(subject, own, ())
    # The tasks look at their machine, not at a table, so they need no credentials.
    file = WaitingGather(subject, options_for_tasks("/", settings), executors, tuple(own)).save()
    if file is None:
        raise InputError("there are too many executors for one job")
    return Job(file, f"INDEXTABLES {subject}", tuple(executor.location for executor in executors))


def _task_executors(subject: Subject, cluster: Cluster) -> tuple[Executor, ...]:
    """Return the executor of each task.

    In local mode the executor is the driver, on this machine. Open indexes are in the memory of Python processes, of
    which an executor has one for each of its cores.
    """
    if subject != "FLUSH SEARCHER CACHE":
        return tuple(executor for executor in cluster.executors if executor.executor_id != DRIVER)
    cores = math.ceil(cluster.parallelism / max(1, len(cluster.executors)))
    return tuple(executor for executor in cluster.executors for _ in range(cores))

"""Jobs: commands whose tasks the JVM runs on Spark's executors. A file on the driver's disk holds each of them.

A module is a kind of job: its document in the file, its tasks, their results, and its end (see `WaitingJob`).
`lifecycle` lists the kinds.
"""

from indextables.spark.sql.jobs.delete_job import WaitingDelete, deleted_where
from indextables.spark.sql.jobs.gather_job import WaitingGather
from indextables.spark.sql.jobs.lifecycle import (
    finish_job,
    job_task_schema,
    job_tasks,
    read_job,
    run_job_task,
)
from indextables.spark.sql.jobs.merge_job import MERGE_COLUMNS, WaitingMerge, begin_merge, merge_row
from indextables.spark.sql.jobs.prewarm_job import PREWARM_COLUMNS, HostResult, WaitingPrewarm
from indextables.spark.sql.jobs.purge_job import PURGE_COLUMNS, WaitingPurge, purge_row
from indextables.spark.sql.jobs.waiting_job import WaitingJob

__all__ = [
    "MERGE_COLUMNS",
    "PREWARM_COLUMNS",
    "PURGE_COLUMNS",
    "HostResult",
    "WaitingDelete",
    "WaitingGather",
    "WaitingJob",
    "WaitingMerge",
    "WaitingPrewarm",
    "WaitingPurge",
    "begin_merge",
    "deleted_where",
    "finish_job",
    "job_task_schema",
    "job_tasks",
    "merge_row",
    "purge_row",
    "read_job",
    "run_job_task",
]

"""The automatic merges of this process, running and ended: what DESCRIBE INDEXTABLES MERGE JOBS shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.runtime import CacheSpec, current, now_ms

RUNNING: Final = "RUNNING"
COMPLETED: Final = "COMPLETED"
FAILED: Final = "FAILED"
STATUSES: Final = (RUNNING, COMPLETED, FAILED)

MERGE_JOBS_SCHEMA: Final = pa.schema(
    {
        "job_id": pa.string(),
        "table_path": pa.string(),
        "status": pa.string(),
        "total_groups": pa.int64(),
        "completed_groups": pa.int64(),
        "total_batches": pa.int64(),
        "completed_batches": pa.int64(),
        "progress_pct": pa.float64(),
        "duration_ms": pa.int64(),
        "error_message": pa.string(),
    }
)

_JOBS: Final = CacheSpec["str", "MergeJob"]("merge jobs", entries=100, after_fork="drop")


@dataclass(frozen=True)
class MergeJob:
    """One automatic merge. It commits its groups in batches of `batch_size`. `ended_ms` is None while it runs."""

    job_id: str
    table_path: str
    started_ms: int
    batch_size: int
    total_groups: int
    completed_groups: int = 0
    status: str = RUNNING
    ended_ms: int | None = None
    error_message: str | None = None

    def ended(self, failure: str | None = None, *, message: str | None = None) -> MergeJob:
        """Return the job at its end: completed, or failed for a reason.

        `message` says which groups of a completed job were not merged.
        """
        status = COMPLETED if failure is None else FAILED
        return dataclasses.replace(
            self, status=status, ended_ms=now_ms(), error_message=message if failure is None else failure
        )


def record_job(job: MergeJob) -> None:
    """Remember a job as it is now. The oldest of many is forgotten."""
    current().cache(_JOBS).put(job.job_id, job)


def recorded_jobs(uri: str | None = None) -> list[MergeJob]:
    """Return the jobs of a table, or of all tables, of this process."""
    cache = current().cache(_JOBS)
    jobs = [job for job in map(cache.get, cache.keys()) if job is not None]
    return [job for job in jobs if uri in (None, job.table_path)]


def jobs_table(jobs: Iterable[MergeJob]) -> pa.Table:
    """Return jobs as rows, the last to begin first."""
    now = now_ms()
    rows = [
        {
            "job_id": job.job_id,
            "table_path": job.table_path,
            "status": job.status,
            "total_groups": job.total_groups,
            "completed_groups": job.completed_groups,
            "total_batches": -(-job.total_groups // job.batch_size),
            "completed_batches": -(-job.completed_groups // job.batch_size)
            if job.status == COMPLETED
            else job.completed_groups // job.batch_size,
            "progress_pct": 100.0 * job.completed_groups / max(job.total_groups, 1),
            "duration_ms": max((now if job.ended_ms is None else job.ended_ms) - job.started_ms, 0),
            "error_message": job.error_message,
        }
        for job in sorted(jobs, key=lambda job: job.started_ms, reverse=True)
    ]
    return pa.Table.from_pylist(rows, schema=MERGE_JOBS_SCHEMA)

"""DESCRIBE INDEXTABLES MERGE JOBS: the automatic merges of this process, and those that the JVM of the driver runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pyarrow as pa

from indextables.errors import InputError
from indextables.maintenance import STATUSES, MergeJob, jobs_table, recorded_jobs
from indextables.spark.sql.json_values import as_text, as_whole


def describe_merge_jobs(of_jvm: Sequence[str]) -> pa.Table:
    """Return one row for each job. InputError if a text is not a job of the JVM.

    >>> describe_merge_jobs([]).column_names[:3]
    ['job_id', 'table_path', 'status']
    """
    return jobs_table([*recorded_jobs(), *map(_job, of_jvm)])


def _job(text: str) -> MergeJob:
    try:
        fields = orjson.loads(text)
        return MergeJob(
            job_id=as_text(fields["job_id"]),
            table_path=as_text(fields["table_path"]),
            started_ms=_count(fields["started_ms"]),
            batch_size=max(_count(fields["batch_size"]), 1),
            total_groups=_count(fields["total_groups"]),
            completed_groups=_count(fields["completed_groups"]),
            status=STATUSES[STATUSES.index(fields["status"])],
            ended_ms=None if fields["ended_ms"] is None else _count(fields["ended_ms"]),
            error_message=None if fields["error_message"] is None else as_text(fields["error_message"]),
        )
    except (ValueError, KeyError, TypeError) as reason:
        raise InputError(f"not a merge job of the Spark jar: {reason}") from None


def _count(value: Any) -> int:
    if not 0 <= as_whole(value) < 1 << 62:
        raise TypeError("a value in it is not a number of this size")
    return int(value)

"""DESCRIBE INDEXTABLES MERGE JOBS: the automatic merges of this process, and those that the JVM of the driver runs."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import pyarrow as pa

from indextables.errors import InputError
from indextables.maintenance import STATUSES, MergeJob, jobs_table, recorded_jobs
from indextables.spark.sql.json_values import as_count, as_one_of, as_optional, as_text


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
            started_ms=as_count(fields["started_ms"]),
            batch_size=max(as_count(fields["batch_size"]), 1),
            total_groups=as_count(fields["total_groups"]),
            completed_groups=as_count(fields["completed_groups"]),
            status=as_one_of(STATUSES, fields["status"]),
            ended_ms=as_optional(as_count, fields["ended_ms"]),
            error_message=as_optional(as_text, fields["error_message"]),
        )
    except (ValueError, KeyError, TypeError) as reason:
        raise InputError(f"not a merge job of the Spark jar: {reason}") from None

"""What upkeep a write or a delete may make due: the JVM decides it when it knows how many tasks have written."""

from __future__ import annotations

from indextables.maintenance import UpkeepPolicy
from indextables.spark.formats.protocol import Answer
from indextables.table import Table


def upkeep_after_write(policy: UpkeepPolicy, base_version: int | None, base_files: int) -> Answer:
    """Return how many tasks must have written for a merge to be due, or null, and whether a purge is due."""
    version = 0 if base_version is None else base_version + 1
    missing = None if policy.min_splits is None else max(policy.min_splits - base_files, 0)
    if missing == 0 and not policy.may_merge(files=base_files, version=version):
        missing = None
    return {
        "merge_tasks": missing,
        "purge": policy.purge_due(before=base_version, version=version),
        "purge_after_merge": policy.after_merge,
        "asynchronous": policy.is_asynchronous,
    }


def upkeep_after_delete(table: Table, policy: UpkeepPolicy) -> Answer:
    """Return what may be due after a delete: `table` is the table after it. A delete writes no split."""
    due = upkeep_after_write(policy, table.version - 1, table.snapshot.files.expected)
    return due if due["merge_tasks"] == 0 else due | {"merge_tasks": None}

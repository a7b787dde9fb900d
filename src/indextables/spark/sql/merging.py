"""MERGE SPLITS and OPTIMIZE: on the driver alone, or with the groups distributed to Spark's executors.

As in a purge, Python on the driver saves the tasks of a batch to a file and asks the JVM to run them. With their
results it commits the batch, and asks for the next one until none is left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import CommandError, InputError
from indextables.log import Snapshot, load_snapshot
from indextables.maintenance import (
    Merged,
    MergedGroup,
    MergeOptions,
    MergeTask,
    add_committed,
    check_partition_condition,
    commit_merge,
    empty_result,
    merge_small_splits,
    plan_newest,
)
from indextables.predicates import Predicate
from indextables.runtime import now_ms
from indextables.spark.sql import job_files
from indextables.spark.sql.cluster import Cluster, Job
from indextables.spark.sql.conditions import predicate_of
from indextables.spark.sql.statements import Amount, MergeSplits
from indextables.spark.sql.tokens import misplaced
from indextables.spark.sql.waiting_merge import WaitingMerge
from indextables.storage import open_store, options_for_tasks, scratch_parent
from indextables.table import Table

METRICS: Final = pa.struct(
    {
        "status": pa.string(),
        "merged_files": pa.int64(),
        "merge_groups": pa.int64(),
        "original_size_bytes": pa.int64(),
        "merged_size_bytes": pa.int64(),
        "message": pa.string(),
    }
)
MERGE_COLUMNS: Final = pa.schema(
    {
        "table_path": pa.string(),
        "metrics": METRICS,
        "temp_directory_path": pa.string(),
        "heap_size_bytes": pa.int64(),
    }
)


def run_merge(
    statement: MergeSplits, table: Table, sql: str, zone: str, cluster: Cluster, *, with_jobs: bool = False
) -> pa.Table | Job:
    """Merge and return the row, or return a job if the caller can run jobs and there is work to do."""
    settings = table.settings
    options = _options(statement, table, sql, zone)
    store = open_store(table.uri, settings)
    if not with_jobs:
        return _row(merge_small_splits(store, settings, options), settings)
    snapshot, tasks = plan_newest(store, options, settings, now=now_ms())
    if not tasks:
        return _row(empty_result(snapshot), settings)
    return save_merge(snapshot, tasks, settings, _batch_size(settings, cluster))


def save_merge(snapshot: Snapshot, tasks: tuple[MergeTask, ...], settings: Settings, batch: int) -> Job:
    """Save a merge whose first batch of tasks is to run, and return its job."""
    return _job(
        WaitingMerge(
            uri=snapshot.uri,
            options=options_for_tasks(snapshot.uri, settings),
            metadata=tasks[0].metadata,
            tasks=tasks,
            batch=batch,
            total=len(tasks),
            result=empty_result(snapshot),
        )
    )


def finish_batch(waiting: WaitingMerge, groups: Sequence[MergedGroup]) -> pa.Table | Job:
    """Commit the batch whose tasks have run. Return the row of the merge, or the job of the next batch."""
    remaining = waiting.tasks[waiting.batch :]
    settings = Settings(waiting.options)
    store = open_store(waiting.uri, settings)
    base = load_snapshot(store, settings=settings)
    if any(group.add is not None and group.add.path in base.files for group in groups):
        raise InputError("the result of a task names a split that is in the table already")
    committed = commit_merge(store, groups, metadata=waiting.metadata, base=base, settings=settings)
    failures = [group.failure for group in groups if group.failure is not None]
    result = add_committed(waiting.result, committed, failures)
    if not remaining:
        if result.failed_groups and not result.merge_groups:
            raise CommandError(f"nothing was merged: {result.message}")
        return _row(result, settings)
    return _job(dataclasses.replace(waiting, tasks=remaining, result=result))


def _job(waiting: WaitingMerge) -> Job:
    """Return the job of the next batch. Its description is the progress that Spark's UI shows."""
    file = job_files.save(waiting)
    if file is None:
        raise CommandError("this merge has too many splits for one command; use WHERE or MAX DEST SPLITS")
    merged = waiting.total - len(waiting.tasks)
    last = min(merged + waiting.batch, waiting.total)
    return Job(file, f"MERGE SPLITS {waiting.uri}: new splits {merged + 1} to {last} of {waiting.total}")


def _batch_size(settings: Settings, cluster: Cluster) -> int:
    """Return the groups of a batch: at least one for each core, so that no core of a large cluster waits."""
    if settings.is_set(keys.MERGE_BATCH_SIZE):
        return settings.get(keys.MERGE_BATCH_SIZE)
    return max(settings.get(keys.MERGE_BATCH_SIZE), cluster.parallelism)


def _options(statement: MergeSplits, table: Table, sql: str, zone: str) -> MergeOptions:
    def check(predicate: Predicate) -> None:
        check_partition_condition(table.snapshot, predicate, "MERGE SPLITS")

    options = MergeOptions(only_deleted=statement.only_deleted)
    if statement.where is not None:
        predicate = predicate_of(statement.where, table, sql, zone, check)
        options = dataclasses.replace(options, where=predicate)
    size, dest, sources = statement.target_size, statement.max_dest_splits, statement.max_source_splits
    with _errors_at(size, sql):
        options = options if size is None else dataclasses.replace(options, target_size=size.number)
    with _errors_at(dest, sql):
        options = options if dest is None else dataclasses.replace(options, max_dest_splits=dest.number)
    with _errors_at(sources, sql):
        return options if sources is None else dataclasses.replace(options, max_source_splits=sources.number)


@contextmanager
def _errors_at(amount: Amount | None, sql: str) -> Iterator[None]:
    """Show where in the command the number is that an error is about."""
    try:
        yield
    except InputError as reason:
        raise misplaced(str(reason), sql, 0 if amount is None else amount.position) from None


def _row(done: Merged, settings: Settings) -> pa.Table:
    row = {
        "table_path": done.table_path,
        "metrics": {column.name: getattr(done, column.name) for column in METRICS},
        "temp_directory_path": str(scratch_parent(settings)),
        "heap_size_bytes": settings.get(keys.HEAP_SIZE),
    }
    return pa.Table.from_pylist([row], schema=MERGE_COLUMNS)

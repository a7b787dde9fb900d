"""MERGE SPLITS and OPTIMIZE: on the driver alone, or with the groups distributed to Spark's executors.

As in a purge, Python on the driver saves the tasks of a batch to a file and asks the JVM to run them. With their
results it commits the batch, and asks for the next one until none is left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.maintenance import (
    MergeOptions,
    check_partition_condition,
    empty_result,
    merge_small_splits,
    plan_newest,
)
from indextables.predicates import Predicate
from indextables.runtime import now_ms
from indextables.spark.sql.cluster import Cluster, Job
from indextables.spark.sql.conditions import predicate_of
from indextables.spark.sql.jobs import begin_merge, merge_row
from indextables.spark.sql.statements import Amount, MergeSplits
from indextables.spark.sql.tokens import misplaced
from indextables.storage import open_store
from indextables.table import Table


def run_merge(
    statement: MergeSplits, table: Table, sql: str, zone: str, cluster: Cluster, *, with_jobs: bool = False
) -> pa.Table | Job:
    """Merge and return the row, or return a job if the caller can run jobs and there is work to do."""
    settings = table.settings
    options = _options(statement, table, sql, zone)
    store = open_store(table.uri, settings)
    if not with_jobs:
        return merge_row(merge_small_splits(store, settings, options), settings)
    snapshot, tasks = plan_newest(store, options, settings, now=now_ms())
    if not tasks:
        return merge_row(empty_result(snapshot), settings)
    return begin_merge(snapshot, tasks, settings, _batch_size(settings, cluster))


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

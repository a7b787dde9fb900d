"""Run the commands: each calls the function that does the work and returns the result as rows.

No rule of the table format is here. A command either runs completely or raises. The columns are
those of the documentation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import PredicateError
from indextables.log.snapshots import invalidate_cache
from indextables.maintenance import component_sizes, drop_partitions, repair, upgrade_and_checkpoint
from indextables.spark.sql.cluster import Cluster, Job
from indextables.spark.sql.conditions import predicate_of
from indextables.spark.sql.gathering import run_gather
from indextables.spark.sql.grammar import parse_command
from indextables.spark.sql.merge_job_description import describe_merge_jobs
from indextables.spark.sql.merging import run_merge
from indextables.spark.sql.prewarming import run_prewarm
from indextables.spark.sql.purging import run_purge
from indextables.spark.sql.statements import (
    Checkpoint,
    DescribeComponents,
    DescribeHistory,
    DescribeLog,
    DescribeMergeJobs,
    DescribeSkipping,
    DescribeState,
    DropPartitions,
    EmptyTrash,
    Gather,
    InvalidateCache,
    MergeSplits,
    Other,
    Prewarm,
    Purge,
    RepairLog,
    Restore,
    TableName,
    TruncateTimeTravel,
)
from indextables.spark.sql.tokens import misplaced
from indextables.spark.sql.versions import describe_history, run_restore
from indextables.storage import open_store
from indextables.table import Table, figures_in, open_table, skipping_figures, skipping_rows

_NO_CLUSTER: Final = Cluster()
_TEXT: Final = pa.string()
_LONG: Final = pa.int64()
_INT: Final = pa.int32()
_TRUTH: Final = pa.bool_()
_MOMENT: Final = pa.timestamp("ms", tz="UTC")

STATE_COLUMNS: Final = pa.schema(
    {
        "table_path": _TEXT,
        "format": _TEXT,
        "version": _LONG,
        "num_files": _LONG,
        "num_manifests": _INT,
        "num_tombstones": _INT,
        "tombstone_ratio": pa.float64(),
        "total_bytes": _LONG,
        "needs_compaction": _TRUTH,
        "status": _TEXT,
        "created_at": _MOMENT,
        "protocol_version": _INT,
    }
)
TRUNCATE_COLUMNS: Final = pa.schema(
    {
        "table_path": _TEXT,
        "status": _TEXT,
        "checkpoint_version": _LONG,
        "versions_deleted": _LONG,
        "checkpoints_deleted": _LONG,
        "files_preserved": _LONG,
        "message": _TEXT,
    }
)
DROP_COLUMNS: Final = pa.schema(
    {
        "table_path": _TEXT,
        "status": _TEXT,
        "partitions_dropped": _LONG,
        "splits_removed": _LONG,
        "total_size_bytes": _LONG,
        "message": _TEXT,
    }
)
CHECKPOINT_COLUMNS: Final = pa.schema(
    {
        "table_path": _TEXT,
        "status": _TEXT,
        "checkpoint_version": _LONG,
        "num_actions": _LONG,
        "num_files": _LONG,
        "protocol_version": _LONG,
        "is_multi_part": _TRUTH,
    }
)
CACHE_COLUMNS: Final = pa.schema(
    {
        "table_path": _TEXT,
        "result": _TEXT,
        "cache_hits_before": _LONG,
        "cache_misses_before": _LONG,
        "hit_rate_before": _TEXT,
    }
)
REPAIR_COLUMNS: Final = pa.schema(
    {
        "source_path": _TEXT,
        "target_path": _TEXT,
        "source_version": _LONG,
        "total_splits": _LONG,
        "valid_splits": _LONG,
        "missing_splits": _LONG,
        "status": _TEXT,
    }
)


def run_command(
    sql: str,
    options: Mapping[str, str],
    located: str | None = None,
    *,
    with_jobs: bool = False,
    zone: str = "UTC",
    merge_jobs: Sequence[str] = (),
    cluster: Cluster = _NO_CLUSTER,
) -> pa.Table | TableName | EmptyTrash | Job:
    """Run a command and return its rows, or a `TableName` if Spark must look it up first (nothing has run then).

    `EmptyTrash` is returned as it is: Spark knows where the trash is.

    The second call passes the table's location as `located`. With `with_jobs`, a command may return a `Job` to run (see
    `jobs`). Times in a condition that name no time zone are in `zone`. `merge_jobs` are those of the JVM.

    >>> import indextables as it
    >>> it.write("memory://doc-sql", pa.table({"n": [1]}))
    0
    >>> run_command("CHECKPOINT INDEXTABLES 'memory://doc-sql'", {}).column("num_files").to_pylist()
    [1]
    >>> run_command("CHECKPOINT INDEXTABLES web.logs", {})
    TableName(parts=('web', 'logs'))
    """
    statement = parse_command(sql)
    if isinstance(statement, DescribeMergeJobs):
        return describe_merge_jobs(merge_jobs)
    if isinstance(statement, EmptyTrash):
        return statement
    table = None if isinstance(statement, RepairLog) else statement.table
    if isinstance(table, TableName):
        if located is None:
            return table
        table = located
    match statement:
        case Gather():
            return run_gather(statement, Settings(options), cluster, with_jobs=with_jobs)
        case Purge() | MergeSplits() | Prewarm():
            assert table is not None, "a job is about a table"
            opened = open_table(table, settings=options)
        case _:
            return _run(statement, table, options, sql, zone, cluster)
    match statement:
        case Purge():
            return run_purge(statement, opened.uri, opened.settings, sql, with_jobs=with_jobs)
        case MergeSplits():
            return run_merge(statement, opened, sql, zone, cluster, with_jobs=with_jobs)
        case Prewarm():
            return run_prewarm(statement, opened, sql, zone, cluster, with_jobs=with_jobs)


def _run(
    statement: Other, table: str | None, options: Mapping[str, str], sql: str, zone: str, cluster: Cluster
) -> pa.Table:
    match statement:
        case RepairLog():
            done = repair(statement.source, statement.target, Settings(options))
            return _row(REPAIR_COLUMNS, dataclasses.asdict(done))
        case InvalidateCache():
            return _invalidate(table, options)
        case DescribeSkipping():
            return _skipping(None if table is None else open_table(table, settings=options).uri, cluster)
    assert table is not None, "every other command has a table"
    opened = open_table(table, settings=options)
    match statement:
        case DescribeLog():
            return opened.describe_log(include_all=statement.include_all)
        case DescribeHistory():
            return describe_history(opened, statement)
        case Restore():
            return run_restore(opened, statement, sql, zone)
        case DescribeComponents():
            return _components(opened, statement, sql, zone)
        case DescribeState():
            return _row(STATE_COLUMNS, dataclasses.asdict(opened.describe_state()))
        case TruncateTimeTravel():
            truncated = opened.truncate_time_travel(dry_run=statement.dry_run)
            return _row(TRUNCATE_COLUMNS, dataclasses.asdict(truncated))
        case Checkpoint():
            return _checkpoint(opened)
        case DropPartitions():
            return _drop(opened, statement, sql, zone)


def _skipping(uri: str | None, cluster: Cluster) -> pa.Table:
    """Return the figures of all Python processes that plan for the driver; outside Spark, of this process."""
    driver = cluster.driver
    return skipping_rows(skipping_figures() if driver is None else figures_in(driver.counts), uri)


def _components(table: Table, statement: DescribeComponents, sql: str, zone: str) -> pa.Table:
    predicate = predicate_of(statement.where, table, sql, zone)
    return component_sizes(open_store(table.uri, table.settings), table.snapshot, predicate)


def _drop(table: Table, statement: DropPartitions, sql: str, zone: str) -> pa.Table:
    predicate = predicate_of(statement.where, table, sql, zone)
    store = open_store(table.uri, table.settings)
    try:
        _, dropped = drop_partitions(store, table.snapshot, predicate, table.settings)
    except PredicateError as reason:
        raise misplaced(str(reason), sql, statement.where.position) from None
    return _row(DROP_COLUMNS, dataclasses.asdict(dropped))


def _checkpoint(table: Table) -> pa.Table:
    state = upgrade_and_checkpoint(open_store(table.uri, table.settings), table.settings)
    return _row(
        CHECKPOINT_COLUMNS,
        {
            "table_path": table.uri,
            "status": "SUCCESS",
            "checkpoint_version": state.state_version,
            "num_actions": state.num_actions,
            "num_files": state.num_files,
            "protocol_version": state.protocol_version,
            "is_multi_part": state.parts is not None,
        },
    )


def _invalidate(table: str | None, options: Mapping[str, str]) -> pa.Table:
    if table is None:
        uri, figures = "GLOBAL", invalidate_cache()
    else:
        opened = open_table(table, settings=options)
        uri, figures = opened.uri, opened.invalidate_cache()
    rate = figures.hit_rate
    return _row(
        CACHE_COLUMNS,
        {
            "table_path": uri,
            "result": "Transaction log cache invalidated",
            "cache_hits_before": figures.hits,
            "cache_misses_before": figures.misses,
            "hit_rate_before": "N/A" if rate is None else f"{rate:.1%}",
        },
    )


def _row(schema: pa.Schema, values: Mapping[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([dict(values)], schema=schema)

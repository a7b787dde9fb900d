"""Tables: open, write, read and search them, in this process or in distributed tasks."""

from indextables.table.aggregates import ColumnStats
from indextables.table.api import open_table, write_table
from indextables.table.append_rules import check_partitioning
from indextables.table.changes import ChangeSet
from indextables.table.conditions import ANY_FIELDS, parse_condition
from indextables.table.driver_answers import answer_on_driver
from indextables.table.handle import Table
from indextables.table.inspection import (
    DISK_CACHE_SCHEMA,
    ENVIRONMENT_SCHEMA,
    STORAGE_SCHEMA,
    FlushedCaches,
    data_skipping_stats,
    disk_cache_rows,
    disk_cache_stats,
    environment,
    environment_rows,
    flush_caches,
    storage_rows,
    storage_stats,
)
from indextables.table.leases import SPLITS_SEARCHED
from indextables.table.prewarming import (
    MAX_THREADS,
    Prewarmed,
    PrewarmTask,
    plan_prewarm,
    run_prewarm_task,
)
from indextables.table.scan import (
    COUNT_COLUMN,
    ROWS_FETCHED,
    ScanPlan,
    ScanRequest,
    ScanTask,
    SplitRef,
    check_predicate,
    plan_scan,
    run_scan_task,
    scan_schema,
)
from indextables.table.skipping import SKIPPING_SCHEMA, record_scan, skipping_figures, skipping_table
from indextables.table.write import (
    TaskResult,
    WriteMode,
    WritePlan,
    abort_write,
    build_write_plan,
    commit_write,
    distribute_rows,
    find_snapshot,
    parse_mode,
    plan_write,
    run_write_task,
)

__all__ = [
    "ANY_FIELDS",
    "COUNT_COLUMN",
    "DISK_CACHE_SCHEMA",
    "ENVIRONMENT_SCHEMA",
    "MAX_THREADS",
    "ROWS_FETCHED",
    "SKIPPING_SCHEMA",
    "SPLITS_SEARCHED",
    "STORAGE_SCHEMA",
    "ChangeSet",
    "ColumnStats",
    "FlushedCaches",
    "PrewarmTask",
    "Prewarmed",
    "ScanPlan",
    "ScanRequest",
    "ScanTask",
    "SplitRef",
    "Table",
    "TaskResult",
    "WriteMode",
    "WritePlan",
    "abort_write",
    "answer_on_driver",
    "build_write_plan",
    "check_partitioning",
    "check_predicate",
    "commit_write",
    "data_skipping_stats",
    "disk_cache_rows",
    "disk_cache_stats",
    "distribute_rows",
    "environment",
    "environment_rows",
    "find_snapshot",
    "flush_caches",
    "open_table",
    "parse_condition",
    "parse_mode",
    "plan_prewarm",
    "plan_scan",
    "plan_write",
    "record_scan",
    "run_prewarm_task",
    "run_scan_task",
    "run_write_task",
    "scan_schema",
    "skipping_figures",
    "skipping_table",
    "storage_rows",
    "storage_stats",
    "write_table",
]

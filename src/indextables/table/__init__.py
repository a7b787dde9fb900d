"""Tables: open, write, read and search them, in this process or in distributed tasks."""

from indextables.table.api import open_table, write_table
from indextables.table.changes import ChangeSet
from indextables.table.driver_answers import answer_on_driver
from indextables.table.handle import Table
from indextables.table.scan import (
    COUNT_COLUMN,
    ScanPlan,
    ScanRequest,
    ScanTask,
    SplitRef,
    check_predicate,
    plan_scan,
    run_scan_task,
    scan_schema,
)
from indextables.table.write import (
    TaskResult,
    WriteMode,
    WritePlan,
    abort_write,
    build_write_plan,
    commit_write,
    find_snapshot,
    parse_mode,
    plan_write,
    run_write_task,
)

__all__ = [
    "COUNT_COLUMN",
    "ChangeSet",
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
    "check_predicate",
    "commit_write",
    "find_snapshot",
    "open_table",
    "parse_mode",
    "plan_scan",
    "plan_write",
    "run_scan_task",
    "run_write_task",
    "scan_schema",
    "write_table",
]

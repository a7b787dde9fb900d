"""Tables: opening, writing, reading and searching them, here or in tasks elsewhere."""

from indextables.table.changes import ChangeSet
from indextables.table.handle import Table, open_table, write_table
from indextables.table.nearby import answer_nearby
from indextables.table.scan import (
    COUNT_COLUMN,
    ScanPlan,
    ScanRequest,
    ScanTask,
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
    as_mode,
    commit_write,
    existing,
    plan_write,
    run_write_task,
)

__all__ = [
    "COUNT_COLUMN",
    "ChangeSet",
    "ScanPlan",
    "ScanRequest",
    "ScanTask",
    "Table",
    "TaskResult",
    "WriteMode",
    "WritePlan",
    "abort_write",
    "answer_nearby",
    "as_mode",
    "check_predicate",
    "commit_write",
    "existing",
    "open_table",
    "plan_scan",
    "plan_write",
    "run_scan_task",
    "run_write_task",
    "scan_schema",
    "write_table",
]

"""Everything that changes a table: writes, deletes, updates, upserts and changes of columns."""

from indextables.table.writes.alterations import Alteration, alter_table
from indextables.table.writes.append_rules import append_schema, check_partitioning
from indextables.table.writes.input_rows import arrow_stream
from indextables.table.writes.replacements import Replacement
from indextables.table.writes.row_deletes import (
    RowChange,
    TaskDeletes,
    commit_deletes,
    delete_where,
    discard_deletes,
    plan_delete,
    repeat_after_merges,
    run_delete_task,
    whole_files,
)
from indextables.table.writes.row_images import are_updates
from indextables.table.writes.row_updates import (
    STATEMENTS,
    RowUpdatePlan,
    UpdatedRows,
    abort_row_updates,
    commit_row_updates,
    run_update_task,
)
from indextables.table.writes.upserts import upsert_rows
from indextables.table.writes.write import (
    TaskResult,
    abort_write,
    commit_write,
    publish_write,
    run_write_task,
    write_rows,
)
from indextables.table.writes.write_plan import (
    WriteMode,
    WritePlan,
    distribute_rows,
    find_snapshot,
    parse_mode,
    plan_write,
    task_options,
)

__all__ = [
    "STATEMENTS",
    "Alteration",
    "Replacement",
    "RowChange",
    "RowUpdatePlan",
    "TaskDeletes",
    "TaskResult",
    "UpdatedRows",
    "WriteMode",
    "WritePlan",
    "abort_row_updates",
    "abort_write",
    "alter_table",
    "append_schema",
    "are_updates",
    "arrow_stream",
    "check_partitioning",
    "commit_deletes",
    "commit_row_updates",
    "commit_write",
    "delete_where",
    "discard_deletes",
    "distribute_rows",
    "find_snapshot",
    "parse_mode",
    "plan_delete",
    "plan_write",
    "publish_write",
    "repeat_after_merges",
    "run_delete_task",
    "run_update_task",
    "run_write_task",
    "task_options",
    "upsert_rows",
    "whole_files",
    "write_rows",
]

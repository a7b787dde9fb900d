"""Maintenance: operations that keep a table in shape. They change the log and which files are live, never the rows.

Each module is one operation, which `log` and its packages carry out:

- `partitions`, `restores`, `upgrade`: commits that change the table as a whole;
- `merge_plan`, `merges`, `merge_commits`: fewer and larger splits with the same rows;
- `history_cleanup`, `purges`: deleting what is no longer needed;
- `upkeep`, with `upkeep_policy`, `upkeep_claims` and `merge_jobs`: merges and purges that writes start;
- `repairs`, with `log_recovery` and `split_recovery`: a new log in place of a damaged or lost one;
- `log_description`, `state_description`, `component_description`: what the log, the newest state and the splits hold;
- `health`: what is wrong, and the command that helps.
"""

from indextables.maintenance.component_description import COMPONENT_SCHEMA, component_sizes
from indextables.maintenance.health import Finding, check_health
from indextables.maintenance.history_cleanup import (
    CleanedVersions,
    Truncated,
    clean_versions,
    truncate_time_travel,
)
from indextables.maintenance.log_description import LOG_SCHEMA, describe_log
from indextables.maintenance.merge_commits import CommittedMerge, MergedGroup, commit_merge, discard_groups
from indextables.maintenance.merge_jobs import (
    MERGE_JOBS_SCHEMA,
    STATUSES,
    MergeJob,
    jobs_table,
    recorded_jobs,
)
from indextables.maintenance.merge_plan import (
    MergeOptions,
    MergeTask,
    SourceSplit,
    due_splits,
    plan_due_merge,
    plan_merge,
    total_size,
)
from indextables.maintenance.merges import (
    GroupMerger,
    Merged,
    add_committed,
    empty_result,
    failure_of,
    merge_small_splits,
    plan_newest,
    run_merge_task,
)
from indextables.maintenance.partitions import DroppedPartitions, check_partition_condition, drop_partitions
from indextables.maintenance.purges import (
    PreparedPurge,
    Purged,
    finish_purge,
    prepare_purge,
    purge,
    retention_hours,
)
from indextables.maintenance.repairs import Repaired, repair
from indextables.maintenance.restores import restore
from indextables.maintenance.state_description import StateDescription, describe_state
from indextables.maintenance.upgrade import renormalize_schemas, upgrade_and_checkpoint, upgrade_protocol
from indextables.maintenance.upkeep import (
    automatic_retention,
    change_with_upkeep,
    due_tasks,
    running_write,
    start_upkeep,
    start_upkeep_at,
    wait_for_upkeep,
)
from indextables.maintenance.upkeep_claims import claim_purge, extend_claim, release_claim, take_claim
from indextables.maintenance.upkeep_policy import UpkeepPolicy

__all__ = [
    "COMPONENT_SCHEMA",
    "LOG_SCHEMA",
    "MERGE_JOBS_SCHEMA",
    "STATUSES",
    "CleanedVersions",
    "CommittedMerge",
    "DroppedPartitions",
    "Finding",
    "GroupMerger",
    "MergeJob",
    "MergeOptions",
    "MergeTask",
    "Merged",
    "MergedGroup",
    "PreparedPurge",
    "Purged",
    "Repaired",
    "SourceSplit",
    "StateDescription",
    "Truncated",
    "UpkeepPolicy",
    "add_committed",
    "automatic_retention",
    "change_with_upkeep",
    "check_health",
    "check_partition_condition",
    "claim_purge",
    "clean_versions",
    "commit_merge",
    "component_sizes",
    "describe_log",
    "describe_state",
    "discard_groups",
    "drop_partitions",
    "due_splits",
    "due_tasks",
    "empty_result",
    "extend_claim",
    "failure_of",
    "finish_purge",
    "jobs_table",
    "merge_small_splits",
    "plan_due_merge",
    "plan_merge",
    "plan_newest",
    "prepare_purge",
    "purge",
    "recorded_jobs",
    "release_claim",
    "renormalize_schemas",
    "repair",
    "restore",
    "retention_hours",
    "run_merge_task",
    "running_write",
    "start_upkeep",
    "start_upkeep_at",
    "take_claim",
    "total_size",
    "truncate_time_travel",
    "upgrade_and_checkpoint",
    "upgrade_protocol",
    "wait_for_upkeep",
]

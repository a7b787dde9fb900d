"""Clean-up of the log and of splits: what may be deleted, and its safe deletion next to readers and writers.

Read the modules in this order:

- `validation`: states and checkpoints that can replace the versions before them;
- `version_retention`: how long version files are kept, and the one way to delete them;
- `state_retention`: how long states and manifests are kept;
- `garbage`: deleting expired states, and manifests that no state names;
- `reachable`: the splits that any readable version needs;
- `orphans`: the splits that none needs, and their deletion in batches.

What protects writers that commit at the same time is in other packages: the watermark (`versions.watermark`) for
version files, and the purge fence (`changes.purge_fence`) for splits.
"""

from indextables.log.cleanup.garbage import (
    Collected,
    check_states,
    collect,
    collect_if_due,
    collect_manifests,
    delete_states,
    expired_states,
    read_log_files,
)
from indextables.log.cleanup.orphans import (
    DELETE_BATCH,
    Deleted,
    DeleteTask,
    abandoned_files,
    delete_files,
    delete_in_process,
    delete_tasks,
    is_data_key,
    is_split_key,
    orphaned_splits,
    run_delete_task,
    total_deleted,
)
from indextables.log.cleanup.reachable import (
    ReachableFiles,
    files_named_since,
    missing_files,
    reachable_files,
)
from indextables.log.cleanup.state_retention import (
    Base,
    StateRetention,
    expired_bases,
    named_manifests,
    orphaned_manifests,
)
from indextables.log.cleanup.validation import newest_valid_checkpoint, validate_checkpoint, validate_state
from indextables.log.cleanup.version_retention import (
    Expiry,
    clean_if_due,
    delete_versions,
    expired_versions,
    oldest_retained,
    plan_expiry,
    retention_ms,
)

__all__ = [
    "DELETE_BATCH",
    "Base",
    "Collected",
    "DeleteTask",
    "Deleted",
    "Expiry",
    "ReachableFiles",
    "StateRetention",
    "abandoned_files",
    "check_states",
    "clean_if_due",
    "collect",
    "collect_if_due",
    "collect_manifests",
    "delete_files",
    "delete_in_process",
    "delete_states",
    "delete_tasks",
    "delete_versions",
    "expired_bases",
    "expired_states",
    "expired_versions",
    "files_named_since",
    "is_data_key",
    "is_split_key",
    "missing_files",
    "named_manifests",
    "newest_valid_checkpoint",
    "oldest_retained",
    "orphaned_manifests",
    "orphaned_splits",
    "plan_expiry",
    "reachable_files",
    "read_log_files",
    "retention_ms",
    "run_delete_task",
    "total_deleted",
    "validate_checkpoint",
    "validate_state",
]

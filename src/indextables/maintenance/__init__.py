"""Maintenance: operations that keep a table in shape. They change the log and which files are live, and write no rows.

Each module is one operation, which `log` and its packages carry out:

- `partitions`, `restores`, `upgrade`: commits that change the table as a whole;
- `history_cleanup`, `purges`: deleting what is no longer needed;
- `repairs`, with `log_recovery` and `split_recovery`: a new log in place of a damaged or lost one;
- `log_description`, `state_description`: what the log and the newest state hold.
"""

from indextables.maintenance.history_cleanup import (
    CleanedVersions,
    Truncated,
    clean_versions,
    truncate_time_travel,
)
from indextables.maintenance.log_description import LOG_SCHEMA, describe_log
from indextables.maintenance.partitions import DroppedPartitions, drop_partitions
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

__all__ = [
    "LOG_SCHEMA",
    "CleanedVersions",
    "DroppedPartitions",
    "PreparedPurge",
    "Purged",
    "Repaired",
    "StateDescription",
    "Truncated",
    "clean_versions",
    "describe_log",
    "describe_state",
    "drop_partitions",
    "finish_purge",
    "prepare_purge",
    "purge",
    "renormalize_schemas",
    "repair",
    "restore",
    "retention_hours",
    "truncate_time_travel",
    "upgrade_and_checkpoint",
    "upgrade_protocol",
]

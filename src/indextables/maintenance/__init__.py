"""What keeps a table in shape: operations that change the log and which files live, without writing rows."""

from indextables.maintenance.log_description import LOG_SCHEMA, describe_log
from indextables.maintenance.partitions import DroppedPartitions, drop_partitions
from indextables.maintenance.purges import Purged, purge
from indextables.maintenance.repairs import Repaired, repair
from indextables.maintenance.restores import restore
from indextables.maintenance.state_description import StateDescription, describe_state
from indextables.maintenance.truncation import Truncated, truncate_time_travel
from indextables.maintenance.upgrade import renormalize_schemas, upgrade_and_checkpoint, upgrade_protocol
from indextables.maintenance.version_cleanup import CleanedVersions, clean_versions

__all__ = [
    "LOG_SCHEMA",
    "CleanedVersions",
    "DroppedPartitions",
    "Purged",
    "Repaired",
    "StateDescription",
    "Truncated",
    "clean_versions",
    "describe_log",
    "describe_state",
    "drop_partitions",
    "purge",
    "renormalize_schemas",
    "repair",
    "restore",
    "truncate_time_travel",
    "upgrade_and_checkpoint",
    "upgrade_protocol",
]

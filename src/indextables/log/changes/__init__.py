"""Changes: what a commit is to do, and whether it still applies after concurrent commits.

Read the modules in this order:

- `file_changes`: append, overwrite, drop partitions, merge, and the conflict rules;
- `row_changes`: deleting rows of files, and the conflict rules of that;
- `schema_changes`: columns and properties;
- `restoring`: an older version again;
- `protocol_changes`, `registry_changes`: the protocol, and the field mappings that files refer to;
- `compatibility`: whether files that were written for one schema fit the current one;
- `new_files`: a finished split becomes a file of the table;
- `purge_fence`: keeps a writer from committing a file that a purge may have deleted.
"""

from indextables.log.changes.compatibility import check_compatible, incompatibility, writer_metadata
from indextables.log.changes.file_changes import (
    MERGED_INTO,
    Append,
    Change,
    CreateRule,
    DropPartitions,
    MergeGroup,
    MergeSplits,
    Overwrite,
    OverwritePartitions,
    UndoMerge,
    is_batch_committed,
)
from indextables.log.changes.new_files import store_split
from indextables.log.changes.protocol_changes import NextVersion, UpgradeProtocol, combine_protocols
from indextables.log.changes.purge_fence import (
    ChecksOwnFiles,
    SetPurgeFence,
    check_purge_fence,
    fence_time_ms,
)
from indextables.log.changes.registry_changes import RenormalizeSchemas
from indextables.log.changes.restoring import Restore
from indextables.log.changes.row_changes import (
    DELETE,
    UPDATED_ROWS,
    ChangeRows,
    DeletedRows,
    United,
    UniteRows,
)
from indextables.log.changes.schema_changes import AlterTable

__all__ = [
    "DELETE",
    "MERGED_INTO",
    "UPDATED_ROWS",
    "AlterTable",
    "Append",
    "Change",
    "ChangeRows",
    "ChecksOwnFiles",
    "CreateRule",
    "DeletedRows",
    "DropPartitions",
    "MergeGroup",
    "MergeSplits",
    "NextVersion",
    "Overwrite",
    "OverwritePartitions",
    "RenormalizeSchemas",
    "Restore",
    "SetPurgeFence",
    "UndoMerge",
    "UniteRows",
    "United",
    "UpgradeProtocol",
    "check_compatible",
    "check_purge_fence",
    "combine_protocols",
    "fence_time_ms",
    "incompatibility",
    "is_batch_committed",
    "store_split",
    "writer_metadata",
]

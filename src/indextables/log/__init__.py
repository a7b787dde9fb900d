"""The transaction log: versions of a table, the snapshots that they give, and the commits that add to them.

This module exports the most used names. Each package is one subject, and imports only packages above it in this list,
which is also the order to read them in:

- `actions`: the entries of a version file, and their bytes;
- `versions`: version files, their history, and the watermark up to which clean-up may have deleted them;
- `snapshots`: the table at one version, its states and checkpoints, and loading it;
- `diffs`: what changed between two versions;
- `changes`: what a commit is to do, and the conflict rules;
- `cleanup`: what may be deleted, and its safe deletion;
- `commits`: the commit loop, and the checkpoints that follow commits.
"""

from indextables.log.actions import (
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
    decode_version,
    encode_version,
    split_key,
    version_key,
)
from indextables.log.changes import (
    AlterTable,
    Append,
    Change,
    ChangeRows,
    DeletedRows,
    DropPartitions,
    MergeGroup,
    MergeSplits,
    Overwrite,
    OverwritePartitions,
    RenormalizeSchemas,
    Restore,
    UndoMerge,
    UpgradeProtocol,
    is_batch_committed,
    store_split,
    writer_metadata,
)
from indextables.log.commits import Committed, checkpoint, commit
from indextables.log.snapshots import (
    Gap,
    LiveFiles,
    Snapshot,
    StateWarning,
    VersionGapWarning,
    doc_mapping,
    load_snapshot,
    refresh,
)
from indextables.log.versions import HistoryEntry, Summary, read_history, read_version
from indextables.storage import LOG_DIRECTORY

__all__ = [
    "LOG_DIRECTORY",
    "Action",
    "AddFile",
    "AlterTable",
    "Append",
    "Change",
    "ChangeRows",
    "CommitInfo",
    "Committed",
    "DeletedRows",
    "DropPartitions",
    "Gap",
    "HistoryEntry",
    "LiveFiles",
    "MergeGroup",
    "MergeSplits",
    "Metadata",
    "Overwrite",
    "OverwritePartitions",
    "Protocol",
    "RemoveFile",
    "RenormalizeSchemas",
    "Restore",
    "SkipFile",
    "Snapshot",
    "StateWarning",
    "Summary",
    "Txn",
    "UndoMerge",
    "UnknownAction",
    "UpgradeProtocol",
    "VersionGapWarning",
    "checkpoint",
    "commit",
    "decode_version",
    "doc_mapping",
    "encode_version",
    "is_batch_committed",
    "load_snapshot",
    "read_history",
    "read_version",
    "refresh",
    "split_key",
    "store_split",
    "version_key",
    "writer_metadata",
]

"""The transaction log: actions, version files, snapshots, and the commit with its conflict rules."""

from indextables.log.actions.codec import decode_version, encode_version
from indextables.log.actions.model import (
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
)
from indextables.log.actions.paths import split_key, version_key
from indextables.log.changes.compatibility import writer_metadata
from indextables.log.changes.file_changes import (
    Append,
    Change,
    DropPartitions,
    MergeGroup,
    MergeSplits,
    Overwrite,
    is_batch_committed,
)
from indextables.log.changes.table_changes import RenormalizeSchemas, Restore, UpgradeProtocol
from indextables.log.commits.checkpoints import checkpoint
from indextables.log.commits.loop import Committed, commit
from indextables.log.snapshots.live_files import LiveFiles
from indextables.log.snapshots.loader import load_snapshot, refresh
from indextables.log.snapshots.rebuild import StateWarning, VersionGapWarning
from indextables.log.snapshots.registry import doc_mapping
from indextables.log.snapshots.snapshot import Gap, Snapshot
from indextables.log.versions.history import HistoryEntry, Summary, read_history
from indextables.log.versions.reader import read_version
from indextables.state import LOG_DIRECTORY

__all__ = [
    "LOG_DIRECTORY",
    "Action",
    "AddFile",
    "Append",
    "Change",
    "CommitInfo",
    "Committed",
    "DropPartitions",
    "Gap",
    "HistoryEntry",
    "LiveFiles",
    "MergeGroup",
    "MergeSplits",
    "Metadata",
    "Overwrite",
    "Protocol",
    "RemoveFile",
    "RenormalizeSchemas",
    "Restore",
    "SkipFile",
    "Snapshot",
    "StateWarning",
    "Summary",
    "Txn",
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
    "version_key",
    "writer_metadata",
]

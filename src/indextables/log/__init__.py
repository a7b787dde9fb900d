"""The transaction log: actions, version files, snapshots, and the commit with its conflict rules."""

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
)
from indextables.log.changes import (
    Append,
    Change,
    DropPartitions,
    MergeGroup,
    MergeSplits,
    Overwrite,
    is_done,
)
from indextables.log.checkpointing import checkpoint
from indextables.log.codec import decode_version, encode_version
from indextables.log.commit import Committed, commit
from indextables.log.compatibility import adopted
from indextables.log.history import HistoryEntry, Summary, history
from indextables.log.layout import split_key, version_key
from indextables.log.live import LiveFiles
from indextables.log.loading import load_snapshot, refresh
from indextables.log.rebuild import StateWarning, VersionGapWarning
from indextables.log.registry import doc_mapping
from indextables.log.revisions import RenormalizeSchemas, Restore, UpgradeProtocol
from indextables.log.snapshot import Gap, Snapshot
from indextables.log.versions import read_version
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
    "adopted",
    "checkpoint",
    "commit",
    "decode_version",
    "doc_mapping",
    "encode_version",
    "history",
    "is_done",
    "load_snapshot",
    "read_version",
    "refresh",
    "split_key",
    "version_key",
]

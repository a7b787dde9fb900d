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
from indextables.log.changes import Append, Change, DropPartitions, MergeGroup, MergeSplits, Overwrite
from indextables.log.codec import decode_version, encode_version
from indextables.log.commit import Committed, commit
from indextables.log.compatibility import adopted
from indextables.log.history import HistoryEntry, Summary, history
from indextables.log.layout import LOG_DIRECTORY, split_key, version_key
from indextables.log.loading import VersionGapWarning, load_snapshot, refresh
from indextables.log.snapshot import Gap, Snapshot
from indextables.log.versions import read_version

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
    "MergeGroup",
    "MergeSplits",
    "Metadata",
    "Overwrite",
    "Protocol",
    "RemoveFile",
    "SkipFile",
    "Snapshot",
    "Summary",
    "Txn",
    "UnknownAction",
    "VersionGapWarning",
    "adopted",
    "commit",
    "decode_version",
    "encode_version",
    "history",
    "load_snapshot",
    "read_version",
    "refresh",
    "split_key",
    "version_key",
]

"""The versions of a table: one file each, created once, in an unbroken sequence.

Read the modules in this order:

- `listing`: what one listing of the log directory shows;
- `reader`: the actions of version files;
- `publication`: creating the next version file, exactly once;
- `watermark`: up to which version clean-up may have deleted files;
- `superseded`: commits that came after clean-up had passed their number;
- `history`: what each version did to the table.
"""

from indextables.log.versions.history import HistoryEntry, Summary, read_history, summarize
from indextables.log.versions.listing import LogListing, VersionFile, list_log, parse_listing
from indextables.log.versions.publication import publish, seal
from indextables.log.versions.reader import (
    VersionActions,
    list_versions_after,
    read_txn_id,
    read_unlisted_version,
    read_version,
    read_versions,
)
from indextables.log.versions.superseded import (
    check_no_orphaned_commit,
    cut_at_orphaned_commit,
    is_recorded,
    is_superseded,
)
from indextables.log.versions.watermark import (
    CLEANUP_DIRECTORY,
    NO_WATERMARK,
    CleanupRecord,
    advance_watermark,
    decode_record,
    encode_record,
    read_record,
    read_watermark,
    record_key,
    record_of,
    recorded_transaction,
)

__all__ = [
    "CLEANUP_DIRECTORY",
    "NO_WATERMARK",
    "CleanupRecord",
    "HistoryEntry",
    "LogListing",
    "Summary",
    "VersionActions",
    "VersionFile",
    "advance_watermark",
    "check_no_orphaned_commit",
    "cut_at_orphaned_commit",
    "decode_record",
    "encode_record",
    "is_recorded",
    "is_superseded",
    "list_log",
    "list_versions_after",
    "parse_listing",
    "publish",
    "read_history",
    "read_record",
    "read_txn_id",
    "read_unlisted_version",
    "read_version",
    "read_versions",
    "read_watermark",
    "record_key",
    "record_of",
    "recorded_transaction",
    "seal",
    "summarize",
]

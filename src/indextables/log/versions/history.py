"""What each version did to the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from indextables.errors import CorruptTableError
from indextables.log.actions.model import Action, AddFile, CommitInfo, RemoveFile
from indextables.log.versions.listing import list_log
from indextables.log.versions.reader import read_versions
from indextables.log.versions.watermark import read_watermark
from indextables.stats import total
from indextables.storage import Store


class Summary(NamedTuple):
    """What one version did to the table, counted."""

    timestamp_ms: int
    files_added: int
    files_removed: int
    rows_added: int | None
    bytes_added: int | None
    bytes_removed: int | None


class HistoryEntry(NamedTuple):
    """One version: its number, who made it (unless its writer left no word), and what it did."""

    version: int
    commit_info: CommitInfo | None
    summary: Summary


def read_history(store: Store) -> list[HistoryEntry]:
    """Every version that clean-up has not passed, newest first, up to the first hole after the newest state."""
    passed = read_watermark(store)
    while True:
        try:
            return _after(store, passed)[::-1]
        except CorruptTableError:
            # A version may have been cleaned up since it was listed: then there is less to tell.
            end = read_watermark(store)
            if end == passed:
                raise
            passed = end


def _after(store: Store, passed: int) -> list[HistoryEntry]:
    entries: list[HistoryEntry] = []
    timestamp = 0
    listing = list_log(store)
    covered = max((*listing.states, *(file.version for file in listing.checkpoints)), default=-1)
    # What still lies below the boundary is about to go, or a stray of a writer that came too late.
    files = [file for file in listing.versions if passed < file.version <= covered]
    for found in read_versions(store, files + listing.run_after(covered, store)):
        timestamp = max(timestamp, found.raw_timestamp_ms)
        entries.append(HistoryEntry(found.version, found.commit_info, summarize(found.actions, timestamp)))
    return entries


def summarize(actions: Iterable[Action], timestamp_ms: int) -> Summary:
    actions = list(actions)
    adds = [action for action in actions if isinstance(action, AddFile)]
    removes = [action for action in actions if isinstance(action, RemoveFile)]
    return Summary(
        timestamp_ms,
        files_added=len(adds),
        files_removed=len(removes),
        rows_added=total(add.num_records for add in adds),
        bytes_added=total(add.size for add in adds),
        bytes_removed=total(remove.size for remove in removes),
    )

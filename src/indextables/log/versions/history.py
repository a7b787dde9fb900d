"""The history of a table: what each version did, and who wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from indextables.errors import CorruptTableError
from indextables.log.actions import Action, AddFile, CommitInfo, RemoveFile
from indextables.log.versions.listing import list_log
from indextables.log.versions.reader import read_versions
from indextables.log.versions.watermark import read_watermark
from indextables.stats import total
from indextables.storage import Store


class Summary(NamedTuple):
    """What one version did to the table, in numbers; None where a number is unknown.

    `rows_removed` is that of a merge too, whose rows are removed and added. It is unknown if the version that added a
    removed file has been cleaned up.
    """

    timestamp_ms: int
    files_added: int
    files_removed: int
    rows_added: int | None
    rows_removed: int | None
    bytes_added: int | None
    bytes_removed: int | None


class HistoryEntry(NamedTuple):
    """One version: its number, its commitInfo if its writer left one, and what it did."""

    version: int
    commit_info: CommitInfo | None
    summary: Summary


def read_history(store: Store) -> list[HistoryEntry]:
    """Read the history, newest first: every version above the watermark, up to the first gap after the newest state."""
    watermark = read_watermark(store)
    while True:
        try:
            entries = _read_after(store, watermark)
            # Clean-up may have passed some of these versions since, and a slow writer may have created the file of one
            # of them again before it was read. Above the watermark of now, no number has been freed.
            watermark = read_watermark(store)
            return [entry for entry in reversed(entries) if entry.version > watermark]
        except CorruptTableError:
            # Clean-up may have deleted a version after it was listed. Then the watermark has advanced, and there are
            # fewer versions to read. If it has not, the version is damaged.
            advanced = read_watermark(store)
            if advanced == watermark:
                raise
            watermark = advanced


def _read_after(store: Store, watermark: int) -> list[HistoryEntry]:
    entries: list[HistoryEntry] = []
    timestamp = 0
    live: dict[str, int | None] = {}
    listing = list_log(store)
    covered = max((*listing.states, *(file.version for file in listing.checkpoints)), default=-1)
    # A file at or below the watermark is about to be deleted, or is an orphaned commit.
    files = [file for file in listing.versions if watermark < file.version <= covered]
    for version in read_versions(store, files + listing.run_after(covered, store)):
        timestamp = max(timestamp, version.raw_timestamp_ms)
        summary = summarize(version.actions, timestamp, live)
        entries.append(HistoryEntry(version.version, version.commit_info, summary))
        for action in version.actions:
            if isinstance(action, RemoveFile):
                live.pop(action.path, None)
        live.update((add.path, _live_rows(add)) for add in version.actions if isinstance(add, AddFile))
    return entries


def summarize(
    actions: Iterable[Action], timestamp_ms: int, live: Mapping[str, int | None] = MappingProxyType({})
) -> Summary:
    """Count what the actions of one version do to the table; `live` has the rows of files that it may remove.

    >>> figures = summarize([RemoveFile("a"), AddFile("b", {}, 1, num_records=5)], 0, {"a": 3})
    >>> figures.rows_added, figures.rows_removed
    (5, 3)
    """
    actions = list(actions)
    # A file that is added again with another delta log is neither removed nor new.
    again = {a.path: a for a in actions if isinstance(a, AddFile) and a.added_at_version is not None}
    adds = [action for action in actions if isinstance(action, AddFile) and action.path not in again]
    gone = [action for action in actions if isinstance(action, RemoveFile)]
    removes = [action for action in gone if action.path not in again]
    deleted = [(again[a.path].num_deleted or 0) - (a.num_deleted or 0) for a in gone if a.path in again]
    return Summary(
        timestamp_ms,
        files_added=len(adds),
        files_removed=len(removes),
        rows_added=total([*map(_live_rows, adds), -sum(count for count in deleted if count < 0)]),
        rows_removed=total(
            [*(live.get(a.path) for a in removes), sum(count for count in deleted if count > 0)]
        ),
        bytes_added=total(add.size for add in adds),
        bytes_removed=total(remove.size for remove in removes),
    )


def _live_rows(file: AddFile) -> int | None:
    return None if file.num_records is None else file.num_records - (file.num_deleted or 0)

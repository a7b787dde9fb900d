"""Reading the log: which versions there are, the snapshot at one of them, and what each of them did.

A snapshot is found by one listing; bringing it up to date asks for the next version by name, so its cost is
the number of newer versions and not of all.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from indextables.errors import (
    CorruptTableError,
    ObjectNotFoundError,
    ProtocolError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.log.actions import Action, AddFile, CommitInfo, RemoveFile
from indextables.log.codec import decode_version
from indextables.log.layout import LOG_DIRECTORY, is_checkpoint, version_key, version_of
from indextables.log.snapshot import Gap, Snapshot, VersionActions, replay
from indextables.storage import ObjectInfo, Store

_READERS: Final = 16
_PROBES: Final = 8
"""How many newer versions are asked for one by one before a listing is cheaper."""


class VersionGapWarning(UserWarning):
    """A version file is missing in the middle of the log; the table is read up to there."""


def load_snapshot(store: Store, version: int | None = None, as_of_ms: int | None = None) -> Snapshot:
    """The newest snapshot, or that of `version`, or the newest one that is not younger than `as_of_ms`.

    TableNotFoundError where there is no log, VersionNotFoundError for a version that cannot be read,
    ProtocolError for a table that takes a newer release.
    """
    found, gap = _readable_versions(store)
    if version is not None:
        if not found[0].version <= version <= found[-1].version:
            raise VersionNotFoundError(f"{store.uri} has no version {version}; {_range(found, gap)}")
        found = found[: version + 1]
    elif gap is not None:
        warnings.warn(
            f"{store.uri}: version {gap.first} is missing although version {gap.next} is there; "
            f"reading up to version {gap.first - 1}",
            VersionGapWarning,
            stacklevel=2,
        )
    versions = _read_all(store, found)
    if as_of_ms is not None:
        versions = _not_younger(versions, as_of_ms)
    snapshot = replay(store.uri, None, versions)
    if snapshot is None:
        first = next(_read_all(store, found[:1])).raw_timestamp_ms
        raise VersionNotFoundError(
            f"{store.uri} did not exist yet at {_moment(as_of_ms or 0)}; its first version is of {_moment(first)}"
        )
    return dataclasses.replace(snapshot, gap=gap) if gap else snapshot


def refresh(store: Store, snapshot: Snapshot) -> Snapshot:
    """The newest snapshot, from an older one: only the versions between are read."""
    if snapshot.gap is not None:
        return load_snapshot(store)  # only a listing can tell whether the hole is still there
    fresh: list[VersionActions] = []
    while (found := _read(store, snapshot.version + 1 + len(fresh))) is not None:
        fresh.append(found)
        if len(fresh) == _PROBES:
            fresh += _read_all(store, _listed_after(store, snapshot.version + len(fresh)))
    return (replay(store.uri, snapshot, fresh) if fresh else None) or snapshot


def read_version(store: Store, version: int) -> list[Action] | None:
    """The actions of one version file, or None where there is none."""
    try:
        data = store.get(version_key(version))
    except ObjectNotFoundError:
        return None
    return decode_version(data, f"{store.uri}/{version_key(version)}")


class Summary(NamedTuple):
    """What one version did to the table, counted."""

    timestamp_ms: int
    files_added: int
    files_removed: int
    rows_added: int
    bytes_added: int
    bytes_removed: int


class HistoryEntry(NamedTuple):
    """One version: its number, who made it (unless its writer left no word), and what it did."""

    version: int
    commit_info: CommitInfo | None
    summary: Summary


def history(store: Store) -> list[HistoryEntry]:
    """Every readable version, newest first."""
    entries: list[HistoryEntry] = []
    timestamp = 0
    for found in _read_all(store, _readable_versions(store)[0]):
        timestamp = max(timestamp, found.raw_timestamp_ms)
        entries.append(HistoryEntry(found.version, found.commit_info, summarize(found.actions, timestamp)))
    return entries[::-1]


def summarize(actions: Iterable[Action], timestamp_ms: int) -> Summary:
    actions = list(actions)
    adds = [action for action in actions if isinstance(action, AddFile)]
    removes = [action for action in actions if isinstance(action, RemoveFile)]
    return Summary(
        timestamp_ms,
        files_added=len(adds),
        files_removed=len(removes),
        rows_added=sum(add.num_records or 0 for add in adds),
        bytes_added=sum(add.size for add in adds),
        bytes_removed=sum(remove.size or 0 for remove in removes),
    )


class _VersionFile(NamedTuple):
    version: int
    modified_ms: int


def _readable_versions(store: Store) -> tuple[list[_VersionFile], Gap | None]:
    """The version files up to the first gap. Not empty."""
    listed = list(store.list_from(LOG_DIRECTORY))
    checkpoint = next((info.key for info in listed if is_checkpoint(info.key)), None)
    if checkpoint is not None:
        # Files may live that only the checkpoint names: replaying the versions alone could lose rows.
        raise ProtocolError(
            f"{store.uri} has a checkpoint or state ({checkpoint}), which this release cannot read; "
            f"nothing was read, rather than a part of the table"
        )
    found = _version_files(listed)
    if not found:
        raise TableNotFoundError(f"there is no table at {store.uri}; write one first, or mend the path")
    if found[0].version != 0:
        raise CorruptTableError(
            f"{store.uri} has versions {found[0].version} to {found[-1].version}, no version 0 and no checkpoint "
            f"to start from; restore the missing files"
        )
    for i, file in enumerate(found):
        if file.version == i:
            continue
        try:
            info = store.head(version_key(i))  # a listing may lag behind: the file itself has the last word
        except ObjectNotFoundError:
            return found[:i], Gap(i, file.version)
        found.insert(i, _VersionFile(i, info.modified_ms))
    return found, None


def _listed_after(store: Store, version: int) -> list[_VersionFile]:
    """The files of the versions that follow `version` without a gap."""
    found = _version_files(store.list_from(LOG_DIRECTORY, start_after=version_key(version)))
    return [file for i, file in enumerate(found) if file.version == version + 1 + i]


def _version_files(infos: Iterable[ObjectInfo]) -> list[_VersionFile]:
    numbered = ((version_of(info.key), info.modified_ms) for info in infos)
    return sorted(_VersionFile(version, modified) for version, modified in numbered if version is not None)


def _read_all(store: Store, files: list[_VersionFile]) -> Iterator[VersionActions]:
    """The versions in order; from a store that is far away, many at a time."""
    if store.local_path(LOG_DIRECTORY) is not None or len(files) < 2:
        for file in files:
            yield _read_listed(store, file)
        return
    with ThreadPoolExecutor(_READERS, thread_name_prefix="indextables-log") as pool:
        yield from pool.map(lambda file: _read_listed(store, file), files)


def _read_listed(store: Store, file: _VersionFile) -> VersionActions:
    actions = read_version(store, file.version)
    if actions is None:
        raise CorruptTableError(
            f"{store.uri}: version {file.version} vanished while it was being read; open it again"
        )
    return VersionActions(file.version, actions, file.modified_ms)


def _read(store: Store, version: int) -> VersionActions | None:
    actions = read_version(store, version)
    if actions is None:
        return None
    found = VersionActions(version, actions)
    if found.commit_info is not None and found.commit_info.timestamp is not None:
        return found
    return VersionActions(version, actions, store.head(version_key(version)).modified_ms)


def _not_younger(versions: Iterator[VersionActions], as_of_ms: int) -> Iterator[VersionActions]:
    for found in versions:
        # Times never go backwards (replay sees to it), so the first younger version ends the search.
        if found.raw_timestamp_ms > as_of_ms:
            return
        yield found


def _moment(ms: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


def _range(found: list[_VersionFile], gap: Gap | None) -> str:
    end = f" (version {gap.first} is missing)" if gap else ""
    return f"it can be read from version {found[0].version} to {found[-1].version}{end}"

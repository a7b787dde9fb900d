"""The reachable files: splits and delta logs of every version that can be read, now or by time travel.

Versions are not loaded one by one. A file of an older version is either still live, or some later version file records
its removal, or that version file is gone. In the last case a state has the file, and only such states are read whole.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from indextables.config import Settings
from indextables.errors import (
    CorruptTableError,
    IrregularFileError,
    VersionNotFoundError,
)
from indextables.log.actions import (
    AddFile,
    RemoveFile,
    has_delta_logs,
    is_elsewhere,
    split_key,
    version_key,
)
from indextables.log.snapshots import Snapshot, VersionSelector, read_snapshot
from indextables.log.versions import (
    LogListing,
    VersionActions,
    VersionFile,
    list_versions_after,
    read_versions,
    read_watermark,
)
from indextables.runtime import current
from indextables.storage import Store

_PROBES_AT_A_TIME: Final = 16


@dataclass(frozen=True)
class ReachableFiles:
    """Files by key. `elsewhere` are the bare names of files that the log names by an address outside the table.

    Such an address may be another spelling of the table's own, for example through a link. So a file that has the
    same name counts as reachable.

    >>> reachable = ReachableFiles.of(["splits/a.split", "/mnt/t/splits/b.split"])
    >>> [key in reachable for key in ("splits/a.split", "splits/b.split", "splits/c.split")]
    [True, True, False]
    """

    keys: frozenset[str]
    elsewhere: frozenset[str] = frozenset()

    @classmethod
    def of(cls, keys: Iterable[str]) -> ReachableFiles:
        keys = frozenset(keys)
        return cls(keys, frozenset(_name(key) for key in keys if is_elsewhere(key)))

    def __contains__(self, key: str) -> bool:
        return key in self.keys or (bool(self.elsewhere) and _name(key) in self.elsewhere)

    def __or__(self, other: ReachableFiles) -> ReachableFiles:
        return ReachableFiles(self.keys | other.keys, self.elsewhere | other.elsewhere)


def reachable_files(
    store: Store, newest: Snapshot, listing: LogListing, settings: Settings
) -> ReachableFiles:
    """Return the files of every version that can be read with the files in the listing.

    The files that a version adds are reachable as long as its version file exists, even if there is no state to read
    the version from: a stream that has read the versions before it reads them next.

    Raises CorruptTableError if a part of the log cannot be read: then no file may be called unreachable.
    """
    keys = {*newest.files, *_delta_logs(newest)}
    listing = _complete(store, listing, newest.version)
    readable = readable_versions(listing, newest.version)
    watermark = read_watermark(store, listed=listing.cleanups)
    files = [file for file in listing.versions if file.version in readable or file.version > watermark]
    for version in read_versions(store, files):
        keys.update(_named_keys(version, store.uri, removed=version.version - 1 in readable))
    for base in _bases_before_gap(listing, newest.version, watermark):
        # Another clean-up may have deleted the base since the listing. Its version cannot be read any more, so its
        # files are not needed for it.
        with contextlib.suppress(VersionNotFoundError):
            snapshot = read_snapshot(store, VersionSelector(base), settings)
            keys.update(snapshot.files, _delta_logs(snapshot))
    return ReachableFiles.of(keys)


def files_named_since(store: Store, before: Snapshot, after: Snapshot) -> ReachableFiles:
    """Return the files that the versions after one snapshot, up to another, add or remove."""
    files = [file for file in list_versions_after(store, before.version) if file.version <= after.version]
    if [file.version for file in files] != list(range(before.version + 1, after.version + 1)):
        raise CorruptTableError(
            f"versions of {store.uri} after {before.version} have been cleaned up already; nothing was deleted, "
            f"purge again"
        )
    return ReachableFiles.of(
        key
        for version in read_versions(store, files)
        for key in _named_keys(version, store.uri, removed=True)
    )


def readable_versions(listing: LogListing, newest: int) -> frozenset[int]:
    """Return the versions for which there is a state, a checkpoint or version 0, and every version file since.

    >>> from indextables.log.versions import VersionFile
    >>> files = tuple(VersionFile(version, 0) for version in (0, 1, 3, 4, 5, 6))
    >>> sorted(readable_versions(LogListing(files, (4,), ()), 6))
    [0, 1, 4, 5, 6]
    """
    bases = _bases(listing)
    readable: set[int] = set()
    for version in sorted({*(file.version for file in listing.versions), *bases}):
        follows = version - 1 in readable or version == 0
        if version <= newest and (version in bases or follows):
            readable.add(version)
    return frozenset(readable)


def missing_files(store: Store, keys: Iterable[str]) -> list[str]:
    """Return those of the keys at which there is no object, in their order. A link or a pipe is not an object.

    >>> from indextables.storage import open_store
    >>> store = open_store("memory:doc-missing-files")
    >>> store.put("a", b"")
    >>> missing_files(store, ["a", "b"])
    ['b']
    """
    keys = list(keys)
    exists = current().threads.map(lambda key: _exists(store, key), keys, _PROBES_AT_A_TIME)
    return [key for key, key_exists in zip(keys, exists, strict=True) if not key_exists]


def _exists(store: Store, key: str) -> bool:
    try:
        return store.exists(key)
    except IrregularFileError:
        return False


def _complete(store: Store, listing: LogListing, newest: int) -> LogListing:
    """Add version files that exist and that the listing does not show yet: a listing may lag behind."""
    first = listing.versions[0].version if listing.versions else newest
    listed = {file.version for file in listing.versions}
    unlisted = [version for version in range(first, newest + 1) if version not in listed]
    missing = set(missing_files(store, map(version_key, unlisted)))
    late = [VersionFile(version, 0) for version in unlisted if version_key(version) not in missing]
    return dataclasses.replace(listing, versions=tuple(sorted([*listing.versions, *late])))


def _bases_before_gap(listing: LogListing, newest: int, watermark: int) -> list[int]:
    """Return the states and checkpoints from which version files do not lead to the newest version without a gap.

    A version file up to the watermark counts as a gap. A slow writer may have created it after clean-up deleted the
    version of that number, and before it notices and deletes its own: it does not tell what that version removed.

    >>> files = tuple(VersionFile(version, 0) for version in (4, 5, 6))
    >>> _bases_before_gap(LogListing(files, (3, 5), ()), 6, watermark=-1)
    []
    >>> _bases_before_gap(LogListing(files, (3, 5), ()), 6, watermark=4)
    [3]
    """
    files = {file.version for file in listing.versions if file.version > watermark}
    start = newest
    while start in files:
        start -= 1
    return [base for base in _bases(listing) if base < start]


def _bases(listing: LogListing) -> Sequence[int]:
    return sorted({*listing.states, *(file.version for file in listing.checkpoints)})


def _named_keys(version: VersionActions, uri: str, *, removed: bool) -> Iterator[str]:
    added = {split_key(action.path, uri) for action in version.actions if isinstance(action, AddFile)}
    for action in version.actions:
        if not isinstance(action, AddFile | RemoveFile):
            continue
        key = split_key(action.path, uri)
        if removed or isinstance(action, AddFile):
            yield key
        # Of a split that a restore adds again, a stream needs both delta logs, to know which rows are there again.
        if action.delta_log is not None and (removed or key in added):
            yield action.delta_log


def _delta_logs(snapshot: Snapshot) -> set[str]:
    if not has_delta_logs(snapshot.protocol):
        return set()
    return set(snapshot.files.entries().column("deltaLog").drop_null().to_pylist())


def _name(key: str) -> str:
    return key.rpartition("/")[2]

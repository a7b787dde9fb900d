"""Which files a table may still need: those of every version that can be read, now or by time travel.

Nothing here asks for every version one by one. A file of an older version either lives still, or some later version
removed it, or no version file is left that would say so: then a state has it, and only such states are read whole.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from indextables.config import Settings
from indextables.errors import CorruptTableError, VersionNotFoundError
from indextables.log import AddFile, RemoveFile, Snapshot, split_key, version_key
from indextables.log.actions.paths import is_elsewhere
from indextables.log.cleanup.existence import missing_files
from indextables.log.snapshots.loader import VersionSelector, read_snapshot
from indextables.log.snapshots.snapshot import VersionActions
from indextables.log.versions.listing import LogListing, VersionFile
from indextables.log.versions.reader import list_versions_after, read_versions
from indextables.storage import Store


@dataclass(frozen=True)
class ReachableFiles:
    """Files by key; `elsewhere` are the bare names of those that the log calls by an address outside of the table.

    Such an address may be another spelling of the table's own, as through a link, so the name alone is enough.

    >>> needed = ReachableFiles.of(["splits/a.split", "/mnt/t/splits/b.split"])
    >>> [key in needed for key in ("splits/a.split", "splits/b.split", "splits/c.split")]
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
    """The files of every version that can be read with what is in the listing.

    CorruptTableError if something that would tell cannot be read: then nobody may say that a file is not needed.
    """
    found = set(newest.files)
    listing = _completed(store, listing, newest.version)
    readable = readable_versions(listing, newest.version)
    for version in read_versions(store, [file for file in listing.versions if file.version in readable]):
        found.update(_keys(version, store.uri, removed=version.version - 1 in readable))
    for base in _cut_off(listing, newest.version):
        with contextlib.suppress(
            VersionNotFoundError
        ):  # another clean-up was faster, and nobody can read it now
            found.update(read_snapshot(store, VersionSelector(base), settings).files)
    return ReachableFiles.of(found)


def _completed(store: Store, listing: LogListing, newest: int) -> LogListing:
    """With the version files that the listing lacks and that are there: it may lag behind."""
    first = listing.versions[0].version if listing.versions else newest
    known = {file.version for file in listing.versions}
    lacking = [version for version in range(first, newest + 1) if version not in known]
    gone = set(missing_files(store, map(version_key, lacking)))
    late = [VersionFile(version, 0) for version in lacking if version_key(version) not in gone]
    return dataclasses.replace(listing, versions=tuple(sorted([*listing.versions, *late])))


def files_named_since(store: Store, before: Snapshot, after: Snapshot) -> ReachableFiles:
    """What the versions after one snapshot, up to another, name."""
    files = [file for file in list_versions_after(store, before.version) if file.version <= after.version]
    if [file.version for file in files] != list(range(before.version + 1, after.version + 1)):
        raise CorruptTableError(
            f"versions of {store.uri} after {before.version} are gone already; nothing was deleted, purge again"
        )
    return ReachableFiles.of(
        key for found in read_versions(store, files) for key in _keys(found, store.uri, removed=True)
    )


def readable_versions(listing: LogListing, newest: int) -> frozenset[int]:
    """The versions for which there is a state, a checkpoint or the beginning, and every version file since.

    >>> from indextables.log.versions.listing import VersionFile
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


def _cut_off(listing: LogListing, newest: int) -> list[int]:
    """The states and checkpoints from which version files do not lead to the newest version without a hole."""
    files = {file.version for file in listing.versions}
    start = newest
    while start in files:
        start -= 1
    return [base for base in _bases(listing) if base < start]


def _bases(listing: LogListing) -> Sequence[int]:
    return sorted({*listing.states, *(file.version for file in listing.checkpoints)})


def _keys(found: VersionActions, uri: str, *, removed: bool) -> Iterator[str]:
    for action in found.actions:
        if isinstance(action, AddFile) or (removed and isinstance(action, RemoveFile)):
            yield split_key(action.path, uri)


def _name(key: str) -> str:
    return key.rpartition("/")[2]

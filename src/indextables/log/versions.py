"""Version files in the store: which there are, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from indextables.errors import CorruptTableError, ObjectNotFoundError, ProtocolError, TableNotFoundError
from indextables.log.actions import Action, CommitInfo
from indextables.log.codec import decode_version, first_action
from indextables.log.layout import LOG_DIRECTORY, is_checkpoint, version_key, version_of
from indextables.log.snapshot import Gap, VersionActions
from indextables.storage import ObjectInfo, Store

_READERS: Final = 16


class VersionFile(NamedTuple):
    """A version file in a listing."""

    version: int
    modified_ms: int


def read_version(store: Store, version: int) -> list[Action] | None:
    """The actions of one version file, or None where there is none."""
    try:
        data = store.get(version_key(version))
    except ObjectNotFoundError:
        return None
    return decode_version(data, f"{store.uri}/{version_key(version)}")


def read_txn_id(store: Store, version: int) -> str | None:
    """The transaction that made the version, if there is the version and its first action says so."""
    try:
        data = store.get(version_key(version))
    except ObjectNotFoundError:
        return None
    action = first_action(data, f"{store.uri}/{version_key(version)}")
    return action.txn_id if isinstance(action, CommitInfo) else None


def readable_versions(store: Store) -> tuple[list[VersionFile], Gap | None]:
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
        found.insert(i, VersionFile(i, info.modified_ms))
    return found, None


def listed_after(store: Store, version: int) -> list[VersionFile]:
    """The files of the versions that follow `version` without a gap."""
    found = _version_files(store.list_from(LOG_DIRECTORY, start_after=version_key(version)))
    return [file for i, file in enumerate(found) if file.version == version + 1 + i]


def _version_files(infos: Iterable[ObjectInfo]) -> list[VersionFile]:
    numbered = ((version_of(info.key), info.modified_ms) for info in infos)
    return sorted(VersionFile(version, modified) for version, modified in numbered if version is not None)


def read_versions(store: Store, files: list[VersionFile]) -> Iterator[VersionActions]:
    """The versions in order; from a store that is far away, many at a time."""
    if store.local_path(LOG_DIRECTORY) is not None or len(files) < 2:
        for file in files:
            yield _read_listed(store, file)
        return
    with ThreadPoolExecutor(_READERS, thread_name_prefix="indextables-log") as pool:
        yield from pool.map(lambda file: _read_listed(store, file), files)


def _read_listed(store: Store, file: VersionFile) -> VersionActions:
    actions = read_version(store, file.version)
    if actions is None:
        raise CorruptTableError(
            f"{store.uri}: version {file.version} vanished while it was being read; open it again"
        )
    return VersionActions(file.version, actions, file.modified_ms)


def read_next(store: Store, version: int) -> VersionActions | None:
    """One version that was not listed, or None where there is none."""
    actions = read_version(store, version)
    if actions is None:
        return None
    found = VersionActions(version, actions)
    if found.commit_info is not None and found.commit_info.timestamp is not None:
        return found
    return VersionActions(version, actions, store.head(version_key(version)).modified_ms)

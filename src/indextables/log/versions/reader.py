"""Version files in the store: what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.log.actions.codec import MAX_STORED, decode_parts, decode_version, first_action
from indextables.log.actions.model import Action, CommitInfo
from indextables.log.actions.paths import version_key
from indextables.log.snapshots.snapshot import VersionActions
from indextables.log.versions.listing import VersionFile, list_log
from indextables.runtime import current
from indextables.state import LOG_DIRECTORY
from indextables.storage import Store

_READERS: Final = 16


def read_version(store: Store, version: int) -> list[Action] | None:
    """The actions of one version file, or None where there is none."""
    try:
        data = store.get(version_key(version), MAX_STORED)
    except ObjectNotFoundError:
        return None
    return decode_version(data, f"{store.uri}/{version_key(version)}")


def read_txn_id(store: Store, version: int) -> str | None:
    """The transaction that made the version, if there is the version and its first action says so."""
    try:
        data = store.get(version_key(version), MAX_STORED)
    except ObjectNotFoundError:
        return None
    action = first_action(data, f"{store.uri}/{version_key(version)}")
    return action.txn_id if isinstance(action, CommitInfo) else None


def list_versions_after(store: Store, version: int) -> list[VersionFile]:
    """The files of the versions that follow `version` without a gap."""
    found = list_log(store, after=version).versions
    return [file for i, file in enumerate(found) if file.version == version + 1 + i]


def read_versions(store: Store, files: list[VersionFile]) -> Iterator[VersionActions]:
    """The versions in order; from a store that is far away, many at a time."""
    if store.local_path(LOG_DIRECTORY) is not None or len(files) < 2:
        for file in files:
            yield _read_listed(store, file)
        return
    yield from current().threads.map(lambda file: _read_listed(store, file), files, _READERS)


def _read_parts(store: Store, version: int) -> Sequence[Action] | None:
    """Return the actions of one version file, many adds as columns; None if the file does not exist."""
    key = version_key(version)
    try:
        return decode_parts(store.get(key, MAX_STORED), f"{store.uri}/{key}")
    except ObjectNotFoundError:
        return None


def _read_listed(store: Store, file: VersionFile) -> VersionActions:
    actions = _read_parts(store, file.version)
    if actions is None:
        raise CorruptTableError(
            f"{store.uri}: version {file.version} vanished while it was being read; open it again"
        )
    return VersionActions(file.version, actions, file.modified_ms)


def read_unlisted_version(store: Store, version: int) -> VersionActions | None:
    """One version that was not listed, or None where there is none."""
    actions = _read_parts(store, version)
    if actions is None:
        return None
    found = VersionActions(version, actions)
    if found.commit_info is not None and found.commit_info.timestamp is not None:
        return found
    return VersionActions(version, actions, store.head(version_key(version)).modified_ms)

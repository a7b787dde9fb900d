"""Reading version files: the actions of one version, or of a run of versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.log.actions import (
    MAX_STORED,
    Action,
    CommitInfo,
    decode_parts,
    decode_version,
    first_action,
    parts_of,
    version_key,
)
from indextables.log.versions.listing import VersionFile, list_log
from indextables.runtime import current, lazy_property
from indextables.storage import LOG_DIRECTORY, Store

_READERS: Final = 16

_SMALL: Final = 16 << 10
"""Bytes of a version file up to which it is remembered what transaction they record."""


@dataclass(frozen=True)
class VersionActions:
    """One version as read. `modified_ms` is the store's time of the file, for a version without a timestamp."""

    version: int
    actions: Sequence[Action]
    modified_ms: int = 0

    @lazy_property
    def commit_info(self) -> CommitInfo | None:
        return next((action for action in parts_of(self.actions) if isinstance(action, CommitInfo)), None)

    @property
    def txn_id(self) -> str | None:
        """The id of the transaction that wrote the version, if the first action records it."""
        first = self.actions[0] if self.actions else None
        return first.txn_id if isinstance(first, CommitInfo) else None

    @property
    def raw_timestamp_ms(self) -> int:
        info = self.commit_info
        return info.timestamp if info is not None and info.timestamp is not None else self.modified_ms


def read_version(store: Store, version: int) -> list[Action] | None:
    """Return the actions of one version file, or None if it does not exist."""
    try:
        data = store.get(version_key(version), MAX_STORED)
    except ObjectNotFoundError:
        return None
    return decode_version(data, f"{store.uri}/{version_key(version)}")


def read_txn_id(store: Store, version: int) -> str | None:
    """Return the id of the transaction that wrote a version.

    Returns None if the version does not exist or its first action does not record an id.
    """
    try:
        data = store.get(version_key(version), MAX_STORED)
    except ObjectNotFoundError:
        return None
    name = f"{store.uri}/{version_key(version)}"
    return _recorded_txn_id(data, name) if len(data) <= _SMALL else _decode_txn_id(data, name)


def _decode_txn_id(data: bytes, name: str) -> str | None:
    action = first_action(data, name)
    return action.txn_id if isinstance(action, CommitInfo) else None


_recorded_txn_id = lru_cache(maxsize=64)(_decode_txn_id)
"""A table that is opened again and again has the same bytes each time; they are read from the store each time."""


def list_versions_after(store: Store, version: int) -> list[VersionFile]:
    """List the files of the versions that follow `version` without a gap."""
    files = list_log(store, after=version).versions
    return [file for i, file in enumerate(files) if file.version == version + 1 + i]


def read_versions(store: Store, files: list[VersionFile]) -> Iterator[VersionActions]:
    """Read the versions in order; from a remote store, many at a time."""
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
    """Read one version by its name, without a listing. Return None if it does not exist."""
    actions = _read_parts(store, version)
    if actions is None:
        return None
    without_time = VersionActions(version, actions)
    info = without_time.commit_info
    if info is not None and info.timestamp is not None:
        return without_time
    return VersionActions(version, actions, store.head(version_key(version)).modified_ms)

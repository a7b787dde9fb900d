"""Recovering a damaged log: the newest readable state or checkpoint, and every readable version after it.

A reader of a table refuses damaged files. Recovery skips and reports them. So the result may lack files that a damaged
version added, and may have files that it removed. It is good enough to save a table, not to read one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.log import (
    Action,
    AddFile,
    CommitInfo,
    LiveFiles,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Snapshot,
    Txn,
    UnknownAction,
)
from indextables.log.actions import check_readable, checkpoint_key, replaced_versions, split_key, version_key
from indextables.log.snapshots import (
    Extras,
    ExtrasEdit,
    read_checkpoint,
    snapshot_of_actions,
    snapshot_of_state,
)
from indextables.log.versions import LogListing, list_log, read_version
from indextables.state import TableState, read_state, state_key
from indextables.storage import Store


@dataclass
class RecoveredLog:
    """What has been recovered. `version` is the newest that any file refers to, -1 if there is no log at all."""

    uri: str
    version: int
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    files: dict[str, AddFile] = field(default_factory=dict)
    txns: dict[str, int] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    extras: ExtrasEdit = field(default_factory=lambda: Extras().edit())

    def apply(self, actions: Iterable[Action], name: str) -> None:
        """Apply the actions of the file `name` in order."""
        for action in actions:
            if isinstance(action, AddFile | RemoveFile | SkipFile):
                self._apply_file(action, name)
            elif isinstance(action, Metadata):
                self.metadata = action
            elif isinstance(action, Protocol):
                check_readable(action, f"{self.uri}/{name}")
                self.protocol = action
            elif isinstance(action, Txn):
                self.txns[action.app_id] = action.version
                self.extras.batch(action)
            elif isinstance(action, UnknownAction):
                self.extras.keep(action)

    def _apply_file(self, action: AddFile | RemoveFile | SkipFile, name: str) -> None:
        try:
            key = split_key(action.path, self.uri)
        except CorruptTableError as reason:
            self.damaged.append(f"{name}: {reason}")
            return
        if isinstance(action, AddFile):
            self.files[key] = action
        elif isinstance(action, RemoveFile):
            self.files.pop(key, None)
            self.extras.removed(key)
        else:
            self.extras.skip(key, action)


def recover_log(store: Store, settings: Settings) -> RecoveredLog:
    """Recover what can be read of the log at `store`. Raises ProtocolError if it requires a newer release."""
    listing = list_log(store)
    recovered = RecoveredLog(store.uri, listing.newest)
    base = _base(store, listing, settings, recovered)
    versions = {file.version for file in listing.versions}
    for version in range(base + 1, max(versions, default=-1) + 1):
        if version not in versions:
            recovered.damaged.append(f"{version_key(version)}: missing")
    replaced = replaced_versions(
        {version: _commit_info(store, version) for version in versions if version > base}
    )
    for version in sorted(versions):
        if version in replaced:
            recovered.damaged.append(
                f"{version_key(version)}: not the file that the next version was written after"
            )
            continue
        # Versions that the base covers are read only for metadata and protocol, and only if the base has no metadata.
        if version > base or recovered.metadata is None:
            _apply_version(store, version, recovered, is_covered=version <= base)
    return recovered


def _base(store: Store, listing: LogListing, settings: Settings, recovered: RecoveredLog) -> int:
    checkpoints = {file.version for file in listing.checkpoints}
    for version in sorted({*listing.states, *checkpoints}, reverse=True):
        if version in listing.states and _apply_state(store, version, listing, settings, recovered):
            return version
        if version in checkpoints and _apply_checkpoint(store, version, recovered):
            return version
    return -1


def _apply_state(
    store: Store, version: int, listing: LogListing, settings: Settings, recovered: RecoveredLog
) -> bool:
    name = state_key(version)
    parallelism = settings.get(keys.STATE_READ_PARALLELISM)
    try:
        manifest = read_state(store, version)
        state = TableState(store, manifest, lambda path: split_key(path, store.uri), parallelism=parallelism)
        recovered.files = dict(LiveFiles(state).items())
    except (CorruptTableError, ObjectNotFoundError) as reason:
        recovered.damaged.append(f"{name}: {reason}")
        return False
    try:
        snapshot = snapshot_of_state(store, version, listing, parallelism=parallelism)
    except (CorruptTableError, ObjectNotFoundError):
        return True  # it leaves the metadata to older files, one of which is damaged; later ones may have it
    _adopt(snapshot, recovered)
    return True


def _apply_checkpoint(store: Store, version: int, recovered: RecoveredLog) -> bool:
    name = checkpoint_key(version)
    try:
        actions = read_checkpoint(store, version)
    except (CorruptTableError, ObjectNotFoundError) as reason:
        recovered.damaged.append(f"{name}: {reason}")
        return False
    try:
        _adopt(snapshot_of_actions(store.uri, version, actions), recovered)
    except CorruptTableError:
        recovered.apply(actions, name)  # without metadata, it still has files
    return True


def _adopt(snapshot: Snapshot, recovered: RecoveredLog) -> None:
    recovered.protocol, recovered.metadata, recovered.txns = (
        snapshot.protocol,
        snapshot.metadata,
        dict(snapshot.txns),
    )
    recovered.files, recovered.extras = dict(snapshot.files.items()), snapshot.extras.edit()


def _commit_info(store: Store, version: int) -> CommitInfo | None:
    try:
        actions = read_version(store, version) or []
    except CorruptTableError:
        return None
    return next((action for action in actions if isinstance(action, CommitInfo)), None)


def _apply_version(store: Store, version: int, recovered: RecoveredLog, *, is_covered: bool) -> None:
    name = version_key(version)
    try:
        actions = read_version(store, version) or []
    except CorruptTableError as reason:
        recovered.damaged.append(f"{name}: {reason}")
        return
    if is_covered:
        actions = [action for action in actions if isinstance(action, Metadata | Protocol)]
    recovered.apply(actions, name)

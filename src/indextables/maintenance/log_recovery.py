"""What can still be read of a damaged log: the newest readable state or checkpoint, and every readable version after.

Reading a table refuses what is damaged; here it is passed over and named. So the answer may lack files that a
damaged version added, and have files that it removed: good enough to save a table, not to read one.
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
    """What was found so far. `version` is the newest of which there is a trace, -1 if there is no log at all."""

    uri: str
    version: int
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    files: dict[str, AddFile] = field(default_factory=dict)
    txns: dict[str, int] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    extras: ExtrasEdit = field(default_factory=lambda: Extras().edit())

    def apply(self, actions: Iterable[Action], name: str) -> None:
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
    """Everything that the log at `store` still says. ProtocolError if it takes a newer release to understand it."""
    listing = list_log(store)
    found = RecoveredLog(store.uri, listing.newest)
    base = _base(store, listing, settings, found)
    versions = {file.version for file in listing.versions}
    for version in range(base + 1, max(versions, default=-1) + 1):
        if version not in versions:
            found.damaged.append(f"{version_key(version)}: missing")
    replaced = replaced_versions(
        {version: _commit_info(store, version) for version in versions if version > base}
    )
    for version in sorted(versions):
        if version in replaced:
            found.damaged.append(
                f"{version_key(version)}: not the file that the next version was written after"
            )
            continue
        # Of versions that the base covers only what every later one inherits is of interest, and only if it lacks it.
        if version > base or found.metadata is None:
            _apply_version(store, version, found, is_covered=version <= base)
    return found


def _base(store: Store, listing: LogListing, settings: Settings, found: RecoveredLog) -> int:
    checkpoints = {file.version for file in listing.checkpoints}
    for version in sorted({*listing.states, *checkpoints}, reverse=True):
        if version in listing.states and _apply_state(store, version, listing, settings, found):
            return version
        if version in checkpoints and _apply_checkpoint(store, version, found):
            return version
    return -1


def _apply_state(
    store: Store, version: int, listing: LogListing, settings: Settings, found: RecoveredLog
) -> bool:
    name = state_key(version)
    parallelism = settings.get(keys.STATE_READ_PARALLELISM)
    try:
        manifest = read_state(store, version)
        state = TableState(store, manifest, lambda path: split_key(path, store.uri), parallelism=parallelism)
        found.files = dict(LiveFiles(state).items())
    except (CorruptTableError, ObjectNotFoundError) as reason:
        found.damaged.append(f"{name}: {reason}")
        return False
    try:
        snapshot = snapshot_of_state(store, version, listing, parallelism=parallelism)
    except (CorruptTableError, ObjectNotFoundError):
        return True  # it leaves the metadata to older files, one of which is damaged; others may have it
    _take(snapshot, found)
    return True


def _apply_checkpoint(store: Store, version: int, found: RecoveredLog) -> bool:
    name = checkpoint_key(version)
    try:
        actions = read_checkpoint(store, version)
    except (CorruptTableError, ObjectNotFoundError) as reason:
        found.damaged.append(f"{name}: {reason}")
        return False
    try:
        _take(snapshot_of_actions(store.uri, version, actions), found)
    except CorruptTableError:
        found.apply(actions, name)  # without metadata, say, it still has files
    return True


def _take(snapshot: Snapshot, found: RecoveredLog) -> None:
    found.protocol, found.metadata, found.txns = snapshot.protocol, snapshot.metadata, dict(snapshot.txns)
    found.files, found.extras = dict(snapshot.files.items()), snapshot.extras.edit()


def _commit_info(store: Store, version: int) -> CommitInfo | None:
    try:
        actions = read_version(store, version) or []
    except CorruptTableError:
        return None
    return next((action for action in actions if isinstance(action, CommitInfo)), None)


def _apply_version(store: Store, version: int, found: RecoveredLog, *, is_covered: bool) -> None:
    name = version_key(version)
    try:
        actions = read_version(store, version) or []
    except CorruptTableError as reason:
        found.damaged.append(f"{name}: {reason}")
        return
    if is_covered:
        actions = [action for action in actions if isinstance(action, Metadata | Protocol)]
    found.apply(actions, name)

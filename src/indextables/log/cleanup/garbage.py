"""Garbage collection in the log: expired states and checkpoints, and manifests that no state names.

`state_retention` decides what has expired. Readers, writers and other collections may run at the same time:

- a reader never starts from a state that is half deleted, because its `_manifest` file is deleted first, and the
  manifests that it named last. A reader that started earlier and finds a manifest gone gets an error, never fewer
  files;
- a writer of a state may rely on manifests that no state names, or will soon name any more. A pin names them until the
  state is there (see `state.pins`);
- another collection may delete the same files: deleting a file that is already gone is not an error.

A state that cannot be read may name any manifest. So one damaged state stops the collection before anything is deleted.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from indextables.errors import (
    CorruptTableError,
    ObjectNotFoundError,
    ProtocolError,
    SchemaError,
    StorageError,
)
from indextables.log.actions import checkpoint_of, version_of
from indextables.log.cleanup.state_retention import (
    Base,
    StateRetention,
    expired_bases,
    is_manifest,
    named_manifests,
    orphaned_manifests,
)
from indextables.runtime import current
from indextables.state import (
    StateManifest,
    TableState,
    manifest_key,
    read_pins,
    read_pointer,
    read_state,
    state_exists,
    state_of,
)
from indextables.storage import LOG_DIRECTORY, ObjectInfo, Store

_log: Final = logging.getLogger(__name__)

_READERS: Final = 16
_STATE_FILE: Final = re.compile(rf"{LOG_DIRECTORY}/state-v([0-9]{{20}})/[^/]+")
_CHECKPOINT_FILE: Final = re.compile(
    rf"{LOG_DIRECTORY}/([0-9]{{20}})\.checkpoint\.(?:[0-9A-Za-z-]+\.[0-9]+\.)?json"
)


@dataclass(frozen=True)
class LogFiles:
    """The log directory by one listing: `states` by version, and `bases`, which are states and JSON checkpoints."""

    infos: tuple[ObjectInfo, ...]
    versions: frozenset[int]
    bases: tuple[Base, ...]
    states: Mapping[int, StateManifest]

    def without(self, versions: Collection[int], bases: Collection[int]) -> LogFiles:
        """Return what remains when these versions and bases are deleted."""
        return LogFiles(
            infos=tuple(
                info for info in self.infos if _base_of(info.key) not in bases or is_manifest(info.key)
            ),
            versions=self.versions.difference(versions),
            bases=tuple(base for base in self.bases if base.version not in bases),
            states={version: state for version, state in self.states.items() if version not in bases},
        )


@dataclass(frozen=True)
class Collected:
    """The result of a collection: expired states by version, orphaned manifests by key, and how many were deleted.

    `failures` name what could not be deleted, and why.
    """

    states: tuple[int, ...] = ()
    states_deleted: int = 0
    manifests: tuple[str, ...] = ()
    manifests_deleted: int = 0
    failures: tuple[str, ...] = ()


def read_log_files(store: Store) -> LogFiles:
    """Read the log directory and every state. Raises CorruptTableError for the first state that cannot be read."""
    infos = tuple(store.list_from(LOG_DIRECTORY))
    listed = sorted({version for info in infos if (version := state_of(info.key)) is not None})
    read = current().threads.map(lambda version: _read(store, version), listed, _READERS)
    states = {version: state for version, state in zip(listed, read, strict=True) if state is not None}
    bases = {version: Base(version, state.created_at) for version, state in states.items()}
    for info in infos:
        if (version := checkpoint_of(info.key)) is not None:
            bases.setdefault(version, Base(version, info.modified_ms))
    versions = frozenset(version for info in infos if (version := version_of(info.key)) is not None)
    return LogFiles(infos, versions, tuple(sorted(bases.values())), states)


def _read(store: Store, version: int) -> StateManifest | None:
    """Return the state of a version, or None if another collection has deleted it."""
    try:
        return read_state(store, version)
    except ObjectNotFoundError:
        return None
    except (CorruptTableError, ProtocolError) as reason:
        raise _unreadable(store, version, reason) from reason


def check_states(store: Store, files: LogFiles) -> None:
    """Raise CorruptTableError unless every state can be read to its last entry; a shared manifest is read once."""
    checked: set[str] = set()
    for version, state in files.states.items():
        opened = TableState(store, state, key_of=str)
        for info in state.manifests:
            key = manifest_key(info.path, version)
            if key in checked:
                continue
            checked.add(key)
            try:
                opened.live([info])
            except (CorruptTableError, SchemaError) as reason:
                if _read(store, version) is None:
                    break  # another collection has deleted it
                raise _unreadable(store, version, reason) from reason


def _unreadable(store: Store, version: int, reason: Exception) -> CorruptTableError:
    return CorruptTableError(
        f"the state of version {version} of {store.uri} cannot be read, and nothing was deleted: {reason}; "
        f"restore the file, or delete the directory of that state if a newer one can be read"
    )


def expired_states(store: Store, files: LogFiles, retention: StateRetention, now_ms: int) -> list[int]:
    """Return the versions whose states and checkpoints have expired, and which no remaining state depends on."""
    pointer = read_pointer(store)
    expired = expired_bases(
        files.bases,
        files.versions,
        named=None if pointer is None else pointer.version,
        retention=retention,
        now_ms=now_ms,
    )
    deletable = set(expired)
    with_metadata = sorted(version for version, state in files.states.items() if state.metadata is not None)
    for version, state in files.states.items():
        if version not in deletable and state.metadata is None:
            # Some writers omit the metadata. It is then that of the newest earlier state which has any: keep this.
            deletable.difference_update([other for other in with_metadata if other < version][-1:])
    return [version for version in expired if version in deletable]


def collect(store: Store, retention: StateRetention, now_ms: int) -> Collected:
    """Delete expired states and orphaned manifests. Safe next to writers, readers and other collections.

    Raises CorruptTableError, and deletes nothing, if a state that would remain cannot be read.
    """
    files = read_log_files(store)
    states = expired_states(store, files, retention, now_ms)
    remaining = files.without((), states)
    check_states(store, remaining)
    deleted, failures = delete_states(store, files, states)
    manifests, manifests_deleted, more = collect_manifests(
        store, named_manifests(remaining.states), retention
    )
    return Collected(
        states=tuple(states),
        states_deleted=deleted,
        manifests=manifests,
        manifests_deleted=manifests_deleted,
        failures=(*failures, *more),
    )


def collect_if_due(
    store: Store, retention: StateRetention, now_ms: int, *, dry_run: bool = False
) -> Collected:
    """Collect, if the names and ages of states alone show that there may be one to delete.

    A dry run deletes nothing and logs the states that would be deleted.
    """
    listed = store.list_from(LOG_DIRECTORY, start_after=f"{LOG_DIRECTORY}/state-")
    states = [info for info in listed if state_of(info.key) is not None]
    old = [info for info in states[: -retention.versions] if now_ms - info.modified_ms >= retention.age_ms]
    if not old:
        return Collected()
    expired = expired_states(store, read_log_files(store), retention, now_ms)
    if dry_run and expired:
        _log.info("dry run: the states of versions %s of %s would be deleted", expired, store.uri)
    return collect(store, retention, now_ms) if expired and not dry_run else Collected()


def delete_states(store: Store, files: LogFiles, versions: Sequence[int]) -> tuple[int, tuple[str, ...]]:
    """Delete states and checkpoints without their manifests. Return how many, and what could not be deleted and why."""
    failures: list[str] = []
    for version in versions:
        names = [info.key for info in files.infos if _base_of(info.key) == version]
        # The file that makes it a state goes first; parts of a checkpoint cannot be read without the list of parts.
        heads = [key for key in names if state_of(key) is not None or checkpoint_of(key) is not None]
        parts = [key for key in names if _CHECKPOINT_FILE.fullmatch(key) and key not in heads]
        try:
            for key in [*heads, *parts]:
                store.delete(key)
        except StorageError as reason:
            failures.append(f"the state of version {version} stays: {reason}")
    return len(versions) - len(failures), tuple(failures)


def collect_manifests(
    store: Store, named: frozenset[str], retention: StateRetention
) -> tuple[tuple[str, ...], int, tuple[str, ...]]:
    """Delete manifests that no state names. Return their keys, how many were deleted, and what failed and why.

    `named` are the manifests that the remaining states named before the others were deleted. The log is read again
    here, because a state that another writer has created since may name further ones. Both sets are kept. The listing
    must show what exists, as those of all supported stores do. If it provably does not, nothing is deleted.
    """
    while True:
        pointer = read_pointer(store)
        files = read_log_files(store)
        if (
            pointer is not None
            and pointer.version not in files.states
            and state_exists(store, pointer.version)
        ):
            return (), 0, ()  # the listing lags behind, so it may not show other states either
        pinned = read_pins(store, files.infos)
        if pinned is not None:
            break
        # The writer of a state has deleted its pin since. Its state may not have been listed yet.
    orphaned = orphaned_manifests(
        files.infos, named | named_manifests(files.states), pinned, min_age_ms=retention.manifest_age_ms
    )
    failures: list[str] = []
    for key in orphaned:
        try:
            store.delete(key)
        except StorageError as reason:
            failures.append(f"{key} stays: {reason}")
    for key in pinned.expired:
        with contextlib.suppress(StorageError):  # the next collection tries again
            store.delete(key)
    return tuple(orphaned), len(orphaned) - len(failures), tuple(failures)


def _base_of(key: str) -> int | None:
    match = _STATE_FILE.fullmatch(key) or _CHECKPOINT_FILE.fullmatch(key)
    return int(match[1]) if match else None

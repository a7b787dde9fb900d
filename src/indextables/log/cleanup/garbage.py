"""Garbage collection in the log: states and checkpoints that retention no longer keeps, manifests that no state names.

What may go is for `state_retention` to say. The `_manifest` of a state goes first, so that nobody begins to read what
is about to go, and manifests last. Everything that is deleted may be deleted twice, by two at once.

What cannot be read is not judged: one damaged state ends the collection before anything is deleted.
"""

from __future__ import annotations

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
from indextables.log.actions.paths import checkpoint_of, version_of
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
    LOG_DIRECTORY,
    StateManifest,
    TableState,
    manifest_key,
    read_pointer,
    read_state,
    state_of,
)
from indextables.storage import ObjectInfo, Store

_log: Final = logging.getLogger(__name__)

_READERS: Final = 16
_STATE_FILE: Final = re.compile(rf"{LOG_DIRECTORY}/state-v([0-9]{{20}})/[^/]+")
_CHECKPOINT_FILE: Final = re.compile(
    rf"{LOG_DIRECTORY}/([0-9]{{20}})\.checkpoint\.(?:[0-9A-Za-z-]+\.[0-9]+\.)?json"
)


@dataclass(frozen=True)
class LogFiles:
    """The log directory by one listing. `states` are the manifests of all states, `bases` those and checkpoints."""

    infos: tuple[ObjectInfo, ...]
    versions: frozenset[int]
    bases: tuple[Base, ...]
    states: Mapping[int, StateManifest]

    def without(self, versions: Collection[int], bases: Collection[int]) -> LogFiles:
        """What is left when these are gone."""
        return LogFiles(
            tuple(info for info in self.infos if _base_of(info.key) not in bases or is_manifest(info.key)),
            self.versions.difference(versions),
            tuple(base for base in self.bases if base.version not in bases),
            {version: state for version, state in self.states.items() if version not in bases},
        )


@dataclass(frozen=True)
class Collected:
    """What a collection found and did. `states` are versions, `manifests` keys; `failures` say what stays, and why."""

    states: tuple[int, ...] = ()
    states_deleted: int = 0
    manifests: tuple[str, ...] = ()
    manifests_deleted: int = 0
    failures: tuple[str, ...] = ()


def read_log_files(store: Store) -> LogFiles:
    """What is in the log. CorruptTableError names the first state that cannot be read."""
    infos = tuple(store.list_from(LOG_DIRECTORY))
    listed = sorted({version for info in infos if (version := state_of(info.key)) is not None})
    found = current().threads.map(lambda version: _read(store, version), listed, _READERS)
    states = {version: state for version, state in zip(listed, found, strict=True) if state is not None}
    bases = {version: Base(version, state.created_at) for version, state in states.items()}
    for info in infos:
        if (version := checkpoint_of(info.key)) is not None:
            bases.setdefault(version, Base(version, info.modified_ms))
    versions = frozenset(version for info in infos if (version := version_of(info.key)) is not None)
    return LogFiles(infos, versions, tuple(sorted(bases.values())), states)


def _read(store: Store, version: int) -> StateManifest | None:
    """The state's manifest, or None where another collection was faster."""
    try:
        return read_state(store, version)
    except ObjectNotFoundError:
        return None
    except (CorruptTableError, ProtocolError) as reason:
        raise _unreadable(store, version, reason) from reason


def check_states(store: Store, files: LogFiles) -> None:
    """CorruptTableError unless every state can be read to its last entry; a manifest that many share is read once."""
    seen: set[str] = set()
    for version, state in files.states.items():
        opened = TableState(store, state, key_of=str)
        for info in state.manifests:
            key = manifest_key(info.path, version)
            if key in seen:
                continue
            seen.add(key)
            try:
                opened.live([info])
            except (CorruptTableError, SchemaError) as reason:
                if _read(store, version) is None:
                    break  # another collection was faster
                raise _unreadable(store, version, reason) from reason


def _unreadable(store: Store, version: int, reason: Exception) -> CorruptTableError:
    return CorruptTableError(
        f"the state of version {version} of {store.uri} cannot be read, and nothing was deleted: {reason}; "
        f"restore the file, or delete the directory of that state if a newer one can be read"
    )


def expired_states(store: Store, files: LogFiles, retention: StateRetention, now_ms: int) -> list[int]:
    """The versions whose states and checkpoints retention no longer keeps, and no state that stays builds upon."""
    pointer = read_pointer(store)
    expired = expired_bases(
        files.bases,
        files.versions,
        named=None if pointer is None else pointer.version,
        retention=retention,
        now_ms=now_ms,
    )
    gone = set(expired)
    described = sorted(version for version, state in files.states.items() if state.metadata is not None)
    for version, state in files.states.items():
        if version not in gone and state.metadata is None:
            # As some writers leave it: the metadata is that of the newest state before it which has any.
            gone.difference_update([found for found in described if found < version][-1:])
    return [version for version in expired if version in gone]


def collect(store: Store, retention: StateRetention, now_ms: int) -> Collected:
    """Delete what retention no longer keeps. Safe beside writers, readers and other collections.

    CorruptTableError, and nothing was deleted, if a state that would be left cannot be read.
    """
    files = read_log_files(store)
    states = expired_states(store, files, retention, now_ms)
    left = files.without((), states)
    check_states(store, left)
    deleted, failures = delete_states(store, files, states)
    found, gone, more = collect_manifests(store, named_manifests(left.states), retention)
    return Collected(tuple(states), deleted, found, gone, (*failures, *more))


def collect_if_due(
    store: Store, retention: StateRetention, now_ms: int, *, dry_run: bool = False
) -> Collected:
    """The same, if by the names and ages of states alone there may be one to delete.

    A dry run deletes nothing and logs the states that would go.
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
    """Delete states and checkpoints, but for manifests, which are another matter; how many, and what went wrong."""
    failures: list[str] = []
    for version in versions:
        names = [info.key for info in files.infos if _base_of(info.key) == version]
        # What makes it a state goes first; a part of a checkpoint is nothing without the list of them.
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
    """Delete manifests that no state names: those found, how many went, what went wrong.

    `named` are those that the states which stay named before the others were deleted. The log is read again: a state
    that came meanwhile may name what none did before, and one that a listing has yet to show is not forgotten.
    """
    now = read_log_files(store)
    found = orphaned_manifests(
        now.infos, named | named_manifests(now.states), min_age_ms=retention.manifest_age_ms
    )
    failures: list[str] = []
    for key in found:
        try:
            store.delete(key)
        except StorageError as reason:
            failures.append(f"{key} stays: {reason}")
    return tuple(found), len(found) - len(failures), tuple(failures)


def _base_of(key: str) -> int | None:
    match = _STATE_FILE.fullmatch(key) or _CHECKPOINT_FILE.fullmatch(key)
    return int(match[1]) if match else None

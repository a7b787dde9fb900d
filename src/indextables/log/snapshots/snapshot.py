"""The table at one version: a base and the replay of later versions, in order. Pure: no store in here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from indextables.errors import CorruptTableError
from indextables.log.actions.adds import Adds, parts_of
from indextables.log.actions.checksums import CHECKPOINT_SEAL, check_predecessor
from indextables.log.actions.model import (
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
)
from indextables.log.actions.paths import split_key, split_keys
from indextables.log.actions.protocol import check_readable
from indextables.log.snapshots.extras import Extras
from indextables.log.snapshots.live_files import LiveFiles
from indextables.predicates import Predicate
from indextables.schema import REGISTRY_PREFIX, FieldMapping, TableSchema, own_refs, typemap_of
from indextables.state import Condition, PrunedFiles, prune

EXTRAS_PROPERTY: Final = "indextables.checkpoint.carried"
"""A JSON checkpoint's own entry in the configuration. Other writers may copy it to where it means nothing."""

_LEGACY: Final = Protocol(1, 1)


@dataclass(frozen=True)
class Gap:
    """Version `first` is missing although version `next` is there: what lies beyond cannot be trusted."""

    first: int
    next: int


@dataclass(frozen=True)
class Snapshot:
    """What is true at `version`. `files` are the live splits by key, read when they are first needed.

    `timestamp_ms` is the commit's own time, never before that of an earlier version, and `txn_id` its own name,
    if its writer gave it one. `gap` is the hole in the log, if it has one: such a table can be read up to it and
    not written to. `by_state`: no version file made this version, its state did, as some older writers commit.
    `rest` is what else the table remembers. `checksum` is that of the version file, if it is known.
    """

    uri: str
    version: int
    timestamp_ms: int
    protocol: Protocol
    metadata: Metadata
    files: LiveFiles
    txns: Mapping[str, int] = field(default_factory=dict)
    txn_id: str | None = None
    gap: Gap | None = None
    by_state: bool = field(default=False, compare=False)
    checksum: str | None = field(default=None, compare=False)
    extras: Extras = field(default_factory=Extras)

    def prune(self, predicate: Predicate) -> PrunedFiles:
        """Return the live files that can hold a row for which the predicate is TRUE, as entries of a state."""
        own = own_refs(self.metadata.configuration)
        return prune(self.files, Condition(predicate, self.schema, self.partition_columns, own))

    @cached_property
    def schema(self) -> TableSchema:
        return TableSchema.of_table(self.metadata.schema_string)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self.metadata.partition_columns

    @cached_property
    def mapping(self) -> FieldMapping:
        return mapping_of(self.metadata, self._mapping_of_a_file)

    def _mapping_of_a_file(self) -> str | None:
        file = next(iter(self.files.values()), None)
        if file is None or file.doc_mapping_json is not None:
            return None if file is None else file.doc_mapping_json
        return self.metadata.configuration.get(f"{REGISTRY_PREFIX}{file.doc_mapping_ref}")


def mapping_of(metadata: Metadata, of_a_file: Callable[[], str | None] = lambda: None) -> FieldMapping:
    """How the table's columns are indexed, by what its configuration records or, failing that, one of its files."""
    schema = TableSchema.of_table(metadata.schema_string)
    columns = metadata.partition_columns
    return FieldMapping.of(schema, columns, typemap_of(metadata.configuration, schema, columns, of_a_file))


@dataclass(frozen=True)
class VersionActions:
    """One version as read: `modified_ms` is the store's time of the file, for versions that carry none."""

    version: int
    actions: Sequence[Action]
    modified_ms: int = 0

    @cached_property
    def commit_info(self) -> CommitInfo | None:
        return next((action for action in parts_of(self.actions) if isinstance(action, CommitInfo)), None)

    @property
    def txn_id(self) -> str | None:
        """The transaction that made it, if its first action says so."""
        first = self.actions[0] if self.actions else None
        return first.txn_id if isinstance(first, CommitInfo) else None

    @property
    def raw_timestamp_ms(self) -> int:
        info = self.commit_info
        return info.timestamp if info is not None and info.timestamp is not None else self.modified_ms


def replay(uri: str, base: Snapshot | None, versions: Iterable[VersionActions]) -> Snapshot | None:
    """The snapshot after the versions, which follow the base and each other without a gap.

    In order, so that a file added again after its removal lives. A file added twice lives once; removing one
    that does not live changes nothing. CorruptTableError if a version was written after another one than it follows.
    """
    protocol, metadata = (base.protocol, base.metadata) if base else (None, None)
    files = (base.files if base else LiveFiles()).edit()
    txns = dict(base.txns) if base else {}
    extras = (base.extras if base else Extras()).edit()
    version, timestamp, txn_id = (base.version, base.timestamp_ms, base.txn_id) if base else (-1, 0, None)
    checksum = base.checksum if base else None
    for found in versions:
        check_predecessor(found.version, found.commit_info, checksum, uri)
        checksum = None if found.commit_info is None else found.commit_info.sha256
        version, timestamp = found.version, max(timestamp, found.raw_timestamp_ms)
        txn_id = found.commit_info.txn_id if found.commit_info is not None else None
        for action in parts_of(found.actions):
            if isinstance(action, Adds):
                files.add_many(
                    _keys(action.paths, uri, version), action, version=version, timestamp_ms=timestamp
                )
            elif isinstance(action, AddFile):
                key = _key(action.path, uri, version)
                files.add(key, action, version=version, timestamp_ms=timestamp)
            elif isinstance(action, RemoveFile):
                key = _key(action.path, uri, version)
                files.remove(key, action.size)
                extras.removed(key)
            elif isinstance(action, Txn):
                txns[action.app_id] = action.version
                extras.batch(action)
            elif isinstance(action, Metadata):
                metadata = _without_carried(action)
            elif isinstance(action, Protocol):
                protocol = action
                # At once: the actions after it may mean what only a newer release knows.
                check_readable(protocol, f"{uri} at version {version}")
            elif isinstance(action, SkipFile):
                extras.skip(_key(action.path, uri, version), action)
            elif isinstance(action, UnknownAction):
                extras.keep(action)
    if version < 0:
        return None
    if base is not None and version == base.version:
        return base
    if metadata is None:
        raise CorruptTableError(
            f"{uri} has no metaData action up to version {version}: its schema is lost; repair it"
        )
    return Snapshot(
        uri,
        version,
        timestamp,
        protocol or _LEGACY,  # tables older than the protocol action
        metadata,
        files.done(),
        txns,
        txn_id,
        extras=extras.done(),
        checksum=checksum,
    )


def _without_carried(metadata: Metadata) -> Metadata:
    own = (EXTRAS_PROPERTY, CHECKPOINT_SEAL)
    if not any(key in metadata.configuration for key in own):
        return metadata
    kept = {key: value for key, value in metadata.configuration.items() if key not in own}
    return dataclasses.replace(metadata, configuration=kept)


def _key(path: str, uri: str, version: int) -> str:
    try:
        return split_key(path, uri)
    except CorruptTableError as reason:
        raise CorruptTableError(f"{uri}, version {version}: {reason}") from None


def _keys(paths: list[str], uri: str, version: int) -> list[str]:
    try:
        return split_keys(paths, uri)
    except CorruptTableError as reason:
        raise CorruptTableError(f"{uri}, version {version}: {reason}") from None

"""The table at one version: a base snapshot and the replay of later versions, in order. Pure: no I/O."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from indextables.errors import CorruptTableError
from indextables.log.actions import (
    CHECKPOINT_SEAL,
    AddFile,
    Adds,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
    check_predecessor,
    check_readable,
    parts_of,
    split_key,
    split_keys,
)
from indextables.log.snapshots.extras import CheckpointExtras, Extras
from indextables.log.snapshots.live_files import LiveFiles
from indextables.log.versions import VersionActions
from indextables.predicates import Predicate, with_names
from indextables.runtime import lazy_property
from indextables.schema import REGISTRY_PREFIX, FieldMapping, TableSchema, own_refs, typemap_of
from indextables.state import Condition, PrunedFiles, prune

EXTRAS_PROPERTY: Final = "indextables.checkpoint.carried"
"""The key in the metadata's configuration under which a JSON checkpoint carries extras.

It belongs to the checkpoint, not to the table. Another writer may copy it with the metadata into a version file.
"""

_LEGACY: Final = Protocol(1, 1)


@dataclass(frozen=True)
class Gap:
    """Version `first` is missing although version `next` exists: versions after the gap cannot be replayed."""

    first: int
    next: int


@dataclass(frozen=True)
class Snapshot:
    """The table at `version`. `files` are the live splits by key, decoded when they are first needed.

    - `timestamp_ms` is the time of the commit; it never decreases from one version to the next.
    - `txn_id` is the id of the transaction that wrote the version, if its writer recorded one.
    - `gap` is the gap in the log, if it has one. Such a table can be read up to the gap, and not written to.
    - `by_state` is True if the version was committed by a state and has no version file, as some older writers do.
    - `checksum` is that of the version file, if it is known.
    - `extras` is what else the table remembers.
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

    @property
    def checkpoint_extras(self) -> CheckpointExtras:
        """What a state or checkpoint of this version carries apart from files, protocol and metadata."""
        return CheckpointExtras(
            timestamp_ms=self.timestamp_ms,
            txn_id=self.txn_id,
            txns=self.txns,
            exact_from=self.files.exact_from,
            extras=self.extras,
            checksum=self.checksum,
        )

    def prune(self, predicate: Predicate) -> PrunedFiles:
        """Return the live files that can hold a row for which the predicate is TRUE, as entries of a state."""
        own = own_refs(self.metadata.configuration)
        schema = self.schema.as_stored()
        if self.schema.has_stored_names:
            predicate = with_names(predicate, self._stored_name)
        return prune(self.files, Condition(predicate, schema, self.partition_columns, own))

    def _stored_name(self, path: str) -> str:
        """Return the name that files record statistics of a column under, and that of a field of a struct."""
        root = self.schema.root(path)
        return self.schema.field(root).stored_name + path[len(root) :]

    @lazy_property
    def schema(self) -> TableSchema:
        return TableSchema.of_table(self.metadata.schema_string)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self.metadata.partition_columns

    @lazy_property
    def mapping(self) -> FieldMapping:
        return mapping_of(self.metadata, self._mapping_of_a_file)

    def _mapping_of_a_file(self) -> str | None:
        file = next(iter(self.files.values()), None)
        if file is None or file.doc_mapping_json is not None:
            return None if file is None else file.doc_mapping_json
        return self.metadata.configuration.get(f"{REGISTRY_PREFIX}{file.doc_mapping_ref}")


def mapping_of(metadata: Metadata, of_a_file: Callable[[], str | None] = lambda: None) -> FieldMapping:
    """Return how the table's columns are indexed, from its configuration or else from one of its files."""
    schema = TableSchema.of_table(metadata.schema_string)
    columns = metadata.partition_columns
    return FieldMapping.of(schema, columns, typemap_of(metadata.configuration, schema, columns, of_a_file))


def replay(uri: str, base: Snapshot | None, versions: Iterable[VersionActions]) -> Snapshot | None:
    """Return the snapshot after the versions, which follow the base and each other without a gap.

    Actions apply in order: a file that is added again after its removal is live, one that is added twice is live
    once, and removing one that is not live changes nothing. Returns None without a base and without versions. Raises
    CorruptTableError if a version was not written after the one that it follows.
    """
    protocol, metadata = (base.protocol, base.metadata) if base else (None, None)
    files = (base.files if base else LiveFiles()).edit()
    txns = dict(base.txns) if base else {}
    extras = (base.extras if base else Extras()).edit()
    version, timestamp, txn_id = (base.version, base.timestamp_ms, base.txn_id) if base else (-1, 0, None)
    checksum = base.checksum if base else None
    for version_actions in versions:
        info = version_actions.commit_info
        check_predecessor(version_actions.version, info, checksum, uri)
        checksum, txn_id = (None, None) if info is None else (info.sha256, info.txn_id)
        version = version_actions.version
        timestamp = max(timestamp, version_actions.raw_timestamp_ms)
        for action in parts_of(version_actions.actions):
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
                metadata = _without_checkpoint_properties(action)
            elif isinstance(action, Protocol):
                protocol = action
                # Check at once: only a newer release may understand the actions after it.
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
        uri=uri,
        version=version,
        timestamp_ms=timestamp,
        protocol=protocol or _LEGACY,  # tables older than the protocol action
        metadata=metadata,
        files=files.done(),
        txns=txns,
        txn_id=txn_id,
        extras=extras.done(),
        checksum=checksum,
    )


def _without_checkpoint_properties(metadata: Metadata) -> Metadata:
    checkpoint_keys = (EXTRAS_PROPERTY, CHECKPOINT_SEAL)
    if not any(key in metadata.configuration for key in checkpoint_keys):
        return metadata
    configuration = {
        key: value for key, value in metadata.configuration.items() if key not in checkpoint_keys
    }
    return dataclasses.replace(metadata, configuration=configuration)


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

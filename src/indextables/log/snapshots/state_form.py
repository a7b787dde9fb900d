"""A snapshot as a state in the store, and back.

A state names the files; what else a snapshot is (protocol, metadata, and what `carried` has) is in the state too if
this package wrote it. States of other writers often leave the metadata to the version files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import orjson
import pyarrow as pa

from indextables.config import Settings
from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.log.actions.fields import FieldError, from_document, to_document
from indextables.log.actions.model import Action, Metadata, Protocol
from indextables.log.actions.paths import split_key
from indextables.log.actions.protocol import check_readable
from indextables.log.snapshots.extras_json import decode_extras, encode_extras
from indextables.log.snapshots.live_files import LiveFiles
from indextables.log.snapshots.snapshot import Snapshot
from indextables.log.versions.listing import LogListing, list_log
from indextables.log.versions.reader import read_version
from indextables.schema import REGISTRY_PREFIX, own_refs
from indextables.state import (
    Measured,
    StateContext,
    StateManifest,
    StateOptions,
    TableState,
    WrittenState,
    read_state,
    write_state,
)
from indextables.storage import Store

A = TypeVar("A", Protocol, Metadata)

_PROTOCOL: Final = "protocol"


def snapshot_of_state(
    store: Store,
    version: int,
    listing: LogListing,
    *,
    parallelism: int,
    rescue: Callable[[CorruptTableError], pa.Table] | None = None,
) -> Snapshot:
    """The snapshot that the state of a version describes; its files are not read yet."""
    manifest = read_state(store, version)
    name = f"{store.uri}, state of version {version}"
    carried = decode_extras(
        manifest.carried, store.uri, name, version=version, created_ms=manifest.created_at
    )
    protocol = _single(manifest.carried.get(_PROTOCOL), Protocol, name)
    metadata = _single(_loads(manifest.metadata, name), Metadata, name)
    if metadata is None:
        whole = listing if listing.start == 0 else list_log(store)
        older_metadata, older_protocol = _from_before(store, whole, version)
        metadata, protocol = older_metadata, protocol or older_protocol
    protocol = protocol or Protocol(manifest.protocol_version, manifest.protocol_version)
    check_readable(protocol, f"{store.uri} at version {version}")
    if metadata is None:
        raise CorruptTableError(f"{name}: there is no metadata in it nor in any version before it")
    state = TableState(
        store, manifest, lambda path: split_key(path, store.uri), parallelism=parallelism, rescue=rescue
    )
    return Snapshot(
        store.uri,
        version,
        carried.timestamp_ms,
        protocol,
        _with_registry(metadata, manifest),
        LiveFiles(state, exact_from=carried.exact_from),
        carried.txns,
        carried.txn_id,
        by_state=not manifest.carried and all(file.version != version for file in listing.versions),
        extras=carried.extras,
        checksum=carried.checksum,
    )


def write_snapshot_state(
    store: Store, snapshot: Snapshot, settings: Settings, now_ms: int, *, compact: str | None = None
) -> WrittenState:
    """Write the snapshot's state, on top of the state it is based on where that saves work."""
    registry = {
        key.removeprefix(REGISTRY_PREFIX): value
        for key, value in snapshot.metadata.configuration.items()
        if key.startswith(REGISTRY_PREFIX)
    }
    context = StateContext(
        snapshot.version,
        now_ms,
        [snapshot.schema.field(name) for name in snapshot.partition_columns],
        orjson.dumps(to_document(snapshot.metadata)).decode(),
        registry,
        max(snapshot.protocol.min_reader_version, 4),
        {**to_document(snapshot.protocol), **encode_extras(snapshot)},
        Measured(
            [column for column in snapshot.schema if column.name not in snapshot.partition_columns],
            own_refs(snapshot.metadata.configuration),
        ),
    )
    options = StateOptions.of(settings)
    return write_state(store, snapshot.files.base, snapshot.files.delta(), context, options, compact=compact)


def _with_registry(metadata: Metadata, manifest: StateManifest) -> Metadata:
    known = {f"{REGISTRY_PREFIX}{key}": value for key, value in manifest.schema_registry.items()}
    if known.keys() <= metadata.configuration.keys():
        return metadata
    return dataclasses.replace(metadata, configuration={**known, **metadata.configuration})


def _from_before(store: Store, listing: LogListing, version: int) -> tuple[Metadata | None, Protocol | None]:
    """The newest metadata and protocol at or before a version, from version files and from other states."""
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    for actions in _backwards(store, listing, version):
        for action in reversed(actions):
            if isinstance(action, Metadata):
                metadata = metadata or action
            elif isinstance(action, Protocol):
                protocol = protocol or action
        if metadata is not None and protocol is not None:
            break
    return metadata, protocol


def _backwards(store: Store, listing: LogListing, version: int) -> Iterator[list[Action]]:
    files = {file.version for file in listing.versions if file.version <= version}
    states = {state for state in listing.states if state < version}
    for number in sorted(files | states, reverse=True):
        if number in files:
            yield read_version(store, number) or []
        if number in states:
            try:
                document = _loads(read_state(store, number).metadata, "an older state")
            except (CorruptTableError, ObjectNotFoundError):
                continue
            found = _single(document, Metadata, "an older state")
            yield [] if found is None else [found]


def _loads(text: str | None, name: str) -> Any:
    """The JSON of an action: wrapped in its name, as it should be, or bare."""
    if text is None:
        return None
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as reason:
        raise CorruptTableError(f"{name}: its metadata is not JSON ({reason})") from None
    return document.get("metaData", document) if isinstance(document, dict) else document


def _single(body: Any, kind: type[A], name: str) -> A | None:
    if body is None:
        return None
    try:
        (action,) = from_document({"metaData" if kind is Metadata else "protocol": body})
    except FieldError as reason:
        raise CorruptTableError(f"{name}: {reason}") from None
    assert isinstance(action, kind)
    return action

"""Writing a snapshot as an Avro state, and reading it back.

A state lists the files. The states of this package also hold the protocol, the metadata and the extras. Those of other
writers often leave the metadata to the version files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import orjson
import pyarrow as pa

from indextables.config import Settings
from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.log.actions import (
    Action,
    FieldError,
    Metadata,
    Protocol,
    check_readable,
    from_document,
    has_delta_logs,
    split_key,
    to_document,
)
from indextables.log.snapshots.extras import decode_extras, encode_extras
from indextables.log.snapshots.live_files import LiveFiles
from indextables.log.snapshots.snapshot import Snapshot
from indextables.log.versions import LogListing, list_log, read_version
from indextables.schema import REGISTRY_PREFIX, own_refs
from indextables.state import (
    Measured,
    StateContext,
    StateManifest,
    StateOptions,
    TableState,
    WrittenState,
    read_state,
    state_exists,
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
    """Read the snapshot in the state of a version; its files are decoded later, when they are needed.

    `listing` shows the version files that are searched for metadata if the state has none. `rescue` returns the
    entries if a manifest turns out to be damaged.
    """
    manifest = read_state(store, version)
    name = f"{store.uri}, state of version {version}"
    decoded = decode_extras(manifest.extras, store.uri, name, version=version, created_ms=manifest.created_at)
    protocol = _single(manifest.extras.get(_PROTOCOL), Protocol, name)
    metadata = _single(_loads(manifest.metadata, name), Metadata, name)
    if metadata is None:
        whole = listing if listing.start == 0 else list_log(store)
        older_metadata, older_protocol = _search_backwards(store, whole, version)
        metadata, protocol = older_metadata, protocol or older_protocol
    protocol = protocol or Protocol(manifest.protocol_version, manifest.protocol_version)
    check_readable(protocol, f"{store.uri} at version {version}")
    if metadata is None:
        raise CorruptTableError(
            f"{name}: neither the state nor any version before it has metadata; repair the table"
        )
    state = TableState(
        store, manifest, lambda path: split_key(path, store.uri), parallelism=parallelism, rescue=rescue
    )
    return Snapshot(
        uri=store.uri,
        version=version,
        timestamp_ms=decoded.timestamp_ms,
        protocol=protocol,
        metadata=_with_registry(metadata, manifest),
        files=LiveFiles(state, exact_from=decoded.exact_from),
        txns=decoded.txns,
        txn_id=decoded.txn_id,
        by_state=not manifest.extras and all(file.version != version for file in listing.versions),
        extras=decoded.extras,
        checksum=decoded.checksum,
    )


def is_expired(store: Store, snapshot: Snapshot) -> bool:
    """Return True if the state that the snapshot was read from has been deleted.

    Then its manifests may be gone as well, and those of its files that are not decoded yet cannot be read.
    """
    base = snapshot.files.base
    return base is not None and not state_exists(store, base.version)


def write_snapshot_state(
    store: Store, snapshot: Snapshot, settings: Settings, now_ms: int, *, compact: str | None = None
) -> WrittenState:
    """Write the snapshot's state; manifests of the state that it is based on are reused where possible."""
    registry = {
        key.removeprefix(REGISTRY_PREFIX): value
        for key, value in snapshot.metadata.configuration.items()
        if key.startswith(REGISTRY_PREFIX)
    }
    context = StateContext(
        version=snapshot.version,
        created_at=now_ms,
        partition_columns=[snapshot.schema.field(name) for name in snapshot.partition_columns],
        metadata=orjson.dumps(to_document(snapshot.metadata)).decode(),
        schema_registry=registry,
        protocol_version=max(snapshot.protocol.min_reader_version, 4),
        extras={**to_document(snapshot.protocol), **encode_extras(snapshot.checkpoint_extras)},
        measured=Measured(
            list(snapshot.schema.without(snapshot.partition_columns).as_stored()),
            own_refs(snapshot.metadata.configuration),
        ),
    )
    options = StateOptions.of(settings)
    delta = snapshot.files.delta(may_replace=has_delta_logs(snapshot.protocol))
    return write_state(store, snapshot.files.base, delta, context, options, compact=compact)


def _with_registry(metadata: Metadata, manifest: StateManifest) -> Metadata:
    registered = {f"{REGISTRY_PREFIX}{key}": value for key, value in manifest.schema_registry.items()}
    if registered.keys() <= metadata.configuration.keys():
        return metadata
    return dataclasses.replace(metadata, configuration={**registered, **metadata.configuration})


def _search_backwards(
    store: Store, listing: LogListing, version: int
) -> tuple[Metadata | None, Protocol | None]:
    """Return the newest metadata and protocol at or before a version, from version files and other states."""
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    for actions in _actions_backwards(store, listing, version):
        for action in reversed(actions):
            if isinstance(action, Metadata):
                metadata = metadata or action
            elif isinstance(action, Protocol):
                protocol = protocol or action
        if metadata is not None and protocol is not None:
            break
    return metadata, protocol


def _actions_backwards(store: Store, listing: LogListing, version: int) -> Iterator[list[Action]]:
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
            metadata = _single(document, Metadata, "an older state")
            yield [] if metadata is None else [metadata]


def _loads(text: str | None, name: str) -> Any:
    """Return the metadata's JSON: wrapped in the name of the action, as it should be, or bare."""
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

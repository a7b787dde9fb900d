"""Writing a snapshot as a JSON checkpoint, and reading it back.

JSON checkpoints are for readers older than the Avro state. These are strict: a line must be an action that they know,
with fields that they know, and a compressed file begins with the bytes 01 01. So everything else is carried in an
entry of the metadata's configuration, which they ignore, and is removed from there when the checkpoint is read.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, InputError
from indextables.log.actions import (
    CHECKPOINT_SEAL,
    UNSEALED,
    Action,
    Added,
    AddFile,
    Adds,
    Metadata,
    SkipFile,
    checkpoint_key,
    encode_text,
    max_text_bytes,
    pack,
    part_name,
    parts_of,
    seal_checkpoint,
    split_key,
    split_keys,
)
from indextables.log.snapshots.extras import decode_extras, encode_extras
from indextables.log.snapshots.json_checkpoint import read_checkpoint
from indextables.log.snapshots.live_files import LiveFiles, LiveFilesEdit
from indextables.log.snapshots.snapshot import EXTRAS_PROPERTY, Snapshot, replay
from indextables.log.versions import VersionActions
from indextables.state import LastCheckpoint, write_pointer
from indextables.stats import total_bytes
from indextables.storage import LOG_DIRECTORY, Store, create_once

_ADDED: Final = "added"
_EXTRA: Final = "addExtra"
_PARTS_SINCE: Final = 3
"""The first protocol version whose readers understand checkpoints in parts."""


def snapshot_of_checkpoint(store: Store, version: int, modified_ms: int = 0) -> Snapshot:
    """Read the snapshot in the checkpoint of a version. Raises ObjectNotFoundError if there is none.

    `modified_ms` is the snapshot's time if the checkpoint does not record one.
    """
    return snapshot_of_actions(store.uri, version, read_checkpoint(store, version), modified_ms)


def snapshot_of_actions(uri: str, version: int, actions: Sequence[Action], modified_ms: int = 0) -> Snapshot:
    """Return the snapshot that the actions of a checkpoint describe."""
    metadata = next((action for action in parts_of(actions) if isinstance(action, Metadata)), None)
    text = None if metadata is None else _extras_text(metadata, version)
    if text is None:
        snapshot = replay(uri, None, [VersionActions(version, actions, modified_ms)])
        assert snapshot is not None
        return dataclasses.replace(snapshot, files=snapshot.files.starting(version, exact_from=version))
    return _decode_snapshot(uri, version, actions, text)


def _decode_snapshot(uri: str, version: int, actions: Sequence[Action], text: str) -> Snapshot:
    name = f"{uri}, checkpoint of version {version}"
    try:
        document: dict[str, Any] = orjson.loads(text)
        runs = [(int(count), int(at), int(ms)) for count, at, ms in document[_ADDED]]
        counts, versions, times = np.array(runs, np.int64).reshape(-1, 3).T
        extra = {str(path): dict(fields) for path, fields in document.get(_EXTRA, {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as reason:
        raise CorruptTableError(f"{name}: the extras that it carries cannot be read ({reason!r})") from None
    decoded = decode_extras(document, uri, name, version=version, created_ms=0)
    adds = [part for part in parts_of(actions) if isinstance(part, AddFile | Adds)]
    others = [part for part in parts_of(actions) if not isinstance(part, AddFile | Adds | SkipFile)]
    num_files = sum(len(part) if isinstance(part, Adds) else 1 for part in adds)
    declared = sum(count for count, _, _ in runs)
    if declared != num_files or any(count < 1 for count, _, _ in runs):
        raise CorruptTableError(f"{name} has {num_files} files, but its metadata declares {declared}")
    snapshot = replay(uri, None, [VersionActions(version, others, decoded.timestamp_ms)])
    assert snapshot is not None
    files = LiveFiles(start=version, exact_from=decoded.exact_from).edit()
    _add_each(files, adds, uri, extra, np.repeat(versions, counts), np.repeat(times, counts))
    return dataclasses.replace(
        snapshot,
        files=files.done(),
        txns=decoded.txns,
        txn_id=decoded.txn_id,
        extras=decoded.extras,
        checksum=decoded.checksum,
    )


def _add_each(
    files: LiveFilesEdit,
    adds: Sequence[AddFile | Adds],
    uri: str,
    extra: Mapping[str, Mapping[str, Any]],
    versions: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
) -> None:
    """Add the files of a checkpoint, each with its version and time, and with its extra fields by path."""
    end = 0
    for part in adds:
        start, end = end, end + (len(part) if isinstance(part, Adds) else 1)
        if isinstance(part, Adds) and extra.keys().isdisjoint(part.paths):
            split_paths = split_keys(part.paths, uri)
            files.add_many(split_paths, part, version=versions[start:end], timestamp_ms=times[start:end])
            continue
        for row, add in enumerate(part if isinstance(part, Adds) else [part], start):
            file = dataclasses.replace(add, extra=extra[add.path]) if add.path in extra else add
            key = split_key(add.path, uri)
            files.add(key, file, version=int(versions[row]), timestamp_ms=int(times[row]))


def _extras_text(metadata: Metadata, version: int) -> str | None:
    """Return the extras of a checkpoint as JSON, or None if another writer copied them from another version."""
    seal = metadata.configuration.get(CHECKPOINT_SEAL, "").partition("-")[0]
    return None if seal not in ("", str(version)) else metadata.configuration.get(EXTRAS_PROPERTY)


def write_snapshot_checkpoint(
    store: Store, snapshot: Snapshot, settings: Settings, now_ms: int
) -> LastCheckpoint:
    """Write the snapshot's checkpoint: its parts if it is large, then the file that names them, then the hint.

    Writes are idempotent: names depend on version and content only, so concurrent writers produce the same objects,
    and the second finds them in place. Raises CorruptTableError if a checkpoint is in place that cannot be read, and
    InputError if one of the files would be larger than what readers accept.
    """
    files = [added for _, added in snapshot.files.added()]
    head: list[Action] = [
        snapshot.protocol,
        _metadata_with_extras(snapshot, files),
        *snapshot.extras.skips.values(),
    ]
    adds = [dataclasses.replace(added.file, extra={}) for added in files]
    compress = settings.get(keys.COMPRESS_VERSION_FILES)
    size = settings.get(keys.STATE_ENTRIES_PER_MANIFEST)
    parts = checkpoint_id = None
    whole = len(adds) <= size or snapshot.protocol.min_reader_version < _PARTS_SINCE
    groups = [[*head, *adds]] if whole else list(_parts(head, adds, size))
    texts = seal_checkpoint([encode_text(group) for group in groups], snapshot.version)
    largest = max(len(text) for text in texts)
    if largest > max_text_bytes():
        raise InputError(
            f"a JSON checkpoint of {snapshot.uri} would have a file of {largest >> 20} MB; readers accept up to "
            f"{max_text_bytes() >> 20} MB. Lower {keys.STATE_ENTRIES_PER_MANIFEST.key}, or write Avro states"
        )
    contents = [pack(text, compress=compress, marked=True) for text in texts]
    if whole:
        (data,) = contents
    else:
        checkpoint_id = hashlib.sha256(b"".join(contents)).hexdigest()[:12]
        names = [part_name(snapshot.version, checkpoint_id, n) for n in range(1, len(contents) + 1)]
        for name, content in zip(names, contents, strict=True):
            create_once(store, f"{LOG_DIRECTORY}/{name}", content)  # named by its content
        parts = len(names)
        data = orjson.dumps(
            {
                "version": snapshot.version,
                "checkpointId": checkpoint_id,
                "parts": names,
                "createdTime": now_ms,
                "format": "json",
            }
        )
    if not create_once(store, checkpoint_key(snapshot.version), data):
        snapshot_of_actions(store.uri, snapshot.version, read_checkpoint(store, snapshot.version))
    # Without `format` and newer fields: readers that know only JSON refuse a hint with a field that they do not know.
    pointer = LastCheckpoint(
        snapshot.version,
        size=len(head) + len(adds),
        size_in_bytes=total_bytes(add.size for add in adds),
        num_files=len(adds),
        created_time=now_ms,
        parts=parts,
        checkpoint_id=checkpoint_id,
    )
    write_pointer(store, pointer)
    return pointer


def _metadata_with_extras(snapshot: Snapshot, files: Sequence[Added]) -> Metadata:
    document = encode_extras(snapshot.checkpoint_extras)
    runs = groupby(files, key=lambda added: (added.version, added.timestamp_ms))
    document[_ADDED] = [[sum(1 for _ in group), at, ms] for (at, ms), group in runs]
    extra = {added.file.path: dict(added.file.extra) for added in files if added.file.extra}
    if extra:
        document[_EXTRA] = extra
    text = orjson.dumps(document, default=dict).decode()
    seal = f"{snapshot.version}-{UNSEALED}"
    configuration = {**snapshot.metadata.configuration, EXTRAS_PROPERTY: text, CHECKPOINT_SEAL: seal}
    return dataclasses.replace(snapshot.metadata, configuration=configuration)


def _parts(head: list[Action], adds: list[AddFile], size: int) -> Iterator[list[Action]]:
    yield [*head, *adds[:size]]
    for start in range(size, len(adds), size):
        yield [*adds[start : start + size]]

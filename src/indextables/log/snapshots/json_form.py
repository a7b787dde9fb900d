"""A snapshot as a JSON checkpoint in the store, and back.

Written for the readers of before the Avro state, who are strict: a line is one of the actions that they know, with
the fields that they know, and compressed it begins with the bytes 01 01. So what they have no word for travels where
they look at nothing, in an entry of the metadata's configuration, and is taken out of it when the checkpoint is read.
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
from indextables.log.actions import codec
from indextables.log.actions.adds import Adds, parts_of
from indextables.log.actions.checksums import CHECKPOINT_SEAL, UNSEALED, seal_checkpoint
from indextables.log.actions.codec import encode_text, pack
from indextables.log.actions.entries import Added
from indextables.log.actions.model import Action, AddFile, Metadata, SkipFile
from indextables.log.actions.paths import checkpoint_key, part_name, split_key, split_keys
from indextables.log.snapshots.extras_json import decode_extras, encode_extras
from indextables.log.snapshots.json_checkpoint import read_checkpoint
from indextables.log.snapshots.live_files import LiveFiles, LiveFilesEdit
from indextables.log.snapshots.snapshot import EXTRAS_PROPERTY, Snapshot, VersionActions, replay
from indextables.state import LOG_DIRECTORY, LastCheckpoint, write_pointer
from indextables.stats import total_bytes
from indextables.storage import Store, create_once

_ADDED: Final = "added"
_EXTRA: Final = "addExtra"
_PARTS_SINCE: Final = 3
"""The protocol version whose readers know checkpoints in parts."""


def snapshot_of_checkpoint(store: Store, version: int, modified_ms: int = 0) -> Snapshot:
    """The snapshot that the checkpoint of a version describes. ObjectNotFoundError where there is none.

    `modified_ms` is its time if it does not say itself.
    """
    return snapshot_of_actions(store.uri, version, read_checkpoint(store, version), modified_ms)


def snapshot_of_actions(uri: str, version: int, actions: Sequence[Action], modified_ms: int = 0) -> Snapshot:
    """The same from its actions."""
    metadata = next((action for action in parts_of(actions) if isinstance(action, Metadata)), None)
    carried = None if metadata is None else _carried(metadata, version)
    if carried is None:
        snapshot = replay(uri, None, [VersionActions(version, actions, modified_ms)])
        assert snapshot is not None
        return dataclasses.replace(snapshot, files=snapshot.files.starting(version, exact_from=version))
    return _restored(uri, version, actions, carried)


def _restored(uri: str, version: int, actions: Sequence[Action], text: str) -> Snapshot:
    name = f"{uri}, checkpoint of version {version}"
    try:
        document: dict[str, Any] = orjson.loads(text)
        runs = [(int(count), int(at), int(ms)) for count, at, ms in document[_ADDED]]
        counts, versions, times = np.array(runs, np.int64).reshape(-1, 3).T
        extra = {str(path): dict(fields) for path, fields in document.get(_EXTRA, {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as reason:
        raise CorruptTableError(f"{name}: what it carries for the log cannot be read ({reason!r})") from None
    carried = decode_extras(document, uri, name, version=version, created_ms=0)
    adds = [part for part in parts_of(actions) if isinstance(part, AddFile | Adds)]
    others = [part for part in parts_of(actions) if not isinstance(part, AddFile | Adds | SkipFile)]
    num_files = sum(len(part) if isinstance(part, Adds) else 1 for part in adds)
    declared = sum(count for count, _, _ in runs)
    if declared != num_files or any(count < 1 for count, _, _ in runs):
        raise CorruptTableError(f"{name} has {num_files} files, but its metadata declares {declared}")
    snapshot = replay(uri, None, [VersionActions(version, others, carried.timestamp_ms)])
    assert snapshot is not None
    files = LiveFiles(start=version, exact_from=carried.exact_from).edit()
    _add_each(files, adds, uri, extra, np.repeat(versions, counts), np.repeat(times, counts))
    return dataclasses.replace(
        snapshot,
        files=files.done(),
        txns=carried.txns,
        txn_id=carried.txn_id,
        extras=carried.extras,
        checksum=carried.checksum,
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


def _carried(metadata: Metadata, version: int) -> str | None:
    """Return what a checkpoint carries, unless another writer copied it from the checkpoint of another version."""
    seal = metadata.configuration.get(CHECKPOINT_SEAL, "").partition("-")[0]
    return None if seal not in ("", str(version)) else metadata.configuration.get(EXTRAS_PROPERTY)


def write_snapshot_checkpoint(
    store: Store, snapshot: Snapshot, settings: Settings, now_ms: int
) -> LastCheckpoint:
    """Write the snapshot's checkpoint: its parts if it is large, then the file that names it, then the hint.

    Everything is named by version and content, so that writers who meet write the same: the second finds it in place.
    CorruptTableError if what is in place cannot be read.
    """
    files = [added for _, added in snapshot.files.added()]
    head: list[Action] = [snapshot.protocol, _with_carried(snapshot, files), *snapshot.extras.skips.values()]
    adds = [dataclasses.replace(added.file, extra={}) for added in files]
    compress = settings.get(keys.COMPRESS_VERSION_FILES)
    size = settings.get(keys.STATE_ENTRIES_PER_MANIFEST)
    parts = checkpoint_id = None
    whole = len(adds) <= size or snapshot.protocol.min_reader_version < _PARTS_SINCE
    parted = [[*head, *adds]] if whole else list(_parts(head, adds, size))
    texts = seal_checkpoint([encode_text(part) for part in parted], snapshot.version)
    largest = max(len(text) for text in texts)
    if largest > codec.MAX_INFLATED:
        raise InputError(
            f"a JSON checkpoint of {snapshot.uri} would have a file of {largest >> 20} MB, and readers take up to "
            f"{codec.MAX_INFLATED >> 20} MB; lower {keys.STATE_ENTRIES_PER_MANIFEST.key}, or write Avro states"
        )
    contents = [pack(text, compress=compress, marked=True) for text in texts]
    if whole:
        (data,) = contents
    else:
        checkpoint_id = hashlib.sha256(b"".join(contents)).hexdigest()[:12]
        names = [part_name(snapshot.version, checkpoint_id, n) for n in range(1, len(contents) + 1)]
        for name, content in zip(names, contents, strict=True):
            create_once(store, f"{LOG_DIRECTORY}/{name}", content)  # the name says what is inside
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
    # Without `format` and all that is younger: readers that know only JSON refuse a hint with a field they do not know.
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


def _with_carried(snapshot: Snapshot, files: Sequence[Added]) -> Metadata:
    document = encode_extras(snapshot)
    came = groupby(files, key=lambda added: (added.version, added.timestamp_ms))
    document[_ADDED] = [[sum(1 for _ in group), at, ms] for (at, ms), group in came]
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

"""`_last_checkpoint`: where the newest checkpoint or state was when a writer last updated it. It is only a hint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.state.layout import LAST_CHECKPOINT
from indextables.storage import Store

AVRO_STATE: Final = "avro-state"
JSON: Final = "json"
JSON_MULTIPART: Final = "json-multipart"

_MAX_SIZE: Final = 1 << 20
_NAMES: Final = {
    "version": "version",
    "size": "size",
    "sizeInBytes": "size_in_bytes",
    "numFiles": "num_files",
    "createdTime": "created_time",
    "parts": "parts",
    "checkpointId": "checkpoint_id",
    "format": "format",
    "stateDir": "state_dir",
    "protocolVersion": "protocol_version",
}


@dataclass(frozen=True)
class LastCheckpoint:
    """Every field that any writer stores; only the version is always present.

    >>> decode_pointer(b'{"version":42,"size":3,"stateDir":null}')
    LastCheckpoint(version=42, size=3, size_in_bytes=None, num_files=None, created_time=None, parts=None, \
checkpoint_id=None, format=None, state_dir=None, protocol_version=None, extra={})
    """

    version: int
    size: int | None = None
    size_in_bytes: int | None = None
    num_files: int | None = None
    created_time: int | None = None
    parts: int | None = None
    checkpoint_id: str | None = None
    format: str | None = None
    state_dir: str | None = None
    protocol_version: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Return `format`, or the format that a pointer without one means."""
        return self.format or (JSON if self.checkpoint_id is None else JSON_MULTIPART)


def encode_pointer(pointer: LastCheckpoint) -> bytes:
    fields = {name: getattr(pointer, attribute) for name, attribute in _NAMES.items()}
    return orjson.dumps(
        {**pointer.extra, **{name: value for name, value in fields.items() if value is not None}}
    )


def decode_pointer(data: bytes) -> LastCheckpoint | None:
    """Decode a pointer; None for other bytes, because a hint that cannot be read is ignored."""
    try:
        document = orjson.loads(data)
        version = document["version"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        return None
    values = {_NAMES[name]: value for name, value in document.items() if name in _NAMES}
    extra = {name: value for name, value in document.items() if name not in _NAMES}
    return LastCheckpoint(**values, extra=extra)


def read_pointer(store: Store) -> LastCheckpoint | None:
    try:
        return decode_pointer(store.get(LAST_CHECKPOINT, _MAX_SIZE))
    except (ObjectNotFoundError, CorruptTableError):
        return None  # one that is too large is no hint either


def write_pointer(store: Store, pointer: LastCheckpoint) -> None:
    """Store the pointer, unless the stored one is as new and of the same kind.

    Another writer may store a newer pointer between the read and the write here, and this call then replaces it by an
    older one. That is harmless: readers take the version only as the place where they begin to look for newer ones.
    """
    stored = read_pointer(store)
    if (
        stored is None
        or stored.version < pointer.version
        or (stored.version == pointer.version and stored.kind != pointer.kind)
    ):
        store.put(LAST_CHECKPOINT, encode_pointer(pointer))

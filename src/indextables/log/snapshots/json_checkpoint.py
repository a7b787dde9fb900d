"""Reading JSON checkpoints of older tables: all actions that hold at a version, in one file or in parts.

<20 digits>.checkpoint.json                 the actions, compressed like a version file, or
                                            a list of parts: {"version", "checkpointId", "parts": [names], ...}
<20 digits>.checkpoint.<id>.<5 digits>.json a part: actions
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import orjson

from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.log.actions import (
    MAX_INFLATED,
    MAX_STORED,
    Action,
    ActionParts,
    Adds,
    FieldError,
    Verification,
    checkpoint_key,
    decode_parts,
    from_document,
    inflate,
    parts_of,
    verify_checkpoint,
)
from indextables.storage import LOG_DIRECTORY, Store

_PART: Final = re.compile(r"[0-9]{20}\.checkpoint\.[0-9A-Za-z-]+\.[0-9]{1,10}\.json")


def read_checkpoint(store: Store, version: int) -> Sequence[Action]:
    """Return the actions of a checkpoint, many adds as columns (see `parts_of`).

    Raises CorruptTableError if it, or a part of it, is damaged or missing.
    """
    key = checkpoint_key(version)
    name = f"{store.uri}/{key}"
    text = inflate(store.get(key, MAX_STORED), name, MAX_INFLATED)
    whole = _single_document(text)
    if whole is None:
        verify_checkpoint(text, version).check(name)
        return decode_parts(text, name)
    if isinstance(whole.get("parts"), list):
        return _read_parts(store, version, whole["parts"], name)
    return _from_lists(whole, name)


def is_in_parts(store: Store, version: int) -> bool:
    """Return True if the checkpoint of a version consists of several files."""
    key = checkpoint_key(version)
    whole = _single_document(inflate(store.get(key, MAX_STORED), f"{store.uri}/{key}", MAX_INFLATED))
    return whole is not None and isinstance(whole.get("parts"), list)


def _single_document(text: bytes) -> dict[str, Any] | None:
    """Return the JSON object if the file is a single one, or None if it has one action per line."""
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None


def _read_parts(store: Store, version: int, parts: list[Any], name: str) -> ActionParts:
    actions: list[Action | Adds] = []
    verification: Verification | None = None
    if len({str(part) for part in parts}) != len(parts):
        raise CorruptTableError(f"{name} names a part of the checkpoint twice")
    for part in parts:
        text = _read_part(store, part, name)
        if verification is None:
            verification = verify_checkpoint(text, version)
        else:
            verification.update(text)
        actions += parts_of(decode_parts(text, f"{store.uri}/{LOG_DIRECTORY}/{part}"))
    if verification is not None:
        verification.check(name)
    return ActionParts(actions)


def _read_part(store: Store, part: Any, name: str) -> bytes:
    if not isinstance(part, str) or not _PART.fullmatch(part):
        raise CorruptTableError(f"{name} names a part {part!r}, which is not a part of a checkpoint")
    key = f"{LOG_DIRECTORY}/{part}"
    try:
        return inflate(store.get(key, MAX_STORED), f"{store.uri}/{key}", MAX_INFLATED)
    except ObjectNotFoundError:
        raise CorruptTableError(f"{store.uri}/{key}, a part of the checkpoint {name}, is missing") from None


def _from_lists(document: dict[str, Any], name: str) -> list[Action]:
    """Return the actions of a file that is one object for all actions; the first tables had a list under `add`."""
    try:
        return [
            action
            for kind, bodies in document.items()
            for body in (bodies if isinstance(bodies, list) else [bodies])
            if body is not None
            for action in from_document({kind: body})
        ]
    except FieldError as reason:
        raise CorruptTableError(f"{name}: {reason}") from None

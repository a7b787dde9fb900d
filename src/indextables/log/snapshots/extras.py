"""Extras: what a table remembers apart from its files, metadata and protocol.

Extras are splits that merges should skip, unrecognised fields of streaming batches, and unrecognised actions. They
change no query result and must not be lost. Version files are deleted once a state covers them, so states and
checkpoints carry the extras in one JSON object, which other readers of the same state ignore.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from indextables.errors import CorruptTableError
from indextables.log.actions import (
    Action,
    Extra,
    FieldError,
    SkipFile,
    Txn,
    UnknownAction,
    from_document,
    split_key,
    to_document,
)

_TXNS: Final = "txns"
_TXN_EXTRA: Final = "txnExtra"
_TIMESTAMP: Final = "timestamp"
_TXN_ID: Final = "txnId"
_CHECKSUM: Final = "sha256"
_EXACT_FROM: Final = "addedAtKnownFrom"
_SKIPS: Final = "mergeskip"
_UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class Extras:
    """The newest skip of each live file by its key, unrecognised actions in order, and extra fields of batches.

    An unrecognised action that is repeated is kept once.

    >>> edit = Extras().edit()
    >>> edit.skip("a", SkipFile("a", 5, "damaged", "merge"))
    >>> edit.keep(UnknownAction("domain", {"x": 1}))
    >>> [type(action).__name__ for action in edit.done().actions()]
    ['SkipFile', 'UnknownAction']
    """

    skips: Mapping[str, SkipFile] = field(default_factory=dict)
    unknown: tuple[UnknownAction, ...] = ()
    txn_extra: Mapping[str, Extra] = field(default_factory=dict)

    def actions(self) -> Iterator[Action]:
        """Return the actions that record the extras again, except for batches."""
        yield from self.skips.values()
        yield from self.unknown

    def batches(self, txns: Mapping[str, int]) -> list[Txn]:
        """Return the streaming batches with the extra fields that their writers recorded."""
        return [Txn(app, version, dict(self.txn_extra.get(app, {}))) for app, version in txns.items()]

    def edit(self) -> ExtrasEdit:
        return ExtrasEdit(self)


class ExtrasEdit:
    """Builds the extras of the next version."""

    def __init__(self, base: Extras) -> None:
        self._skips = dict(base.skips)
        self._unknown = {_canonical_json(action): action for action in base.unknown}
        self._txn_extra = dict(base.txn_extra)

    def skip(self, key: str, action: SkipFile) -> None:
        self._skips[key] = action

    def removed(self, key: str) -> None:
        """Forget the skip of a file that is no longer live: no merge will read it."""
        self._skips.pop(key, None)

    def batch(self, txn: Txn) -> None:
        self._txn_extra.pop(txn.app_id, None)
        if txn.extra:
            self._txn_extra[txn.app_id] = txn.extra

    def keep(self, action: UnknownAction) -> None:
        text = _canonical_json(action)
        self._unknown.pop(text, None)
        self._unknown[text] = action

    def done(self) -> Extras:
        return Extras(self._skips, tuple(self._unknown.values()), self._txn_extra)


@dataclass(frozen=True)
class CheckpointExtras:
    """Decoded form of the JSON object that a state or checkpoint carries.

    It holds everything about a version that a reader needs to continue from the state alone, apart from files,
    protocol and metadata.
    """

    timestamp_ms: int
    txn_id: str | None
    txns: Mapping[str, int]
    exact_from: int
    extras: Extras = field(default_factory=Extras)
    checksum: str | None = None


def encode_extras(checkpoint: CheckpointExtras) -> dict[str, Any]:
    """Return the JSON object; empty extras are left out."""
    extras = checkpoint.extras
    document: dict[str, Any] = {
        _TXNS: dict(checkpoint.txns),
        _TIMESTAMP: checkpoint.timestamp_ms,
        _TXN_ID: checkpoint.txn_id,
        _EXACT_FROM: checkpoint.exact_from,
    }
    if checkpoint.checksum is not None:
        document[_CHECKSUM] = checkpoint.checksum
    if extras.skips:
        document[_SKIPS] = [to_document(skip)[_SKIPS] for skip in extras.skips.values()]
    if extras.unknown:
        document[_UNKNOWN] = [to_document(action) for action in extras.unknown]
    if extras.txn_extra:
        document[_TXN_EXTRA] = {app: dict(extra) for app, extra in extras.txn_extra.items()}
    return document


def decode_extras(
    document: Mapping[str, Any], uri: str, name: str, *, version: int, created_ms: int
) -> CheckpointExtras:
    """Decode the JSON object; an empty one gives the defaults that hold for a state of another writer.

    Raises CorruptTableError, with the `name` of the state or checkpoint, if it cannot be decoded.
    """
    try:
        edit = Extras(txn_extra=dict(document.get(_TXN_EXTRA, {}))).edit()
        for body in document.get(_SKIPS, ()):
            (skip,) = from_document({_SKIPS: body})
            assert isinstance(skip, SkipFile)
            edit.skip(split_key(skip.path, uri), skip)
        for wrapped in document.get(_UNKNOWN, ()):
            for action in from_document(wrapped):
                if isinstance(action, UnknownAction):
                    edit.keep(action)
        return CheckpointExtras(
            timestamp_ms=int(document.get(_TIMESTAMP, created_ms)),
            txn_id=_text(document.get(_TXN_ID)),
            txns={app: int(version) for app, version in document.get(_TXNS, {}).items()},
            exact_from=int(document.get(_EXACT_FROM, version)),
            extras=edit.done(),
            checksum=_text(document.get(_CHECKSUM)),
        )
    except (FieldError, ValueError, TypeError, AttributeError, OverflowError) as reason:
        raise CorruptTableError(f"{name}: the extras that it carries cannot be read ({reason})") from None


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _canonical_json(action: UnknownAction) -> bytes:
    try:
        return orjson.dumps({action.name: action.body}, option=orjson.OPT_SORT_KEYS)
    except TypeError as reason:  # nested deeper than JSON may be, so no state could carry it
        raise CorruptTableError(
            f"the log has an action {action.name!r} that no state can hold: {reason}"
        ) from None

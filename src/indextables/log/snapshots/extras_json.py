"""What a state or checkpoint says of a version beside its files, protocol and metadata, as one JSON object.

Other readers of the same state do not look at it; whoever goes on from the state without the version files before
it needs all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from indextables.errors import CorruptTableError
from indextables.log.actions.fields import FieldError, from_document, to_document
from indextables.log.actions.model import SkipFile, UnknownAction
from indextables.log.actions.paths import split_key
from indextables.log.snapshots.extras import Extras
from indextables.log.snapshots.snapshot import Snapshot

_TXNS: Final = "txns"
_TXN_EXTRA: Final = "txnExtra"
_TIMESTAMP: Final = "timestamp"
_TXN_ID: Final = "txnId"
_CHECKSUM: Final = "sha256"
_EXACT_FROM: Final = "addedAtKnownFrom"
_SKIPS: Final = "mergeskip"
_UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class CheckpointExtras:
    """The same as values."""

    timestamp_ms: int
    txn_id: str | None
    txns: Mapping[str, int]
    exact_from: int
    extras: Extras = field(default_factory=Extras)
    checksum: str | None = None


def encode_extras(snapshot: Snapshot) -> dict[str, Any]:
    """The object; what is empty is left out."""
    extras = snapshot.extras
    document: dict[str, Any] = {
        _TXNS: dict(snapshot.txns),
        _TIMESTAMP: snapshot.timestamp_ms,
        _TXN_ID: snapshot.txn_id,
        _EXACT_FROM: snapshot.files.exact_from,
    }
    if snapshot.checksum is not None:
        document[_CHECKSUM] = snapshot.checksum
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
    """The values; of a state that carries nothing, what is true of it all the same. CorruptTableError names it."""
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
        raise CorruptTableError(f"{name}: what it carries for the log cannot be read ({reason})") from None


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value

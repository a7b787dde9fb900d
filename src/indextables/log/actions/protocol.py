"""Which tables this release can read and write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from indextables.errors import ProtocolError
from indextables.log.actions.model import Action, AddFile, Protocol, SkipFile

READER_VERSION: Final = 4
WRITER_VERSION: Final = 4

FEATURES: Final = frozenset(
    {
        "avroState",
        "checkpoints",
        "conditionalWrites",
        "footerOffsets",
        "multiPartCheckpoint",
        "schemaDeduplication",
        "tantivy4java",
    }
)
"""Every feature name of the specs; the same names serve readers and writers."""

CURRENT: Final = Protocol(READER_VERSION, WRITER_VERSION)
"""What new tables ask for."""


_PLAIN: Final = Protocol(1, 1)
_SPLIT_METADATA: Final = Protocol(2, 2)
_SCHEMA_REFERENCES: Final = Protocol(3, 3)


def required_protocol(actions: Iterable[Action]) -> Protocol:
    """Return the oldest protocol whose readers and writers understand the actions.

    >>> required_protocol([AddFile("a", {}, 1, doc_mapping_ref="ab")]).min_reader_version
    3
    """
    required = _PLAIN
    for action in actions:
        if isinstance(action, AddFile) and action.doc_mapping_ref is not None:
            return _SCHEMA_REFERENCES
        if isinstance(action, SkipFile) or (isinstance(action, AddFile) and action.has_footer_offsets):
            required = _SPLIT_METADATA
    return required


def check_readable(protocol: Protocol, where: str) -> None:
    """ProtocolError if a reader of this release could misread the table at `where`."""
    _check("read", protocol.min_reader_version, READER_VERSION, protocol.reader_features, where)


def check_writable(protocol: Protocol, where: str) -> None:
    """ProtocolError if a writer of this release could damage the table at `where`."""
    check_readable(protocol, where)
    _check("write", protocol.min_writer_version, WRITER_VERSION, protocol.writer_features, where)


def _check(verb: str, wanted: int, ours: int, features: frozenset[str] | None, where: str) -> None:
    if wanted > ours:
        raise ProtocolError(
            f"to {verb} {where} takes protocol version {wanted}, and this release knows {ours}; upgrade indextables"
        )
    unknown = sorted((features or frozenset()) - FEATURES)
    if unknown:
        raise ProtocolError(
            f"to {verb} {where} takes the feature {', '.join(unknown)}, which this release does not know; "
            f"upgrade indextables"
        )

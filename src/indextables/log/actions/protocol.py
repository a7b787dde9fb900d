"""The protocol versions and features that this release supports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from indextables.errors import ProtocolError
from indextables.log.actions.model import Action, AddFile, Protocol, SkipFile

READER_VERSION: Final = 4
WRITER_VERSION: Final = 4

DELTA_LOGS: Final = "deltaLogs"
"""The feature of tables with deleted rows: an add may name a delta log, and a later entry replaces an earlier one."""

FEATURES: Final = frozenset(
    {
        "avroState",
        "checkpoints",
        "conditionalWrites",
        DELTA_LOGS,
        "footerOffsets",
        "multiPartCheckpoint",
        "schemaDeduplication",
        "tantivy4java",
    }
)
"""Every feature name of the specification, and those of this implementation; readers and writers use the same names."""

CURRENT: Final = Protocol(READER_VERSION, WRITER_VERSION)
"""The protocol of new tables."""


_PLAIN: Final = Protocol(1, 1)
_SPLIT_METADATA: Final = Protocol(2, 2)
_SCHEMA_REFERENCES: Final = Protocol(3, 3)
_DELETED_ROWS: Final = Protocol(4, 4, frozenset({DELTA_LOGS}), frozenset({DELTA_LOGS}))


def required_protocol(actions: Iterable[Action]) -> Protocol:
    """Return the oldest protocol whose readers and writers understand the actions.

    >>> required_protocol([AddFile("a", {}, 1, doc_mapping_ref="ab")]).min_reader_version
    3
    """
    required = _PLAIN
    for action in actions:
        if isinstance(action, AddFile) and action.delta_log is not None:
            return _DELETED_ROWS
        if isinstance(action, AddFile) and action.doc_mapping_ref is not None:
            required = _SCHEMA_REFERENCES
        elif required is _PLAIN and (
            isinstance(action, SkipFile) or (isinstance(action, AddFile) and action.has_footer_offsets)
        ):
            required = _SPLIT_METADATA
    return required


def has_delta_logs(protocol: Protocol) -> bool:
    """Return True if files of the table may have delta logs."""
    return DELTA_LOGS in (protocol.reader_features or ())


def check_readable(protocol: Protocol, where: str) -> None:
    """Raise ProtocolError if a reader of this release could misread the table at `where`."""
    _check("reading", protocol.min_reader_version, READER_VERSION, protocol.reader_features, where)


def check_writable(protocol: Protocol, where: str) -> None:
    """Raise ProtocolError if a writer of this release could damage the table at `where`."""
    check_readable(protocol, where)
    _check("writing", protocol.min_writer_version, WRITER_VERSION, protocol.writer_features, where)


def _check(action: str, required: int, supported: int, features: frozenset[str] | None, where: str) -> None:
    if required > supported:
        raise ProtocolError(
            f"{action} {where} requires protocol version {required}; this release supports up to {supported}. "
            f"Upgrade indextables"
        )
    unknown = sorted((features or frozenset()) - FEATURES)
    if unknown:
        raise ProtocolError(
            f"{action} {where} requires the feature {', '.join(unknown)}, which this release does not support. "
            f"Upgrade indextables"
        )

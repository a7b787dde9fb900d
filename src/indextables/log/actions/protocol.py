"""The protocol versions and features that this release supports."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Final

from indextables.errors import ProtocolError, SchemaError
from indextables.log.actions.model import Action, AddFile, Metadata, Protocol, SkipFile
from indextables.schema import TYPEMAP_PREFIX, TableSchema

READER_VERSION: Final = 4
WRITER_VERSION: Final = 4

EXTENDED_TYPES: Final = "extendedTypes"
"""The table has columns of types that the first releases do not index: they would misread its splits."""

DELTA_LOGS: Final = "deltaLogs"
"""The feature of tables with deleted rows: an add may name a delta log, and a later entry replaces an earlier one."""

STORED_NAMES: Final = "storedNames"
"""The feature of tables whose columns were changed: splits have them by permanent names, and may lack some."""

FEATURES: Final = frozenset(
    {
        "avroState",
        "checkpoints",
        "conditionalWrites",
        DELTA_LOGS,
        EXTENDED_TYPES,
        "footerOffsets",
        "multiPartCheckpoint",
        "schemaDeduplication",
        STORED_NAMES,
        "tantivy4java",
    }
)
"""Every feature name of the specification, and our own; readers and writers use the same names."""

CURRENT: Final = Protocol(READER_VERSION, WRITER_VERSION)
"""The protocol of new tables."""


_PLAIN: Final = Protocol(1, 1)
_SPLIT_METADATA: Final = Protocol(2, 2)
_SCHEMA_REFERENCES: Final = Protocol(3, 3)
_FEATURES_SINCE: Final = 3
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


def with_required_features(
    actions: Sequence[Action], current: tuple[Protocol, Metadata] | None
) -> list[Action]:
    """Return the actions, with the protocol raised by the features that the files of this version need.

    `current` is the protocol and the metadata of the table before it.
    """
    metadata = next((a for a in actions if isinstance(a, Metadata)), None if current is None else current[1])
    stored = next((a for a in actions if isinstance(a, Protocol)), None if current is None else current[0])
    is_write = any(isinstance(action, AddFile | Metadata) for action in actions)
    if metadata is None or stored is None or not is_write:
        return list(actions)
    features = _features_of(metadata)
    if not features:
        return list(actions)
    raised = dataclasses.replace(
        stored,
        min_reader_version=max(stored.min_reader_version, _FEATURES_SINCE),
        min_writer_version=max(stored.min_writer_version, _FEATURES_SINCE),
        reader_features=features | (stored.reader_features or frozenset()),
        writer_features=features | (stored.writer_features or frozenset()),
    )
    others = [action for action in actions if not isinstance(action, Protocol)]
    return list(actions) if raised == stored else [raised, *others]


def _features_of(metadata: Metadata) -> frozenset[str]:
    """Return the features that the columns of a table need."""
    try:
        schema = TableSchema.of_table(metadata.schema_string)
    except SchemaError:
        return frozenset()
    kinds = metadata.configuration.items()
    has_ip = any(k.startswith(TYPEMAP_PREFIX) and v == "ip" for k, v in kinds)
    needed = {
        EXTENDED_TYPES: schema.uses_extended_types or has_ip,
        STORED_NAMES: schema.has_stored_names,
    }
    return frozenset(feature for feature, is_needed in needed.items() if is_needed)


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

"""Changes of the protocol, and a version that repeats it and changes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from indextables.errors import TableNotFoundError
from indextables.log.actions import CURRENT, Action, Protocol, check_writable
from indextables.log.snapshots import Snapshot


@dataclass(frozen=True)
class UpgradeProtocol:
    """Raises the protocol to at least this one, and keeps the features that the table requires already."""

    protocol: Protocol = CURRENT
    operation: ClassVar[str] = "UPGRADE PROTOCOL"

    @property
    def parameters(self) -> Mapping[str, str]:
        protocol = self.protocol
        return {
            "minReaderVersion": str(protocol.min_reader_version),
            "minWriterVersion": str(protocol.min_writer_version),
        }

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to upgrade")
        check_writable(self.protocol, current.uri)
        raised = combine_protocols(current.protocol, self.protocol)
        return [] if raised == current.protocol else [raised]


@dataclass(frozen=True)
class NextVersion:
    """Adds a version that changes nothing, to have one whose state is not in place yet."""

    operation: ClassVar[str] = "CHECKPOINT"
    parameters: Mapping[str, str] = field(default_factory=dict)

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to write a state of")
        return [current.protocol]


def combine_protocols(old: Protocol, required: Protocol) -> Protocol:
    """Return the lowest protocol that satisfies both.

    >>> combine_protocols(Protocol(2, 5, frozenset({"a"})), Protocol(4, 4))
    Protocol(min_reader_version=4, min_writer_version=5, reader_features=frozenset({'a'}), writer_features=None, \
extra={})
    """
    return dataclasses.replace(
        old,
        min_reader_version=max(old.min_reader_version, required.min_reader_version),
        min_writer_version=max(old.min_writer_version, required.min_writer_version),
        reader_features=_union(old.reader_features, required.reader_features),
        writer_features=_union(old.writer_features, required.writer_features),
    )


def _union(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return one if other is None else other if one is None else one | other

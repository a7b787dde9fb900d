"""Changes of the table as a whole: back to an older version, up to a newer protocol, to a tidy registry.

As in `changes`, each computes its actions from the newest snapshot, every time anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from indextables.errors import TableNotFoundError
from indextables.log.actions import CURRENT, Action, Protocol, RemoveFile, check_writable
from indextables.log.snapshots import Snapshot, renormalize_registry

_FILES_AT_ONCE: Final = 100_000
"""So many files are added again by one commit, which readers can take."""


@dataclass(frozen=True)
class Restore:
    """The files and the metadata of an older snapshot again, whatever lives now.

    `check` is given the keys of the files that come back and raises if one of them is gone. The protocol stays,
    for a table never asks less of its readers than it did, and so do the batches of streaming writers.
    """

    target: Snapshot
    check: Callable[[Sequence[str]], None]
    operation: ClassVar[str] = "RESTORE"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"version": str(self.target.version)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to restore")
        wanted, live = dict(self.target.files.items()), dict(current.files.items())
        missing = [key for key in wanted if key not in live]
        self.check(missing)
        metadata = dataclasses.replace(
            self.target.metadata, id=current.metadata.id, created_time=current.metadata.created_time
        )
        gone = [file for key, file in live.items() if key not in wanted]
        return [
            *([metadata] if metadata != current.metadata else []),
            *(RemoveFile(file.path, partition_values=file.partition_values, size=file.size) for file in gone),
            *(dataclasses.replace(wanted[key], data_change=True) for key in missing),
        ]


@dataclass(frozen=True)
class UpgradeProtocol:
    """The protocol of today, with the features that the table asks for already. No file changes."""

    protocol: Protocol = CURRENT
    operation: ClassVar[str] = "UPGRADE PROTOCOL"

    @property
    def parameters(self) -> Mapping[str, str]:
        wanted = self.protocol
        return {
            "minReaderVersion": str(wanted.min_reader_version),
            "minWriterVersion": str(wanted.min_writer_version),
        }

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to upgrade")
        check_writable(self.protocol, current.uri)
        raised = combine_protocols(current.protocol, self.protocol)
        return [] if raised == current.protocol else [raised]


@dataclass(frozen=True)
class NextVersion:
    """A version that changes nothing, for a state that cannot be that of the version before."""

    operation: ClassVar[str] = "CHECKPOINT"
    parameters: Mapping[str, str] = field(default_factory=dict)

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to write a state of")
        return [current.protocol]


def combine_protocols(old: Protocol, wanted: Protocol) -> Protocol:
    """The least that asks for both.

    >>> combine_protocols(Protocol(2, 5, frozenset({"a"})), Protocol(4, 4))
    Protocol(min_reader_version=4, min_writer_version=5, reader_features=frozenset({'a'}), writer_features=None, \
extra={})
    """
    return dataclasses.replace(
        old,
        min_reader_version=max(old.min_reader_version, wanted.min_reader_version),
        min_writer_version=max(old.min_writer_version, wanted.min_writer_version),
        reader_features=_both(old.reader_features, wanted.reader_features),
        writer_features=_both(old.writer_features, wanted.writer_features),
    )


@dataclass(frozen=True)
class RenormalizeSchemas:
    """One name for each field mapping, once the live files use more names than `threshold`.

    A file is added again under the path that it has, with another reference: the later entry of a path counts. A
    large table takes several commits, until there is nothing to do.
    """

    threshold: int
    operation: ClassVar[str] = "RENORMALIZE SCHEMAS"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"threshold": str(self.threshold)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to tidy")
        due = renormalize_registry(current.metadata, current.files.values(), self.threshold)
        return [] if due is None else [due[0], *due[1][:_FILES_AT_ONCE]]


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return one if other is None else other if one is None else one | other

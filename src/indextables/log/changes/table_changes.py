"""Changes of the table as a whole: restoring an older version, raising the protocol, tidying the schema registry.

As in `file_changes`, each computes its actions from the newest snapshot, again in every attempt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from indextables.errors import TableNotFoundError
from indextables.log.actions import CURRENT, Action, Protocol, check_writable
from indextables.log.changes.file_changes import remove_files
from indextables.log.changes.purge_fence import ChecksOwnFiles
from indextables.log.changes.row_changes import add_again
from indextables.log.snapshots import Snapshot, renormalize_registry

_FILES_AT_ONCE: Final = 100_000
"""How many files one commit re-adds at most, so that its version file stays within what readers accept."""


@dataclass(frozen=True)
class Restore(ChecksOwnFiles):
    """Restores the files and the metadata of an older snapshot, whatever is live now.

    `check` is called with the keys of the files to re-add and of their delta logs, and raises if one of them has been
    deleted. A file that is live with another delta log is removed and added again. The protocol stays, because it is
    never lowered, and so do the batches of streaming writers.
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
        target, live = dict(self.target.files.added()), dict(current.files.added())
        changed = [
            key
            for key, added in target.items()
            if key in live and live[key].file.delta_log != added.file.delta_log
        ]
        missing = [key for key in target if key not in live]
        logs = [log for key in (*missing, *changed) if (log := target[key].file.delta_log) is not None]
        self.check([*missing, *logs])
        metadata = dataclasses.replace(
            self.target.metadata, id=current.metadata.id, created_time=current.metadata.created_time
        )
        removed = [added.file for key, added in live.items() if key not in target]
        return [
            *([metadata] if metadata != current.metadata else []),
            *remove_files(removed),
            *remove_files((live[key].file for key in changed), data_change=False),
            *(dataclasses.replace(target[key].file, data_change=True) for key in missing),
            *(add_again(live[key], target[key].file) for key in changed),
        ]


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


@dataclass(frozen=True)
class RenormalizeSchemas:
    """Gives each field mapping one name, if the live files use more names than `threshold`.

    A file is re-added under its own path with another reference; the later entry of a path counts. A large table takes
    several commits, until nothing remains to be done.
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


def _union(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return one if other is None else other if one is None else one | other

"""What a commit wants to do, and whether it still may when others were faster: the conflict rules.

Each change computes its actions from the newest snapshot, every time anew. So what others did meanwhile is
part of the input, and a rule is what the computation refuses:

- an append read no files: it only needs the schema, partitioning and mapping it was written for;
- an overwrite and a drop remove what lives *now*;
- a merge keeps the groups whose sources all still live.

An empty list means that there is nothing left to do, such as a streaming batch that is already there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from typing import Protocol as Interface

from indextables.errors import (
    CommitConflictError,
    PredicateError,
    TableExistsError,
    TableNotFoundError,
)
from indextables.log.actions import (
    CURRENT,
    Action,
    AddFile,
    Metadata,
    Protocol,
    RemoveFile,
    Txn,
    from_entries,
)
from indextables.log.changes.compatibility import (
    check_compatible,
    incompatibility,
    register_mappings,
    replace_properties,
)
from indextables.log.snapshots import Snapshot
from indextables.predicates import Predicate, columns_of, text_queries, to_sql

CreateRule = Literal["allow", "only", "never"]


class Change(Interface):
    """Something to commit."""

    @property
    def operation(self) -> str:
        """Its name in the history."""

    @property
    def parameters(self) -> Mapping[str, str]:
        """What the history says of it."""

    def actions(self, current: Snapshot | None) -> list[Action]:
        """What to write after `current` (None: there is no table).

        CommitConflictError, SchemaError, TableExistsError or TableNotFoundError when it does not apply.
        """


@dataclass(frozen=True)
class Append:
    """New files. `metadata` is what they were written for, and what a table gets that is made by this."""

    adds: tuple[AddFile, ...]
    metadata: Metadata
    protocol: Protocol = CURRENT
    create: CreateRule = "allow"
    txn: Txn | None = None
    operation: str = "WRITE"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"mode": "append" if self.create != "only" else "error"}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            if self.create == "never":
                raise TableNotFoundError("there is no table to append to; write with another mode first")
            return [self.protocol, self.metadata, *_given(self.txn), *self.adds]
        if self.create == "only":
            raise TableExistsError(f"there is a table at {current.uri} already; choose another mode")
        if is_batch_committed(self.txn, current):
            return []
        check_compatible(self.metadata, current)
        return [*register_mappings(current.metadata, self.metadata, self.adds), *_given(self.txn), *self.adds]


@dataclass(frozen=True)
class Overwrite:
    """New files in place of all that live. `metadata` becomes the table's, its identity apart.

    `replaces` is the metadata that the caller saw and means to replace: has somebody else changed it meanwhile
    to a third, the overwrite no longer applies. Without it, whatever is there is replaced.
    """

    adds: tuple[AddFile, ...]
    metadata: Metadata
    protocol: Protocol = CURRENT
    replaces: Metadata | None = None
    txn: Txn | None = None
    operation: str = "WRITE"
    parameters: Mapping[str, str] = field(default_factory=lambda: {"mode": "overwrite"})

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            return [self.protocol, self.metadata, *_given(self.txn), *self.adds]
        if is_batch_committed(self.txn, current):
            return []
        metadata: list[Metadata]
        if incompatibility(self.metadata, current) is None:
            metadata = replace_properties(current.metadata, self.metadata, self.adds)
        else:
            if self.replaces is not None:
                check_compatible(self.replaces, current)
            metadata = [
                dataclasses.replace(
                    self.metadata, id=current.metadata.id, created_time=current.metadata.created_time
                )
            ]
        return [*metadata, *_given(self.txn), *_removes(current.files.values()), *self.adds]


@dataclass(frozen=True)
class DropPartitions:
    """No new files; every partition goes for which the predicate is TRUE."""

    predicate: Predicate
    operation: ClassVar[str] = "DROP PARTITIONS"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"predicate": to_sql(self.predicate)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to drop partitions from")
        columns = [current.schema.field(name) for name in current.partition_columns]
        others = sorted(columns_of(self.predicate) - {column.name for column in columns})
        if others or text_queries(self.predicate):
            raise PredicateError(
                f"dropping partitions takes a condition on partition columns only "
                f"({', '.join(current.partition_columns) or 'this table has none'}), not on "
                f"{', '.join(others) or 'a text search'}"
            )
        # A condition on partition columns alone is decided by pruning.
        dropped = from_entries(current.prune(self.predicate).entries)
        return [*_removes(added.file for _, added in dropped)]


@dataclass(frozen=True)
class MergeGroup:
    """`adds` hold the same rows as the files with keys `sources`, and take their place."""

    sources: tuple[str, ...]
    adds: tuple[AddFile, ...]


@dataclass(frozen=True)
class MergeSplits:
    """Fewer, larger files with the same rows. `metadata` is what the new ones were written for."""

    groups: tuple[MergeGroup, ...]
    metadata: Metadata
    operation: str = "MERGE SPLITS"
    parameters: Mapping[str, str] = field(default_factory=dict)

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to merge splits of")
        alive = [group for group in self.groups if all(key in current.files for key in group.sources)]
        if self.groups and not alive:
            raise CommitConflictError(
                f"every split that this merge read has been removed from {current.uri} meanwhile "
                f"(now at version {current.version}); there is nothing left to merge"
            )
        check_compatible(self.metadata, current)
        adds = [dataclasses.replace(add, data_change=False) for group in alive for add in group.adds]
        sources = [current.files[key] for group in alive for key in group.sources]
        return [
            *register_mappings(current.metadata, self.metadata, adds),
            *_removes(sources, data_change=False),
            *adds,
        ]


def _removes(files: Iterable[AddFile], *, data_change: bool = True) -> list[RemoveFile]:
    return [
        RemoveFile(file.path, data_change=data_change, partition_values=file.partition_values, size=file.size)
        for file in files
    ]


def is_batch_committed(txn: Txn | None, current: Snapshot) -> bool:
    """Whether the table has this batch of its application, or a later one."""
    return txn is not None and current.txns.get(txn.app_id, -1) >= txn.version


def _given(txn: Txn | None) -> list[Txn]:
    return [] if txn is None else [txn]

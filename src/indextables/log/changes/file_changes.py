"""Changes of files, and the conflict rules: whether a change still applies after concurrent commits.

A commit computes the actions of its change from the newest snapshot, again in every attempt. So concurrent commits are
part of the input, and a conflict is what the computation refuses:

- an append reads no files: it only needs the schema, partitioning and mapping that it was written for;
- an overwrite and a drop remove what is live *now*;
- a merge keeps the groups whose sources are all still live, with the delta logs that they had.

An empty list of actions means that nothing remains to be done, as for a streaming batch that is already committed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal
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
    SkipFile,
    Txn,
    from_entries,
    split_key,
)
from indextables.log.changes.compatibility import (
    check_compatible,
    evolved_metadata,
    incompatibility,
    register_mappings,
    replace_properties,
)
from indextables.log.changes.purge_fence import ChecksOwnFiles
from indextables.log.snapshots import LiveFiles, Snapshot
from indextables.predicates import Predicate, columns_of, text_queries, to_sql

MERGED_INTO: Final = "mergedInto"
"""The tag of a file that a merge removes: the path of the file that has its rows now.

The rows of all files that were merged into one follow each other there, in the order of the log, without those that
were deleted. So a row can be found again after a merge.
"""

CreateRule = Literal["allow", "only", "never"]


class Change(Interface):
    """Something to commit."""

    @property
    def operation(self) -> str:
        """The name of the change in the history."""

    @property
    def parameters(self) -> Mapping[str, str]:
        """What the history records about the change."""

    def actions(self, current: Snapshot | None) -> list[Action]:
        """Return the actions to write after `current`, which is None if there is no table.

        Raises CommitConflictError, SchemaError, TableExistsError or TableNotFoundError if the change does not apply.
        """


@dataclass(frozen=True)
class Append:
    """Adds files. `metadata` is what they were written for; used as the table's metadata if this commit creates it.

    `evolves` is the metadata of the table before this change, if the change also adds columns: `metadata` then becomes
    the table's. If another writer has changed the columns since, it conflicts.
    """

    adds: tuple[AddFile, ...]
    metadata: Metadata
    protocol: Protocol = CURRENT
    create: CreateRule = "allow"
    txn: Txn | None = None
    operation: str = "WRITE"
    evolves: Metadata | None = None

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"mode": "append" if self.create != "only" else "error"}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            if self.create == "never":
                raise TableNotFoundError("there is no table to append to; write with another mode first")
            return [self.protocol, self.metadata, *_txn_actions(self.txn), *self.adds]
        if self.create == "only":
            raise TableExistsError(f"there is a table at {current.uri} already; choose another mode")
        if is_batch_committed(self.txn, current):
            return []
        if self.evolves is not None:
            check_compatible(self.evolves, current, exactly=True)
            metadata = [evolved_metadata(current.metadata, self.metadata)]
        else:
            check_compatible(self.metadata, current)
            metadata = register_mappings(current.metadata, self.metadata, self.adds)
        return [*metadata, *_txn_actions(self.txn), *self.adds]


@dataclass(frozen=True)
class Overwrite:
    """Replaces all live files by new ones. `metadata` becomes the table's, except for its id and creation time.

    `replaces` is the metadata that the caller saw and intends to replace. If another writer has changed it to something
    else, the overwrite conflicts. Without it, any metadata is replaced.
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
            return [self.protocol, self.metadata, *_txn_actions(self.txn), *self.adds]
        if is_batch_committed(self.txn, current):
            return []
        metadata: list[Metadata]
        if incompatibility(self.metadata, current) is None:
            metadata = replace_properties(current.metadata, self.metadata, self.adds)
        else:
            if self.replaces is not None:
                check_compatible(self.replaces, current, exactly=True)
            metadata = [
                dataclasses.replace(
                    self.metadata, id=current.metadata.id, created_time=current.metadata.created_time
                )
            ]
        return [*metadata, *_txn_actions(self.txn), *remove_files(current.files.values()), *self.adds]


@dataclass(frozen=True)
class OverwritePartitions:
    """Replaces the live files of every partition that gets a new file. `metadata` is what these were written for."""

    adds: tuple[AddFile, ...]
    metadata: Metadata
    txn: Txn | None = None
    operation: ClassVar[str] = "WRITE"
    parameters: Mapping[str, str] = field(
        default_factory=lambda: {"mode": "overwrite", "partitionOverwriteMode": "dynamic"}
    )

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to overwrite partitions of")
        if is_batch_committed(self.txn, current):
            return []
        check_compatible(self.metadata, current)
        written = {frozenset(add.partition_values.items()) for add in self.adds}
        replaced = [f for f in current.files.values() if frozenset(f.partition_values.items()) in written]
        return [
            *register_mappings(current.metadata, self.metadata, self.adds),
            *_txn_actions(self.txn),
            *remove_files(replaced),
            *self.adds,
        ]


@dataclass(frozen=True)
class DropPartitions:
    """Removes the files of every partition for which the predicate is TRUE."""

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
        return [*remove_files(added.file for _, added in dropped)]


@dataclass(frozen=True)
class MergeGroup:
    """`adds` hold the same rows as the files with keys `sources`, in their order, and take their place.

    `delta_logs` has the delta log of each source that had one when it was read. A source with another one now is
    another file: it has other rows.
    """

    sources: tuple[str, ...]
    adds: tuple[AddFile, ...]
    delta_logs: Mapping[str, str] = field(default_factory=dict)

    def is_live(self, files: LiveFiles) -> bool:
        """Return True if all sources are live with the rows that were read."""
        return all(key in files and files[key].delta_log == self.delta_logs.get(key) for key in self.sources)


@dataclass(frozen=True)
class MergeSplits:
    """Replaces files by fewer, larger ones with the same rows. `metadata` is what the new ones were written for.

    `skips` record the files that the merge could not read. Their `path` is the key of the file; the rest of what the
    log records about it, and how often it was skipped before, is taken from the table.
    """

    groups: tuple[MergeGroup, ...]
    metadata: Metadata
    skips: tuple[SkipFile, ...] = ()
    operation: str = "MERGE SPLITS"
    parameters: Mapping[str, str] = field(default_factory=dict)

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to merge splits of")
        live_groups = [group for group in self.groups if group.is_live(current.files)]
        skips = [_count_skip(skip, current) for skip in self.skips if skip.path in current.files]
        if self.groups and not live_groups and not skips:
            raise CommitConflictError(
                f"concurrent commits have removed or changed every split that this merge read from {current.uri} "
                f"(now at version {current.version}); there is nothing left to merge"
            )
        check_compatible(self.metadata, current)
        adds = [dataclasses.replace(add, data_change=False) for group in live_groups for add in group.adds]
        return [
            *register_mappings(current.metadata, self.metadata, adds),
            *(remove for group in live_groups for remove in _source_removes(group, current)),
            *adds,
            *skips,
        ]


@dataclass(frozen=True)
class UndoMerge(ChecksOwnFiles):
    """Replaces the new files of a merge by their sources again, because a new file has been deleted from the store.

    `before` is the snapshot before the merge. A group whose new files are no longer live is left alone: the commit that
    removed them has removed their rows, or moved them to other files. `check` is called with the keys of the sources to
    re-add and of their delta logs, and raises if one of them has been deleted.
    """

    groups: tuple[MergeGroup, ...]
    before: Snapshot
    check: Callable[[Sequence[str]], None]
    operation: ClassVar[str] = "UNDO MERGE"

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"before": str(self.before.version)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to undo a merge of")
        groups = [group for group in self.groups if all(_is_unchanged(add, current) for add in group.adds)]
        if not groups:
            return []
        keys = [key for group in groups for key in group.sources]
        files = [self.before.files[key] for key in keys]
        self.check([*keys, *(file.delta_log for file in files if file.delta_log is not None)])
        sources = [dataclasses.replace(file, data_change=False) for file in files]
        return [
            *register_mappings(current.metadata, self.before.metadata, sources),
            *remove_files((add for group in groups for add in group.adds), data_change=False),
            *sources,
        ]


def _source_removes(group: MergeGroup, current: Snapshot) -> list[RemoveFile]:
    removes = remove_files((current.files[key] for key in group.sources), data_change=False)
    if len(group.adds) != 1:
        return removes
    (add,) = group.adds
    return [dataclasses.replace(remove, tags={MERGED_INTO: add.path}) for remove in removes]


def _count_skip(skip: SkipFile, current: Snapshot) -> SkipFile:
    file, earlier = current.files[skip.path], current.extras.skips.get(skip.path)
    return dataclasses.replace(
        skip,
        path=file.path,
        partition_values=file.partition_values,
        size=file.size,
        skip_count=1 if earlier is None else earlier.skip_count + 1,
    )


def _is_unchanged(add: AddFile, current: Snapshot) -> bool:
    key = split_key(add.path, current.uri)
    return key in current.files and current.files[key].delta_log == add.delta_log


def remove_files(files: Iterable[AddFile], *, data_change: bool = True) -> list[RemoveFile]:
    """Return the actions that remove these files."""
    return [
        RemoveFile(
            file.path,
            data_change=data_change,
            partition_values=file.partition_values,
            size=file.size,
            delta_log=file.delta_log,
            num_deleted=file.num_deleted,
        )
        for file in files
    ]


def is_batch_committed(txn: Txn | None, current: Snapshot) -> bool:
    """Return True if the table has this batch of its application, or a later one."""
    return txn is not None and current.txns.get(txn.app_id, -1) >= txn.version


def _txn_actions(txn: Txn | None) -> list[Txn]:
    return [] if txn is None else [txn]

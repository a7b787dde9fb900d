"""Resolvers: what becomes of a transaction when other writers have committed since it read.

A resolver makes the next manifest from the one that was read, the newest one that was seen, and the updates. The
transaction calls it before every attempt to claim a version; `seen is read` if no other writer has committed. A
resolver raises CommitConflictError for what it cannot resolve.

Why the result is right: the claim of the next version succeeds only if that version does not exist yet, so that `seen`
is the newest manifest at the moment of the commit. If another writer claims the version first, the resolver runs again
with that writer's manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from indextables.columns.manifest import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
)
from indextables.columns.updates import Updates, apply, replaces
from indextables.errors import CommitConflictError, InputError

Entry = TypeVar("Entry", DeltaLog, LobFile)
FileIdentity = tuple[str, int, int]


class Resolver(Protocol):
    """The contract of a resolver. The manifests have relative paths, as they are stored.

    >>> def logs_only(read: Manifest, seen: Manifest, updates: Updates) -> Manifest:
    ...     return replace(seen, delta_logs=(*seen.delta_logs, *updates.added_delta_logs))
    >>> from indextables.columns import Transaction
    >>> Transaction.open("memory:doc-resolver", resolver=logs_only).add_delta_log("d1", 3).commit()
    1
    """

    def __call__(self, read: Manifest, seen: Manifest, updates: Updates, /) -> Manifest: ...


def fail(read: Manifest, seen: Manifest, updates: Updates, /) -> Manifest:
    """Apply the updates only if the version that was read is still the newest: the first writer wins."""
    if read is not seen:
        raise CommitConflictError("another writer has committed since this transaction read")
    return apply(read, updates)


def overwrite(read: Manifest, _seen: Manifest, updates: Updates, /) -> Manifest:
    """Apply the updates to the version that was read: the last writer wins, and commits of others are lost."""
    return apply(read, updates)


def merge(read: Manifest, seen: Manifest, updates: Updates, /) -> Manifest:
    """Apply the updates to the newest version, if they still mean the same there.

    What the newest version has already is not added again, so that a commit with an unknown outcome can be repeated:
    a delta log or large-value file with the same path, a file with the same path and rows in its group, a group of the
    same columns and files.

    >>> theirs = Manifest(delta_logs=(DeltaLog("d1", 3),))
    >>> [log.path for log in merge(Manifest(), theirs, Updates(added_delta_logs=(DeltaLog("d2", 1),))).delta_logs]
    ['d1', 'd2']
    """
    try:
        remaining = _without_present(updates, seen)
        if read is not seen:
            for check in (_check_positions, _check_dropped_columns, _check_stats, _check_indexes):
                check(read, seen, remaining)
        return apply(seen, remaining)
    except InputError as reason:
        if read is seen:
            raise
        # Updates that did not fit the version that was read either are a mistake of the caller, not a conflict.
        apply(read, _without_present(updates, read))
        raise CommitConflictError(f"the update conflicts with a concurrent commit: {reason}") from reason


RESOLVERS: Final[dict[str, Resolver]] = {"fail": fail, "merge": merge, "overwrite": overwrite}


def _check_positions(read: Manifest, seen: Manifest, updates: Updates) -> None:
    """Refuse to delete rows by position if their positions have changed since they were counted."""
    if all(log.type != DeltaLogType.POSITIONAL for log in updates.added_delta_logs):
        return
    if not _begins_with_rows_of(read, seen):
        raise CommitConflictError(
            "the update deletes rows by position, and another writer has replaced the rows at these positions"
        )
    if updates.appended_files and _rows(read) != _rows(seen):
        raise CommitConflictError(
            "the update deletes rows by position, and another writer has appended rows before the appended ones"
        )


def _check_dropped_columns(read: Manifest, seen: Manifest, updates: Updates) -> None:
    """Refuse to drop a column that has files which this transaction has not seen."""
    for name in updates.dropped_columns:
        if _files(seen, name) not in (None, _files(read, name)):
            raise CommitConflictError(
                f"the update drops column {name!r}, and another writer has added files to it"
            )


def _check_stats(read: Manifest, seen: Manifest, updates: Updates) -> None:
    """Refuse to replace a statistic that this transaction has not seen."""
    for key, mine in updates.updated_stats.items():
        if seen.stats.get(key) not in (None, read.stats.get(key), mine):
            raise CommitConflictError(f"another writer has updated statistic {key!r} too")


def _check_indexes(read: Manifest, seen: Manifest, updates: Updates) -> None:
    """Refuse an index of other files than the column has now, and one that replaces a build not seen."""
    for new in updates.added_indexes:
        if new in seen.indexes:
            continue
        if _files(seen, new.column_name) != _files(read, new.column_name):
            raise CommitConflictError(
                f"the files of column {new.column_name!r} have changed since its {new.index_type} index was built"
            )
        if _same(new, seen.indexes) not in ([], _same(new, read.indexes)):
            raise CommitConflictError(
                f"another writer has built the {new.index_type} index of column {new.column_name!r} too"
            )
    for index_id in updates.dropped_indexes:
        builds = [index for index in seen.indexes if index.index_id == index_id]
        if builds and builds != [index for index in read.indexes if index.index_id == index_id]:
            raise CommitConflictError(
                f"the update drops index {index_id}, and another writer has built it again"
            )


def _files(manifest: Manifest, column: str) -> list[FileIdentity] | None:
    for group in manifest.column_groups:
        if column in group.columns:
            return [_identity(file) for file in group.files]
    return None


def _begins_with_rows_of(read: Manifest, seen: Manifest) -> bool:
    """Return True if a shared column begins with the same files: then every column begins with the same rows."""
    if not _rows(read):
        return True
    shared = (
        name for group in read.column_groups for name in group.columns if _files(seen, name) is not None
    )
    for name in shared:
        before, after = _files(read, name) or [], _files(seen, name) or []
        if after[: len(before)] == before:
            return True
    return False


def _rows(manifest: Manifest) -> int:
    return manifest.column_groups[0].num_rows if manifest.column_groups else 0


def _same(new: Index, indexes: Sequence[Index]) -> list[Index]:
    return [old for old in indexes if replaces(new, old)]


def _without_present(updates: Updates, seen: Manifest) -> Updates:
    """Return the part of the updates that the newest version does not have yet."""
    present = [group for group in updates.added_column_groups if _is_present(group, seen.column_groups)]
    replaced = {name for group in present for name in group.columns}
    return replace(
        updates,
        # A column that was dropped and added again, in a commit that succeeded, must not be dropped once more.
        dropped_columns=tuple(name for name in updates.dropped_columns if name not in replaced),
        added_column_groups=tuple(group for group in updates.added_column_groups if group not in present),
        appended_files=_new_files(updates.appended_files, seen.column_groups),
        added_delta_logs=_new_entries(updates.added_delta_logs, seen.delta_logs),
        added_lob_files=_new_entries(updates.added_lob_files, seen.lob_files),
    )


def _is_present(group: ColumnGroup, seen: Sequence[ColumnGroup]) -> bool:
    files = [_identity(file) for file in group.files]
    return any(
        set(other.columns) == set(group.columns)
        and other.format == group.format
        and [_identity(file) for file in other.files[: len(files) or None]] == files
        for other in seen
    )


def _new_files(
    appends: Sequence[tuple[ColumnGroup, ...]], seen: Sequence[ColumnGroup]
) -> tuple[tuple[ColumnGroup, ...], ...]:
    """Return the appends without the files that their group has; an append with no files left is done."""
    present: list[set[FileIdentity]] = []
    remaining = []
    for append in appends:
        new = []
        for number, group in enumerate(append):
            if number == len(present):
                present.append(_known_files(appends, seen, number))
            files = tuple(file for file in group.files if _identity(file) not in present[number])
            present[number].update(map(_identity, files))
            new.append(replace(group, files=files))
        if any(group.files for group in new) or not any(group.files for group in append):
            remaining.append(tuple(new))
    return tuple(remaining)


def _known_files(
    appends: Sequence[tuple[ColumnGroup, ...]], seen: Sequence[ColumnGroup], number: int
) -> set[FileIdentity]:
    """Return the files of a group that have the path of an appended file: a few among many."""
    if number >= len(seen):
        return set()
    paths = {file.path for append in appends for group in append[number : number + 1] for file in group.files}
    return {_identity(file) for file in seen[number].files if file.path in paths}


def _identity(file: ColumnGroupFile) -> FileIdentity:
    return file.path, file.start_index, file.end_index


def _new_entries(added: Sequence[Entry], seen: Sequence[Entry]) -> tuple[Entry, ...]:
    paths = {entry.path for entry in added}
    present = {entry.path: entry for entry in seen if entry.path in paths}
    new: list[Entry] = []
    for entry in added:
        if entry.path not in present:
            present[entry.path] = entry
            new.append(entry)
        elif present[entry.path] != entry:
            raise InputError(f"{entry.path!r} exists as {present[entry.path]}; {entry} needs another path")
    return tuple(new)

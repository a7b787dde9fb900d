"""What a version means to a stream: the files with new rows, or an error.

A merge moves rows and adds none. A version that removes rows is an error unless the stream ignores it, since rows that
were already read cannot be taken back. Rows that a restore brings back are new rows, in files that may be there with
other deleted rows already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from indextables.errors import TableError
from indextables.log import AddFile, RemoveFile, Restore, split_key
from indextables.log.versions import VersionActions
from indextables.rows import RowIds
from indextables.split import DeltaLogRef, RestoredRows
from indextables.streams.options import StreamOptions

Positions = Callable[[DeltaLogRef, AddFile], RowIds]
"""Returns the positions in a delta log of a file."""


@dataclass(frozen=True)
class NewFile:
    """A file with new rows; with `restored`, these rows of it only."""

    key: str
    file: AddFile
    restored: RestoredRows | None = None


@dataclass(frozen=True)
class _Difference:
    """How the deleted rows of a file differ from those that it had: whether more are deleted, and which are not."""

    removes: bool
    restored: RestoredRows | None


def new_files(
    uri: str, version: VersionActions, options: StreamOptions, positions: Positions
) -> list[NewFile]:
    """Return the files that a version adds with new rows, in the order of the log.

    A file that is removed and added again in one version has other deleted rows, if its delta log is another one.
    Only a restore can delete fewer; `positions` is called for its files, where both delta logs are needed to know.

    >>> version = VersionActions(5, [AddFile("a", {}, 1), AddFile("merged", {}, 1, data_change=False)])
    >>> [new.key for new in new_files("memory://t", version, StreamOptions(), positions=lambda log, file: [])]
    ['a']
    """
    removes = {split_key(a.path, uri): a for a in version.actions if isinstance(a, RemoveFile)}
    adds = {split_key(a.path, uri): a for a in version.actions if isinstance(a, AddFile)}
    is_restore = _operation(version) == Restore.operation
    removed = any(action.data_change for key, action in removes.items() if key not in adds)
    new: list[NewFile] = []
    for key, file in adds.items():
        if key not in removes:
            if file.data_change:
                new.append(NewFile(key, file))
            continue
        difference = _difference(key, removes[key], file, positions, is_restore=is_restore)
        removed = removed or difference.removes
        if difference.restored is not None:
            new.append(NewFile(key, file, difference.restored))
    if not removed:
        return new
    if options.skip_change_commits:
        return []
    if new:
        raise TableError(
            f"version {version.version} of {uri} ({_operation(version)}) replaces rows that the stream may have read; "
            "start it with skipChangeCommits=true to pass over such versions, or with a new checkpointLocation to read "
            "the table from the beginning"
        )
    if options.ignore_deletes:
        return []
    raise TableError(
        f"version {version.version} of {uri} ({_operation(version)}) removes rows that the stream may have read; start "
        f"it with ignoreDeletes=true to pass over such versions, or with a new checkpointLocation to read the table "
        "from the beginning"
    )


def _difference(
    key: str, remove: RemoveFile, add: AddFile, positions: Positions, *, is_restore: bool
) -> _Difference:
    rows = add.num_records
    before = DeltaLogRef.of(remove.delta_log, remove.num_deleted, rows, key)
    after = DeltaLogRef.of(add.delta_log, add.num_deleted, rows, key)
    if before == after:
        return _NOTHING
    if before is None or not is_restore:
        return _Difference(removes=True, restored=None)
    count, removes = before.num_deleted, False
    if after is not None:
        was, now = positions(before, add), positions(after, add)
        count, removes = len(np.setdiff1d(was, now)), bool(len(np.setdiff1d(now, was)))
    others = max(0, (rows or 0) - count)
    restored = RestoredRows(before.key, others, before.num_deleted, after) if count else None
    return _Difference(removes, restored)


_NOTHING: Final = _Difference(removes=False, restored=None)


def _operation(version: VersionActions) -> str:
    info = version.commit_info
    return "an unknown operation" if info is None or info.operation is None else info.operation

"""Changesets: the net effect of a range of versions. Pure: no I/O.

A file that was added and removed again within the range is in neither list. A changeset answers two questions: which
*files* were added and removed, and which files hold the new *rows*. The answers differ after a merge, whose files are
new and whose rows are not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from indextables.log.actions import Added, AddFile, RemoveFile, split_key
from indextables.log.snapshots import Snapshot
from indextables.log.versions import VersionActions


@dataclass(frozen=True)
class FileChangeset:
    """Files that were added and files that were removed, in order of the log.

    `rows` are the files that hold the new rows and nothing else, by key, whether they have been merged since or not.
    It is None if a merge has mixed new rows with old ones so that they cannot be told apart. `changed` are the files
    that are in neither list and have other deleted rows than before.
    """

    adds: tuple[AddFile, ...] = ()
    removes: tuple[RemoveFile, ...] = ()
    rows: tuple[tuple[str, AddFile], ...] | None = ()
    changed: tuple[AddFile, ...] = ()


def changeset_of_versions(uri: str, versions: Iterable[VersionActions]) -> FileChangeset:
    """Return the changeset of versions that follow each other without a gap.

    >>> versions = [VersionActions(5, [AddFile("a", {}, 1)]), VersionActions(6, [RemoveFile("a"), RemoveFile("b")])]
    >>> changeset = changeset_of_versions("memory://t", versions)
    >>> changeset.adds, [file.path for file in changeset.removes]
    ((), ['b'])
    """
    files, rows = _Files(), _Rows()
    for version in versions:
        # A merge removes its sources. In a version without removes, an add that brings no rows re-adds an old file.
        is_merge = any(isinstance(action, RemoveFile) for action in version.actions)
        merge = _Merge()
        for action in version.actions:
            if isinstance(action, RemoveFile):
                key = split_key(action.path, uri)
                files.remove(key, action)
                rows.remove(key, action, merge)
            elif isinstance(action, AddFile):
                key = split_key(action.path, uri)
                is_new = files.add(key, action, re_add=not (action.data_change or is_merge))
                rows.add(key, action, merge, is_new=is_new)
        rows.apply(merge)
    return FileChangeset(
        tuple(files.added.values()), tuple(files.removed.values()), rows.new_rows(), files.changed()
    )


def changeset_of_snapshots(before: Snapshot | None, after: Snapshot) -> FileChangeset:
    """Return the changeset between two snapshots, without the versions between; `before` None is the empty table."""
    old = {} if before is None else dict(before.files.items())
    new = dict(after.files.added())
    added = in_order({key: added for key, added in new.items() if key not in old})
    removed = [
        RemoveFile(file.path, data_change=True, partition_values=file.partition_values, size=file.size)
        for key, file in old.items()
        if key not in new
    ]
    changed = [
        new[key].file for key, file in old.items() if key in new and new[key].file.delta_log != file.delta_log
    ]
    rows = rows_of(added, all_new=before is None)
    return FileChangeset(tuple(added.values()), tuple(removed), rows, tuple(changed))


def in_order(files: Mapping[str, Added]) -> dict[str, AddFile]:
    """Return the files in the order of the versions that added them; a state keeps them in another order."""
    return {key: added.file for key, added in sorted(files.items(), key=lambda item: item[1].version)}


def rows_of(added: dict[str, AddFile], *, all_new: bool) -> tuple[tuple[str, AddFile], ...] | None:
    """Return the added files if they hold only new rows, or None: a merged file may hold old rows too."""
    if all_new or all(file.data_change for file in added.values()):
        return tuple(added.items())
    return None


class _Files:
    """The files that are added and removed in the end; `_re_added` were live before the range."""

    def __init__(self) -> None:
        self.added: dict[str, AddFile] = {}
        self.removed: dict[str, RemoveFile] = {}
        self._re_added: set[str] = set()
        self._first_logs: dict[str, str | None] = {}
        self._last: dict[str, AddFile] = {}

    def remove(self, key: str, action: RemoveFile) -> None:
        if self.added.pop(key, None) is None:
            self._re_added.discard(key)
            self.removed.setdefault(key, action)
            self._first_logs.setdefault(key, action.delta_log)

    def add(self, key: str, file: AddFile, *, re_add: bool) -> bool:
        """Record an add. Return True if the file was not live before the range."""
        if key in self.added:
            if not re_add:
                del self.added[key]  # it moves to the end of the order
            self.added[key] = file
            return True
        if self.removed.pop(key, None) is not None or re_add:
            self._re_added.add(key)
        if key in self._re_added:
            self._last[key] = file
            return False
        self.added[key] = file
        return True

    def changed(self) -> tuple[AddFile, ...]:
        """Return the files that were live before, and are live with another delta log."""
        return tuple(
            self._last[key]
            for key, log in self._first_logs.items()
            if key in self._re_added and self._last[key].delta_log != log
        )


@dataclass
class _Merge:
    """The part of one version that moves rows: the sources of a merge and the files that replace them."""

    sources: dict[str, RemoveFile] = field(default_factory=dict)
    merged: dict[str, AddFile] = field(default_factory=dict)


_Place: TypeAlias = frozenset[tuple[str, str]]


def _place(partition_values: Mapping[str, str]) -> _Place:
    return frozenset(partition_values.items())


class _Rows:
    """The files that hold the new rows. `_holds` has, for each merged file, the new files whose rows it holds."""

    def __init__(self) -> None:
        self._new: dict[str, AddFile] = {}
        self._holds: dict[str, frozenset[str]] = {}
        self._shared: set[str] = set()
        self._lost = False

    def remove(self, key: str, action: RemoveFile, merge: _Merge) -> None:
        if not action.data_change:
            merge.sources[key] = action
            return
        self._new.pop(key, None)
        held = self._holds.pop(key, frozenset())
        if held and key in self._shared:
            self._lost = True  # another file of the same merge still holds some of the rows
        for source in held:
            self._new.pop(source, None)

    def add(self, key: str, file: AddFile, merge: _Merge, *, is_new: bool) -> None:
        if file.added_at_version is not None:
            merge.sources.pop(key, None)  # removed and added again, with another delta log
            if self._holds.get(key):
                self._lost = True  # which rows of a merged file were deleted, its sources do not tell
        if not is_new:
            return
        if file.data_change:
            self._new[key] = file
        elif key in self._new:
            self._new[key] = file  # re-added
        elif key not in self._holds:
            merge.merged[key] = file

    def apply(self, merge: _Merge) -> None:
        """Record whose new rows each merged file holds: they are removed with it."""
        merged_per_place = Counter(_place(file.partition_values) for file in merge.merged.values())
        held: dict[_Place | None, set[str]] = defaultdict(set)
        for key, source in merge.sources.items():
            place = _place(source.partition_values) if source.partition_values else None
            held[place].update(self._holds.get(key, ()), [key] if key in self._new else ())
        for key, file in merge.merged.items():
            place = _place(file.partition_values)
            # A source without partition values may have been in any partition.
            self._holds[key] = frozenset(held[place] | held[None])
            if merged_per_place[place] > 1:
                self._shared.add(key)

    def new_rows(self) -> tuple[tuple[str, AddFile], ...] | None:
        return None if self._lost else tuple(self._new.items())

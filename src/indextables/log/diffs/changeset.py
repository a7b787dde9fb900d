"""What versions changed in the end: what came and went between two of them is in neither list. Pure: no store in here.

Two questions are answered at once. Which *files* does the table have that it had not, and which not any more; and
where are the *rows* that are new. They differ after a merge, whose files are new and whose rows are not.
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
    """Files that came to stay and files that went, in order of the log.

    `rows` are the files that hold the new rows and nothing else, merged since or not, by key; None where a merge has
    made that unknowable.
    """

    adds: tuple[AddFile, ...] = ()
    removes: tuple[RemoveFile, ...] = ()
    rows: tuple[tuple[str, AddFile], ...] | None = ()


def changeset_of_versions(uri: str, versions: Iterable[VersionActions]) -> FileChangeset:
    """Of versions that follow each other without a gap.

    >>> versions = [VersionActions(5, [AddFile("a", {}, 1)]), VersionActions(6, [RemoveFile("a"), RemoveFile("b")])]
    >>> net = changeset_of_versions("memory://t", versions)
    >>> net.adds, [file.path for file in net.removes]
    ((), ['b'])
    """
    files, rows = _Files(), _Rows()
    for found in versions:
        # A merge takes its sources away. Without that, files that bring no rows are old ones, entered anew.
        is_merge = any(isinstance(action, RemoveFile) for action in found.actions)
        merged = _Merge()
        for action in found.actions:
            if isinstance(action, RemoveFile):
                key = split_key(action.path, uri)
                files.remove(key, action)
                rows.remove(key, action, merged)
            elif isinstance(action, AddFile):
                key = split_key(action.path, uri)
                is_new = files.add(key, action, again=not (action.data_change or is_merge))
                rows.add(key, action, merged, is_new=is_new)
        rows.merge(merged)
    return FileChangeset(tuple(files.came.values()), tuple(files.gone.values()), rows.known())


def changeset_of_snapshots(before: Snapshot | None, after: Snapshot) -> FileChangeset:
    """The same from what lived at both ends, without a word on how it came about. None: before there was a table."""
    old = {} if before is None else dict(before.files.items())
    new = dict(after.files.added())
    came = in_order({key: added for key, added in new.items() if key not in old})
    gone = [
        RemoveFile(file.path, data_change=True, partition_values=file.partition_values, size=file.size)
        for key, file in old.items()
        if key not in new
    ]
    return FileChangeset(tuple(came.values()), tuple(gone), rows_of(came, all_new=before is None))


def in_order(came: Mapping[str, Added]) -> dict[str, AddFile]:
    """The files in the order in which they came: a state keeps them in another."""
    return {key: added.file for key, added in sorted(came.items(), key=lambda item: item[1].version)}


def rows_of(came: dict[str, AddFile], *, all_new: bool) -> tuple[tuple[str, AddFile], ...] | None:
    """The new rows of files of which nothing more is known: in a merged file there may be old ones too."""
    if all_new or all(file.data_change for file in came.values()):
        return tuple(came.items())
    return None


class _Files:
    def __init__(self) -> None:
        self.came: dict[str, AddFile] = {}
        self.gone: dict[str, RemoveFile] = {}
        self._back: set[str] = set()

    def remove(self, key: str, action: RemoveFile) -> None:
        if self.came.pop(key, None) is None:
            self._back.discard(key)
            self.gone.setdefault(key, action)

    def add(self, key: str, file: AddFile, *, again: bool) -> bool:
        """Whether the file is one that did not live at the beginning."""
        if key in self.came:
            if not again:
                del self.came[key]  # it comes anew, after all others
            self.came[key] = file
            return True
        if self.gone.pop(key, None) is not None or again:
            self._back.add(key)
        if key in self._back:
            return False
        self.came[key] = file
        return True


@dataclass
class _Merge:
    """The part of one version that moves rows about: what went, and what came in its place."""

    sources: dict[str, RemoveFile] = field(default_factory=dict)
    made: dict[str, AddFile] = field(default_factory=dict)


_Place: TypeAlias = frozenset[tuple[str, str]]


def _place(partition_values: Mapping[str, str]) -> _Place:
    return frozenset(partition_values.items())


class _Rows:
    def __init__(self) -> None:
        self._new: dict[str, AddFile] = {}
        self._holds: dict[str, frozenset[str]] = {}
        self._shared: set[str] = set()
        self._lost = False

    def remove(self, key: str, action: RemoveFile, merged: _Merge) -> None:
        if not action.data_change:
            merged.sources[key] = action
            return
        self._new.pop(key, None)
        held = self._holds.pop(key, frozenset())
        if held and key in self._shared:
            self._lost = True  # some of the rows lived on in another file of the same merge
        for source in held:
            self._new.pop(source, None)

    def add(self, key: str, file: AddFile, merged: _Merge, *, is_new: bool) -> None:
        if not is_new:
            return
        if file.data_change:
            self._new[key] = file
        elif key in self._new:
            self._new[key] = file  # entered anew
        elif key not in self._holds:
            merged.made[key] = file

    def merge(self, merged: _Merge) -> None:
        """Remember whose new rows a merged file holds: they are gone when it goes."""
        made = Counter(_place(file.partition_values) for file in merged.made.values())
        held: dict[_Place | None, set[str]] = defaultdict(set)
        for key, source in merged.sources.items():
            place = _place(source.partition_values) if source.partition_values else None
            held[place].update(self._holds.get(key, ()), [key] if key in self._new else ())
        for key, file in merged.made.items():
            place = _place(file.partition_values)
            # A source that does not say where it was may have been anywhere.
            self._holds[key] = frozenset(held[place] | held[None])
            if made[place] > 1:
                self._shared.add(key)

    def known(self) -> tuple[tuple[str, AddFile], ...] | None:
        return None if self._lost else tuple(self._new.items())

"""What a transaction is told: its fluent half. Mistakes that can be seen here are errors here, before any commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Self

from indextables.columns.arguments import column_groups, expect, names
from indextables.columns.layout import relative, resolved
from indextables.columns.manifest import (
    ColumnGroup,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.columns.updates import Updates
from indextables.errors import CorruptTableError, InputError


class Recording:
    """Gathers updates for the dataset at `base` until it is committed or closed."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._updates = Updates()
        self._in_doubt = False
        self.is_closed = False
        self.is_committed = False

    def add_column_group(self, group: ColumnGroup) -> Self:
        """New columns for the rows that there are, one value for each."""
        expect(group, ColumnGroup, "the column group to add", "a ColumnGroup, such as Writer.close() returns")
        _check_groups((group,))
        added = self._placed(Manifest(column_groups=(group,))).column_groups
        return self._with(added_column_groups=(*self._updates.added_column_groups, *added))

    def append_files(self, groups: Iterable[ColumnGroup]) -> Self:
        """New rows: files for every column group, group for group as they are in the dataset.

        The first files of a dataset say what its column groups are.
        """
        given = column_groups(groups)
        _check_groups(given)
        if not given:
            raise InputError("there are no column groups to append; a writer that got no rows returns none")
        appended = self._placed(Manifest(column_groups=given)).column_groups
        return self._with(appended_files=(*self._updates.appended_files, appended))

    def add_delta_log(
        self,
        path: str,
        num_entries: int,
        type: DeltaLogType | int = DeltaLogType.PRIMARY_KEY,  # noqa: A002
    ) -> Self:
        """A file that names deleted rows."""
        expect(path, str, "the path of a delta log", "a text")
        expect(num_entries, int, "num_entries", "a number of entries")
        if not path:
            raise InputError("a delta log needs a path")
        if num_entries < 0:
            raise InputError(f"delta log {path!r} has {num_entries} entries; it takes zero or more")
        kind = delta_log_type(type, f"delta log {path!r}")
        added = self._placed(Manifest(delta_logs=(DeltaLog(path, num_entries, kind),))).delta_logs
        return self._with(added_delta_logs=(*self._updates.added_delta_logs, *added))

    def update_stat(self, key: str, files: Iterable[str], metadata: Mapping[str, str] | None = None) -> Self:
        """The files of a statistic, in place of those that it had."""
        expect(key, str, "the key of a statistic", "a text")
        if not key:
            raise InputError("a statistic needs a key, such as 'bm25'")
        expect(
            metadata, (Mapping, NoneType), f"the metadata of statistic {key!r}", "a mapping of texts to texts"
        )
        for text in [*(metadata or {}), *(metadata or {}).values()]:
            expect(text, str, f"an entry of the metadata of statistic {key!r}", "a text")
        statistic = Statistics(names(files, f"the files of statistic {key!r}"), dict(metadata or {}))
        if not all(statistic.paths):
            raise InputError(f"a file of statistic {key!r} has no path")
        updated = self._placed(Manifest(stats={key: statistic})).stats
        return self._with(updated_stats={**self._updates.updated_stats, **updated})

    def drop_column(self, name: str) -> Self:
        """Take a column out of its group, and its indexes with it. The files stay as they are."""
        expect(name, str, "the column to drop", "a name")
        return self._with(dropped_columns=(*self._updates.dropped_columns, name))

    def add_index(self, index: Index) -> Self:
        """An index over a column, in place of an older build of it.

        Builds of one index have one `index_id`, or without one the same column and type. Files that are appended later
        end it, since it does not cover them.
        """
        expect(index, Index, "the index to add", "an Index")
        added = self._placed(Manifest(indexes=(index,))).indexes
        return self._with(added_indexes=(*self._updates.added_indexes, *added))

    def drop_index(self, index_id: int) -> Self:
        """Take out the index with this id."""
        expect(index_id, int, "index_id", "an int")
        return self._with(dropped_indexes=(*self._updates.dropped_indexes, index_id))

    def add_lob_file(self, file: LobFile) -> Self:
        """A file of large values, which lies outside the column groups."""
        expect(file, LobFile, "the file to add", "a LobFile")
        added = self._placed(Manifest(lob_files=(file,))).lob_files
        return self._with(added_lob_files=(*self._updates.added_lob_files, *added))

    def _placed(self, part: Manifest) -> Manifest:
        """Paths as they will be stored. One that could not be read back is refused here, before it is."""
        self._check_usable()
        stored = relative(part, self._base)
        try:
            resolved(stored, self._base)
        except CorruptTableError as reason:
            raise InputError(f"{reason}; give the whole address of a file that lies elsewhere") from None
        return stored

    def _with(self, **changes: object) -> Self:
        self._check_usable()
        if self._in_doubt:  # its version may be there, without them
            raise InputError(
                f"the commit of the transaction on {self._base} is in doubt; call commit() again to find out, and "
                f"open another transaction for more updates"
            )
        self._updates = replace(self._updates, **changes)  # type: ignore[arg-type]
        return self

    def _check_open(self) -> None:
        if self.is_closed:
            raise InputError(f"the transaction on {self._base} is closed; open another")

    def _check_usable(self) -> None:
        self._check_open()
        if self.is_committed:
            raise InputError(f"the transaction on {self._base} is committed; open another for more updates")


def delta_log_type(given: int, name: str) -> DeltaLogType:
    """Return the type that a member or a number is; InputError names those that there are."""
    try:
        return DeltaLogType(given)
    except ValueError:
        kinds = ", ".join(f"{kind.name} ({kind.value})" for kind in DeltaLogType)
        raise InputError(f"{name} is of type {given!r:.100}; there are {kinds}") from None


def _check_groups(groups: Iterable[ColumnGroup]) -> None:
    for group in groups:
        for file in group.files:
            if not file.path:
                raise InputError(f"a file of column group {group.columns} has no path")
            if file.end_index < file.start_index:
                raise InputError(
                    f"{file.path} is said to hold rows {file.start_index} to {file.end_index}, which is backwards"
                )

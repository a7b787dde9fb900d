"""A table as a stream: where it begins, how far a batch goes, and which files a batch has.

Everything follows from the log, which does not change: a batch between two offsets has the same files whenever it is
planned. A stream begins with the files of one version, unless an option says otherwise, and continues with the files
that each later version adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import ConfigError, InputError, TableError, VersionNotFoundError
from indextables.log import AddFile, LiveFiles, Snapshot, load_snapshot
from indextables.log.actions import from_entries
from indextables.log.diffs import first_version, read_range, version_at
from indextables.log.versions import VersionActions
from indextables.rows import RowIds
from indextables.split import DeltaLogRef, load_deleted_rows
from indextables.state import KEY
from indextables.stats import MAX_RECORDS
from indextables.storage import Store, open_store
from indextables.streams.admission import Budget
from indextables.streams.new_files import NewFile, new_files
from indextables.streams.offsets import Offset, Position
from indextables.streams.options import LATEST, Limits, StreamOptions
from indextables.table import FileChange, PastColumns, changes_of, file_changes, insertion

_ORDER: Final = [("modificationTime", "ascending"), (KEY, "ascending")]
"""The order in which the files of the starting version are read. It does not depend on how the version was loaded."""


@dataclass(frozen=True)
class StreamSource:
    """A stream of one table. It has no state: offsets have it all."""

    uri: str
    settings: Settings
    options: StreamOptions

    @property
    def store(self) -> Store:
        return open_store(self.uri, self.settings)

    def newest(self) -> Snapshot:
        """Return the newest version of the table."""
        return load_snapshot(self.store, settings=self.settings)

    def initial_offset(self) -> Offset:
        """Return where a query without a checkpoint begins.

        Raises VersionNotFoundError if the version that the options name cannot be read any more.
        """
        table = self.newest()
        origin = self._origin(table)
        return Offset(table.metadata.id, origin, origin, dict(self.options.identity))

    def latest_offset(self, start: Offset, limits: Limits, until: int | None = None) -> Offset:
        """Return where a batch that begins at `start` ends, at most after version `until`.

        A version that stops the stream is reported only when everything before it has been read.
        """
        table = self.newest()
        self.check(start, table)
        last = table.version if until is None else min(until, table.version)
        budget, position = Budget(limits), start.position
        if position.is_starting_version:
            sizes = self._starting_entries(position).column("size").to_pylist()
            taken = budget.take_all(sizes)
            if taken < len(sizes):
                return replace(start, position=replace(position, index=position.index + taken))
            position = Position(position.version + 1)
        try:
            for version in self._versions(table, position.version, last):
                if self.options.read_change_feed:  # a version is read as a whole: its changes belong together
                    if not budget.take_whole(self._changed_bytes(version)):
                        break
                    position = Position(version.version + 1)
                    continue
                files = self._new_files(version)
                first = position.index if version.version == position.version else 0
                taken = budget.take_all(new.file.size for new in files[first:])
                position = Position(version.version, first + taken)
                if first + taken < len(files):
                    break
                position = Position(version.version + 1)
        except TableError:
            if position == start.position:
                raise
        return replace(start, position=position)

    def check(self, offset: Offset, table: Snapshot) -> None:
        """Raise if an offset belongs to another table, or to a stream with other options."""
        if offset.table_id != table.metadata.id:
            raise TableError(
                f"the checkpoint is of a table with the id {offset.table_id}, and {self.uri} now has the id "
                f"{table.metadata.id}: the table was replaced; start the query with a new checkpointLocation"
            )
        if offset.position.version > table.version + 1:
            raise TableError(
                f"the checkpoint has read {self.uri} up to version {offset.position.version - 1}, and its newest "
                f"version is {table.version}: the table was replaced; start the query with a new checkpointLocation"
            )
        before, now = dict(offset.options), dict(self.options.identity)
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                raise ConfigError(
                    f"option {name} was {_option_text(before.get(name))} when the query was first started, and is "
                    f"{_option_text(now.get(name))}; set it back, or start the query with a new checkpointLocation"
                )

    def files(
        self,
        table: Snapshot,
        start: Offset,
        end: Offset,
        follow: Callable[[Iterator[VersionActions]], Iterator[VersionActions]] = lambda versions: versions,
    ) -> Iterator[tuple[int, NewFile]]:
        """Yield the files between two offsets, in the order in which they were added, with the version.

        The versions that are read pass through `follow`.
        """
        self.check(end, table)
        position = _first(start, end)
        if position.is_starting_version:
            starting = self._starting_files(position, end.position)
            yield from ((position.version, NewFile(key, file)) for key, file in starting)
            if end.position.is_starting_version:
                return
            position = Position(position.version + 1)
        last = end.position.version if end.position.index else end.position.version - 1
        for version in follow(self._versions(table, position.version, last)):
            files = self._new_files(version)
            first = position.index if version.version == position.version else 0
            stop = end.position.index if version.version == end.position.version else None
            yield from ((version.version, new) for new in files[first:stop])

    def _new_files(self, version: VersionActions) -> list[NewFile]:
        store = self.store

        def positions(log: DeltaLogRef, file: AddFile) -> RowIds:
            most = MAX_RECORDS if file.num_records is None else file.num_records
            return load_deleted_rows(store, log, most).rows

        return new_files(self.uri, version, self.options, positions)

    def changes(self, past: PastColumns, start: Offset, end: Offset) -> Iterator[FileChange]:
        """Yield what the feed of changes has between two offsets. The versions that are read pass through `past`.

        The rows of the starting version are inserted in that version.
        """
        table = past.table
        self.check(end, table)
        position = _first(start, end)
        if position.is_starting_version:
            timestamp: int | None = None
            for key, file in self._starting_files(position, end.position):
                if timestamp is None:
                    timestamp = load_snapshot(
                        self.store, position.version, settings=self.settings
                    ).timestamp_ms
                yield insertion(key, file, position.version, timestamp)
            if end.position.is_starting_version:
                return
            position = Position(position.version + 1)
        versions = list(past.follow(self._versions(table, position.version, end.position.version - 1)))
        yield from changes_of(self.uri, versions, past)

    def _changed_bytes(self, version: VersionActions) -> list[int]:
        """Return the sizes of the files that the feed of changes reads for a version."""
        changes = file_changes(self.uri, [version], is_partitioned=lambda _: False)
        return [change.file.size for change in changes]

    def _starting_files(self, start: Position, end: Position) -> Iterator[tuple[str, AddFile]]:
        """Yield the files of the starting version up to a position."""
        stop = end.index if end.is_starting_version else None
        yield from ((key, added.file) for key, added in from_entries(self._starting_entries(start, stop)))

    def _origin(self, table: Snapshot) -> Position:
        options, table_id = self.options, table.metadata.id
        version: int
        if options.starting_version == LATEST:
            return Position(table.version + 1)
        if isinstance(options.starting_version, int):
            version = options.starting_version
            if version > table.version + 1:
                raise InputError(
                    f"startingVersion is {version}, and the newest version of {self.uri} is {table.version}"
                )
        elif options.starting_ms is not None:
            version = version_at(self.store, options.starting_ms - 1, self.settings) + 1
            if version > table.version:
                raise InputError(
                    f"startingTimestamp is after the newest version of {self.uri}; use startingVersion=latest for what "
                    "comes next"
                )
        else:
            return Position(table.version, is_starting_version=True)
        earliest = first_version(self.store, table_id, table.version)
        if version < earliest and options.fail_on_data_loss:
            raise VersionNotFoundError(
                f"the stream is to start at version {version} of {self.uri}, which has been cleaned up; the first that "
                f"can be read is {earliest}. Start there, or without startingVersion and startingTimestamp to read all "
                "rows of the table first, or with failOnDataLoss=false to leave out what is lost"
            )
        return Position(max(version, earliest))

    def _starting_entries(self, position: Position, stop: int | None = None) -> pa.Table:
        """Return the entries of the files of the starting version that are not read yet, in order."""
        try:
            snapshot = load_snapshot(self.store, position.version, settings=self.settings)
        except VersionNotFoundError:
            if self.options.fail_on_data_loss:
                raise self._data_loss(position.version) from None
            return LiveFiles().entries()
        entries = snapshot.files.entries().sort_by(_ORDER)
        return entries.slice(position.index, None if stop is None else stop - position.index)

    def _versions(self, table: Snapshot, first: int, last: int) -> Iterator[VersionActions]:
        """Yield the versions that can be read."""
        try:
            yield from read_range(self.store, table.metadata.id, first, last)
        except VersionNotFoundError:
            if self.options.fail_on_data_loss:
                raise self._data_loss(first) from None
            earliest = first_version(self.store, table.metadata.id, table.version)
            yield from read_range(self.store, table.metadata.id, max(first, earliest), last)

    def _data_loss(self, version: int) -> VersionNotFoundError:
        return VersionNotFoundError(
            f"the stream has read {self.uri} up to version {version - 1}, and clean-up has deleted versions after it: "
            "rows may be lost to the stream. Start it with a new checkpointLocation to read the table from the "
            "beginning, or with failOnDataLoss=false to continue with what is left; keep versions for longer than a "
            "stream may be behind (spark.indextables.purge.txLogRetentionHours)"
        )


def _first(start: Offset, end: Offset) -> Position:
    """Return where a batch begins: see `Offset.origin`."""
    return start.position if start.origin == end.origin else end.origin


def _option_text(text: str | None) -> str:
    return "not given" if text is None else repr(text)

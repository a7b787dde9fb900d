"""A transaction on a dataset: reads one version, records updates, and publishes them as the next version.

A version is claimed by creating its manifest if it is absent. Of several writers that try, exactly one succeeds, on
every store. The last 8 bytes of a manifest, the tag of its sync marker, are the id of the transaction that wrote it:
by them a transaction recognises its own commit when the store's answer was lost.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import NoneType, TracebackType
from typing import Final, Literal, Self

from pyarrow.fs import FileSystem

from indextables.avro import TAG_SIZE
from indextables.columns.arguments import check_files, column_groups, delta_log_type, expect, names
from indextables.columns.layout import manifest_path, relative, resolved
from indextables.columns.manifest import (
    ColumnGroup,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.columns.resolvers import RESOLVERS, Resolver, fail, overwrite
from indextables.columns.stored_files import as_settings
from indextables.columns.updates import Updates
from indextables.columns.version_files import (
    LATEST,
    DatasetPlace,
    find,
    load,
    newest_after,
    place_of,
    store_at,
)
from indextables.config import Settings, keys
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    IndexTablesError,
    InputError,
)
from indextables.runtime import new_id, sleep
from indextables.storage import Backoff, Claim, Store, claim

MANIFEST_VERSION: Final = 6

Named = Literal["fail", "merge", "overwrite"]


class Transaction:
    """Updates to one version of a dataset, which become the next version all at once or not at all.

    >>> from indextables.columns import ColumnGroup, ColumnGroupFile
    >>> group = ColumnGroup(("id",), "parquet", (ColumnGroupFile("a.parquet", 0, 10),))
    >>> with Transaction.open("memory:doc-transaction", resolver="merge") as tx:
    ...     tx.append_files([group]).add_delta_log("d1", 3).update_stat("bm25", ["s"]).commit()
    1
    >>> with Transaction.open("memory:doc-transaction") as tx:
    ...     tx.read_version, tx.get_manifest().column_groups[0].num_rows
    (1, 10)

    Paths are addresses, or names below the directory of their kind (`_data`, `_delta`, `_stats`, `_index`). Updates
    are checked when they are recorded, as far as that is possible before the commit. For use by one thread at a time.
    """

    def __init__(
        self,
        store: Store,
        read_version: int,
        resolver: Resolver,
        retry_limit: int,
        backoff: Backoff,
        *,
        latest: int | None,
    ) -> None:
        self.read_version = read_version
        self.is_closed = False
        self.is_committed = False
        self._store = store
        self._read = load(store, read_version)
        self._resolver = resolver
        self._retry_limit = retry_limit
        self._backoff = backoff
        self._latest = latest
        self._id = new_id().bytes[:TAG_SIZE]
        self._updates = Updates()
        self._in_doubt = False
        self._committed: Manifest | None = None

    @classmethod
    def open(
        cls,
        dataset: DatasetPlace | FileSystem,
        base_path: str | os.PathLike[str] | int | None = None,
        version: int = LATEST,
        resolver: Named | Resolver = "fail",
        retry_limit: int | None = None,
        settings: Settings | Mapping[str, str] | None = None,
        *,
        options: Settings | Mapping[str, str] | None = None,
        backoff: Backoff | None = None,
    ) -> Self:
        """Read a version, to which the updates will be made.

        `dataset` is the address of the dataset. With a `base_path` the dataset is below that address:
        `open("s3://bucket", "shop")`. The local file system of pyarrow stands for the root:
        `open(pyarrow.fs.LocalFileSystem(), "/data/shop")`. A number in place of `base_path` is the version.

        `resolver` decides what happens if other writers have committed since the read. "fail" raises
        CommitConflictError. "merge" makes the updates on top of theirs, or raises CommitConflictError where one would
        undo the other. "overwrite" discards theirs. A function makes the next manifest itself, see `Resolver`.

        `retry_limit` is how many lost races are followed by another attempt, with growing pauses between them; by
        default one less than `spark.indextables.transaction.retry.maxAttempts`. "fail" never tries again.
        `options` is the older name of `settings`.

        >>> Transaction.open("memory:doc-transaction-open", version=7)
        Traceback (most recent call last):
            ...
        indextables.errors.VersionNotFoundError: memory://doc-transaction-open has no version 7; there are none
        """
        if isinstance(base_path, int):
            if version != LATEST:
                raise InputError(f"there are two versions to open, {base_path} and {version}; give one")
            version, base_path = base_path, None
        settings = as_settings(settings, options)
        function = RESOLVERS.get(resolver) if isinstance(resolver, str) else resolver
        if not callable(function):
            raise InputError(f"no resolver is named {resolver!r}; there are {', '.join(RESOLVERS)}")
        limit = settings.get(keys.RETRY_MAX_ATTEMPTS) - 1 if retry_limit is None else retry_limit
        expect(limit, int, "retry_limit", "zero or more")
        if limit < 0:
            raise InputError(f"retry_limit is {limit}; it takes zero or more")
        store = store_at(place_of(dataset, base_path), settings)
        number = find(store, version)
        if backoff is None:
            backoff = Backoff.of(settings, random.Random(), sleep)  # noqa: S311 - jitter, not secrecy
        return cls(store, number, function, limit, backoff, latest=number if version == LATEST else None)

    def get_manifest(self) -> Manifest:
        """Return the version that was read, after a commit the one that was committed. Paths are addresses."""
        self._check_open()
        return resolved(self._read if self._committed is None else self._committed, self._store.uri)

    def add_column_group(self, group: ColumnGroup) -> Self:
        """Add columns to the existing rows, one value for each row."""
        expect(group, ColumnGroup, "the column group to add", "a ColumnGroup, such as Writer.close() returns")
        check_files((group,))
        added = self._relative(Manifest(column_groups=(group,))).column_groups
        return self._record(added_column_groups=(*self._updates.added_column_groups, *added))

    def append_files(self, groups: Iterable[ColumnGroup]) -> Self:
        """Append rows: files for every column group, in the order in which the dataset has the groups.

        The first files of a dataset define its column groups.
        """
        appended = column_groups(groups)
        check_files(appended)
        if not appended:
            raise InputError("there are no column groups to append; a writer that got no rows returns none")
        stored = self._relative(Manifest(column_groups=appended)).column_groups
        return self._record(appended_files=(*self._updates.appended_files, stored))

    def add_delta_log(
        self,
        path: str,
        num_entries: int,
        type: DeltaLogType | int = DeltaLogType.PRIMARY_KEY,  # noqa: A002
    ) -> Self:
        """Add a file that names deleted rows."""
        expect(path, str, "the path of a delta log", "a text")
        expect(num_entries, int, "num_entries", "a number of entries")
        if not path:
            raise InputError("a delta log needs a path")
        if num_entries < 0:
            raise InputError(f"delta log {path!r} has {num_entries} entries; it takes zero or more")
        log = DeltaLog(path, num_entries, delta_log_type(type, f"delta log {path!r}"))
        added = self._relative(Manifest(delta_logs=(log,))).delta_logs
        return self._record(added_delta_logs=(*self._updates.added_delta_logs, *added))

    def update_stat(self, key: str, files: Iterable[str], metadata: Mapping[str, str] | None = None) -> Self:
        """Set the files of a statistic, in place of those that it had."""
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
        updated = self._relative(Manifest(stats={key: statistic})).stats
        return self._record(updated_stats={**self._updates.updated_stats, **updated})

    def drop_column(self, name: str) -> Self:
        """Remove a column from its group, with its indexes. The files stay as they are."""
        expect(name, str, "the column to drop", "a name")
        return self._record(dropped_columns=(*self._updates.dropped_columns, name))

    def add_index(self, index: Index) -> Self:
        """Add an index over a column, in place of an older build of it.

        Builds of one index have one `index_id`, or without one the same column and type. Files that are appended later
        end the index, since it does not cover them.
        """
        expect(index, Index, "the index to add", "an Index")
        added = self._relative(Manifest(indexes=(index,))).indexes
        return self._record(added_indexes=(*self._updates.added_indexes, *added))

    def drop_index(self, index_id: int) -> Self:
        """Remove the index with this id."""
        expect(index_id, int, "index_id", "an int")
        return self._record(dropped_indexes=(*self._updates.dropped_indexes, index_id))

    def add_lob_file(self, file: LobFile) -> Self:
        """Add a file of large values, which is outside the column groups."""
        expect(file, LobFile, "the file to add", "a LobFile")
        added = self._relative(Manifest(lob_files=(file,))).lob_files
        return self._record(added_lob_files=(*self._updates.added_lob_files, *added))

    def commit(self) -> int:
        """Publish the updates; return the version that has them.

        Raises CommitConflictError if other writers were faster, as the resolver says, and CommitUnknownError if the
        store never said how the commit ended. Then call `commit` again: it asks the store again, and commits nothing
        twice. After every other error nothing is committed.
        """
        self._check_usable()
        if self._updates.is_empty:
            raise InputError(f"there is nothing to commit to {self._store.uri}: no updates were recorded")
        try:
            return self._commit()
        except CommitUnknownError:
            raise
        except IndexTablesError as reason:
            if not self._in_doubt:
                raise
            raise CommitUnknownError(
                f"the outcome of this commit to {self._store.uri} is still unknown; call commit() again: {reason}"
            ) from reason

    def close(self) -> None:
        """End the transaction. Updates that were not committed are discarded."""
        self.is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "committed" if self.is_committed else "open"
        return f"Transaction({self._store.uri!r}, read_version={self.read_version}, {state})"

    def _relative(self, part: Manifest) -> Manifest:
        """Return the paths as a manifest stores them. Refuses one that could not be read back."""
        self._check_usable()
        stored = relative(part, self._store.uri)
        try:
            resolved(stored, self._store.uri)
        except CorruptTableError as reason:
            raise InputError(f"{reason}; give the whole address of a file in another place") from None
        return stored

    def _record(self, **changes: object) -> Self:
        self._check_usable()
        if self._in_doubt:  # a version without these changes may be committed already
            raise InputError(
                f"the outcome of the commit to {self._store.uri} is unknown; call commit() again to learn it, and "
                f"open another transaction for more updates"
            )
        self._updates = replace(self._updates, **changes)  # type: ignore[arg-type]
        return self

    def _check_open(self) -> None:
        if self.is_closed:
            raise InputError(f"the transaction on {self._store.uri} is closed; open another")

    def _check_usable(self) -> None:
        self._check_open()
        if self.is_committed:
            raise InputError(
                f"the transaction on {self._store.uri} is committed; open another for more updates"
            )

    def _commit(self) -> int:
        if self._latest is None:
            self._latest = max(find(self._store, LATEST), self.read_version)
        for attempt in range(self._retry_limit + 1):
            version = self._latest + 1
            manifest = self._next_manifest(self._latest)
            if self._claim(version, manifest):
                self.is_committed, self._committed = True, manifest
                return version
            self._latest = version
            if self._resolver is fail:
                break
            self._backoff.pause(attempt)
            self._latest = newest_after(self._store, version)
        else:
            raise CommitConflictError(
                f"other writers of {self._store.uri} were faster {self._retry_limit + 1} times in a row; "
                f"try again, or raise retry_limit"
            )
        raise self._conflict(self._latest, "another writer was faster")

    def _next_manifest(self, latest: int) -> Manifest:
        seen = self._read
        if latest != self.read_version:
            # Two of the resolvers ignore the newest manifest: that its number is another is all they need.
            seen = Manifest() if self._resolver in (fail, overwrite) else load(self._store, latest)
        try:
            return self._resolver(self._read, seen, self._updates)
        except CommitConflictError as reason:
            raise self._conflict(latest, str(reason)) from reason

    def _conflict(self, latest: int, reason: str) -> CommitConflictError:
        return CommitConflictError(
            f"{self._store.uri} is at version {latest} and this transaction has read version {self.read_version}: "
            f"{reason}; open the dataset again and redo the updates"
        )

    def _claim(self, version: int, manifest: Manifest) -> bool:
        """Try to create the manifest of a version; return False if another writer has created it.

        The commit is in doubt while the store is asked. It stays so if the outcome remains unknown: the manifest may
        be there already, or arrive later. Any other error is about this request alone, so that an earlier doubt stays.
        """
        attempt = Claim(
            key=manifest_path(version),
            data=manifest.to_bytes(version=MANIFEST_VERSION, tag=self._id),
            is_ours=lambda raw: raw.endswith(self._id),
            what=f"version {version}",
            advice=f"call commit() of this transaction again, or look for a manifest that ends with {self._id.hex()},",
        )
        was_in_doubt, self._in_doubt = self._in_doubt, True
        try:
            is_ours = claim(self._store, attempt, self._backoff)
        except CommitUnknownError:
            raise
        except IndexTablesError:
            self._in_doubt = was_in_doubt
            raise
        self._in_doubt = False
        return is_ours

"""A transaction on a dataset: reads one version, gathers updates, and publishes them as the next version.

A version is claimed by creating its manifest if it is absent, so that of many writers one has it, on every store. The
last 8 bytes of a manifest, the tag of its sync marker, are the transaction's id, by which it knows its own commit when
the store's answer is lost.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Literal, Self

from pyarrow.fs import FileSystem

from indextables.avro import TAG_SIZE
from indextables.columns.arguments import expect
from indextables.columns.layout import manifest_path, resolved
from indextables.columns.manifest import Manifest
from indextables.columns.recording import Recording
from indextables.columns.resolvers import RESOLVERS, Resolver, fail, overwrite
from indextables.columns.stored_files import as_settings
from indextables.columns.version_files import (
    LATEST,
    DatasetPlace,
    find,
    load,
    newest_after,
    place_of,
    store_at,
)
from indextables.config import keys
from indextables.errors import CommitConflictError, CommitUnknownError, IndexTablesError, InputError
from indextables.runtime import new_id, sleep
from indextables.storage import Backoff, Claim, Store, claim

MANIFEST_VERSION: Final = 6


Named = Literal["fail", "merge", "overwrite"]


class Transaction(Recording):
    """Updates to one version of a dataset, which become the next version all at once or not at all.

    >>> from indextables.columns import ColumnGroup, ColumnGroupFile
    >>> group = ColumnGroup(("id",), "parquet", (ColumnGroupFile("a.parquet", 0, 10),))
    >>> with Transaction.open("memory:doc-transaction", resolver="merge") as tx:
    ...     tx.append_files([group]).add_delta_log("d1", 3).update_stat("bm25", ["s"]).commit()
    1
    >>> with Transaction.open("memory:doc-transaction") as tx:
    ...     tx.read_version, tx.get_manifest().column_groups[0].num_rows
    (1, 10)

    Paths are addresses, or names below the directory of their kind (`_data`, `_delta`, `_stats`, `_index`). For use by
    one thread at a time.
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
        super().__init__(store.uri)
        self._store = store
        self._read = load(store, read_version)
        self._resolver = resolver
        self._retry_limit = retry_limit
        self._backoff = backoff
        self._latest = latest
        self._id = new_id().bytes[:TAG_SIZE]
        self._committed: Manifest | None = None
        self.read_version = read_version

    @classmethod
    def open(
        cls,
        dataset: DatasetPlace | FileSystem,
        base_path: str | os.PathLike[str] | int | None = None,
        version: int = LATEST,
        resolver: Named | Resolver = "fail",
        retry_limit: int | None = None,
        options: Mapping[str, str] | None = None,
        *,
        backoff: Backoff | None = None,
    ) -> Self:
        """Read a version, from which `commit` goes on.

        `dataset` is where it is. With a `base_path` it is below that: `open("s3://bucket", "shop")`, and the local file
        system of pyarrow will do for the root, `open(pyarrow.fs.LocalFileSystem(), "/data/shop")`. A number in the
        place of `base_path` is the version.

        `resolver` says what happens if others commit meanwhile. "fail": CommitConflictError. "merge": the updates are
        made on top of theirs, or CommitConflictError where they would undo each other. "overwrite": theirs are lost.
        A function in their place makes the next manifest itself, see `Resolver`.

        `retry_limit` is how many lost races are followed by another try, with growing pauses between; by default
        one less than `spark.indextables.transaction.retry.maxAttempts`. "fail" never tries again.

        >>> Transaction.open("memory:doc-transaction-open", version=7)
        Traceback (most recent call last):
            ...
        indextables.errors.VersionNotFoundError: memory://doc-transaction-open has no version 7; there are none
        """
        if isinstance(base_path, int):
            if version != LATEST:
                raise InputError(f"there are two versions to open, {base_path} and {version}; give one")
            version, base_path = base_path, None
        settings = as_settings(options)
        chosen = RESOLVERS.get(resolver) if isinstance(resolver, str) else resolver
        if not callable(chosen):
            raise InputError(f"no resolver is named {resolver!r}; there are {', '.join(RESOLVERS)}")
        limit = settings.get(keys.RETRY_MAX_ATTEMPTS) - 1 if retry_limit is None else retry_limit
        expect(limit, int, "retry_limit", "zero or more")
        if limit < 0:
            raise InputError(f"retry_limit is {limit}; it takes zero or more")
        store = store_at(place_of(dataset, base_path), settings)
        found = find(store, version)
        if backoff is None:
            backoff = Backoff.of(settings, random.Random(), sleep)  # noqa: S311 - jitter, not secrecy
        return cls(store, found, chosen, limit, backoff, latest=found if version == LATEST else None)

    def get_manifest(self) -> Manifest:
        """Return the version that was read, and after a commit the one that it made; every path as the file's place."""
        self._check_open()
        return resolved(self._read if self._committed is None else self._committed, self._store.uri)

    def commit(self) -> int:
        """Publish the updates; the version that has them.

        CommitConflictError: others were faster, as the resolver says. CommitUnknownError: the store never said how
        it ended; calling `commit` again asks it again, and commits nothing twice. After every other error nothing
        is committed.
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
                f"the outcome of this commit to {self._store.uri} is unknown still; call commit() again: {reason}"
            ) from reason

    def close(self) -> None:
        """The end of its use. What was not committed is forgotten."""
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
            # Two of the resolvers do not look at it: its number tells them all.
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
        wanted = Claim(
            manifest_path(version),
            manifest.to_bytes(version=MANIFEST_VERSION, tag=self._id),
            lambda raw: raw.endswith(self._id),
            f"version {version}",
            f"call commit() of this transaction again, or look for a manifest that ends with {self._id.hex()},",
        )
        was_in_doubt, self._in_doubt = self._in_doubt, True
        try:
            is_ours = claim(self._store, wanted, self._backoff)
        except CommitUnknownError:
            raise
        except IndexTablesError:
            self._in_doubt = was_in_doubt
            raise
        self._in_doubt = False
        return is_ours

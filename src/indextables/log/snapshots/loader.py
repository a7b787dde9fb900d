"""Loading a snapshot from the store alone.

A snapshot is the newest readable state or checkpoint at or before a version, and the versions after it, replayed.
`SnapshotLoader` does this for one listing of the log; `read_snapshot` chooses the listing and retries when clean-up
deletes files at the same time.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import (
    CorruptTableError,
    ObjectNotFoundError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.log.snapshots.json_form import snapshot_of_checkpoint
from indextables.log.snapshots.snapshot import Gap, Snapshot, replay
from indextables.log.snapshots.state_form import snapshot_of_state
from indextables.log.versions import (
    NO_WATERMARK,
    LogListing,
    VersionActions,
    VersionFile,
    check_no_orphaned_commit,
    cut_at_orphaned_commit,
    list_log,
    read_versions,
    read_watermark,
)
from indextables.runtime import EPOCH
from indextables.state import read_pointer, state_exists, state_was_seen
from indextables.storage import Store


class VersionGapWarning(UserWarning):
    """A version file is missing in the middle of the log; the table is read up to the gap."""


class StateWarning(UserWarning):
    """A state or checkpoint cannot be read; the table is read without it."""


class VersionSelector(NamedTuple):
    """Selects a version by its number, or the newest one as of a time, or with neither the newest of all."""

    version: int | None = None
    as_of_ms: int | None = None


NEWEST: Final = VersionSelector()


def read_snapshot(
    store: Store, selector: VersionSelector = NEWEST, settings: Settings | None = None
) -> Snapshot:
    """Read a snapshot from the store alone, without the cache.

    Raises TableNotFoundError if there is no log, VersionNotFoundError if the version cannot be read, ProtocolError
    if the table requires a newer release.
    """
    watermark = NO_WATERMARK
    while True:
        try:
            return _read(store, selector, settings or Settings())
        except (CorruptTableError, VersionNotFoundError) as reason:
            # Clean-up may have deleted a file after it was listed. Then the watermark has advanced, a newer state
            # covers what is gone, and another attempt reads that. If it has not advanced, the error is real.
            advanced = read_watermark(store)
            if advanced == watermark:
                version = selector.version
                if isinstance(reason, CorruptTableError) and version is not None and version <= advanced:
                    raise VersionNotFoundError(  # deleted by clean-up, not damaged
                        f"{store.uri} has no version {version} any more: history up to version {advanced} has been "
                        f"cleaned up; read version {advanced + 1} or a later one"
                    ) from reason
                raise
            watermark = advanced


def _read(store: Store, selector: VersionSelector, settings: Settings) -> Snapshot:
    # The hint is read before any listing, so that a later listing shows the state that it names.
    pointer = read_pointer(store)
    hinted = pointer.version if pointer is not None and selector.as_of_ms is None else 0
    loader = SnapshotLoader(store, selector, settings, hinted=hinted)
    if hinted and (selector.version is None or selector.version >= hinted):
        snapshot = loader.load(list_log(store, after=hinted - 1))
        if snapshot is not None:
            return snapshot
    snapshot = loader.load(list_log(store))
    assert snapshot is not None, "a whole listing gives a snapshot or an error"
    return snapshot


class SnapshotLoader:
    """Loads one snapshot from listings of the log.

    `hinted` is the version that `_last_checkpoint` names, 0 without one. With `below`, only states and checkpoints
    of earlier versions are used.
    """

    def __init__(
        self,
        store: Store,
        selector: VersionSelector,
        settings: Settings,
        *,
        hinted: int,
        below: int | None = None,
    ) -> None:
        self._store = store
        self._selector = selector
        self._settings = settings
        self._hinted = hinted
        self._below = below
        self._failures: list[str] = []

    def load(self, listing: LogListing) -> Snapshot | None:
        """Return the snapshot, or None if the listing starts too late to find it."""
        if listing.is_empty and listing.start == 0:
            raise TableNotFoundError(
                f"there is no table at {self._store.uri}; check the path, or write the table first"
            )
        base = self._base(listing)
        if listing.start > 0 and (base is None or base.version < listing.start):
            return None
        run = self._run_after(listing, base)
        if base is None and not run:
            raise self._no_start(listing)
        last = run[-1].version if run else base.version if base is not None else -1
        gap = self._gap(listing, last)
        if self._selector.version is not None:
            self._check_range(listing, last, gap, starts_at_zero=base is None)
            run = [file for file in run if file.version <= self._selector.version]
        elif gap is not None and self._below is None:
            warnings.warn(
                f"{self._store.uri}: version {gap.first} is missing although version {gap.next} exists; "
                f"reading up to version {gap.first - 1}",
                VersionGapWarning,
                stacklevel=5,
            )
        snapshot = self._replay(listing, base, run)
        return dataclasses.replace(snapshot, gap=gap) if gap is not None else snapshot

    def _base(self, listing: LogListing) -> Snapshot | None:
        """Return the newest state or checkpoint that can be read and is not after the selected version."""
        checkpoints = {file.version: file for file in listing.checkpoints}
        for version in sorted({*listing.states, *checkpoints}, reverse=True):
            if self._selector.version is not None and version > self._selector.version:
                continue
            if self._below is not None and version >= self._below:
                continue
            base = self._state(version, listing) if version in listing.states else None
            if base is None and version in checkpoints:
                base = self._checkpoint(checkpoints[version], listing)
            if base is None:
                continue
            if self._selector.as_of_ms is None or base.timestamp_ms <= self._selector.as_of_ms:
                return base
        return None

    def _run_after(self, listing: LogListing, base: Snapshot | None) -> list[VersionFile]:
        """Return the version files after the base, without orphaned commits."""
        base_version = -1 if base is None else base.version
        run = listing.run_after(base_version, self._store)
        newest = max((*listing.states[-1:], *(file.version for file in listing.checkpoints[-1:])), default=-1)
        # Clean-up deletes only versions before the newest state, so there is nothing to check after it.
        return cut_at_orphaned_commit(self._store, run) if newest > base_version else run

    def _check_range(self, listing: LogListing, last: int, gap: Gap | None, *, starts_at_zero: bool) -> None:
        """Raise VersionNotFoundError if the selected version is after the last one, or negative."""
        store, version = self._store, self._selector.version
        assert version is not None
        if version > last or (starts_at_zero and version < 0):
            whole = listing if listing.start == 0 else list_log(store)
            raise VersionNotFoundError(f"{store.uri} has no version {version}; {_describe_range(whole, gap)}")

    def _replay(self, listing: LogListing, base: Snapshot | None, run: list[VersionFile]) -> Snapshot:
        """Replay the versions of the run that are not after the selected time."""
        store, as_of_ms = self._store, self._selector.as_of_ms
        txn_ids: dict[int, str | None] = {}
        versions = _record_txn_ids(read_versions(store, run), txn_ids)
        if as_of_ms is not None:
            versions = _until(versions, as_of_ms)
        snapshot = replay(store.uri, base, versions)
        if txn_ids:
            check_no_orphaned_commit(store, txn_ids, listing)
        if snapshot is None:
            first = next(read_versions(store, run[:1])).raw_timestamp_ms
            raise VersionNotFoundError(
                f"{store.uri} did not exist yet at {_iso(as_of_ms or 0)}; its first version is of {_iso(first)}"
            )
        return snapshot

    def _state(self, version: int, listing: LogListing) -> Snapshot | None:
        if listing.start > version:
            return None
        try:
            snapshot = snapshot_of_state(
                self._store,
                version,
                listing,
                parallelism=self._settings.get(keys.STATE_READ_PARALLELISM),
                rescue=lambda reason: self._rescue(version, reason),
            )
        except (CorruptTableError, ObjectNotFoundError) as reason:
            self._warn(f"state of version {version}", reason)
            return None
        state = snapshot.files.base
        if state is not None and self._selector == NEWEST and self._below is None:
            dead = len(state.manifest.tombstones)
            state_was_seen(self._store.uri, tombstones=dead, files=state.manifest.num_files)
        return snapshot

    def _checkpoint(self, file: VersionFile, listing: LogListing) -> Snapshot | None:
        listed = next((other for other in listing.versions if other.version == file.version), file)
        try:
            return snapshot_of_checkpoint(self._store, file.version, listed.modified_ms)
        except (CorruptTableError, ObjectNotFoundError) as reason:
            self._warn(f"checkpoint of version {file.version}", reason)
            return None

    def _rescue(self, version: int, reason: CorruptTableError) -> pa.Table:
        """Return the entries of a state with damaged manifests, from older states and version files.

        If these cannot be read either, raises VersionNotFoundError if clean-up has deleted the state since it was
        opened, else `reason` again: the table is damaged.
        """
        older = SnapshotLoader(self._store, VersionSelector(version), self._settings, hinted=0, below=version)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StateWarning)
                snapshot = older.load(list_log(self._store))
        except (CorruptTableError, VersionNotFoundError):
            if state_exists(self._store, version):
                raise reason from None
            raise VersionNotFoundError(
                f"the state of version {version} of {self._store.uri} was deleted by clean-up after this reader opened "
                f"it; open the table again"
            ) from reason
        assert snapshot is not None
        self._warn(f"state of version {version}", reason)
        return snapshot.files.entries()

    def _warn(self, what: str, reason: Exception) -> None:
        if str(reason) in self._failures:
            return
        self._failures.append(str(reason))
        warnings.warn(
            f"the {what} of {self._store.uri} cannot be read and is left out: {reason}",
            StateWarning,
            stacklevel=7,
        )

    def _gap(self, listing: LogListing, last: int) -> Gap | None:
        """Return the gap after the last version that can be read, if any file refers to a later version."""
        files = [file.version for file in (*listing.versions, *listing.checkpoints)]
        later = [version for version in (*files, *listing.states, self._hinted) if version > last]
        return Gap(last + 1, min(later)) if later else None

    def _no_start(self, listing: LogListing) -> Exception:
        """Return the error for a log without a readable state and without version 0."""
        uri, version = self._store.uri, self._selector.version
        if self._failures and not listing.versions:
            return CorruptTableError(f"{uri} cannot be read: {'; '.join(self._failures)}")
        bases = sorted({*listing.states, *(file.version for file in listing.checkpoints)})
        if bases and not self._failures:
            what = f"version {version}" if version is not None else "version of that time"
            return VersionNotFoundError(f"{uri} has no {what} any more; {_describe_range(listing)}")
        numbers = [file.version for file in listing.versions]
        return CorruptTableError(
            f"{uri} has versions {numbers[0]} to {numbers[-1]}, no version 0 and no checkpoint "
            f"to start from; restore the missing files"
        )


def _record_txn_ids(
    versions: Iterator[VersionActions], txn_ids: dict[int, str | None]
) -> Iterator[VersionActions]:
    """Yield the versions; put the transaction id of each that is consumed into `txn_ids`."""
    for version in versions:
        txn_ids[version.version] = version.txn_id
        yield version


def _until(versions: Iterator[VersionActions], as_of_ms: int) -> Iterator[VersionActions]:
    """Yield the versions up to a time: the first later one ends the search, as replayed times never decrease."""
    for version in versions:
        if version.raw_timestamp_ms > as_of_ms:
            return
        yield version


def _iso(ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


def _describe_range(listing: LogListing, gap: Gap | None = None) -> str:
    """Describe the readable version ranges, for an error message."""
    runs = listing.readable
    if not runs:
        return "a listing of its log shows none that can be read; try again"  # the listing lags behind
    ranges = [
        f"at version {first}" if first == last and len(runs) > 1 else f"from version {first} to {last}"
        for first, last in runs
    ]
    end = f" (version {gap.first} is missing)" if gap else ""
    return f"it can be read {' and '.join(ranges)}{end}"

"""A snapshot from the store alone: the newest readable state or checkpoint, and the versions since."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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
from indextables.log.snapshots.snapshot import Gap, Snapshot, VersionActions, replay
from indextables.log.snapshots.state_form import snapshot_of_state
from indextables.log.versions.listing import LogListing, VersionFile, list_log
from indextables.log.versions.reader import read_versions
from indextables.log.versions.superseded import check_no_orphaned_commit, cut_at_orphaned_commit
from indextables.state import state_was_seen
from indextables.storage import Store


class VersionGapWarning(UserWarning):
    """A version file is missing in the middle of the log; the table is read up to there."""


class StateWarning(UserWarning):
    """A state or checkpoint cannot be read; the table is read without it."""


class VersionSelector(NamedTuple):
    """Which version: a number, the newest that is not younger than a moment, or with neither the newest of all."""

    version: int | None = None
    as_of_ms: int | None = None


NEWEST: Final = VersionSelector()


class SnapshotLoader:
    """One search for a snapshot. `claimed` is the version that `_last_checkpoint` names."""

    def __init__(
        self,
        store: Store,
        wanted: VersionSelector,
        settings: Settings,
        *,
        claimed: int,
        below: int | None = None,
    ) -> None:
        self._store = store
        self._wanted = wanted
        self._settings = settings
        self._claimed = claimed
        self._below = below
        self._failures: list[str] = []

    def read(self, listing: LogListing) -> Snapshot | None:
        """The snapshot; None when the listing begins too late to tell."""
        store, version = self._store, self._wanted.version
        if listing.is_empty and listing.start == 0:
            raise TableNotFoundError(f"there is no table at {store.uri}; write one first, or mend the path")
        base = self._base(listing)
        if listing.start > 0 and (base is None or base.version < listing.start):
            return None
        run = listing.run_after(-1 if base is None else base.version, store)
        if self._is_history(listing, base):
            run = cut_at_orphaned_commit(store, run)
        if base is None and not run:
            raise self._no_start(listing)
        last = run[-1].version if run else base.version if base is not None else -1
        gap = self._gap(listing, last)
        if version is not None:
            if version > last or (base is None and version < 0):
                whole = listing if listing.start == 0 else list_log(store)
                raise VersionNotFoundError(f"{store.uri} has no version {version}; {_range(whole, gap)}")
            run = [file for file in run if file.version <= version]
        elif gap is not None and self._below is None:
            warnings.warn(
                f"{store.uri}: version {gap.first} is missing although version {gap.next} is there; "
                f"reading up to version {gap.first - 1}",
                VersionGapWarning,
                stacklevel=5,
            )
        read: dict[int, str | None] = {}
        versions = _noted(read_versions(store, run), read)
        if self._wanted.as_of_ms is not None:
            versions = _not_younger(versions, self._wanted.as_of_ms)
        snapshot = replay(store.uri, base, versions)
        if read:
            check_no_orphaned_commit(store, read, listing)
        if snapshot is None:
            first = next(read_versions(store, run[:1])).raw_timestamp_ms
            raise VersionNotFoundError(
                f"{store.uri} did not exist yet at {_moment(self._wanted.as_of_ms or 0)}; "
                f"its first version is of {_moment(first)}"
            )
        return dataclasses.replace(snapshot, gap=gap) if gap is not None else snapshot

    def _is_history(self, listing: LogListing, base: Snapshot | None) -> bool:
        """Whether there are later states than the one to start from, so that clean-up may have been here."""
        newest = max((*listing.states[-1:], *(file.version for file in listing.checkpoints[-1:])), default=-1)
        return newest > (-1 if base is None else base.version)

    def _base(self, listing: LogListing) -> Snapshot | None:
        """The newest state or checkpoint that can be read and is not after what is wanted."""
        checkpoints = {file.version: file for file in listing.checkpoints}
        for version in sorted({*listing.states, *checkpoints}, reverse=True):
            if self._wanted.version is not None and version > self._wanted.version:
                continue
            if self._below is not None and version >= self._below:
                continue
            base = self._state(version, listing) if version in listing.states else None
            if base is None and version in checkpoints:
                base = self._checkpoint(checkpoints[version], listing)
            if base is None:
                continue
            if self._wanted.as_of_ms is None or base.timestamp_ms <= self._wanted.as_of_ms:
                return base
        return None

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
        if state is not None and self._wanted == VersionSelector() and self._below is None:
            dead = len(state.manifest.tombstones)
            state_was_seen(self._store.uri, tombstones=dead, files=state.manifest.num_files)
        return snapshot

    def _checkpoint(self, file: VersionFile, listing: LogListing) -> Snapshot | None:
        listed = next((found for found in listing.versions if found.version == file.version), file)
        try:
            return snapshot_of_checkpoint(self._store, file.version, listed.modified_ms)
        except (CorruptTableError, ObjectNotFoundError) as reason:
            self._warn(f"checkpoint of version {file.version}", reason)
            return None

    def _rescue(self, version: int, reason: CorruptTableError) -> pa.Table:
        """The entries of a state whose manifests are damaged, from what is older, or the first error again."""
        older = SnapshotLoader(
            self._store, VersionSelector(version), self._settings, claimed=0, below=version
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StateWarning)
                snapshot = older.read(list_log(self._store))
        except (CorruptTableError, VersionNotFoundError):
            raise reason from None
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
        """The hole after the last version that can be read, if there is a trace of a later one."""
        traces = [file.version for file in (*listing.versions, *listing.checkpoints)]
        later = [version for version in (*traces, *listing.states, self._claimed) if version > last]
        return Gap(last + 1, min(later)) if later else None

    def _no_start(self, listing: LogListing) -> Exception:
        uri = self._store.uri
        wanted = self._wanted.version
        if self._failures and not listing.versions:
            return CorruptTableError(f"{uri} cannot be read: {'; '.join(self._failures)}")
        bases = sorted({*listing.states, *(file.version for file in listing.checkpoints)})
        if bases and not self._failures:
            found = f"version {wanted}" if wanted is not None else "version of that time"
            return VersionNotFoundError(f"{uri} has no {found} any more; {_range(listing)}")
        numbers = [file.version for file in listing.versions]
        return CorruptTableError(
            f"{uri} has versions {numbers[0]} to {numbers[-1]}, no version 0 and no checkpoint "
            f"to start from; restore the missing files"
        )


def _noted(versions: Iterator[VersionActions], read: dict[int, str | None]) -> Iterator[VersionActions]:
    """The versions, and into `read` the transactions that made those that are taken."""
    for found in versions:
        read[found.version] = found.txn_id
        yield found


def _not_younger(versions: Iterator[VersionActions], as_of_ms: int) -> Iterator[VersionActions]:
    for found in versions:
        # Times never go backwards (replay sees to it), so the first younger version ends the search.
        if found.raw_timestamp_ms > as_of_ms:
            return
        yield found


def _moment(ms: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


def _range(listing: LogListing, gap: Gap | None = None) -> str:
    """What can be read, for an error about a version that cannot."""
    runs = listing.readable
    if not runs:
        return "a listing of its log names none that can be read; try again"  # it lags behind
    words = [
        f"at version {first}" if first == last and len(runs) > 1 else f"from version {first} to {last}"
        for first, last in runs
    ]
    end = f" (version {gap.first} is missing)" if gap else ""
    return f"it can be read {' and '.join(words)}{end}"

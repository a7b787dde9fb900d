"""One listing of the log directory: version files, states, JSON checkpoints and clean-up records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from indextables.errors import ObjectNotFoundError
from indextables.log.actions import checkpoint_of, version_key, version_of
from indextables.log.versions.watermark import record_of
from indextables.state import state_of
from indextables.storage import LOG_DIRECTORY, ObjectInfo, Store


class VersionFile(NamedTuple):
    """A version file, or a JSON checkpoint, in a listing."""

    version: int
    modified_ms: int


@dataclass(frozen=True)
class LogListing:
    """The content of the log directory, in ascending order.

    Version files and checkpoints below `start` were not listed; states and clean-up records always are. `cleanups` are
    the first versions of the clean-up records.
    """

    versions: tuple[VersionFile, ...]
    states: tuple[int, ...]
    checkpoints: tuple[VersionFile, ...]
    start: int = 0
    cleanups: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.versions or self.states or self.checkpoints)

    @property
    def newest(self) -> int:
        """The highest version that any file refers to, or -1."""
        newest_files = (*self.versions[-1:], *self.checkpoints[-1:])
        return max((*self.states[-1:], *(file.version for file in newest_files)), default=-1)

    @property
    def readable(self) -> list[tuple[int, int]]:
        """The versions that can be read, as ranges from a first to a last one.

        A range begins with a state, a checkpoint or version 0, and continues while there are version files.

        >>> files = tuple(VersionFile(version, 0) for version in (7, 8, 20, 21, 22))
        >>> LogListing(files, states=(10, 20), checkpoints=()).readable
        [(10, 10), (20, 22)]
        """
        files = {file.version for file in self.versions}
        starts = {*self.states, *(file.version for file in self.checkpoints), *({0} & files)}
        runs: list[tuple[int, int]] = []
        for start in sorted(starts):
            if runs and start <= runs[-1][1] + 1:
                first = runs.pop()[0]
            else:
                first = start
            last = start
            while last + 1 in files:
                last += 1
            runs.append((first, last))
        return runs

    def run_after(self, version: int, store: Store) -> list[VersionFile]:
        """Return the version files that follow `version` without a gap.

        A version that is missing between listed ones is requested by name: a listing may lag behind.
        """
        files = {file.version: file for file in self.versions if file.version > version}
        last = max(files, default=version)
        run: list[VersionFile] = []
        for number in range(version + 1, last + 1):
            file = files.get(number)
            if file is None:
                try:
                    file = VersionFile(number, store.head(version_key(number)).modified_ms)
                except ObjectNotFoundError:
                    break
            run.append(file)
        return run


def list_log(store: Store, after: int = -1) -> LogListing:
    """List version files and checkpoints after version `after`, and all states and clean-up records."""
    # The names of states and clean-up records sort after those of version files, so that a listing which starts after
    # an old version still has them all.
    begin = None if after < 0 else version_key(after)
    return parse_listing(store.list_from(LOG_DIRECTORY, start_after=begin), after)


def parse_listing(infos: Iterable[ObjectInfo], after: int = -1) -> LogListing:
    """Build the listing from the objects of the log directory after version `after`."""
    versions: list[VersionFile] = []
    checkpoints: list[VersionFile] = []
    states: set[int] = set()
    cleanups: list[int] = []
    for info in infos:
        if (version := version_of(info.key)) is not None:
            versions.append(VersionFile(version, info.modified_ms))
        elif (version := checkpoint_of(info.key)) is not None:
            checkpoints.append(VersionFile(version, info.modified_ms))
        elif (version := state_of(info.key)) is not None:
            states.add(version)
        elif (version := record_of(info.key)) is not None:
            cleanups.append(version)
    return LogListing(
        versions=tuple(sorted(versions)),
        states=tuple(sorted(states)),
        checkpoints=tuple(sorted(checkpoints)),
        start=after + 1,
        cleanups=tuple(sorted(cleanups)),
    )

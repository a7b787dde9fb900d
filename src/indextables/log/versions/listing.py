"""What is in the log directory: version files, states and JSON checkpoints, by one listing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from indextables.errors import ObjectNotFoundError
from indextables.log.actions.paths import checkpoint_of, version_key, version_of
from indextables.log.versions.watermark import record_of
from indextables.state import LOG_DIRECTORY, state_of
from indextables.storage import ObjectInfo, Store


class VersionFile(NamedTuple):
    """A version file in a listing."""

    version: int
    modified_ms: int


@dataclass(frozen=True)
class LogListing:
    """All in ascending order. Version files and checkpoints below `start` were not looked at; the others all were.

    `cleanups` are the first versions of the links of the clean-up boundary.
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
        """The highest version of which there is any trace, or -1."""
        traces = (self.versions[-1:], self.checkpoints[-1:])
        return max((*self.states[-1:], *(file.version for found in traces for file in found)), default=-1)

    @property
    def readable(self) -> list[tuple[int, int]]:
        """The versions that can be read, as runs from a first to a last one.

        A run begins with a state, a checkpoint or version 0, and goes on while there are version files.

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
        """The version files that follow `version` without a gap."""
        found = {file.version: file for file in self.versions if file.version > version}
        last = max(found, default=version)
        run: list[VersionFile] = []
        for wanted in range(version + 1, last + 1):
            file = found.get(wanted)
            if file is None:
                try:  # a listing may lag behind: the file itself has the last word
                    file = VersionFile(wanted, store.head(version_key(wanted)).modified_ms)
                except ObjectNotFoundError:
                    break
            run.append(file)
        return run


def list_log(store: Store, after: int = -1) -> LogListing:
    """What there is after version `after`, and all states and links."""
    # States and links sort after version files, so that a listing that skips old versions still has them all.
    begin = None if after < 0 else version_key(after)
    return parse_listing(store.list_from(LOG_DIRECTORY, start_after=begin), after)


def parse_listing(infos: Iterable[ObjectInfo], after: int = -1) -> LogListing:
    """Return the same from the objects of the log directory after version `after`."""
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
        tuple(sorted(versions)),
        tuple(sorted(states)),
        tuple(sorted(checkpoints)),
        after + 1,
        tuple(sorted(cleanups)),
    )

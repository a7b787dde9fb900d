"""A new log in the place of a damaged or lost one. The old log and the splits are only read."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import ClassVar, Final

from indextables.config import Settings, keys
from indextables.errors import InputError, TableExistsError, TableNotFoundError
from indextables.log import LOG_DIRECTORY, Action, AddFile, CommitInfo, Metadata, Protocol, Snapshot, commit
from indextables.log.actions import (
    CURRENT,
    UNSEALED,
    encode_text,
    group_by_text_size,
    max_text_bytes,
    pack,
    seal_version,
)
from indextables.log.changes import combine_protocols
from indextables.log.cleanup import missing_files
from indextables.log.commits import ENGINE
from indextables.log.snapshots import Extras
from indextables.log.versions import list_log, publish, record_of
from indextables.maintenance.log_recovery import recover_log
from indextables.maintenance.split_recovery import recover_splits
from indextables.runtime import new_id, now_ms, sleep
from indextables.state import LAST_CHECKPOINT
from indextables.storage import Backoff, Store, open_store, table_uri

_NAMED: Final = 5


@dataclass(frozen=True)
class Repaired:
    """What was repaired. Status is SUCCESS, followed by what could not be read, if there was any such thing.

    `source_version` is the newest version of which the old log had a trace, -1 if it was gone.
    """

    source_path: str
    target_path: str
    source_version: int
    total_splits: int
    valid_splits: int
    missing_splits: int
    status: str


@dataclass(frozen=True)
class _RecoveredTable:
    """A whole table as its first version."""

    protocol: Protocol
    metadata: Metadata
    txns: Mapping[str, int]
    extras: Extras
    adds: tuple[AddFile, ...]
    parameters: Mapping[str, str]
    operation: ClassVar[str] = "REPAIR"

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is not None:
            raise TableExistsError(f"there is a log at {current.uri} by now; repair to an empty place")
        return [
            self.protocol,
            self.metadata,
            *self.extras.batches(self.txns),
            *self.adds,
            *self.extras.actions(),
        ]


def repair(
    source_log: str | PathLike[str],
    target_log: str | PathLike[str] | None = None,
    settings: Settings | None = None,
) -> Repaired:
    """Writes at `target_log` what can be read of the log at `source_log`, less the splits that are gone.

    Both end in `_transaction_log`; the target is absent or empty. When there is no log at the source, the splits
    beside it are all there is to go by. Paths stay relative: the new log belongs into the place of the old one.

    Without a target, a log that is lost is reconstructed from the splits, in its own place; the path may then be that
    of the table, too. TableExistsError if there is still a version, a state or a checkpoint: what is left of a log is
    never overwritten.

    >>> import indextables as it, pyarrow as pa
    >>> it.write("memory://doc-repair", pa.table({"n": [1]}))
    0
    >>> repair("memory://doc-repair/_transaction_log", "memory://doc-repaired/_transaction_log").valid_splits
    1
    """
    settings = settings or Settings()
    if target_log is None:
        table = table_uri(source_log).removesuffix(f"/{LOG_DIRECTORY}")
        source = target = open_store(table, settings)
        _check_lost(source)
    else:
        source, target = (open_store(_table_of(log), settings) for log in (source_log, target_log))
    if target_log is not None and next(iter(target.list_from(LOG_DIRECTORY)), None) is not None:
        raise TableExistsError(f"{target.uri}/{LOG_DIRECTORY} is not empty; repair to an empty place")
    found = recover_log(source, settings)
    files, metadata, damaged = found.files, found.metadata, list(found.damaged)
    if found.version < 0 or metadata is None:
        rebuilt = recover_splits(source, settings)
        if rebuilt is None:
            raise TableNotFoundError(f"there is neither a log nor a split at {source.uri}")
        if found.version >= 0 and damaged:
            damaged.append("the schema is that of the splits")
        damaged += rebuilt.damaged
        metadata = rebuilt.metadata
        files = files or {add.path: add for add in rebuilt.adds}
    missing = _missing(source, files)
    adds = tuple(
        dataclasses.replace(file, path=key, data_change=True)
        for key, file in files.items()
        if key not in missing
    )
    change = _RecoveredTable(
        combine_protocols(found.protocol or CURRENT, CURRENT),
        metadata,
        found.txns,
        _of_live(found.extras.done(), {add.path for add in adds}),
        adds,
        {"source": source.uri, "sourceVersion": str(found.version)},
    )
    if target_log is None:
        _delete_pointers(target)
    _write(target, change, settings)
    return Repaired(
        f"{source.uri}/{LOG_DIRECTORY}",
        f"{target.uri}/{LOG_DIRECTORY}",
        found.version,
        len(files),
        len(adds),
        len(missing),
        _status(damaged),
    )


def _check_lost(store: Store) -> None:
    listing = list_log(store)
    if not listing.is_empty:
        log = f"{store.uri}/{LOG_DIRECTORY}"
        raise TableExistsError(
            f"{log} has a log up to version {listing.newest}, and its own place is for one that is lost; write what "
            f"can be read of it to another place: REPAIR INDEXFILES TRANSACTION LOG '{log}' AT LOCATION '<new log>'"
        )


def _delete_pointers(store: Store) -> None:
    """Delete what speaks of versions that are gone: it would make the new ones look like a part of the old log."""
    stale = [info.key for info in store.list_from(LOG_DIRECTORY) if record_of(info.key) is not None]
    for key in [LAST_CHECKPOINT, *sorted(stale, reverse=True)]:
        store.delete(key)


def _write(target: Store, change: _RecoveredTable, settings: Settings) -> None:
    """Write the table as version 0, or as several versions if it is too large for one.

    Then the metadata comes last: a log that was not finished has none, and cannot be taken for the table.
    """
    adds = list(group_by_text_size(change.adds, max_text_bytes() // 2))
    if len(adds) < 2:
        commit(target, change, base=None, settings=settings)
        return
    last: list[Action] = [
        action for action in change.actions(None) if not isinstance(action, Protocol | AddFile)
    ]
    backoff = Backoff.of(settings, random.Random(), sleep)  # noqa: S311 - jitter, not secrecy
    previous: str | None = None
    versions: list[list[Action]] = [[change.protocol], *adds, last]
    for version, actions in enumerate(versions):
        info = CommitInfo(
            str(new_id()),
            change.operation,
            dict(change.parameters),
            engine=ENGINE,
            timestamp=now_ms() + version,
            previous_sha256=previous,
            sha256=UNSEALED,
        )
        text, previous = seal_version(encode_text([info, *actions]))
        data = pack(text, compress=settings.get(keys.COMPRESS_VERSION_FILES))
        if not publish(target, version, data, str(info.txn_id), backoff):
            raise TableExistsError(f"another process writes at {target.uri}; repair to an empty place")


def _table_of(log: str | PathLike[str]) -> str:
    uri = table_uri(log)
    root = uri.removesuffix(f"/{LOG_DIRECTORY}")
    if root == uri:
        raise InputError(f"{uri} is not a log: its path must end in /{LOG_DIRECTORY}")
    return root


def _of_live(extras: Extras, keys: set[str]) -> Extras:
    return dataclasses.replace(extras, skips={key: skip for key, skip in extras.skips.items() if key in keys})


def _missing(store: Store, files: Mapping[str, AddFile]) -> set[str]:
    """The files that are not there; one that lies outside the table cannot be read there, so it is not either."""
    outside = {key for key in files if key.startswith("/") or ":/" in key}
    return outside.union(missing_files(store, (key for key in files if key not in outside)))


def _status(damaged: list[str]) -> str:
    if not damaged:
        return "SUCCESS"
    more = f" and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
    return f"SUCCESS, without {len(damaged)} that could not be read: {'; '.join(damaged[:_NAMED])}{more}"

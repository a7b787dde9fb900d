"""REPAIR: write a new log in place of a damaged or lost one. The old log and the splits are only read."""

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
    required_protocol,
    seal_version,
)
from indextables.log.changes import combine_protocols
from indextables.log.cleanup import missing_files
from indextables.log.commits import ENGINE
from indextables.log.snapshots import Extras
from indextables.log.versions import list_log, publish, record_of
from indextables.maintenance.log_recovery import recover_log
from indextables.maintenance.split_recovery import recover_splits
from indextables.notebook import result_html
from indextables.runtime import new_id, now_ms, sleep
from indextables.state import LAST_CHECKPOINT
from indextables.storage import Backoff, Store, open_store, table_uri

_NAMED: Final = 5


@dataclass(frozen=True)
class Repaired:
    """The result of a repair. The status is SUCCESS, followed by what could not be read, if anything.

    `source_version` is the newest version that any file of the old log refers to, -1 if the log was lost.
    """

    source_path: str
    target_path: str
    source_version: int
    total_splits: int
    valid_splits: int
    missing_splits: int
    status: str

    def _repr_html_(self) -> str:
        return result_html(f"Repair of {self.source_path}", self)


@dataclass(frozen=True)
class _RecoveredTable:
    """Creates the first version of a log, with the whole table."""

    protocol: Protocol
    metadata: Metadata
    txns: Mapping[str, int]
    extras: Extras
    adds: tuple[AddFile, ...]
    parameters: Mapping[str, str]
    operation: ClassVar[str] = "REPAIR"

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is not None:
            raise TableExistsError(
                f"another process has written a log at {current.uri}; repair to an empty place"
            )
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
    settings: Mapping[str, str] | Settings | None = None,
    *,
    dry_run: bool = False,
) -> Repaired:
    """Write to `target_log` what can be read of the log at `source_log`, without the splits that are missing.

    Both paths end in `_transaction_log`; the target must be absent or empty. If there is no log at the source, the
    table is recovered from its splits. Paths of splits stay relative: the new log is to be moved in place of the old.

    Without a target, a lost log is recovered from the splits in its own place; the path may then be that of the table
    too. Raises TableExistsError if any version, state or checkpoint exists: the remains of a log are never
    overwritten. With `dry_run` nothing is written, and the result is what the repair would find.

    >>> import indextables as it, pyarrow as pa
    >>> it.write("memory://doc-repair", pa.table({"n": [1]}))
    0
    >>> repair("memory://doc-repair/_transaction_log", "memory://doc-repaired/_transaction_log").valid_splits
    1
    """
    settings = settings if isinstance(settings, Settings) else Settings(settings)
    if target_log is None:
        table = table_uri(source_log).removesuffix(f"/{LOG_DIRECTORY}")
        source = target = open_store(table, settings)
        _check_lost(source)
    else:
        source, target = (open_store(_table_of(log), settings) for log in (source_log, target_log))
    if target_log is not None and next(iter(target.list_from(LOG_DIRECTORY)), None) is not None:
        raise TableExistsError(f"{target.uri}/{LOG_DIRECTORY} is not empty; repair to an empty place")
    recovered = recover_log(source, settings)
    files, metadata, damaged = recovered.files, recovered.metadata, list(recovered.damaged)
    if recovered.version < 0 or metadata is None:
        from_splits = recover_splits(source, settings)
        if from_splits is None:
            raise TableNotFoundError(f"there is neither a log nor a split at {source.uri}")
        if recovered.version >= 0 and damaged:
            damaged.append("the schema is that of the splits")
        damaged += from_splits.damaged
        metadata = from_splits.metadata
        files = files or {add.path: add for add in from_splits.adds}
    missing = _missing(source, files)
    adds = tuple(
        dataclasses.replace(
            file,
            path=key,
            data_change=True,
            added_at_version=None,
            added_at_timestamp=None,
            added_data_change=None,
        )
        for key, file in files.items()
        if key not in missing
    )
    change = _RecoveredTable(
        protocol=combine_protocols(
            combine_protocols(recovered.protocol or CURRENT, CURRENT), required_protocol(adds)
        ),
        metadata=metadata,
        txns=recovered.txns,
        extras=_extras_of(recovered.extras.done(), {add.path for add in adds}),
        adds=adds,
        parameters={"source": source.uri, "sourceVersion": str(recovered.version)},
    )
    if not dry_run:
        if target_log is None:
            _delete_pointers(target)
        _write(target, change, settings)
    return Repaired(
        source_path=f"{source.uri}/{LOG_DIRECTORY}",
        target_path=f"{target.uri}/{LOG_DIRECTORY}",
        source_version=recovered.version,
        total_splits=len(files),
        valid_splits=len(adds),
        missing_splits=len(missing),
        status=_status(damaged),
    )


def _check_lost(store: Store) -> None:
    listing = list_log(store)
    if not listing.is_empty:
        log = f"{store.uri}/{LOG_DIRECTORY}"
        raise TableExistsError(
            f"{log} has a log up to version {listing.newest}, and only a lost log is recovered in its own place; write "
            f"what can be read to another place: `indextables repair {log} --to NEW_LOG`, or in SQL "
            f"REPAIR INDEXFILES TRANSACTION LOG '{log}' AT LOCATION '<new log>'"
        )


def _delete_pointers(store: Store) -> None:
    """Delete the hint and the clean-up records of the lost log: new versions would look like a part of the old log."""
    stale = [info.key for info in store.list_from(LOG_DIRECTORY) if record_of(info.key) is not None]
    for key in [LAST_CHECKPOINT, *sorted(stale, reverse=True)]:
        store.delete(key)


def _write(target: Store, change: _RecoveredTable, settings: Settings) -> None:
    """Write the table as version 0, or as several versions if it is too large for one.

    Of several, the last has the metadata. So an unfinished log has none, and no reader mistakes it for the table.
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
            txn_id=str(new_id()),
            operation=change.operation,
            parameters=dict(change.parameters),
            engine=ENGINE,
            timestamp=now_ms() + version,
            previous_sha256=previous,
            sha256=UNSEALED,
        )
        text, previous = seal_version(encode_text([info, *actions]))
        data = pack(text, compress=settings.get(keys.COMPRESS_VERSION_FILES))
        if not publish(target, version, data, str(info.txn_id), backoff):
            raise TableExistsError(f"another process is writing at {target.uri}; repair to an empty place")


def _table_of(log: str | PathLike[str]) -> str:
    uri = table_uri(log)
    root = uri.removesuffix(f"/{LOG_DIRECTORY}")
    if root == uri:
        raise InputError(f"{uri} is not a log: its path must end in /{LOG_DIRECTORY}")
    return root


def _extras_of(extras: Extras, keys: set[str]) -> Extras:
    return dataclasses.replace(extras, skips={key: skip for key, skip in extras.skips.items() if key in keys})


def _missing(store: Store, files: Mapping[str, AddFile]) -> set[str]:
    """Return the files that do not exist, including those outside the table, which the new log cannot refer to."""
    outside = {key for key in files if key.startswith("/") or ":/" in key}
    return outside.union(missing_files(store, (key for key in files if key not in outside)))


def _status(damaged: list[str]) -> str:
    if not damaged:
        return "SUCCESS"
    more = f" and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
    return f"SUCCESS, without {len(damaged)} that could not be read: {'; '.join(damaged[:_NAMED])}{more}"

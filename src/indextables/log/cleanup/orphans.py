"""Orphaned splits: finding those that no version names, and deleting them in batches that any process can run.

A split that no version names yet may belong to a writer at work. The caller excludes it: a purge deletes only splits
that are older than its retention, after it has committed the purge fence (`changes.purge_fence`). Readers need none of
these splits, because no readable version names them. Two purges may delete the same split: deleting a file that is
already gone is not an error.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import StorageError
from indextables.log.cleanup.reachable import ReachableFiles
from indextables.progress import Progress
from indextables.runtime import current
from indextables.storage import LOG_DIRECTORY, LocalStore, ObjectInfo, Store, open_store

_SPLIT_KEY: Final = re.compile(r"(?:[^/]+=[^/]*/)*(?:splits/)?[^/]+\.split(?:\.crc)?")
"""Where writers put splits: below partition directories and nothing else. Hadoop adds checksum files next to them."""

_DELTA_LOG_KEY: Final = re.compile(
    r"(?:[^/]+=[^/]*/)*(?:splits/)?delta-[0-9a-f-]+\.crc32-[0-9a-f]{8}\.parquet"
)

_log: Final = logging.getLogger(__name__)

DELETE_BATCH: Final = 1000
_THREADS: Final = 16


@dataclass(frozen=True)
class DeleteTask:
    """One batch of files to delete. `options` open the store where the task runs."""

    uri: str
    options: dict[str, str] = field(repr=False)  # credentials may be among them
    files: tuple[ObjectInfo, ...] = field(repr=False)


@dataclass(frozen=True)
class Deleted:
    """How many files and bytes were deleted; `failures` name what could not be deleted, and why."""

    files: int = 0
    bytes: int = 0
    failures: tuple[str, ...] = ()


def orphaned_splits(infos: Iterable[ObjectInfo], reachable: ReachableFiles) -> list[ObjectInfo]:
    """Return the splits of a listing, and the delta logs, that are not reachable, whatever their age.

    Other files are ignored, and so is a directory with a log of its own, which is another table.
    """
    orphans: list[ObjectInfo] = []
    other_tables: set[str] = set()
    for info in infos:
        directory, within, _ = info.key.partition(f"/{LOG_DIRECTORY}/")
        if within and not info.key.startswith(f"{LOG_DIRECTORY}/"):
            other_tables.add(f"{directory}/")
        elif is_data_key(info.key) and _split(info.key) not in reachable:
            orphans.append(info)
    return [info for info in orphans if not info.key.startswith(tuple(other_tables))]


def is_split_key(key: str) -> bool:
    """Return True for a key under which writers put splits, or the checksum of one."""
    return _SPLIT_KEY.fullmatch(key) is not None


def is_data_key(key: str) -> bool:
    """Return True for the key of a split or of a delta log."""
    return is_split_key(key) or _DELTA_LOG_KEY.fullmatch(key) is not None


def abandoned_files(store: Store, before_ms: int) -> list[ObjectInfo]:
    """Return temporary files of a table on a local disk that no writer has changed since `before_ms`.

    Temporary files of other tables inside this directory are not included.
    """
    if not isinstance(store, LocalStore):
        return []
    old = [info for info in store.temporary_files() if info.modified_ms <= before_ms]
    if not old:
        return []
    log = f"/{LOG_DIRECTORY}/"
    other_tables = {f"{info.key.partition(log)[0]}/" for info in store.list_from("") if log in info.key}
    return [info for info in old if not info.key.startswith(tuple(other_tables))]


def _split(key: str) -> str:
    """Return the split that a file belongs to: itself, or the split whose checksum it is."""
    if not key.endswith(".crc"):
        return key
    directory, slash, name = key.rpartition("/")
    return f"{directory}{slash}{name.removesuffix('.crc').removeprefix('.')}"


def delete_tasks(
    uri: str, options: dict[str, str], files: Sequence[ObjectInfo], at_most: int | None = None
) -> list[DeleteTask]:
    """Return the files in batches, one for each task, with no more than `at_most` tasks."""
    size = max(DELETE_BATCH, -(-len(files) // at_most)) if at_most else DELETE_BATCH
    return [DeleteTask(uri, options, tuple(batch)) for batch in _batches(files, size)]


def run_delete_task(task: DeleteTask) -> Deleted:
    """Delete the files of a batch; a file that is already gone counts as deleted."""
    return delete_files(open_store(task.uri, Settings(task.options)), task.files)


def delete_files(store: Store, files: Sequence[ObjectInfo], threads: int = _THREADS) -> Deleted:
    """Delete the files, several at a time."""
    outcomes = list(current().threads.map(lambda info: _delete(store, info), files, threads))
    failures = tuple(outcome for outcome in outcomes if outcome is not None)
    size = sum(info.size for info, outcome in zip(files, outcomes, strict=True) if outcome is None)
    return Deleted(len(files) - len(failures), size, failures)


def total_deleted(parts: Iterable[Deleted]) -> Deleted:
    """Add up the results of several batches."""
    total = Deleted()
    for part in parts:
        total = Deleted(total.files + part.files, total.bytes + part.bytes, (*total.failures, *part.failures))
    return total


def delete_in_process(
    store: Store, files: Sequence[ObjectInfo], settings: Settings, progress: Progress | None = None
) -> Deleted:
    """Delete all of the files in this process; `progress` is called after each batch."""
    threads = settings.get(keys.PURGE_PARALLELISM) or _THREADS
    total = Deleted()
    done = 0
    for batch in _batches(files, DELETE_BATCH):
        total = total_deleted([total, delete_files(store, batch, threads)])
        done += len(batch)
        if progress is not None:
            progress(done, len(files))
        _log.info("purge of %s: %d of %d splits deleted", store.uri, done, len(files))
    return total


def _batches(files: Sequence[ObjectInfo], size: int) -> Iterator[Sequence[ObjectInfo]]:
    return (files[start : start + size] for start in range(0, len(files), size))


def _delete(store: Store, info: ObjectInfo) -> str | None:
    """Delete a file. Return why it could not be deleted, or None."""
    try:
        store.delete(info.key)
    except StorageError as reason:
        return f"{info.key} stays: {reason}"
    return None

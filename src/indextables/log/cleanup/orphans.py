"""Splits that no version names: finding them in a listing, and deleting them in batches that any process can run."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import StorageError
from indextables.log.cleanup.reachable import ReachableFiles
from indextables.runtime import current
from indextables.state import LOG_DIRECTORY
from indextables.storage import ObjectInfo, Store, open_store
from indextables.storage.local import LocalStore

_OURS: Final = re.compile(r"(?:[^/]+=[^/]*/)*(?:splits/)?[^/]+\.split(?:\.crc)?")
"""Where writers put splits: below partition directories and nothing else. Checksum files of Hadoop lie beside them."""

_log: Final = logging.getLogger(__name__)

BATCH: Final = 1000
_THREADS: Final = 16


@dataclass(frozen=True)
class DeleteTask:
    """One batch. `options` open the store where the task runs."""

    uri: str
    options: dict[str, str] = field(repr=False)  # credentials may be among them
    files: tuple[ObjectInfo, ...] = field(repr=False)


@dataclass(frozen=True)
class Deleted:
    """What became of a batch."""

    files: int = 0
    bytes: int = 0
    failures: tuple[str, ...] = ()


def orphaned_splits(infos: Iterable[ObjectInfo], needed: ReachableFiles) -> list[ObjectInfo]:
    """The splits of a listing that nothing needs, whatever their age. Of other files nobody knows what they are.

    A directory with a log of its own is another table, whose files are no business of this one.
    """
    found: list[ObjectInfo] = []
    others: set[str] = set()
    for info in infos:
        directory, within, _ = info.key.partition(f"/{LOG_DIRECTORY}/")
        if within and not info.key.startswith(f"{LOG_DIRECTORY}/"):
            others.add(f"{directory}/")
        elif is_split_key(info.key) and _split(info.key) not in needed:
            found.append(info)
    return [info for info in found if not info.key.startswith(tuple(others))]


def is_split_key(key: str) -> bool:
    """Return True for a key under which writers put splits, or the checksum of one."""
    return _OURS.fullmatch(key) is not None


def abandoned_files(store: Store, before_ms: int) -> list[ObjectInfo]:
    """The temporary files in a table on this disk that no writer has changed since; tables inside of it keep theirs."""
    if not isinstance(store, LocalStore):
        return []
    found = [info for info in store.temporary_files() if info.modified_ms <= before_ms]
    if not found:
        return []
    log = f"/{LOG_DIRECTORY}/"
    others = {f"{info.key.partition(log)[0]}/" for info in store.list_from("") if log in info.key}
    return [info for info in found if not info.key.startswith(tuple(others))]


def _split(key: str) -> str:
    """The split that a file belongs to: itself, or that of which it is the checksum."""
    if not key.endswith(".crc"):
        return key
    directory, slash, name = key.rpartition("/")
    return f"{directory}{slash}{name.removesuffix('.crc').removeprefix('.')}"


def delete_tasks(
    uri: str, options: dict[str, str], files: Sequence[ObjectInfo], at_most: int | None = None
) -> list[DeleteTask]:
    """The files in batches, each a task; no more of those than `at_most`."""
    size = max(BATCH, -(-len(files) // at_most)) if at_most else BATCH
    return [DeleteTask(uri, options, tuple(batch)) for batch in _batches(files, size)]


def run_delete_task(task: DeleteTask) -> Deleted:
    """Deletes the files of a batch; one that is gone already is as good as deleted."""
    return delete_files(open_store(task.uri, Settings(task.options)), task.files)


def delete_files(store: Store, files: Sequence[ObjectInfo], threads: int = _THREADS) -> Deleted:
    outcomes = list(current().threads.map(lambda info: _delete(store, info), files, threads))
    failures = tuple(outcome for outcome in outcomes if outcome is not None)
    size = sum(info.size for info, outcome in zip(files, outcomes, strict=True) if outcome is None)
    return Deleted(len(files) - len(failures), size, failures)


def total_deleted(parts: Iterable[Deleted]) -> Deleted:
    total = Deleted()
    for part in parts:
        total = Deleted(total.files + part.files, total.bytes + part.bytes, (*total.failures, *part.failures))
    return total


def delete_in_process(store: Store, files: Sequence[ObjectInfo], settings: Settings) -> Deleted:
    """Deletes all of them, by this process alone."""
    threads = settings.get(keys.PURGE_PARALLELISM) or _THREADS
    total = Deleted()
    done = 0
    for batch in _batches(files, BATCH):
        total = total_deleted([total, delete_files(store, batch, threads)])
        done += len(batch)
        _log.info("purge of %s: %d of %d splits deleted", store.uri, done, len(files))
    return total


def _batches(files: Sequence[ObjectInfo], size: int) -> Iterator[Sequence[ObjectInfo]]:
    return (files[start : start + size] for start in range(0, len(files), size))


def _delete(store: Store, info: ObjectInfo) -> str | None:
    """Why the file is still there, if it is."""
    try:
        store.delete(info.key)
    except StorageError as reason:
        return f"{info.key} stays: {reason}"
    return None

"""The index part of splits on local disk: Tantivy opens directories only, and searches come back.

    <root>/<name>/          an entry: the files of one index, and their record (see `entry_record`)
    <root>/.work/           entries that are being filled or deleted
    <root>/.size            the size of all entries, in bytes; a process that changes it holds a lock on it

An entry is named for the split it came from, and complete from the moment it has that name: it is filled under another
name and renamed. Several processes may share the cache. An entry is evicted by renaming it away first; a reader that
has it open keeps its files, one that is about to open it extracts it again.

A fill costs the same however many entries there are. Only when `.size` says that there are too many, all are looked at,
and so many go that it takes a tenth of the cache to get there again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import tantivy

from indextables.config import Settings, keys
from indextables.runtime import CacheSpec, current, new_id
from indextables.split.container import Bundle
from indextables.split.index import engine_errors, is_engine_failure
from indextables.split.index_cache.directory import ADVICE, cache_directory
from indextables.split.index_cache.entry_record import RECORD, is_unchanged, record_files, recorded_size
from indextables.split.index_cache.extraction import extract_members
from indextables.storage.disk import disk_error, disk_errors, system_error

_log: Final = logging.getLogger(__name__)

_WORK: Final = ".work"
_SIZE: Final = ".size"
_STALE_SECONDS: Final = 3600
_FILLED_TO: Final = 0.9
_OPEN_TRIES: Final = 3

Fill: TypeAlias = Callable[[Path], dict[str, int]]
"""Puts the files of an index into an empty directory and returns the CRC-32 of each, by name."""

Read = TypeVar("Read")


@dataclass(frozen=True)
class OpenIndex:
    index: tantivy.Index
    searcher: tantivy.Searcher


# Every open index has a watcher thread, so only so many stay open. Threads do not survive a fork.
OPEN_INDEXES: Final = CacheSpec[str, OpenIndex](
    "open indexes", entries=128, eviction="random", after_fork="drop"
)


def open_index(bundle: Bundle, settings: Settings, *, documents: bool = False) -> OpenIndex:
    """The index of a split, from memory, from the disk cache, or extracted and checked now.

    `documents` says whether its rows are stored in it.
    """

    def fill(directory: Path) -> dict[str, int]:
        return extract_members(bundle, directory, documents=documents)

    return open_cached(entry_name(bundle), bundle, fill, settings)


def open_cached(name: str, bundle: Bundle, fill: Fill, settings: Settings) -> OpenIndex:
    """The index of that name, filled now if neither memory nor disk has it; `bundle` is what it comes from."""
    open_indexes = current().cache(OPEN_INDEXES)
    found = open_indexes.get(name)
    if found is not None:
        return found
    opened = _open_from(IndexCache.of(settings), name, bundle, fill)
    open_indexes.put(name, opened)
    return opened


def read_cached(name: str, fill: Fill, read: Callable[[Path], Read], settings: Settings) -> Read:
    """Open files of that name with `read`, filled now if they are not on disk or not what they were.

    `read` must raise ValueError or OSError now, not later, if they cannot be what `fill` has written.
    """
    cache = IndexCache.of(settings)
    for _ in range(_OPEN_TRIES):
        path = cache.entry(name, fill)
        try:
            return read(path)
        except (ValueError, OSError) as reason:
            failed = system_error(reason)
            if failed is not None:
                raise disk_error("read a file of", str(cache.root), failed, ADVICE) from reason
            cache.drop(name)  # evicted between the two lines above, or not what it was
    with (
        disk_errors("keep an index in", str(cache.root), ADVICE),
        _own_directory(cache) as own,
    ):
        fill(own)
        return read(own)


def is_cached(name: str, settings: Settings) -> bool:
    """Whether the index of that name is in memory or on disk now; it may be evicted the moment after."""
    return name in current().cache(OPEN_INDEXES) or IndexCache.of(settings).holds(name)


def entry_name(bundle: Bundle) -> str:
    """One name for one split's bytes: a table rewritten at the same place never meets its old entries."""
    identity = f"{bundle.store.uri}\0{bundle.key}\0{bundle.size}\0{bundle.fingerprint}"
    return hashlib.sha256(identity.encode()).hexdigest()[:40]


@dataclass(frozen=True)
class IndexCache:
    root: Path
    max_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> IndexCache:
        return cls(cache_directory(settings), settings.get(keys.CACHE_MAX_SIZE))

    def holds(self, name: str) -> bool:
        return (self.root / name / RECORD).exists()

    def entry(self, name: str, fill: Fill) -> Path:
        """The directory of an index, filled if it is not there or has been changed."""
        path = self.root / name
        with disk_errors("keep an index in", str(self.root), ADVICE):
            try:
                if is_unchanged(path):
                    os.utime(path / RECORD)
                    return path
            except FileNotFoundError:
                pass  # without a record, or a file of it, it is none
            _log.debug("index %s is not in the cache at %s; it is unpacked", name, self.root)
            if path.exists():
                self.drop(name)
            self._fill(path, fill)
        return path

    def drop(self, name: str) -> None:
        """Take an entry out of sight, then delete it: nobody ever sees half of one."""
        doomed = self._moved_away(name)
        if doomed is not None:
            shutil.rmtree(doomed, ignore_errors=True)

    def work(self) -> Path:
        """The directory for what is being made or deleted; what processes that died have left there goes."""
        work = self.root / _WORK
        work.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(OSError):
            for path in work.iterdir():
                if time.time() - path.lstat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(path, ignore_errors=True)
        return work

    def _fill(self, path: Path, fill: Fill) -> None:
        building = self.work() / f"new-{new_id().hex}"
        building.mkdir(mode=0o700)
        doomed: list[Path] = []
        try:
            size = record_files(building, fill(building))
            with self._locked() as ledger:
                try:
                    building.rename(path)
                except OSError as reason:
                    if reason.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                        raise
                    return  # another process was first, with the same bytes
                total = _read_total(ledger)
                total = sum(entry[1] for entry in self._entries()) if total is None else total + size
                if total > self.max_bytes:
                    total, doomed = self._evict(spare=path.name)
                _write_total(ledger, total)
        finally:
            for directory in (building, *doomed):
                shutil.rmtree(directory, ignore_errors=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """One process at a time, and one thread of it: each call opens the file for itself."""
        fd = os.open(self.root / _SIZE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: then sizes may be a bit off
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            os.close(fd)

    def _entries(self) -> list[tuple[float, int, str]]:
        """When each entry was used last, how large it is, and its name."""
        found: list[tuple[float, int, str]] = []
        for path in self.root.iterdir():
            if not path.name.startswith("."):
                with contextlib.suppress(OSError, ValueError):
                    found.append(((path / RECORD).stat().st_mtime, recorded_size(path), path.name))
        return found

    def _evict(self, spare: str) -> tuple[int, list[Path]]:
        """Take entries out of sight until there is room: the size of those that stay, and what is to be deleted."""
        entries = self._entries()
        total = sum(size for _, size, _ in entries)
        doomed: list[Path] = []
        for _, size, name in sorted(entries):
            if total <= self.max_bytes * _FILLED_TO:
                break
            if name != spare:
                _log.debug("index %s is evicted from the cache at %s", name, self.root)
                moved = self._moved_away(name)
                doomed += [] if moved is None else [moved]
                total -= size
        return total, doomed

    def _moved_away(self, name: str) -> Path | None:
        doomed = self.root / _WORK / f"drop-{new_id().hex}"
        try:
            (self.root / name).rename(doomed)
        except FileNotFoundError:
            return None
        return doomed


def _read_total(ledger: int) -> int | None:
    text = os.pread(ledger, 32, 0)
    return int(text) if text.strip().isdigit() else None


def _write_total(ledger: int, total: int) -> None:
    os.pwrite(ledger, f"{total:<31}\n".encode(), 0)


def _open_from(cache: IndexCache, name: str, bundle: Bundle, fill: Fill) -> OpenIndex:
    for _ in range(_OPEN_TRIES):
        path = cache.entry(name, fill)
        try:
            return _opened(path)
        except BaseException as reason:
            if not is_engine_failure(reason):
                raise
            failed = system_error(reason)
            if failed is not None:
                raise disk_error("open the index of", bundle.name, failed, ADVICE) from reason
            # Evicted between the two lines above, or the cached files are not what they were.
            cache.drop(name)
    # Others evict faster than this process opens: a copy of its own, which needs no name once it is open.
    with (
        disk_errors("keep an index in", str(cache.root), ADVICE),
        _own_directory(cache) as own,
    ):
        fill(own)
        with engine_errors(bundle, "its index does not open"):
            return _opened(own)


@contextlib.contextmanager
def _own_directory(cache: IndexCache) -> Iterator[Path]:
    """Make a directory that no other process evicts, and delete it at the end: open files outlive their names.

    The deletion may fail, and a later `work` completes it: the engine's thread that watches `meta.json` sees it go,
    reloads the index, and may create its lock file in the directory after this process has emptied it.
    """
    with tempfile.TemporaryDirectory(prefix="own-", dir=cache.work(), ignore_cleanup_errors=True) as own:
        yield Path(own)


def _opened(path: Path) -> OpenIndex:
    index = tantivy.Index.open(str(path))
    return OpenIndex(index, index.searcher())

"""The cache of indexes on local disk, and the indexes that are open.

    <root>/<name>/          an entry: the files of one index, and their record (see `entry_record`)
    <root>/.work/           entries that are being filled or deleted
    <root>/.size            the size of all entries, in bytes; a process that changes it holds a lock on it

Several processes may use one cache at the same time. An entry is filled in `.work` and then renamed to its name, which
identifies the split, so that a reader sees either no entry or a complete one. If two processes fill the same entry, the
rename of the second fails, and it uses the entry of the first, which has the same bytes. An entry is evicted by
renaming it into `.work` and deleting it there: a reader that has opened it keeps its open files, and a reader that is
about to open it does not find it and fills it again.

The cost of a fill does not depend on the number of entries. They are listed only when `.size` exceeds the limit, and
then the least recently used are evicted until a tenth of the limit is free.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypeVar

import tantivy

from indextables.config import Settings, keys
from indextables.runtime import CacheSpec, current, lazy_property, new_id
from indextables.split.container import Bundle
from indextables.split.index import engine_errors, is_engine_failure, stored_lengths
from indextables.split.index_cache.directory import ADVICE, cache_directory
from indextables.split.index_cache.entry_record import RECORD, is_unchanged, record_files, recorded_size
from indextables.split.index_cache.extraction import extract_members
from indextables.storage import disk_error, disk_errors, system_error

_log: Final = logging.getLogger(__name__)

_WORK: Final = ".work"
_SIZE: Final = ".size"
_STALE_SECONDS: Final = 3600
_FILLED_TO: Final = 0.9
_OPEN_TRIES: Final = 3

MEMORY_HITS: Final = "index_cache.memory_hits"
DISK_HITS: Final = "index_cache.disk_hits"
MISSES: Final = "index_cache.misses"
"""Counters of a process: indexes that were open already, on disk, or extracted or built."""

Fill: TypeAlias = Callable[[Path], dict[str, int]]
"""Writes the files of an index into an empty directory and returns the CRC-32 of each by name."""

Read = TypeVar("Read")


@dataclass(frozen=True)
class OpenIndex:
    """An open index. Its files stay open, and their `directory` may be deleted at any time."""

    index: tantivy.Index
    searcher: tantivy.Searcher
    directory: Path

    @lazy_property
    def lengths(self) -> Mapping[str, tuple[int, ...]]:
        """The codes of the lengths that each field has; none if the files could not be read."""
        return stored_lengths(self.directory) or {}


# Every open index has a watcher thread, so that the number of open ones is limited. Threads do not survive a fork.
OPEN_INDEXES: Final = CacheSpec[str, OpenIndex](
    "open indexes", entries=128, eviction="random", after_fork="drop"
)


def open_index(
    bundle: Bundle,
    settings: Settings,
    *,
    documents: bool = False,
    check: Callable[[Path], None] | None = None,
) -> OpenIndex:
    """Open the index of a split: from memory, from the disk cache, or extracted from the split and verified.

    Pass `documents` if the rows are stored in the index. `check` looks at the files of an index that was extracted,
    before it is opened for the first time.
    """

    def fill(directory: Path) -> dict[str, int]:
        checksums = extract_members(bundle, directory, documents=documents)
        if check is not None:
            check(directory)
        return checksums

    return open_cached(entry_name(bundle), bundle, fill, settings)


def open_cached(name: str, bundle: Bundle, fill: Fill, settings: Settings) -> OpenIndex:
    """Open the index of that name, and fill it if neither memory nor disk has it. `bundle` is for errors."""
    open_indexes = current().cache(OPEN_INDEXES)
    in_memory = open_indexes.get(name)
    if in_memory is not None:
        current().counters.add(MEMORY_HITS)
        return in_memory
    opened = _open_from(IndexCache.of(settings), name, bundle, fill)
    open_indexes.put(name, opened, max_entries=settings.get(keys.MAX_OPEN_SPLITS))
    return opened


def read_cached(name: str, fill: Fill, read: Callable[[Path], Read], settings: Settings) -> Read:
    """Return what `read` makes of the entry of that name, which is filled if it is missing or was changed.

    If the files cannot be what `fill` has written, `read` must raise ValueError or OSError before it returns.
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
            cache.drop(name)  # another process evicted the entry before `read`, or its files were changed
    with (
        disk_errors("keep an index in", str(cache.root), ADVICE),
        _own_directory(cache) as own,
    ):
        fill(own)
        return read(own)


def is_cached(name: str, settings: Settings) -> bool:
    """Return True if the index of that name is in memory or on disk. Another process may evict it at any time."""
    return name in current().cache(OPEN_INDEXES) or IndexCache.of(settings).holds(name)


def entry_name(bundle: Bundle, *parts: str) -> str:
    """Return the name of a split's entry. It depends on the split's bytes: a rewritten table has other entries.

    `parts` tell further entries of the split apart. The names of all entries of a table begin alike (`table_mark`).
    """
    identity = "\0".join((bundle.key, str(bundle.size), bundle.fingerprint, *parts))
    return table_mark(bundle.store.uri) + hashlib.sha256(identity.encode()).hexdigest()[:28]


def table_mark(uri: str) -> str:
    """Return how the names of the entries of the table at `uri` begin."""
    return hashlib.sha256(uri.encode()).hexdigest()[:12]


class CachedEntry(NamedTuple):
    """An entry: when it was last used, in seconds since 1970, its size in bytes, and its name."""

    used: float
    size: int
    name: str


@dataclass(frozen=True)
class IndexCache:
    """The entries in one directory, which together have at most `max_bytes`."""

    root: Path
    max_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> IndexCache:
        return cls(cache_directory(settings), settings.get(keys.CACHE_MAX_SIZE))

    def holds(self, name: str) -> bool:
        """Return True if there is an entry of that name."""
        return (self.root / name / RECORD).exists()

    def entry(self, name: str, fill: Fill) -> Path:
        """Return the directory of an entry, and fill it if it is missing or was changed."""
        path = self.root / name
        with disk_errors("keep an index in", str(self.root), ADVICE):
            try:
                if is_unchanged(path):
                    os.utime(path / RECORD)
                    current().counters.add(DISK_HITS)
                    return path
            except FileNotFoundError:
                pass  # no entry, or one without its record or one of its files
            _log.debug("index %s is not in the cache at %s and is extracted", name, self.root)
            current().counters.add(MISSES)
            if path.exists():
                self.drop(name)
            self._fill(path, fill)
        return path

    def drop(self, name: str) -> None:
        """Delete an entry. It is renamed first, so that no process sees a part of it."""
        doomed = self._move_away(name)
        if doomed is not None:
            shutil.rmtree(doomed, ignore_errors=True)

    def remove(self, names: Iterable[str]) -> set[str]:
        """Delete these entries, and return the names of those that were there."""
        moved: dict[str, Path] = {}
        try:
            with self._lock_size() as ledger:
                for name in names:
                    doomed = self._move_away(name)
                    if doomed is not None:
                        moved[name] = doomed
                _write_total(ledger, sum(entry.size for entry in self.entries()))
        finally:
            for directory in moved.values():
                shutil.rmtree(directory, ignore_errors=True)
        return set(moved)

    def work(self) -> Path:
        """Return the directory `.work`, and delete there what processes that died have left."""
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
            with self._lock_size() as ledger:
                try:
                    building.rename(path)
                except OSError as reason:
                    if reason.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                        raise
                    return  # another process has filled the entry, with the same bytes
                total = _read_total(ledger)
                total = sum(entry.size for entry in self.entries()) if total is None else total + size
                if total > self.max_bytes:
                    total, doomed = self._evict(spare=path.name)
                _write_total(ledger, total)
        finally:
            for directory in (building, *doomed):
                shutil.rmtree(directory, ignore_errors=True)

    @contextlib.contextmanager
    def _lock_size(self) -> Iterator[int]:
        """Lock `.size` against other processes and threads: each call opens the file itself."""
        fd = os.open(self.root / _SIZE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with contextlib.suppress(
                OSError
            ):  # without locks in the file system, the size may become inexact
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            os.close(fd)

    def entries(self) -> list[CachedEntry]:
        """List the entries."""
        entries: list[CachedEntry] = []
        for path in self.root.iterdir():
            if not path.name.startswith("."):
                with contextlib.suppress(OSError, ValueError):
                    used = (path / RECORD).stat().st_mtime
                    entries.append(CachedEntry(used, recorded_size(path), path.name))
        return entries

    def _evict(self, spare: str) -> tuple[int, list[Path]]:
        """Rename the least recently used entries until there is room.

        Returns the size of the remaining entries, and the directories that the caller deletes outside the lock.
        """
        entries = self.entries()
        total = sum(size for _, size, _ in entries)
        doomed: list[Path] = []
        for _, size, name in sorted(entries):
            if total <= self.max_bytes * _FILLED_TO:
                break
            if name != spare:
                _log.debug("index %s is evicted from the cache at %s", name, self.root)
                moved = self._move_away(name)
                doomed += [] if moved is None else [moved]
                total -= size
        return total, doomed

    def _move_away(self, name: str) -> Path | None:
        """Rename an entry into `.work`. None if another process has already removed it."""
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
            return _open_directory(path)
        except BaseException as reason:
            if not is_engine_failure(reason):
                raise
            failed = system_error(reason)
            if failed is not None:
                raise disk_error("open the index of", bundle.name, failed, ADVICE) from reason
            # Another process evicted the entry before it was opened, or its files were changed.
            cache.drop(name)
    # Other processes evict faster than this one opens. Open a private copy, which can be deleted once it is open.
    with (
        disk_errors("keep an index in", str(cache.root), ADVICE),
        _own_directory(cache) as own,
    ):
        fill(own)
        with engine_errors(bundle, "its index does not open"):
            return _open_directory(own)


@contextlib.contextmanager
def _own_directory(cache: IndexCache) -> Iterator[Path]:
    """Create a directory that no other process evicts, and delete it at the end: open files outlive their names.

    The deletion may fail, and a later `work` completes it: the engine's thread that watches `meta.json` sees it go,
    reloads the index, and may create its lock file in the directory after this process has emptied it.
    """
    with tempfile.TemporaryDirectory(prefix="own-", dir=cache.work(), ignore_cleanup_errors=True) as own:
        yield Path(own)


def _open_directory(path: Path) -> OpenIndex:
    index = tantivy.Index.open(str(path))
    return OpenIndex(index, index.searcher(), path)

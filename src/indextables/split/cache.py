"""The index part of splits on local disk: Tantivy opens directories only, and searches come back.

A cache entry is a directory named for the split it came from, complete from the moment it has that name: it is
filled under another name and renamed. Several processes may share the cache. An entry is evicted by renaming
it away first; a reader that has it open keeps its files, one that is about to open it extracts it again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import tempfile
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import tantivy

from indextables.config import Settings, keys
from indextables.forking import ForkSafeLock
from indextables.split.bundle import Bundle
from indextables.split.extract import extract_members

_log: Final = logging.getLogger(__name__)

_MARKER: Final = ".used"  # its time of change is when the entry was last used; it holds the size of the entry
_STALE_SECONDS: Final = 3600
_MAX_OPEN: Final = 32
_OPEN_TRIES: Final = 3

Fill: TypeAlias = Callable[[Path], int]
"""Puts the files of an index into an empty directory and says how many bytes they are."""

Read = TypeVar("Read")


@dataclass(frozen=True)
class OpenIndex:
    index: tantivy.Index
    searcher: tantivy.Searcher


# Every open index has a watcher thread, so only so many stay open. Threads do not survive a fork.
_open: OrderedDict[str, OpenIndex] = OrderedDict()
_lock = ForkSafeLock()
os.register_at_fork(after_in_child=_open.clear)


def open_index(bundle: Bundle, settings: Settings) -> OpenIndex:
    """The index of a split, from memory, from the disk cache, or extracted and checked now."""
    return open_cached(
        entry_name(bundle), bundle, lambda directory: extract_members(bundle, directory), settings
    )


def open_cached(name: str, bundle: Bundle, fill: Fill, settings: Settings) -> OpenIndex:
    """The index of that name, filled now if neither memory nor disk has it; `bundle` is what it comes from."""
    with _lock:
        found = _open.get(name)
        if found is not None:
            _open.move_to_end(name)
            return found
    opened = _open_from(IndexCache.of(settings), name, bundle, fill)
    with _lock:
        _open[name] = opened
        while len(_open) > _MAX_OPEN:
            _open.popitem(last=False)
    return opened


def read_cached(name: str, fill: Fill, read: Callable[[Path], Read], settings: Settings) -> Read:
    """Open files of that name with `read`, filled now if they are not on disk or not what they were."""
    cache = IndexCache.of(settings)
    for _ in range(_OPEN_TRIES):
        path = cache.entry(name, fill)
        try:
            return read(path)
        except (ValueError, OSError):
            cache.drop(name)
    with tempfile.TemporaryDirectory(prefix=".own-", dir=cache.root) as own:
        fill(Path(own))
        return read(Path(own))


def is_cached(name: str, settings: Settings) -> bool:
    """Whether the index of that name is in memory or on disk now; it may be evicted the moment after."""
    with _lock:
        if name in _open:
            return True
    return IndexCache.of(settings).holds(name)


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
        chosen = settings.get(keys.CACHE_DIRECTORY)
        root = Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"indextables-cache-{os.getuid()}"
        return cls(root, settings.get(keys.CACHE_MAX_SIZE))

    def holds(self, name: str) -> bool:
        return (self.root / name / _MARKER).exists()

    def entry(self, name: str, fill: Fill) -> Path:
        """The directory of an index, filled if it is not there."""
        path = self.root / name
        try:
            os.utime(path / _MARKER)
        except FileNotFoundError:
            _log.debug("index %s is not in the cache at %s; it is unpacked", name, self.root)
            self._fill(path, fill)
            self._evict(spare=name)
        return path

    def drop(self, name: str) -> None:
        """Take an entry out of sight, then delete it: nobody ever sees half of one."""
        doomed = self.root / f".drop-{uuid.uuid4().hex}"
        with contextlib.suppress(FileNotFoundError):
            (self.root / name).rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)

    def _fill(self, path: Path, fill: Fill) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        building = self.root / f".new-{uuid.uuid4().hex}"
        building.mkdir()
        try:
            size = fill(building)
            (building / _MARKER).write_text(str(size))
            try:
                building.rename(path)
            except OSError as reason:
                if reason.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise  # else another process was first, with the same bytes
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def _evict(self, spare: str) -> None:
        entries: list[tuple[float, int, str]] = []
        for path in self.root.iterdir():
            with contextlib.suppress(OSError, ValueError):
                if path.name.startswith("."):
                    if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                        shutil.rmtree(path, ignore_errors=True)  # left by a process that died
                    continue
                marker = path / _MARKER
                entries.append((marker.stat().st_mtime, int(marker.read_text()), path.name))
        excess = sum(size for _, size, _ in entries) - self.max_bytes
        for _, size, name in sorted(entries):
            if excess <= 0:
                return
            if name != spare:
                _log.debug("index %s is evicted from the cache at %s", name, self.root)
                self.drop(name)
                excess -= size


def _open_from(cache: IndexCache, name: str, bundle: Bundle, fill: Fill) -> OpenIndex:
    for _ in range(_OPEN_TRIES):
        path = cache.entry(name, fill)
        try:
            return _opened(path)
        except (ValueError, OSError):
            # Evicted between the two lines above, or the cached files are not what they were.
            cache.drop(name)
    # Others evict faster than this process opens: a copy of its own, which needs no name once it is open.
    with tempfile.TemporaryDirectory(prefix=".own-", dir=cache.root) as own:
        fill(Path(own))
        try:
            return _opened(Path(own))
        except (ValueError, OSError) as reason:
            raise bundle.damaged(f"its index does not open: {reason}") from reason


def _opened(path: Path) -> OpenIndex:
    index = tantivy.Index.open(str(path))
    return OpenIndex(index, index.searcher())

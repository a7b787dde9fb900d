"""A cache of open split readers: opening a split costs more than searching it.

The identity of a local file (inode, size, modification time) is checked. A split in an object store is never changed
under its name: its address and size are its identity. Splits in memory are not cached, as they cost nothing to open. A
reader is leased to one user at a time: while it is leased it is not in the cache, so that two threads never share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from indextables.runtime import Cache, CacheSpec, current
from indextables.schema import FieldMapping
from indextables.split import DeltaLogRef, SplitReader
from indextables.storage import Store, is_on_this_machine

MAX_READERS: Final = 128
"""A cache keeps the end of each split in memory and its file mapped: some hundred kB each."""


@dataclass(frozen=True)
class FileState:
    """The identity of a split. Other content under the same name differs in at least one field."""

    path: str
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, store: Store, key: str, size: int) -> FileState | None:
        """Return the identity of a split of this size by the log; None if it cannot be told from another."""
        path = store.local_path(key)
        if path is None:
            return None if is_on_this_machine(store.uri) else cls(f"{store.uri}/{key}", 0, size, 0)
        try:
            status = path.stat()
        except OSError:
            return None
        return cls(path=str(path), inode=status.st_ino, size=status.st_size, changed=status.st_mtime_ns)


Options: TypeAlias = tuple[tuple[str, str], ...]
_Key: TypeAlias = tuple[FileState, Options, DeltaLogRef | None]
_Split: TypeAlias = tuple[FieldMapping, SplitReader]

# A child shares the position of an open file with its parent: a read in one would move it for the other.
_SPLITS: Final = CacheSpec[_Key, _Split](
    "open splits", entries=MAX_READERS, eviction="random", after_fork="drop"
)


class ReaderCache:
    """The readers of the splits that were read most recently."""

    def __init__(self, max_readers: int = MAX_READERS, cache: Cache[_Key, _Split] | None = None) -> None:
        self._max_readers = max_readers
        self._splits = cache if cache is not None else Cache(entries=max_readers, eviction="random")

    def __len__(self) -> int:
        return len(self._splits)

    @contextmanager
    def lease(
        self,
        store: Store,
        key: str,
        size: int,
        options: Options,
        mapping: FieldMapping,
        open_reader: Callable[[], SplitReader],
        delta_log: DeltaLogRef | None = None,
    ) -> Iterator[SplitReader]:
        """Lease a reader for the time of a `with` block: from the cache, or a new one from `open_reader`.

        The reader returns to the cache when the block ends without an error. A reader that failed is dropped.
        """
        state = FileState.of(store, key, size)
        cache_key = None if state is None else (state, options, delta_log)
        split = None if cache_key is None else self._take(cache_key, mapping)
        if split is None:
            split = open_reader()
        with split:  # leaving it drops the results of searches and keeps the open file and index
            yield split
        if cache_key is not None:
            self._splits.put(cache_key, (mapping, split), max_entries=self._max_readers)

    def forget(self, directory: str) -> None:
        """Drop the readers of the files below a directory that are not leased."""
        self._splits.discard(lambda key: key[0].path.startswith(f"{directory}/"))

    def clear(self) -> None:
        """Drop every reader that is not leased."""
        self._splits.clear()

    def _take(self, key: _Key, mapping: FieldMapping) -> SplitReader | None:
        cached = self._splits.pop(key)
        return cached[1] if cached is not None and cached[0] == mapping else None


def reader_cache(max_readers: int = MAX_READERS) -> ReaderCache:
    """Return the reader cache of the current runtime. A caller that puts readers back says how many it may keep."""
    return ReaderCache(max_readers, current().cache(_SPLITS))

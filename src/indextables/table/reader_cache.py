"""Splits that stay open from one answer to the next: opening one costs more than a search of it.

Only those whose file lies on this machine, where it is seen whether it is still the same file. A split is on the cache
or in one user's hands, never both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from indextables.runtime import Cache, CacheSpec, current
from indextables.schema import FieldMapping
from indextables.split import SplitReader
from indextables.storage import Store

MOST: Final = 64
"""A cache keeps the end of each split in memory and its file mapped: some hundred kB each."""


@dataclass(frozen=True)
class FileState:
    """A file as it was: any other content of the same name differs in one of these."""

    path: str
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, store: Store, key: str) -> FileState | None:
        path = store.local_path(key)
        if path is None:
            return None
        try:
            found = path.stat()
        except OSError:
            return None
        return cls(str(path), found.st_ino, found.st_size, found.st_mtime_ns)


Options: TypeAlias = tuple[tuple[str, str], ...]
_Key: TypeAlias = tuple[FileState, Options]
_Split: TypeAlias = tuple[FieldMapping, SplitReader]

# A child shares the position of an open file with its parent: a read in one would move it for the other.
_SPLITS: Final = CacheSpec[_Key, _Split]("open splits", entries=MOST, eviction="random", after_fork="drop")


class ReaderCache:
    """Splits that were read lately."""

    def __init__(self, most: int = MOST, cache: Cache[_Key, _Split] | None = None) -> None:
        self._splits = cache or Cache(entries=most, eviction="random")

    def __len__(self) -> int:
        return len(self._splits)

    @contextmanager
    def lease(
        self,
        store: Store,
        key: str,
        options: Options,
        mapping: FieldMapping,
        open_it: Callable[[], SplitReader],
    ) -> Iterator[SplitReader]:
        """A split from the cache, or opened, for this use alone. One that has failed does not come back."""
        state = FileState.of(store, key)
        split = None if state is None else self._taken(state, options, mapping)
        if split is None:
            split = open_it()
        with split:  # what a search has remembered of the split goes; what the split itself is stays
            yield split
        if state is not None:
            self._put(state, options, mapping, split)

    def clear(self) -> None:
        self._splits.clear()

    def _taken(self, state: FileState, options: Options, mapping: FieldMapping) -> SplitReader | None:
        found = self._splits.pop((state, options))
        return found[1] if found is not None and found[0] == mapping else None

    def _put(self, state: FileState, options: Options, mapping: FieldMapping, split: SplitReader) -> None:
        self._splits.put((state, options), (mapping, split))


def reader_cache() -> ReaderCache:
    """Return the reader cache of the current runtime."""
    return ReaderCache(cache=current().cache(_SPLITS))

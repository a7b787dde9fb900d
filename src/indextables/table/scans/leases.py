"""Leasing the splits of a scan from the cache of open readers, and opening those of an object store in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, TypeVar

from indextables.config import Settings, keys
from indextables.predicates import Predicate
from indextables.runtime import current
from indextables.split import SplitReader, open_split
from indextables.storage import is_on_this_machine, open_store
from indextables.table.scans.open_readers import reader_cache

if TYPE_CHECKING:
    from indextables.table.scans.scan import ScanTask, SplitRef

SPLITS_SEARCHED: Final = "scan.splits_searched"
"""Counter of a process: splits that scans have opened."""

REQUESTS: Final = 32
"""How many splits of an object store are asked at the same time: nearly all of the time is spent waiting for it."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class SplitLeases:
    """Leases the readers of the splits of a scan; store and settings are the same for all of its tasks."""

    def __init__(self, task: ScanTask) -> None:
        self._task = task
        self._settings = Settings(task.options)
        self._store = open_store(task.uri, self._settings)
        self._options = tuple(sorted(task.options.items()))
        self._readers = reader_cache(self._settings.get(keys.MAX_OPEN_SPLITS))

    def __call__(self, ref: SplitRef) -> AbstractContextManager[SplitReader]:
        """Lease the reader of a split for a block."""
        current().counters.add(SPLITS_SEARCHED)
        return self._lease(ref)

    def prepare(self, ref: SplitRef, predicate: Predicate) -> None:
        """Bring what a search of a split needs first into the caches."""
        with self._lease(ref) as split:
            split.prepare(predicate)

    def _lease(self, ref: SplitRef) -> AbstractContextManager[SplitReader]:
        def open_reader() -> SplitReader:
            return open_split(
                self._store,
                ref.path,
                ref.size,
                settings=self._settings,
                mapping=self._task.mapping,
                keep_end=True,
                delta_log=ref.delta_log,
            )

        return self._readers.lease(
            self._store, ref.path, ref.size, self._options, self._task.mapping, open_reader, ref.delta_log
        )


def map_splits(uri: str, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return what `work` makes of each split: of several at a time if the table is in an object store."""
    parallelism = 1 if is_on_this_machine(uri) else REQUESTS
    return list(current().threads.map(work, items, parallelism))

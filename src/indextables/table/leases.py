"""Leasing the splits of a scan from the cache of open readers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from indextables.config import Settings, keys
from indextables.runtime import current
from indextables.split import SplitReader, open_split
from indextables.storage import open_store
from indextables.table.reader_cache import reader_cache
from indextables.table.scan import SPLITS_SEARCHED, ScanTask, SplitRef


def lease_task_splits(task: ScanTask) -> Callable[[SplitRef], AbstractContextManager[SplitReader]]:
    """Return a function that leases the reader of a split; store and settings are the same for all tasks of a scan."""
    settings = Settings(task.options)
    store = open_store(task.uri, settings)
    options = tuple(sorted(task.options.items()))
    readers = reader_cache(settings.get(keys.MAX_OPEN_SPLITS))

    def lease(ref: SplitRef) -> AbstractContextManager[SplitReader]:
        current().counters.add(SPLITS_SEARCHED)

        def open_reader() -> SplitReader:
            return open_split(store, ref.path, ref.size, settings=settings, mapping=task.mapping)

        return readers.lease(store, ref.path, options, task.mapping, open_reader)

    return lease

"""A range of versions, one after the other, for readers that follow a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from indextables.errors import CorruptTableError, VersionNotFoundError
from indextables.log.versions import VersionActions, list_log, read_versions, read_watermark
from indextables.storage import Store

_AT_ONCE: Final = 16


def read_range(store: Store, table_id: str, first: int, last: int) -> Iterator[VersionActions]:
    """Yield the versions `first` to `last`, in order.

    Raises VersionNotFoundError, naming the first version that can be read, if clean-up has passed one of them.

    The watermark is read again after each group of files, before any of them is yielded. If it is still below them, no
    clean-up had deleted any of these versions while they were read, and none of them can be an orphaned commit.
    """
    if first > last:
        return
    run = list_log(store, after=first - 1).run_after(first - 1, store)
    files = [file for file in run if file.version <= last]
    if len(files) < last - first + 1:
        raise _gone(store, table_id, first + len(files))
    for start in range(0, len(files), _AT_ONCE):
        group = files[start : start + _AT_ONCE]
        try:
            versions = list(read_versions(store, group))
        except CorruptTableError:
            if read_watermark(store, table_id) < group[0].version:
                raise
            raise _gone(store, table_id, group[0].version) from None  # cleaned up after it was listed
        if read_watermark(store, table_id) >= group[0].version:
            raise _gone(store, table_id, group[0].version)
        yield from versions


def first_version(store: Store, table_id: str, newest: int) -> int:
    """Return the first version from which every version file exists, up to the newest version."""
    existing = {file.version for file in list_log(store).versions}
    watermark = read_watermark(store, table_id)
    first = newest + 1
    while first - 1 in existing and first - 1 > watermark:
        first -= 1
    return first


def _gone(store: Store, table_id: str, version: int) -> VersionNotFoundError:
    watermark = read_watermark(store, table_id)
    if version > watermark:
        return VersionNotFoundError(
            f"{store.uri} has no file of version {version}: another program has deleted it, or has committed the "
            f"version without one"
        )
    return VersionNotFoundError(
        f"version {version} of {store.uri} has been cleaned up; the first that can still be read one by one is "
        f"{watermark + 1}"
    )

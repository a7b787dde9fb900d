"""The deleted rows of a split: a delta log next to it has their positions. The split itself never changes.

A delta log is a POSITIONAL one of the `columns` package. It is immutable, and its name has the checksum of its bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from indextables.errors import CorruptTableError, ObjectNotFoundError
from indextables.rows import RowIds
from indextables.runtime import CacheSpec, current
from indextables.storage import Store

_KEY: Final = re.compile(r"(?:[^/]+/)*delta-[0-9a-f-]+\.crc32-[0-9a-f]{8}\.parquet")
_MAX_BYTES: Final = 1 << 30

_CACHE_BYTES: Final = 64 << 20
_POSITIONS: Final = CacheSpec[tuple[str, str], RowIds]("deleted rows", entries=1000)
"""By the address of the table and the key of the delta log."""


@dataclass(frozen=True)
class DeltaLogRef:
    """The delta log of a split: its key in the table's store, and the number of rows that it deletes."""

    key: str
    num_deleted: int

    @classmethod
    def of(
        cls, key: str | None, num_deleted: int | None, num_rows: int | None, split: str
    ) -> DeltaLogRef | None:
        """Return the reference that the log has for a split; None if it has none.

        CorruptTableError if the number of deleted rows is missing, or larger than that of the rows.
        """
        if key is None:
            return None
        if num_deleted is None or num_deleted < 0 or (num_rows is not None and num_deleted > num_rows):
            raise CorruptTableError(
                f"the log has {num_deleted} deleted rows for {split}, a split of {num_rows} rows"
            )
        return cls(key, num_deleted)


@dataclass(frozen=True)
class RestoredRows(DeltaLogRef):
    """The rows of a split that the delta log deletes and `later` does not. The others count as deleted.

    `num_before` is the number of rows that the delta log deletes.
    """

    num_before: int
    later: DeltaLogRef | None

    def rows(self, store: Store, num_rows: int) -> RowIds:
        """Return these rows, ascending. CorruptTableError if a delta log is missing or damaged."""
        was = load_deleted_rows(store, DeltaLogRef(self.key, self.num_before), num_rows)
        return np.setdiff1d(was.rows, load_deleted_rows(store, self.later, num_rows).rows)


class DeletedRows:
    """The deleted rows of one split, ascending."""

    def __init__(self, rows: RowIds) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def alive(self, rows: RowIds) -> npt.NDArray[np.bool_]:
        """Return for each of these rows whether it is not deleted."""
        if not len(self.rows):
            return np.ones(len(rows), np.bool_)
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        alive: npt.NDArray[np.bool_] = self.rows[at] != rows
        return alive

    def without(self, rows: RowIds) -> RowIds:
        """Return these rows without the deleted ones."""
        return rows[self.alive(rows)] if len(self.rows) else rows

    def first_alive(self, count: int, num_rows: int) -> RowIds:
        """Return the first rows of a split of `num_rows` rows that are not deleted, at most `count`."""
        return self.without(np.arange(min(count + len(self.rows), num_rows)))[:count]


NONE_DELETED: Final = DeletedRows(np.empty(0, np.int64))


def store_delta_log(store: Store, split: str, rows: RowIds) -> DeltaLogRef:
    """Store the delta log of a split, next to it. No version names it yet.

    >>> from indextables.storage import open_store
    >>> store = open_store("memory:doc-delta-log")
    >>> log = store_delta_log(store, "splits/split-1.split", np.array([4, 7]))
    >>> load_deleted_rows(store, log, num_rows=10).rows
    array([4, 7])
    """
    from indextables.columns import encode_positions  # noqa: PLC0415 - opening a table does not need it

    name, raw = encode_positions(rows)
    is_elsewhere = split.startswith("/") or "://" in split
    folder = "splits/" if is_elsewhere else split[: split.rfind("/") + 1]
    key = f"{folder}delta-{name}"
    store.put(key, raw)
    return DeltaLogRef(key, len(rows))


def load_deleted_rows(store: Store, log: DeltaLogRef | None, num_rows: int) -> DeletedRows:
    """Return the deleted rows of a split of `num_rows` rows.

    CorruptTableError if the delta log is missing or damaged, or if it does not fit the split.
    """
    if log is None:
        return NONE_DELETED
    if isinstance(log, RestoredRows):
        return DeletedRows(np.setdiff1d(np.arange(num_rows), log.rows(store, num_rows)))
    cache = current().cache(_POSITIONS)
    rows = cache.get((store.uri, log.key))
    if rows is None or len(rows) != log.num_deleted or (len(rows) and rows[-1] >= num_rows):
        rows = _read(store, log, num_rows)
        cache.put((store.uri, log.key), rows, weight=rows.nbytes, max_weight=_CACHE_BYTES)
    return DeletedRows(rows)


def _read(store: Store, log: DeltaLogRef, num_rows: int) -> RowIds:
    from indextables.columns import decode_positions  # noqa: PLC0415 - opening a table does not need it

    if _KEY.fullmatch(log.key) is None or ".." in log.key.split("/"):
        raise CorruptTableError(f"the log of {store.uri} names {log.key!r:.200}, which is not a delta log")
    if log.num_deleted > num_rows:
        raise CorruptTableError(
            f"the log of {store.uri} has {log.num_deleted} deleted rows for a split of {num_rows} rows"
        )
    try:
        raw = store.get(log.key, _MAX_BYTES)
    except ObjectNotFoundError:
        raise CorruptTableError(
            f"the delta log {store.uri}/{log.key} is missing, so which rows of its split are deleted is unknown; "
            f"restore the file, or restore the table to a version before the delete"
        ) from None
    return decode_positions(raw, f"{store.uri}/{log.key}", num_entries=log.num_deleted, num_rows=num_rows)

"""Updated rows in the log: the tag `updatedRows` of a file says which rows a version updates.

It is

- of a file that the version adds, the number of updated rows; they are its first ones;
- of a file of which the version deletes rows, `all`, or the numbers of the rows that were updated, packed as text.

Without the tag, the rows are inserted, or deleted. The feed of changes reads it, and nothing else.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.errors import CorruptTableError
from indextables.log import AddFile
from indextables.log.changes import UPDATED_ROWS
from indextables.rows import RowIds
from indextables.schema import TableSchema
from indextables.stats import MAX_RECORDS
from indextables.table.writes.partitioning import PartitionKey, split_by_partition

ALL: Final = "all"
_MAX_TEXT: Final = 64 << 10
"""The longest text of one file. Of more rows, an update is shown as a delete and an insert."""


def pack_rows(rows: RowIds) -> bytes:
    """Return row numbers in few bytes, sorted. A number that is there twice stays there twice.

    >>> unpack_rows(pack_rows(np.array([7, 3, 7]))).tolist()
    [3, 7, 7]
    """
    steps = np.diff(np.sort(rows), prepend=0).astype("<i8")
    packed: bytes = pa.compress(steps.tobytes(), codec="zstd", asbytes=True)
    return len(steps).to_bytes(8, "little") + packed


def unpack_rows(packed: bytes) -> RowIds:
    """Return the row numbers that `pack_rows` has packed, ascending. ValueError if they are damaged."""
    count = int.from_bytes(packed[:8], "little")
    if len(packed) < 8 or count > MAX_RECORDS:
        raise ValueError(f"{count} rows")
    try:
        raw = pa.decompress(packed[8:], 8 * count, codec="zstd", asbytes=True)
    except (OSError, pa.ArrowException) as reason:
        raise ValueError(str(reason)) from None
    return np.cumsum(np.frombuffer(raw, "<i8"), dtype=np.int64)


def count_by_partition(
    rows: Iterable[pa.RecordBatch], schema: TableSchema, partition_columns: tuple[str, ...]
) -> Counter[PartitionKey]:
    """Return the number of rows of each partition."""
    counts: Counter[PartitionKey] = Counter()
    for batch in rows:
        if not partition_columns:
            counts[()] += batch.num_rows
            continue
        for key, part in split_by_partition(batch, schema, partition_columns):
            counts[key] += part.num_rows
    return counts


def mark_updates(
    adds: Sequence[AddFile], updates: Mapping[PartitionKey, int], partition_columns: tuple[str, ...]
) -> tuple[AddFile, ...]:
    """Return new files with the number of their updated rows, which one task has written before the others.

    >>> adds = [AddFile("a", {}, 1, num_records=4), AddFile("b", {}, 1, num_records=4)]
    >>> [add.tags for add in mark_updates(adds, {(): 5}, ())]
    [{'updatedRows': '4'}, {'updatedRows': '1'}]
    """
    left = Counter(updates)
    marked = []
    for add in adds:
        key = tuple(add.partition_values.get(name) for name in partition_columns)
        count = min(left[key], add.num_records or 0)
        left[key] -= count
        marked.append(dataclasses.replace(add, tags={UPDATED_ROWS: str(count)}) if count else add)
    return tuple(marked)


def without_marks(adds: Iterable[AddFile]) -> tuple[AddFile, ...]:
    """Return new files as if all of their rows were inserted."""
    return tuple(dataclasses.replace(add, tags=None) for add in adds)


def describe_updates(updated: RowIds, deleted: RowIds) -> str | None:
    """Return the tag of a file of which rows are updated and others deleted; None if it would be too long.

    >>> describe_updates(np.array([1, 4]), np.array([], np.int64))
    'all'
    """
    if not len(deleted):
        return ALL
    text = base64.b64encode(pack_rows(updated)).decode()
    return text if len(text) <= _MAX_TEXT else None


def are_updates(
    tags: Mapping[str, str] | None, rows: RowIds, path: str, *, is_new: bool
) -> npt.NDArray[np.bool_]:
    """Return for each of these rows of a file whether its version updates it, from the tags of the file.

    `is_new` if the version adds the rows. CorruptTableError if the tag is damaged.

    >>> are_updates({"updatedRows": "2"}, np.array([0, 1, 2]), "a", is_new=True).tolist()
    [True, True, False]
    >>> are_updates({"updatedRows": "all"}, np.array([5]), "a", is_new=False).tolist()
    [True]
    >>> are_updates(None, np.array([5]), "a", is_new=False).tolist()
    [False]
    """
    text = None if tags is None else tags.get(UPDATED_ROWS)
    if text is None:
        return np.zeros(len(rows), np.bool_)
    if text == ALL and not is_new:
        return np.ones(len(rows), np.bool_)
    try:
        if is_new:
            first: npt.NDArray[np.bool_] = rows < int(text)
            return first
        return np.isin(rows, unpack_rows(base64.b64decode(text, validate=True)))
    except (ValueError, binascii.Error):
        raise CorruptTableError(
            f"the log has {text!r:.100} as the updated rows of {path}, which is damaged"
        ) from None

"""Sizes of a write: how many bytes of rows a split takes, and how Spark distributes rows to tasks before the write.

A split has three sizes: that of its rows in memory, at which a writer begins the next split; that of its file; and that
of its rows in a shuffle, compressed, by which Spark sizes tasks. The files of the table give the ratio of the first
two, a setting that of the last two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Setting, Settings, keys
from indextables.errors import IndexTablesError
from indextables.log import Snapshot
from indextables.schema import Field, is_nested

_SETTINGS: Final[tuple[Setting[Any], ...]] = (
    keys.OPTIMIZE_WRITE,
    keys.OPTIMIZE_WRITE_MODE,
    keys.OPTIMIZE_WRITE_TARGET,
    keys.OPTIMIZE_WRITE_MAX_SIZE,
    keys.OPTIMIZE_WRITE_RATIO,
    keys.OPTIMIZE_WRITE_MIN_ROWS,
)


_TASKS_PER_SPLIT: Final = 8
"""By default, tasks are combined up to an eighth of a split only, so that one core does not index all rows."""


@dataclass(frozen=True)
class Distribution:
    """How rows reach the tasks: those with equal values in `cluster_by` together. Without columns, they stay in place.

    A task gets about `shuffle_bytes` of shuffled rows. If that is None, there are as many tasks as cores, each with the
    same number of rows. If `in_order`, there are no columns, and a task gets the rows of neighbouring tasks, in their
    order.
    """

    cluster_by: tuple[str, ...] = ()
    shuffle_bytes: int | None = None
    in_order: bool = False


def is_optimized(settings: Settings, partition_columns: Sequence[str]) -> bool:
    """Return True if rows are to be distributed before they are written."""
    enabled = settings.get(keys.OPTIMIZE_WRITE)
    mode = settings.get(keys.OPTIMIZE_WRITE_MODE)
    return mode != "none" and (bool(partition_columns) if enabled is None else enabled)


def split_row_bytes(settings: Settings, partition_columns: Sequence[str], history: Snapshot | None) -> int:
    """Return the size of the rows of one split in memory, at which a task begins the next split."""
    for setting in _SETTINGS:
        settings.get(setting)  # a bad value is an error, also where the mode does not use it
    size: int | None = None
    if is_optimized(settings, partition_columns):
        if settings.get(keys.OPTIMIZE_WRITE_MODE) == "balanced":
            size = settings.get(keys.OPTIMIZE_WRITE_MAX_SIZE)
        else:
            size = settings.get(keys.OPTIMIZE_WRITE_TARGET)
    if size is None:
        return settings.get(keys.TARGET_SPLIT_SIZE)
    return max(1, round(size / file_bytes_per_row_byte(settings, history)))


def plan_distribution(
    settings: Settings, columns: Sequence[Field], partition_columns: Sequence[str], history: Snapshot | None
) -> Distribution:
    """Return how Spark is to distribute the rows of a write. `history` is the table if it has rows of this schema."""
    mode = settings.get(keys.OPTIMIZE_WRITE_MODE)
    if mode == "none" or settings.get(keys.OPTIMIZE_WRITE) is False:
        return Distribution()
    is_requested = is_optimized(settings, partition_columns)
    if mode == "balanced":
        hashable = (column.name for column in columns if not is_nested(column.type))  # Spark hashes no map
        return Distribution(tuple(hashable)) if is_requested else Distribution()
    shuffle_bytes = _shuffle_bytes(settings, history)
    if partition_columns:
        return Distribution(tuple(partition_columns), shuffle_bytes)
    if not is_requested:
        shuffle_bytes = max(1, shuffle_bytes // _TASKS_PER_SPLIT)
    return Distribution((), shuffle_bytes, in_order=True)


def _shuffle_bytes(settings: Settings, history: Snapshot | None) -> int:
    """Return how many bytes of shuffled rows make a split of the target size."""
    size = settings.get(keys.OPTIMIZE_WRITE_TARGET)
    file_bytes = (
        settings.get(keys.TARGET_SPLIT_SIZE) * file_bytes_per_row_byte(settings, history)
        if size is None
        else size
    )
    return max(1, round(file_bytes / settings.get(keys.OPTIMIZE_WRITE_RATIO)))


def file_bytes_per_row_byte(settings: Settings, history: Snapshot | None) -> float:
    """Return the size of a split for each byte of its rows, as in the splits of the table; 1 if it has none to use."""
    if history is None:
        return 1.0
    try:
        files = history.files.sample()
    except IndexTablesError:
        return 1.0  # an estimate is not worth an error: a write need not read the files of the table
    return _ratio(files, settings.get(keys.OPTIMIZE_WRITE_MIN_ROWS))


def _ratio(files: pa.Table, min_rows: int) -> float:
    # A small split is mostly overhead, and one without the size of its rows was not written by this package.
    large = pc.and_(
        pc.greater_equal(files.column("numRecords"), min_rows),
        pc.greater(files.column("uncompressedSizeBytes"), 0),
    )
    files = files.filter(large)
    sizes, rows = (sum(files.column(name).to_pylist(), start=0) for name in ("size", "uncompressedSizeBytes"))
    # What the log says may be anything; no real split is outside these limits.
    return min(max(sizes / rows, 0.01), 10.0) if rows else 1.0

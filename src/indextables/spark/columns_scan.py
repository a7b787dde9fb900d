"""Scans of column groups in tasks: the rows shared out, each task with no more of the manifest than it needs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.columns import FILE_SIZE, ColumnGroup, Manifest, Reader
from indextables.predicates import TRUE, Predicate, columns_of
from indextables.spark.arrow_types import arrow_schema, spark_schema

TASK_BYTES: Final = 128 << 20
TASK_ROWS: Final = 1 << 16
"""Rows that are worth a task of their own."""

_UNKNOWN_ROW_BYTES: Final = 64


@dataclass(frozen=True)
class ColumnsTask:
    """The part of a scan that runs in one place: the rows from the first to the second of `rows` of the manifest."""

    settings: dict[str, str] = field(repr=False)  # credentials may be among them
    manifest: Manifest
    schema: pa.Schema
    columns: tuple[str, ...]
    rows: tuple[int, int]
    predicate: Predicate = TRUE
    limit: int | None = None
    count_only: bool = False
    apply_deltas: bool = False
    primary_key: tuple[str, ...] | None = None


def tasks_of(whole: ColumnsTask, parallelism: int) -> list[ColumnsTask]:
    """The scan in parts, one at least: a count of nothing is 0."""
    groups = _groups_read(whole)
    ranges = row_ranges(groups, whole.rows[1], parallelism)
    if whole.apply_deltas:  # which may need columns and positions from anywhere
        return [replace(whole, rows=rows) for rows in ranges]
    return [
        replace(
            whole,
            manifest=Manifest(tuple(group.slice(start, stop) for group in groups)),
            rows=(0, stop - start),
        )
        for start, stop in ranges
    ]


def row_ranges(groups: tuple[ColumnGroup, ...], rows: int, parallelism: int) -> list[tuple[int, int]]:
    """The rows in parts of about equal size, cut between files where one ends nearby.

    >>> from indextables.columns import ColumnGroupFile
    >>> files = tuple(ColumnGroupFile(name, 0, 100_000) for name in "ab")
    >>> row_ranges((ColumnGroup(("id",), "parquet", files),), 200_000, 2)
    [(0, 100000), (100000, 200000)]
    """
    size = sum(stored_bytes(group) for group in groups)
    parts = max(math.ceil(size / TASK_BYTES), min(parallelism, math.ceil(rows / TASK_ROWS)), 1)
    counts = (file.end_index - file.start_index for group in groups[:1] for file in group.files)
    ends = list(itertools.accumulate(counts))
    step = rows / parts
    cuts = {0, rows}
    for number in range(1, parts):
        even = round(number * step)
        nearest = min(ends, key=lambda end: abs(end - even), default=even)
        cuts.add(nearest if abs(nearest - even) <= step / 4 else even)
    return list(itertools.pairwise(sorted(cuts))) or [(0, 0)]


def run_columns_task(task: ColumnsTask) -> Iterator[pa.RecordBatch]:
    reader = Reader(
        task.manifest,
        task.schema,
        apply_deltas=task.apply_deltas,
        primary_key=task.primary_key,
        settings=task.settings,
    )
    if task.count_only:
        count = reader.count(task.predicate, rows=task.rows)
        yield pa.record_batch({"count": pa.array([count], pa.int64())})
        return
    left = task.limit
    expected = arrow_schema(spark_schema(pa.schema([task.schema.field(name) for name in task.columns])))
    for batch in reader.scan(task.predicate, task.columns, rows=task.rows):
        rows = batch if left is None else batch.slice(0, left)
        yield _as_spark(rows, expected) if task.columns else rows
        if left is not None:
            left -= rows.num_rows
            if left <= 0:
                return


def stored_bytes(group: ColumnGroup) -> int:
    """What the files of a group take, as far as the manifest tells."""
    stated = (file.properties.get(FILE_SIZE, "") for file in group.files)
    sizes = [int(size) for size in stated if size.isdecimal()]
    return sum(sizes) if len(sizes) == len(group.files) else group.num_rows * _UNKNOWN_ROW_BYTES


def _groups_read(task: ColumnsTask) -> tuple[ColumnGroup, ...]:
    """The groups that have a column to read. Where none has, the smallest: somebody must count the rows."""
    if task.apply_deltas:
        return task.manifest.column_groups
    wanted = columns_of(task.predicate).union(task.columns)
    found = tuple(group for group in task.manifest.column_groups if not wanted.isdisjoint(group.columns))
    return found or task.manifest.column_groups[:1]


def _as_spark(rows: pa.RecordBatch, expected: pa.Schema) -> pa.RecordBatch:
    if rows.schema.equals(expected):
        return rows
    columns = []
    for values, wanted in zip(rows.columns, expected, strict=True):
        options = pc.CastOptions.safe(wanted.type)
        options.allow_time_truncate = True  # finer timestamps are cut, as Spark cuts them
        plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        columns.append(plain if plain.type == wanted.type else pc.cast(plain, options=options))
    return pa.RecordBatch.from_arrays(columns, schema=expected)

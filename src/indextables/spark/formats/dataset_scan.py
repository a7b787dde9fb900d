"""Scans of column groups in tasks: each gets a range of rows and the part of the manifest that it needs."""

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
from indextables.spark.formats.arrow_types import arrow_schema, spark_schema

TASK_BYTES: Final = 128 << 20
TASK_ROWS: Final = 1 << 16
"""A scan is not divided further than into tasks of so many rows."""

_UNKNOWN_ROW_BYTES: Final = 64
COUNT: Final = pa.schema({"count": pa.int64()})


@dataclass(frozen=True)
class DatasetTask:
    """One task of a scan: the rows of the manifest from the first number of `rows` up to the second."""

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


def split_scan(whole: DatasetTask, parallelism: int) -> list[DatasetTask]:
    """Divide a scan into tasks. There is at least one, so that a count of no rows is 0."""
    groups = _groups_read(whole)
    ranges = row_ranges(groups, whole.rows[1], parallelism)
    if (
        whole.apply_deltas
    ):  # deltas may need columns that are not read, and the positions of rows in the whole
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
    """Divide the rows into ranges of about equal size, at the end of a file where there is one close by.

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


def run_dataset_task(task: DatasetTask) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task in the types that Spark expects, or their count."""
    reader = Reader(
        task.manifest,
        task.schema,
        apply_deltas=task.apply_deltas,
        primary_key=task.primary_key,
        settings=task.settings,
    )
    if task.count_only:
        count = reader.count(task.predicate, rows=task.rows)
        yield pa.record_batch([pa.array([count], pa.int64())], schema=COUNT)
        return
    remaining = task.limit
    expected = dataset_task_schema(task)
    for batch in reader.scan(task.predicate, columns=task.columns, rows=task.rows):
        rows = batch if remaining is None else batch.slice(0, remaining)
        yield _as_spark(rows, expected) if task.columns else rows
        if remaining is not None:
            remaining -= rows.num_rows
            if remaining <= 0:
                return


def dataset_task_schema(task: DatasetTask) -> pa.Schema:
    """Return the schema of the batches of a task."""
    if task.count_only:
        return COUNT
    return arrow_schema(spark_schema(pa.schema([task.schema.field(name) for name in task.columns])))


def stored_bytes(group: ColumnGroup) -> int:
    """Return the size of a group's files, or an estimate where the manifest does not state all sizes."""
    stated = (file.properties.get(FILE_SIZE, "") for file in group.files)
    sizes = [int(size) for size in stated if size.isdecimal()]
    return sum(sizes) if len(sizes) == len(group.files) else group.num_rows * _UNKNOWN_ROW_BYTES


def _groups_read(task: DatasetTask) -> tuple[ColumnGroup, ...]:
    """Return the groups with a column to read. If there is none, return the first, which tells the number of rows."""
    if task.apply_deltas:
        return task.manifest.column_groups
    columns = columns_of(task.predicate).union(task.columns)
    groups = tuple(group for group in task.manifest.column_groups if not columns.isdisjoint(group.columns))
    return groups or task.manifest.column_groups[:1]


def _as_spark(rows: pa.RecordBatch, expected: pa.Schema) -> pa.RecordBatch:
    if rows.schema.equals(expected):
        return rows
    columns = []
    for values, field_ in zip(rows.columns, expected, strict=True):
        options = pc.CastOptions.safe(field_.type)
        options.allow_time_truncate = True  # Spark truncates finer timestamps too
        plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        columns.append(plain if plain.type == field_.type else pc.cast(plain, options=options))
    return pa.RecordBatch.from_arrays(columns, schema=expected)

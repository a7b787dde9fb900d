"""What a task of a scan does: it yields rows, or the best rows, or figures of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from indextables.predicates import bind
from indextables.runtime import current
from indextables.storage import is_on_this_machine
from indextables.table.grouping import GroupTotals
from indextables.table.scans.best_rows import jointly_ranked
from indextables.table.scans.leases import REQUESTS, SplitLeases, map_splits
from indextables.table.scans.scan import (
    ScanTask,
    SplitRef,
    count_from_log,
    count_rows,
    row_schema,
    split_rows,
)


def run_scan_task(task: ScanTask) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task, in the requested columns and the table's types."""
    if task.request.aggregate is not None:
        yield from _aggregate_rows(task)
    elif task.corpus is not None:
        yield from jointly_ranked(task)
    else:
        yield from _rows(task)


def _rows(task: ScanTask) -> Iterator[pa.RecordBatch]:
    remaining, lease = task.request.limit, SplitLeases(task)
    for ref in _prepare_splits(task, task.splits, lease):
        with lease(ref) as split:
            for batch in split_rows(task, ref, split, remaining):
                yield batch
                if remaining is not None:
                    remaining -= batch.num_rows
        if remaining is not None and remaining <= 0:
            return


def _aggregate_rows(task: ScanTask) -> Iterator[pa.RecordBatch]:
    assert task.request.aggregate is not None
    totals = GroupTotals(task.schema, task.request.aggregate)
    for batch, times in task_rows(task, SplitLeases(task)):
        totals.add(batch, times)
        if totals.is_full:
            yield from totals.parts()
    yield from totals.parts()


def task_rows(task: ScanTask, lease: SplitLeases) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of the task's rows, and how many rows each row of the batch stands for.

    The rows of a split that are equal in all requested columns, which are partition columns then, are one row. Their
    number is that of the log, or the index counts them.
    """
    schema = row_schema(task.schema, task.request)
    names = set(schema.names)
    uniform = [ref for ref in task.splits if names <= ref.partition_values.keys()]
    counts = map_splits(task.uri, lambda ref: count_rows(task, ref, lease), uniform)
    for ref, count in zip(uniform, counts, strict=True):
        yield uniform_row(ref, schema), count
    others = [
        ref
        for ref in task.splits
        if not names <= ref.partition_values.keys() and count_from_log(task, ref) != 0
    ]
    for ref in _prepare_splits(task, others, lease):
        with lease(ref) as split:
            for batch in split_rows(task, ref, split, None):
                yield batch, 1


def uniform_row(ref: SplitRef, schema: pa.Schema) -> pa.RecordBatch:
    """Return the row that all rows of a split are equal to, in columns by which it is partitioned."""
    values = [pa.array([ref.partition_values[column.name]], column.type) for column in schema]
    return pa.RecordBatch.from_arrays(values, schema=schema)


def _prepare_splits(task: ScanTask, splits: Sequence[SplitRef], lease: SplitLeases) -> Iterator[SplitRef]:
    """Yield the splits in order, those of an object store while the next ones are opened and their indexes fetched."""
    if is_on_this_machine(task.uri):
        return iter(splits)

    def prepare(ref: SplitRef) -> SplitRef:
        lease.prepare(ref, bind(task.request.predicate, ref.partition_values))
        return ref

    return current().threads.map(prepare, splits, REQUESTS, ahead=REQUESTS)

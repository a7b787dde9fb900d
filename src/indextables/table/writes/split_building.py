"""Splits from rows: which rows each split has, and building several splits at a time.

In plain Python a write has all cores for itself, and most of the work is done by one thread of Tantivy for each split.
So splits are built in parallel where the rows of several are at hand: the partitions of a write, which are on the local
disk, and rows that the caller has in memory. The rows of a stream become one split after the other: to build two, the
rows of one would have to be held. In Spark each task builds one split at a time, because the tasks are parallel.

The order of rows and of splits is that of the input, and each split has the same rows, however many are built at once.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.log import AddFile
from indextables.runtime import current
from indextables.schema import conform
from indextables.split import FinishedSplit, SplitWriter
from indextables.table.writes.partitioning import PartitionKey
from indextables.table.writes.write_plan import WritePlan

_FEWEST_ROWS: Final = 1000
"""A batch of rows is not divided into splits of fewer rows, however small the target size."""

_HEAP_OF_A_WRITER: Final = 128 << 20
"""Writers at work at the same time share the heap of one, and have at least this much each: with less, an index would
have many segments."""


@dataclass(frozen=True)
class SplitJob:
    """Rows of one partition, in their order, that one thread makes splits of; `adds` are those that it has stored.

    With `is_one_split` the rows are those of one split, whatever their size turns out to be.
    """

    key: PartitionKey
    batches: Iterable[pa.RecordBatch]
    is_one_split: bool = False
    adds: list[AddFile] = field(default_factory=list)


def parallel_writers(settings: Settings) -> int:
    """Return how many splits a process that does nothing else builds at a time: bounded by its cores and its heap."""
    return max(1, min(_cores(), settings.get(keys.HEAP_SIZE) // _HEAP_OF_A_WRITER))


def jobs_of_splits(plan: WritePlan, batches: Sequence[pa.RecordBatch]) -> list[SplitJob]:
    """Return a job for each split of rows in memory, of a table without partitions. The rows are not copied."""
    jobs: list[SplitJob] = []
    rows: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        conformed = conform(batch, plan.schema, plan.missing)
        start = 0
        while start < batch.num_rows:
            count = _rows_within(conformed.slice(start), plan.split_bytes - size)
            rows.append(batch.slice(start, count))
            size += conformed.slice(start, count).nbytes
            start += count
            if size >= plan.split_bytes:
                jobs.append(SplitJob((), rows, is_one_split=True))
                rows, size = [], 0
    return [*jobs, SplitJob((), rows, is_one_split=True)] if rows else jobs


def run_jobs(
    jobs: Sequence[SplitJob],
    build: Callable[[SplitJob, int | None, Callable[[], None]], None],
    *,
    settings: Settings,
    writers: int,
    after: Callable[[SplitJob], None],
) -> None:
    """Run `build` for all jobs, `writers` of them at a time, and call `after` for each that is done, in order.

    `build` gets the heap of its writer, and a function to call before each batch: it raises once another job has failed
    or was interrupted, so that no thread continues a split that is not needed any more. When this returns or raises, no
    thread is at work. The error raised is the first one that happened.
    """
    writers = min(writers, len(jobs))
    failed = threading.Event()
    failures: list[BaseException] = []
    heap = None if writers <= 1 else settings.get(keys.HEAP_SIZE) // writers

    def check() -> None:
        if failed.is_set():
            raise _AbandonedError

    def run(job: SplitJob) -> SplitJob:
        try:
            check()
            build(job, heap, check)
        except BaseException as error:
            if not isinstance(error, _AbandonedError):
                failures.append(error)
            failed.set()
            raise
        return job

    def results() -> Generator[SplitJob]:
        yield from current().threads.map(run, jobs, writers, ahead=2 * writers)

    try:
        with closing(results()) as done:
            try:
                for job in done:
                    after(job)
            except BaseException:
                # Also where the caller is interrupted while it waits: `closing` waits for the other threads.
                failed.set()
                raise
    except _AbandonedError:
        raise failures[0] from None


def splits(
    plan: WritePlan,
    job: SplitJob,
    *,
    settings: Settings,
    directory: Path,
    heap: int | None = None,
    check: Callable[[], None] | None = None,
) -> Generator[FinishedSplit]:
    """Yield splits of about the target size; none if there are no rows. `check` is called before each batch."""
    split_bytes = sys.maxsize if job.is_one_split else plan.split_bytes
    schema = plan.schema.without(plan.partition_columns)
    writer: SplitWriter | None = None
    try:
        for batch in job.batches:
            while batch.num_rows:
                if check is not None:
                    check()
                if writer is None:
                    writer = SplitWriter(
                        schema, plan.mapping, settings=settings, directory=directory, max_heap=heap
                    )
                count = _rows_within(batch, split_bytes - writer.input_bytes)
                writer.write(batch.slice(0, count))
                batch = batch.slice(count)  # noqa: PLW2901 - what is left of it
                if writer.input_bytes >= split_bytes:
                    finished, writer = writer.finish(), None
                    yield finished
        if writer is not None:
            finished, writer = writer.finish(), None
            yield finished
    finally:
        if writer is not None:
            writer.abort()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _AbandonedError(Exception):
    """Another job has failed."""


def _rows_within(batch: pa.RecordBatch, size: int) -> int:
    """Return how many rows of a batch have about that size, but not so few that splits become tiny."""
    rows: int = batch.num_rows
    return min(rows, max(math.ceil(rows * size / max(int(batch.nbytes), 1)), _FEWEST_ROWS))

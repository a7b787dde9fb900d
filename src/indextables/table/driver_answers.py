"""Driver-side answers: a small scan of local splits is answered where it is planned, without a task.

Starting one task costs more than such a scan. Small means that the log and the indexes give the number of rows before
any row is read. Local means that the splits are on this machine and their indexes are unpacked, or small enough to
unpack at once. A scan that is not certainly both is left to tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import IndexTablesError
from indextables.predicates import bind
from indextables.runtime import current
from indextables.split import SplitReader
from indextables.storage import is_on_this_machine
from indextables.table.leases import SplitLeases
from indextables.table.scan import (
    ScanPlan,
    ScanRequest,
    ScanTask,
    SplitRef,
    count_batch,
    count_from_log,
    scan_schema,
    split_rows,
)

_log: Final = logging.getLogger(__name__)

MAX_SPLITS: Final = 32
"""The number of indexes that a process keeps open. With more splits, each search would open all of them again."""

MAX_UNPACKED_BYTES: Final = 32 << 20
"""The total size of splits whose indexes may be unpacked while a scan is planned."""

MAX_STORED_BYTES: Final = 2 << 20
"""The size of the rows in their splits, with all columns and the index."""

MAX_ANSWER_BYTES: Final = 512 << 10
"""The size of the answer in memory. It travels as text inside Spark's JSON of a schema."""


_READERS: Final = 2
"""Threads that read splits. More of them would only compete for Python's global lock."""


@dataclass(frozen=True)
class Hits:
    """The figures of one split before any row of it is read. `rows` is the number of matches, None if unknown."""

    rows: int | None
    size: int
    num_rows: int


def shares(splits: Iterable[Hits], request: ScanRequest, max_rows: int) -> list[int] | None:
    """Return the number of rows to read from each split, or None if they are too many or unknown.

    `splits` is consumed only until the result is certain: the caller opens a split for each item.

    >>> every = ScanRequest(columns=("id",))
    >>> shares([Hits(3, 1000, 10), Hits(4, 1000, 10)], every, max_rows=7)
    [3, 4]
    >>> shares([Hits(3, 1000, 10), Hits(4, 1000, 10)], every, max_rows=6) is None
    True
    >>> shares([Hits(3, 1000, 10), Hits(4, 1000, 10)], ScanRequest(("id",), limit=5), max_rows=6)
    [3, 2]
    """
    taken: list[int] = []
    stored = 0.0
    for split in splits:
        if split.rows is None:
            return None
        remaining = None if request.limit is None else request.limit - sum(taken)
        rows = min(n for n in (split.rows, remaining, request.top) if n is not None)
        taken.append(rows)
        stored += rows * split.size / max(1, split.num_rows)
        if sum(taken) > max_rows or stored > MAX_STORED_BYTES:
            return None
        if remaining is not None and rows == remaining:
            break
    return taken


def may_open(uri: str, splits: int) -> bool:
    """Return True if the driver may open this many splits of the table.

    >>> may_open("/data/logs", 16), may_open("/data/logs", 1000), may_open("s3://bucket/logs", 1)
    (True, False, False)
    >>> may_open("s3://bucket/logs", 0)
    True
    """
    return splits == 0 or (splits <= MAX_SPLITS and is_on_this_machine(uri))


def answer_on_driver(plan: ScanPlan) -> pa.Table | None:
    """Return the answer to a planned scan, in the columns of `scan_schema`, or None to leave the scan to tasks."""
    first = plan.tasks[0]
    max_rows = Settings(first.options).get(keys.ANSWER_MAX_ROWS)
    splits = [(task, ref, count_from_log(task, ref)) for task in plan.tasks for ref in task.splits]
    if first.request.count_only:
        counted, to_open = (
            sum(n or 0 for *_, n in splits),
            [(task, ref) for task, ref, n in splits if n is None],
        )
    else:
        counted, to_open = 0, [(task, ref) for task, ref, n in splits if n != 0]
    if max_rows == 0 or not may_open(first.uri, len(to_open)):
        return None
    try:
        with ExitStack() as stack:
            readers: list[SplitReader] = []
            hits = _hits(to_open, SplitLeases(first), stack, readers, max_rows)
            if first.request.count_only:
                return _total(counted, hits)
            taken = shares(hits, first.request, max_rows)
            if taken is None:
                return None
            _log.debug("%s: a scan of %d splits is answered on the driver", first.uri, len(taken))
            return _rows(first, to_open, readers, taken)
    except IndexTablesError as reason:
        _log.debug("%s: a scan is left to tasks: %s", first.uri, reason)
        return None  # a task reads again, and raises the error where callers expect it


def _hits(
    splits: Sequence[tuple[ScanTask, SplitRef]],
    lease: SplitLeases,
    stack: ExitStack,
    readers: list[SplitReader],
    max_rows: int,
) -> Iterator[Hits]:
    """Open one split at a time, add its reader to `readers` and the lease to `stack`, and count its matches."""
    may_extract = sum(ref.size for _, ref in splits) <= MAX_UNPACKED_BYTES
    for task, ref in splits:
        predicate = bind(task.request.predicate, ref.partition_values)
        split = stack.enter_context(lease(ref))
        readers.append(split)
        is_ready = split.is_ready(predicate, may_extract=may_extract)
        counting = task.request.count_only
        rows = (
            split.hits(predicate, counting=counting, keep=0 if counting else max_rows) if is_ready else None
        )
        yield Hits(rows=rows, size=ref.size, num_rows=split.num_rows)


def _total(counted: int, hits: Iterator[Hits]) -> pa.Table | None:
    for split in hits:
        if split.rows is None:
            return None
        counted += split.rows
    return pa.Table.from_batches([count_batch(counted)])


def _rows(
    first: ScanTask,
    splits: Sequence[tuple[ScanTask, SplitRef]],
    readers: Sequence[SplitReader],
    taken: Sequence[int],
) -> pa.Table | None:
    """Read the splits in parallel: half of the work runs outside of Python's global lock."""

    def read(i: int) -> list[pa.RecordBatch]:
        return list(split_rows(*splits[i], readers[i], taken[i])) if taken[i] else []

    batches = list(chain.from_iterable(current().threads.map(read, range(len(taken)), _READERS)))
    answer = pa.Table.from_batches(batches, schema=scan_schema(first.schema, first.request))
    return answer if answer.nbytes <= MAX_ANSWER_BYTES else None

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
from indextables.table.scans.best_rows import Ranks, top_rows
from indextables.table.scans.driver_totals import MAX_UNPACKED_BYTES, may_open, totals_on_driver
from indextables.table.scans.leases import SplitLeases
from indextables.table.scans.scan import (
    ScanPlan,
    ScanRequest,
    ScanTask,
    SplitRef,
    count_from_log,
    scan_schema,
    split_rows,
)

_log: Final = logging.getLogger(__name__)

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


def answer_on_driver(plan: ScanPlan) -> pa.Table | None:
    """Return the answer to a planned scan, in the columns of `scan_schema`, or None to leave the scan to tasks.

    The answer to an aggregate has one row for each group.
    """
    first = plan.tasks[0]
    max_rows = Settings(first.options).get(keys.ANSWER_MAX_ROWS)
    if max_rows == 0:
        return None
    try:
        if first.request.aggregate is None:
            answer = _rows_on_driver(plan, max_rows)
        else:
            answer = totals_on_driver(plan, max_rows)
    except IndexTablesError as reason:
        _log.debug("%s: a scan is left to tasks: %s", first.uri, reason)
        return None  # a task reads again, and raises the error where callers expect it
    return answer if answer is not None and answer.nbytes <= MAX_ANSWER_BYTES else None


def _rows_on_driver(plan: ScanPlan, max_rows: int) -> pa.Table | None:
    first = plan.tasks[0]
    to_open = [(task, ref) for task in plan.tasks for ref in task.splits if count_from_log(task, ref) != 0]
    if not may_open(first.uri, len(to_open)):
        return None
    with ExitStack() as stack:
        readers: list[SplitReader] = []
        hits = _hits(to_open, SplitLeases(first), stack, readers, max_rows)
        taken = shares(hits, first.request, max_rows)
        if taken is None:
            return None
        _log.debug("%s: a scan of %d splits is answered on the driver", first.uri, len(taken))
        if first.corpus is None:
            return _rows(first, to_open, readers, taken)
    return top_rows(plan, Ranks(first.request.limit if first.request.top is None else first.request.top)).rows


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
        rows = split.hits(predicate, keep=max_rows) if is_ready else None
        yield Hits(rows=rows, size=ref.size, num_rows=split.num_rows)


def _rows(
    first: ScanTask,
    splits: Sequence[tuple[ScanTask, SplitRef]],
    readers: Sequence[SplitReader],
    taken: Sequence[int],
) -> pa.Table:
    """Read the splits in parallel: half of the work runs outside of Python's global lock."""

    def read(i: int) -> list[pa.RecordBatch]:
        return list(split_rows(*splits[i], readers[i], taken[i])) if taken[i] else []

    batches = list(chain.from_iterable(current().threads.map(read, range(len(taken)), _READERS)))
    return pa.Table.from_batches(batches, schema=scan_schema(first.schema, first.request))

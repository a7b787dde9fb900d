"""A small answer that is near is given where the scan is planned: that costs less than starting a single task.

Small: the log and the indexes say beforehand how many rows there will be. Near: the splits lie on this machine, and
their indexes are unpacked already, or soon are. Whatever is not certain to be both is left to tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import IndexTablesError
from indextables.predicates import bind
from indextables.runtime import current
from indextables.split import SplitReader, open_split
from indextables.storage import is_on_this_machine, open_store
from indextables.table.reader_cache import reader_cache
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
"""As many indexes as a process keeps open: with more, each search would open all of them again."""

MAX_UNPACKED_BYTES: Final = 32 << 20
"""Splits of this size together may have their indexes unpacked while a scan is planned."""

MAX_STORED_BYTES: Final = 2 << 20
"""What the rows may take up in their splits, all columns and the index counted."""

MAX_ANSWER_BYTES: Final = 512 << 10
"""What the rows may take up in memory. The answer travels as text inside Spark's JSON of a schema."""


_READERS: Final = 2
"""More would wait for Python's lock, and take it from each other."""


@dataclass(frozen=True)
class Hits:
    """What is known of one split before any row of it is read: `rows` match, None if it would take reading to know."""

    rows: int | None
    size: int
    num_rows: int


def shares(found: Iterable[Hits], request: ScanRequest, max_rows: int) -> list[int] | None:
    """How many rows each split is to give, or None when they are too many or cannot be told.

    Splits are taken from `found` only as long as it is open which it will be.

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
    for split in found:
        if split.rows is None:
            return None
        left = None if request.limit is None else request.limit - sum(taken)
        rows = min(n for n in (split.rows, left, request.top) if n is not None)
        taken.append(rows)
        stored += rows * split.size / max(1, split.num_rows)
        if sum(taken) > max_rows or stored > MAX_STORED_BYTES:
            return None
        if left is not None and rows == left:
            break
    return taken


def may_open(uri: str, splits: int) -> bool:
    """Whether so many splits of a table may be opened where a scan of it is planned.

    >>> may_open("/data/logs", 16), may_open("/data/logs", 1000), may_open("s3://bucket/logs", 1)
    (True, False, False)
    >>> may_open("s3://bucket/logs", 0)
    True
    """
    return splits == 0 or (splits <= MAX_SPLITS and is_on_this_machine(uri))


def answer_on_driver(plan: ScanPlan) -> pa.Table | None:
    """The answer to a planned scan, in the columns of `scan_schema`, or None if it is one for tasks."""
    first = plan.tasks[0]
    max_rows = Settings(first.options).get(keys.ANSWER_MAX_ROWS)
    splits = [(task, ref, count_from_log(task, ref)) for task in plan.tasks for ref in task.splits]
    if first.request.count_only:
        counted, rest = sum(n or 0 for *_, n in splits), [(task, ref) for task, ref, n in splits if n is None]
    else:
        counted, rest = 0, [(task, ref) for task, ref, n in splits if n != 0]
    if max_rows == 0 or not may_open(first.uri, len(rest)):
        return None
    try:
        with ExitStack() as stack:
            looked_at: list[SplitReader] = []
            found = _looked_at(rest, _lease_from_cache(first), stack, looked_at, max_rows)
            if first.request.count_only:
                return _total(counted, found)
            taken = shares(found, first.request, max_rows)
            if taken is None:
                return None
            _log.debug("%s: a scan of %d splits is answered where it is planned", first.uri, len(taken))
            return _rows(first, rest, looked_at, taken)
    except IndexTablesError as reason:
        _log.debug("%s: a scan is left to tasks: %s", first.uri, reason)
        return None  # tasks may have more luck, and are where an error of reading is expected


def _looked_at(
    splits: Sequence[tuple[ScanTask, SplitRef]],
    borrow: Callable[[SplitRef], AbstractContextManager[SplitReader]],
    stack: ExitStack,
    readers: list[SplitReader],
    max_rows: int,
) -> Iterator[Hits]:
    may_unpack = sum(ref.size for _, ref in splits) <= MAX_UNPACKED_BYTES
    for task, ref in splits:
        predicate = bind(task.request.predicate, ref.partition_values)
        split = stack.enter_context(borrow(ref))
        readers.append(split)
        is_near = split.is_at_hand(predicate, may_unpack=may_unpack)
        only = task.request.count_only
        rows = split.hits(predicate, counting=only, keep=0 if only else max_rows) if is_near else None
        yield Hits(rows, ref.size, split.num_rows)


def _lease_from_cache(task: ScanTask) -> Callable[[SplitRef], AbstractContextManager[SplitReader]]:
    """How a split of a scan comes to hand; where and with which settings is the same for all its tasks."""
    settings = Settings(task.options)
    store = open_store(task.uri, settings)
    options = tuple(sorted(task.options.items()))

    def borrow(ref: SplitRef) -> AbstractContextManager[SplitReader]:
        def opened() -> SplitReader:
            return open_split(store, ref.path, ref.size, settings=settings, mapping=task.mapping)

        return reader_cache().lease(store, ref.path, options, task.mapping, opened)

    return borrow


def _total(counted: int, found: Iterator[Hits]) -> pa.Table | None:
    for split in found:
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
    """Splits are read side by side: half of the work is done outside of Python's lock."""

    def read(i: int) -> list[pa.RecordBatch]:
        return list(split_rows(*splits[i], readers[i], taken[i])) if taken[i] else []

    batches = list(chain.from_iterable(current().threads.map(read, range(len(taken)), _READERS)))
    answer = pa.Table.from_batches(batches, schema=scan_schema(first.schema, first.request))
    return answer if answer.nbytes <= MAX_ANSWER_BYTES else None

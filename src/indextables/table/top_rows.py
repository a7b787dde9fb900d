"""The best rows of a table: first the scores of all splits, then the columns of only the rows in the answer.

The first phase asks each split for row numbers and scores. What it costs grows slowly with the number of splits,
because readers stay open between searches. The second phase reads columns and snippets, from the splits that have a
row in the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.predicates import bind
from indextables.schema import SCORE
from indextables.split import POSITION, Hits, SplitReader, positive_text_queries
from indextables.storage import is_on_this_machine
from indextables.table.joint_ranking import Searched, rank_together, total_corpus
from indextables.table.leases import SplitLeases, map_splits
from indextables.table.scan import (
    ScanPlan,
    ScanRequest,
    ScanTask,
    SplitRef,
    count_from_log,
    scan_schema,
    split_hits,
)

MAX_LOCAL_SPLITS: Final = 1000
MAX_REMOTE_BYTES: Final = 256 << 20
"""The statistics of all splits are collected on the driver, which opens their indexes. Beyond so many splits on its own
disk, or so many bytes in an object store, tasks rank by the statistics of each split.
"""


def top_rows(plan: ScanPlan, start: int, stop: int | None) -> pa.Table:
    """Return the rows of a scan from rank `start` to before rank `stop`, best first; None is all.

    Rows of equal score are in the order of the paths of their splits, then of their positions in them: the order does
    not depend on the order in which splits are read, nor on that of the files in the log.
    """
    return ranked_rows(plan, start, stop)[0]


def ranked_rows(plan: ScanPlan, start: int, stop: int | None) -> tuple[pa.Table, bool]:
    """Return what `top_rows` returns, and whether the statistics of all splits together rank it."""
    first = plan.tasks[0]
    refs = _refs([ref for task in plan.tasks for ref in task.splits], first)
    with _searching(first, refs) as (readers, searched):
        hits = rank_together(searched, readers.use, stop)
        is_joint = hits is not None
        if hits is None:
            hits = _best_of_each(searched, readers, stop)
        return fetch_ranked(first, refs, readers, hits, slice(start, stop)), is_joint


def needs_scores(request: ScanRequest) -> bool:
    """Return True if rows are ranked by a search, or their scores are asked for."""
    asks = request.top is not None or not {SCORE, POSITION}.isdisjoint(request.columns)
    return asks and request.aggregate is None and bool(positive_text_queries(request.predicate))


def with_corpus(plan: ScanPlan) -> ScanPlan:
    """Return a plan whose tasks score by the statistics of all splits together, if these can be had."""
    first = plan.tasks[0]
    refs = _refs([ref for task in plan.tasks for ref in task.splits], first)
    if not needs_scores(first.request) or not _may_collect(first.uri, refs):
        return plan
    with _searching(first, refs) as (readers, searched):
        corpus = total_corpus(searched, readers.use)
    if corpus is None:
        return plan
    return replace(plan, tasks=tuple(replace(task, corpus=corpus) for task in plan.tasks))


def jointly_ranked(task: ScanTask) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task, scored by the statistics of all splits: the best ones, some, or all."""
    refs, top = _refs(task.splits, task), task.request.top
    with _searching(task, refs) as (readers, searched):
        if top is not None:
            hits = _ranked(searched, readers, top, task)
            yield from fetch_ranked(task, refs, readers, hits, slice(0, top)).to_batches()
            return
        remaining = task.request.limit
        for split in searched:
            (hits_of_split,) = _ranked([split], readers, remaining, task)
            hits_of_split = hits_of_split.take(np.arange(len(hits_of_split.rows))[:remaining])
            with readers.use(split.ref) as reader:
                yield from split_hits(task, split.ref, reader, hits_of_split)
            if remaining is not None:
                remaining -= len(hits_of_split.rows)
                if remaining <= 0:
                    return


def _ranked(splits: Sequence[Searched], readers: OpenReaders, top: int | None, task: ScanTask) -> list[Hits]:
    hits = rank_together(splits, readers.use, top, task.corpus)
    if hits is None:
        raise CorruptTableError(
            f"the splits of {task.uri} have other ranking statistics than when the query was planned; run it again"
        )
    return hits


def _refs(refs: Iterable[SplitRef], task: ScanTask) -> list[SplitRef]:
    """Return the splits that may match, in the order of their paths."""
    may_match = [ref for ref in refs if count_from_log(task, ref) != 0]
    return sorted(may_match, key=lambda ref: ref.path.encode())


def _may_collect(uri: str, refs: Sequence[SplitRef]) -> bool:
    if is_on_this_machine(uri):
        return len(refs) <= MAX_LOCAL_SPLITS
    return sum(ref.size for ref in refs) <= MAX_REMOTE_BYTES


@contextmanager
def _searching(task: ScanTask, refs: Sequence[SplitRef]) -> Iterator[tuple[OpenReaders, list[Searched]]]:
    """Yield the readers of some splits, and what is searched in each."""
    with ExitStack() as stack:
        readers = OpenReaders(SplitLeases(task), Settings(task.options).get(keys.MAX_OPEN_SPLITS), stack)
        searched = [Searched(ref, bind(task.request.predicate, ref.partition_values)) for ref in refs]
        if not is_on_this_machine(task.uri):
            readers.prepare(task.uri, searched)
        yield readers, searched


class OpenReaders:
    """The readers of a search in its phases. At most `most` are leased until the search ends.

    Threads may use the readers of different splits at the same time.
    """

    def __init__(self, lease: SplitLeases, most: int, stack: ExitStack) -> None:
        self._lease = lease
        self._most = most
        self._stack = stack
        self._leased: dict[str, SplitReader] = {}
        self._lock = threading.Lock()

    def prepare(self, uri: str, splits: Sequence[Searched]) -> None:
        """Open the splits of an object store, several at a time, and bring their indexes into the cache."""

        def prepare_split(split: Searched) -> None:
            with self.use(split.ref) as reader:
                reader.prepare(split.predicate)

        map_splits(uri, prepare_split, splits)

    @contextmanager
    def use(self, ref: SplitRef) -> Iterator[SplitReader]:
        """Lease the reader of a split for a block, or use the one that is leased already."""
        if ref.path in self._leased:
            yield self._leased[ref.path]
            return
        with ExitStack() as lease:
            reader = lease.enter_context(self._lease(ref))
            with self._lock:
                if len(self._leased) < self._most:
                    self._leased[ref.path] = reader
                    self._stack.push(lease.pop_all())  # leased until the search ends
            yield reader


def _best_of_each(splits: Sequence[Searched], readers: OpenReaders, top: int | None) -> list[Hits]:
    hits = []
    for split in splits:
        with readers.use(split.ref) as reader:
            hits.append(reader.best(split.predicate, top))
    return hits


def fetch_ranked(
    task: ScanTask, refs: Sequence[SplitRef], readers: OpenReaders, hits: Sequence[Hits], ranks: slice
) -> pa.Table:
    """Return the rows with these ranks, best first, from the hits of each split."""
    schema = scan_schema(task.schema, task.request)
    best = _merge(hits)[ranks]
    if not len(best):
        return schema.empty_table()
    starts = np.cumsum([0, *(len(of_split.rows) for of_split in hits)])
    split_of = np.searchsorted(starts, best, side="right") - 1

    def fetch(number: int) -> tuple[npt.NDArray[np.intp], list[pa.RecordBatch]]:
        """Return the rows of one split, and their places in the answer."""
        at = np.flatnonzero(split_of == number)
        chosen = hits[number].take(best[at] - starts[number])
        with readers.use(refs[number]) as reader:
            return at[np.argsort(chosen.rows)], list(split_hits(task, refs[number], reader, chosen))

    fetched = map_splits(task.uri, fetch, np.unique(split_of).tolist())
    rows = pa.Table.from_batches([batch for _, batches in fetched for batch in batches], schema=schema)
    return rows.take(pa.array(np.argsort(np.concatenate([places for places, _ in fetched]))))


def _merge(hits: Sequence[Hits]) -> npt.NDArray[np.intp]:
    """Return the order of the hits of all splits, which are in the order of their paths: score, path, position."""
    if not hits:
        return np.empty(0, np.intp)
    split = np.repeat(np.arange(len(hits)), [len(of_split.rows) for of_split in hits])
    scores, positions = (
        np.concatenate([getattr(of_split, name) for of_split in hits]) for name in ("scores", "positions")
    )
    return np.lexsort((positions, split, -scores))

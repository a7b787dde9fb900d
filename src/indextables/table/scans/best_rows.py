"""The best rows of a table: first the scores of all splits, then the columns of only the rows in the answer.

The first phase asks each split for row numbers and scores. What it costs grows slowly with the number of splits,
because readers stay open between searches. The second phase reads columns and snippets, from the splits that have a
row in the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.predicates import bind
from indextables.schema import POSITION, SCORE
from indextables.split import (
    EXPLANATION_TYPE,
    NO_HITS,
    Corpus,
    Hits,
    SplitReader,
    positive_text_queries,
)
from indextables.storage import is_on_this_machine
from indextables.table.arguments import MAX_ROWS
from indextables.table.scans.joint_ranking import Searched, rank_together, total_corpus
from indextables.table.scans.leases import SplitLeases, map_splits
from indextables.table.scans.paging import RankKey
from indextables.table.scans.scan import (
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

EXPLANATION: Final = "_explanation"
"""The column with the parts of a score."""


@dataclass(frozen=True)
class TopRows:
    """Rows of an answer, best first, and the place of the last one in the order; None if there is none."""

    rows: pa.Table
    last: RankKey | None


@dataclass(frozen=True)
class Ranks:
    """The rows of an answer: `count` of them, or all for None, without the first `skipped` of those after `after`."""

    count: int | None
    skipped: int = 0
    after: RankKey | None = None

    @property
    def stop(self) -> int | None:
        """The number of rows from the first one after the key."""
        return None if self.count is None else min(self.count + self.skipped, MAX_ROWS)


def top_rows(plan: ScanPlan, ranks: Ranks, *, explain: bool = False) -> TopRows:
    """Return some rows of a scan, best first; `explain` adds the column `_explanation`.

    Rows of equal score are in the order of the paths of their splits, then of their positions in them: the order does
    not depend on the order in which splits are read, nor on that of the files in the log.
    """
    first = plan.tasks[0]
    refs = _refs([ref for task in plan.tasks for ref in task.splits], first)
    with _searching(first, refs) as (readers, searched):
        joint = rank_together(searched, readers.use, ranks.stop, ranks.after)
        if joint is None:
            hits, corpus = _best_of_each(searched, readers, ranks), None
        else:
            hits, corpus = joint.hits, joint.corpus
        best = _Best.of(refs, hits, ranks)
        rows = _fetch(first, readers, best)
        if explain:
            rows = rows.append_column(EXPLANATION, _explain(first, readers, best, corpus))
        return TopRows(rows, best.last(ranks))


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
            hits = _rank(searched, readers, top, task)
            yield from fetch_ranked(task, refs, readers, hits, Ranks(top)).to_batches()
            return
        remaining = task.request.limit
        for split in searched:
            (hits_of_split,) = _rank([split], readers, remaining, task)
            hits_of_split = hits_of_split.take(np.arange(len(hits_of_split.rows))[:remaining])
            with readers.use(split.ref) as reader:
                yield from split_hits(task, split.ref, reader, hits_of_split)
            if remaining is not None:
                remaining -= len(hits_of_split.rows)
                if remaining <= 0:
                    return


def _rank(splits: Sequence[Searched], readers: OpenReaders, top: int | None, task: ScanTask) -> list[Hits]:
    joint = rank_together(splits, readers.use, top, corpus=task.corpus)
    if joint is None:
        raise CorruptTableError(
            f"the splits of {task.uri} have other ranking statistics than when the query was planned; run it again"
        )
    return joint.hits


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


def _best_of_each(splits: Sequence[Searched], readers: OpenReaders, ranks: Ranks) -> list[Hits]:
    before = 0 if ranks.after is None else ranks.after.rank
    top = None if ranks.stop is None else min(ranks.stop + before, MAX_ROWS)
    hits = []
    for split in splits:
        with readers.use(split.ref) as reader:
            hits.append(reader.best(split.predicate, top))
    return hits


@dataclass(frozen=True)
class _Best:
    """The hits of an answer, best first: `split_of` has the number of the split of each, `hits` the rest."""

    refs: Sequence[SplitRef]
    split_of: npt.NDArray[np.intp]
    hits: Hits

    @classmethod
    def of(cls, refs: Sequence[SplitRef], hits: Sequence[Hits], ranks: Ranks) -> _Best:
        """Choose from the hits of each split, which are in the order of their paths: by score, path, position."""
        together = Hits(*map(np.concatenate, zip(NO_HITS, *hits, strict=True)))
        split_of = np.repeat(np.arange(len(hits)), [len(of_split.rows) for of_split in hits])
        order = np.lexsort((together.positions, split_of, -together.scores))
        if ranks.after is not None:
            after = ranks.after
            later = (
                after.precedes(score, refs[number].path, position)
                for score, number, position in zip(
                    together.scores[order].tolist(),
                    split_of[order].tolist(),
                    together.positions[order].tolist(),
                    strict=True,
                )
            )
            order = order[np.fromiter(later, np.bool_, len(order))]
        chosen = order[ranks.skipped : ranks.stop]
        return cls(refs, split_of[chosen], together.take(chosen))

    def numbers(self) -> list[int]:
        """Return the numbers of the splits that have a row in the answer."""
        return [int(number) for number in np.unique(self.split_of)]

    def of_split(self, number: int) -> tuple[npt.NDArray[np.intp], Hits]:
        """Return the places in the answer of the rows of one split, and its hits there, in the order of its rows."""
        at = np.flatnonzero(self.split_of == number)
        at = at[np.argsort(self.hits.rows[at])]
        return at, self.hits.take(at)

    def last(self, ranks: Ranks) -> RankKey | None:
        """Return the place of the last row."""
        if not len(self.split_of):
            return None
        before = 0 if ranks.after is None else ranks.after.rank
        rank = min(before + ranks.skipped + len(self.split_of), MAX_ROWS)
        path = self.refs[int(self.split_of[-1])].path
        return RankKey(float(self.hits.scores[-1]), path, int(self.hits.positions[-1]), rank)


def fetch_ranked(
    task: ScanTask, refs: Sequence[SplitRef], readers: OpenReaders, hits: Sequence[Hits], ranks: Ranks
) -> pa.Table:
    """Return some rows, best first, from the hits of each split, which are in the order of their paths."""
    return _fetch(task, readers, _Best.of(refs, hits, ranks))


def _fetch(task: ScanTask, readers: OpenReaders, best: _Best) -> pa.Table:
    """Return the columns of the answer."""
    schema = scan_schema(task.schema, task.request)
    if not len(best.split_of):
        return schema.empty_table()

    def fetch(number: int) -> tuple[npt.NDArray[np.intp], list[pa.RecordBatch]]:
        """Return the rows of one split, and their places in the answer."""
        places, hits = best.of_split(number)
        ref = best.refs[number]
        with readers.use(ref) as reader:
            return places, list(split_hits(task, ref, reader, hits))

    fetched = map_splits(task.uri, fetch, best.numbers())
    rows = pa.Table.from_batches([batch for _, batches in fetched for batch in batches], schema=schema)
    return rows.take(pa.array(np.argsort(np.concatenate([places for places, _ in fetched]))))


def _explain(task: ScanTask, readers: OpenReaders, best: _Best, corpus: Corpus | None) -> pa.Array:
    """Return the parts of the score of each row of the answer."""
    parts: list[list[dict[str, Any]]] = [[] for _ in best.split_of]
    for number in best.numbers():
        places, hits = best.of_split(number)
        ref = best.refs[number]
        predicate = bind(task.request.predicate, ref.partition_values)
        with readers.use(ref) as reader:
            for place, of_row in zip(places, reader.explain(predicate, hits, corpus), strict=True):
                parts[place] = of_row
    return pa.array(parts, EXPLANATION_TYPE)

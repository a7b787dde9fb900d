"""The newest rows of those that match: first the times of all, then the columns of only the rows in the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.predicates import bind
from indextables.rows import RowIds
from indextables.schema import ROW_NUMBER, SNIPPET, SPLIT_PATH
from indextables.split import Hits, Snippet
from indextables.table.answers.overview import plan_matching
from indextables.table.scans import (
    OpenReaders,
    Ranks,
    ScanTask,
    SplitLeases,
    SplitRef,
    count_from_log,
    fetch_ranked,
    split_values,
)

if TYPE_CHECKING:
    from indextables.split import SplitReader
    from indextables.table.handle import Table

_LEAST: Final = np.iinfo(np.int64).min


def newest_rows(
    table: Table,
    time: str,
    *,
    query: str | None,
    where: str | None,
    start: int,
    stop: int,
    snippet: str | None = None,
    places: bool = False,
    check: Callable[[], object] = lambda: None,
) -> pa.Table:
    """Return the rows from place `start` to before `stop`, newest first. Rows without a time are last.

    Rows of the same time are in the order of the paths of their splits, then of the rows. `places` adds the two columns
    that name each row: the path of its split and its number there. `check` is called before each split is searched, and
    may raise.
    """
    names = (*table.schema.names, *((SPLIT_PATH, ROW_NUMBER) if places else ()))
    plan = plan_matching(table, (*names, SNIPPET) if snippet and query else names, query, where)
    times = plan_matching(table, (table.snapshot.schema.field(time).name,), query, where).tasks[0]
    first = _with_snippet(plan.tasks[0], snippet)
    refs = [ref for task in plan.tasks for ref in task.splits if count_from_log(task, ref) != 0]
    refs.sort(key=lambda ref: ref.path.encode())
    with ExitStack() as stack:
        readers = OpenReaders(SplitLeases(first), Settings(first.options).get(keys.MAX_OPEN_SPLITS), stack)
        newest = []
        for ref in refs:
            check()
            with readers.use(ref) as reader:
                newest.append(_newest_of(times, ref, reader, stop))
        return fetch_ranked(first, refs, readers, _rank(newest), Ranks(stop - start, start))


def _newest_of(
    task: ScanTask, ref: SplitRef, reader: SplitReader, count: int
) -> tuple[RowIds, npt.NDArray[np.int64]]:
    """Return the newest rows of a split, at most `count`, and their times in microseconds."""
    rows = reader.matching(bind(task.request.predicate, ref.partition_values))
    moments = [to_micros(batch.column(0)) for batch in split_values(task, ref, reader, rows)]
    times = np.concatenate(moments) if moments else np.empty(0, np.int64)
    if len(rows) > count:
        least = np.partition(times, len(times) - count)[len(times) - count]
        newer, same = np.flatnonzero(times > least), np.flatnonzero(times == least)
        places = np.sort(np.concatenate([newer, same[: count - len(newer)]]))
        rows, times = rows[places], times[places]
    return rows, times


def to_micros(values: pa.Array) -> npt.NDArray[np.int64]:
    """Return times in microseconds; no time is the least number."""
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    micros: npt.NDArray[np.int64] = plain.cast(pa.int64()).fill_null(_LEAST).to_numpy(zero_copy_only=False)
    return micros


def _rank(found: Sequence[tuple[RowIds, npt.NDArray[np.int64]]]) -> list[Hits]:
    """Return the rows of each split with their rank, from the newest down, in place of a score."""
    if not found:
        return []
    split = np.repeat(np.arange(len(found)), [len(rows) for rows, _ in found])
    rows, times = (np.concatenate(columns) for columns in zip(*found, strict=True))
    ranks = np.empty(len(rows))
    ranks[np.lexsort((rows, split, ~times))] = -np.arange(
        len(rows), dtype=np.float64
    )  # ~ turns the order around
    return [
        Hits(rows[split == number], ranks[split == number], rows[split == number])
        for number in range(len(found))
    ]


def _with_snippet(task: ScanTask, column: str | None) -> ScanTask:
    return replace(task, request=replace(task.request, snippet=Snippet(column)))

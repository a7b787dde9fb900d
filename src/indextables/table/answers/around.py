"""The rows just before and just after one row, in the order of time.

The order is total: rows of the same time are in the order of the paths of their splits, then of their numbers in them.
So the rows around a row are exact, however many share its time. In memory are the numbers of the rows of one split in a
window of time, the times of one batch of them, and the rows of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.predicates import TRUE, Compare, Predicate, bind, conjunction
from indextables.rows import RowIds
from indextables.schema import ROW_NUMBER, SPLIT_PATH, TIME_TYPES, Field
from indextables.split import Hits
from indextables.table.answers.newest import to_micros
from indextables.table.answers.overview import plan_rows
from indextables.table.scans import (
    OpenReaders,
    Ranks,
    SplitLeases,
    SplitRef,
    count_from_log,
    fetch_ranked,
    split_values,
)

if TYPE_CHECKING:
    from indextables.table.handle import Table

_WINDOWS: Final = (timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1), None)
"""How far from the row others are looked for; None is to the end of the table."""

_Key: TypeAlias = tuple[int, bytes, int]
"""The place of a row in the order: its time in microseconds, the path of its split, its number there."""


@dataclass(frozen=True)
class RowPlace:
    """The name of a row in one version: the path of its split, and its number there."""

    split: str
    row: int


def rows_around(
    table: Table, time: str, place: RowPlace, *, count: int, check: Callable[[], object] = lambda: None
) -> pa.Table:
    """Return the `count` rows before a row, the row itself, and the `count` rows after it, each with its place.

    InputError if the version has no such row, or the row no time. `check` is called before each split is read, and may
    raise.
    """
    column = table.snapshot.schema.field(time)
    if column.type not in TIME_TYPES:
        raise InputError(f"column {column.name!r} is of type {column.type_name}; the rows around need a time")
    everything = plan_rows(table, (*table.schema.names, SPLIT_PATH, ROW_NUMBER), TRUE)
    task = everything.tasks[0]
    refs = {ref.path: ref for task in everything.tasks for ref in task.splits}
    with ExitStack() as stack:
        readers = OpenReaders(SplitLeases(task), Settings(task.options).get(keys.MAX_OPEN_SPLITS), stack)
        key = _key_of(table, column, refs.get(place.split), place, readers)
        sides = [
            _nearest(table, column, key, readers, count, is_after=is_after, check=check)
            for is_after in (False, True)
        ]
        chosen = sorted([*sides[0], key, *sides[1]])
        named = [refs[path.decode()] for path in sorted({path for _, path, _ in chosen})]
        hits = [_hits_of(ref, chosen) for ref in named]
        return fetch_ranked(task, named, readers, hits, Ranks(len(chosen)))


def _key_of(table: Table, column: Field, ref: SplitRef | None, place: RowPlace, readers: OpenReaders) -> _Key:
    task = plan_rows(table, (column.name,), TRUE).tasks[0]
    if ref is not None:
        with readers.use(ref) as reader:
            live = reader.matching(TRUE)
            at = int(np.searchsorted(live, place.row))
            if at < len(live) and live[at] == place.row:
                (batch,) = split_values(task, ref, reader, live[at : at + 1])
                if batch.column(0).null_count:
                    raise InputError(
                        f"the row has no time in {column.name!r}, and so none before and after it"
                    )
                return int(to_micros(batch.column(0))[0]), ref.path.encode(), place.row
    raise InputError(f"version {table.version} has no row {place.row} in a split {place.split!r}")


def _nearest(
    table: Table,
    column: Field,
    key: _Key,
    readers: OpenReaders,
    count: int,
    *,
    is_after: bool,
    check: Callable[[], object],
) -> list[_Key]:
    """Return the `count` rows next to one on one side, from windows that become larger until they have as many."""
    found: list[_Key] = []
    for predicate in _predicates(column, key[0], is_after=is_after):
        found = []
        plan = plan_rows(table, (column.name,), predicate)
        for task in plan.tasks:
            for ref in task.splits:
                check()
                if count_from_log(task, ref) == 0:
                    continue
                with readers.use(ref) as reader:
                    rows = reader.matching(bind(predicate, ref.partition_values))
                    for part in _parts(rows, split_values(task, ref, reader, rows)):
                        near = _near(part, ref.path.encode(), key, count, is_after=is_after)
                        found = sorted([*found, *near], reverse=not is_after)[:count]
        if len(found) == count:
            break
    return found


def _predicates(column: Field, micros: int, *, is_after: bool) -> Iterator[Predicate]:
    """Yield conditions on the time, each wider than the one before."""
    try:
        moment = pa.scalar(micros, pa.int64()).cast(column.arrow_type).as_py()
    except (ValueError, OverflowError):
        yield TRUE  # a year that Python's times do not have
        return
    bound = Compare(">=" if is_after else "<=", column.name, moment)
    for width in _WINDOWS:
        if width is None:
            yield bound
            continue
        try:
            end: datetime = moment + width if is_after else moment - width
        except OverflowError:
            continue
        yield conjunction([bound, Compare("<" if is_after else ">", column.name, end)])


def _parts(rows: RowIds, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[RowIds, npt.NDArray[np.int64]]]:
    """Yield rows that have a time, and these times."""
    start = 0
    for batch in batches:
        of_batch, values = rows[start : start + batch.num_rows], batch.column(0)
        start += batch.num_rows
        has_time = values.is_valid().to_numpy(zero_copy_only=False)
        yield of_batch[has_time], to_micros(values)[has_time]


def _near(
    part: tuple[RowIds, npt.NDArray[np.int64]], path: bytes, key: _Key, count: int, *, is_after: bool
) -> list[_Key]:
    """Return the rows of one batch, which are ascending, that are next to a row on one side, at most `count`."""
    rows, times = part
    moment, split, row = key
    is_later = path > split if path != split else rows > row
    is_earlier = path < split if path != split else rows < row
    is_beyond, is_beside = (times > moment, is_later) if is_after else (times < moment, is_earlier)
    there = np.flatnonzero(is_beyond | ((times == moment) & is_beside))
    if len(there) > count:
        edge = count - 1 if is_after else len(there) - count
        limit = np.partition(times[there], edge)[edge]
        there = there[times[there] <= limit if is_after else times[there] >= limit]
    order = there[np.argsort(times[there], kind="stable")]  # rows of the same time stay ascending
    chosen = order[:count] if is_after else order[-count:] if count else order[:0]
    return [(int(times[n]), path, int(rows[n])) for n in chosen]


def _hits_of(ref: SplitRef, chosen: Sequence[_Key]) -> Hits:
    """Return the rows of one split with their place in the answer in place of a score."""
    path = ref.path.encode()
    own = [(row, -float(number)) for number, (_, split, row) in enumerate(chosen) if split == path]
    rows = np.array([row for row, _ in own], np.int64)
    return Hits(rows, np.array([rank for _, rank in own], np.float64), rows)

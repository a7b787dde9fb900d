"""Searching for many terms at once: every row with each term that finds it, in one pass over the splits.

A term is text to look for, not a query: its signs have no meaning. In a column that is indexed as text it is a word or
a phrase; in other columns it is a whole value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError
from indextables.log import Snapshot
from indextables.predicates import TRUE, Predicate, TextQuery, bind
from indextables.rows import RowIds
from indextables.runtime import current
from indextables.schema import TableSchema
from indextables.split import Hits, SplitReader
from indextables.storage import is_on_this_machine
from indextables.table.scans import (
    REQUESTS,
    ScanRequest,
    ScanTask,
    SplitLeases,
    SplitRef,
    check_predicate,
    scan_schema,
    split_hits,
)

TERM: Final = "_term"
"""The column of a result that has the term."""

_PAIRS_AT_ONCE: Final = 100_000
"""How many pairs of row and term are collected before their rows are read. One term may have more."""

Pairs: TypeAlias = tuple[RowIds, npt.NDArray[np.int64]]


@dataclass(frozen=True)
class TermsTask:
    """The part of a search that runs in one process: the splits and columns of a scan, and the terms."""

    scan: ScanTask
    column: str
    terms: tuple[str, ...]


def to_terms(terms: object) -> tuple[str, ...]:
    """Return the terms without nulls and repetitions. InputError if they are not text.

    >>> to_terms(["disk", None, "db1", "disk"])
    ('disk', 'db1')
    >>> to_terms(pa.array([1]))
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: terms are of type int64; they are text, as in ["timeout", "disk full"]
    """
    if isinstance(terms, str) or not isinstance(terms, (pa.Array, pa.ChunkedArray, Iterable)):
        raise InputError(f'terms is {terms!r}; it takes several, as in ["timeout", "disk full"]')
    if isinstance(terms, (pa.Array, pa.ChunkedArray)):
        kind = terms.type.value_type if pa.types.is_dictionary(terms.type) else terms.type
        if not pa.types.is_string(kind) and not pa.types.is_large_string(kind) and not pa.types.is_null(kind):
            raise InputError(f'terms are of type {kind}; they are text, as in ["timeout", "disk full"]')
        values: Iterable[object] = terms.to_pylist()
    else:
        values = terms
    distinct = dict.fromkeys(term for term in values if term is not None)
    for term in distinct:
        if not isinstance(term, str):
            raise InputError(f'terms has {term!r}; they are text, as in ["timeout", "disk full"]')
    return tuple(str(term) for term in distinct)


def term_query(column: str, term: str) -> TextQuery:
    r"""Return the search for a term, whose signs have no meaning in it.

    >>> term_query("message", 'C:\\*').query
    '"C\\:\\\\\\*"'
    """
    escaped = "".join(sign if sign.isalnum() else f"\\{sign}" for sign in term)
    return TextQuery("INDEXQUERY", column, f'"{escaped}"')


def check_terms(snapshot: Snapshot, column: str, terms: Sequence[str], settings: Settings) -> None:
    """Raise QueryError, before anything runs, for a column that has no index or a term that is no value of it."""
    for term in terms:
        check_predicate(snapshot, term_query(column, term), settings)


def terms_schema(schema: TableSchema, request: ScanRequest) -> pa.Schema:
    """Return the schema of the batches: the requested columns and the term."""
    return scan_schema(schema, request).append(pa.field(TERM, pa.string()))


def run_terms_task(task: TermsTask) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task with each term that finds them."""
    lease = SplitLeases(task.scan)
    for ref in _prepare(task.scan, lease):
        with lease(ref) as split:
            yield from _split_rows(task, ref, split)


def _prepare(scan: ScanTask, lease: SplitLeases) -> Iterator[SplitRef]:
    """Yield the splits in order, those of an object store while the indexes of the next ones are fetched."""
    if is_on_this_machine(scan.uri):
        return iter(scan.splits)

    def prepare(ref: SplitRef) -> SplitRef:
        with lease(ref) as split:
            split.load_index()
        return ref

    return current().threads.map(prepare, scan.splits, REQUESTS, ahead=REQUESTS)


def _split_rows(task: TermsTask, ref: SplitRef, split: SplitReader) -> Iterator[pa.RecordBatch]:
    among = _rows_where(bind(task.scan.request.predicate, ref.partition_values), split)
    if among is not None and not len(among):
        return
    waiting: list[Pairs] = []
    count = 0
    for number, term in enumerate(task.terms):
        rows = split.matching(term_query(task.column, term))
        if among is not None:
            rows = rows[np.isin(rows, among, assume_unique=True)]
        if not len(rows):
            continue
        waiting.append((rows, np.full(len(rows), number)))
        count += len(rows)
        if count >= _PAIRS_AT_ONCE:
            yield from _fetch(task, ref, split, waiting)
            waiting, count = [], 0
    if waiting:
        yield from _fetch(task, ref, split, waiting)


def _rows_where(predicate: Predicate, split: SplitReader) -> RowIds | None:
    """Return the rows that satisfy a condition; None if all do."""
    return None if predicate == TRUE else split.matching(predicate)


def _fetch(
    task: TermsTask, ref: SplitRef, split: SplitReader, waiting: Sequence[Pairs]
) -> Iterator[pa.RecordBatch]:
    """Yield pairs of row and term in the order of the rows. A row is read once, however many terms find it."""
    rows, numbers = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
    order = np.lexsort((numbers, rows))
    rows, numbers = rows[order], numbers[order]
    distinct = np.unique(rows)
    names = pa.array(task.terms, pa.string())
    hits = Hits(distinct, np.zeros(len(distinct)), np.zeros(len(distinct), np.int64))
    done = 0
    for batch in split_hits(task.scan, ref, split, hits):
        read = distinct[done : done + batch.num_rows]
        done += batch.num_rows
        low, high = np.searchsorted(rows, [read[0], read[-1] + 1])
        hits_of_batch = batch.take(pa.array(np.searchsorted(read, rows[low:high])))
        yield hits_of_batch.append_column(TERM, names.take(pa.array(numbers[low:high])))

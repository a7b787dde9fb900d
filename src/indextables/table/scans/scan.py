"""Scans: which splits may hold an answer, how they are distributed to tasks, and the rows of one split.

The driver plans a scan from the log. Tasks run anywhere (they pickle) and need only the store: `scan_tasks`.
"""

from __future__ import annotations

import heapq
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from indextables.config import Settings, keys
from indextables.log import Snapshot
from indextables.predicates import (
    TRUE,
    Constant,
    Predicate,
    QueryLimits,
    Value,
    at_one_moment,
    bind,
    text_queries,
)
from indextables.rows import RowIds
from indextables.runtime import current
from indextables.schema import SPLIT_PATH, FieldMapping, TableSchema, own_refs
from indextables.split import (
    Corpus,
    DeltaLogRef,
    Hits,
    RowRequest,
    Snippet,
    SplitReader,
    check_text_query,
    output_field,
)
from indextables.state import KEY, PrunedFiles
from indextables.stats import total, total_bytes
from indextables.storage import options_for_tasks
from indextables.table.grouping import COUNT_ROWS, Aggregate, result_fields
from indextables.table.scans.leases import SplitLeases
from indextables.table.scans.locality import assign_hosts

_log: Final = logging.getLogger(__name__)

ROWS_FETCHED: Final = "scan.rows_fetched"
"""Counter of a process: rows that scans have read from splits."""

SCAN_TASK_BYTES: Final = 256 << 20
SEARCH_TASK_BYTES: Final = 8 << 30
"""The size of the splits of one task, when there are more splits than parallel tasks.

A search or a count reads little of a split: starting another task would cost more.
"""


@dataclass(frozen=True)
class ScanRequest:
    """What to read: the columns in output order, the condition on rows, and how many rows are enough.

    `top` keeps the best rows by score. An `aggregate` asks for figures of the rows, and says what columns to read. All
    text queries of the condition have the same `now`.
    """

    columns: tuple[str, ...]
    predicate: Predicate = TRUE
    limit: int | None = None
    top: int | None = None
    aggregate: Aggregate | None = None
    snippet: Snippet | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicate", at_one_moment(self.predicate))
        if self.aggregate is not None:
            object.__setattr__(self, "columns", self.aggregate.columns)

    @property
    def now(self) -> int | None:
        """What text queries of the condition call `now`, in microseconds since 1970; None if none does."""
        return next((query.now for query in text_queries(self.predicate) if query.now is not None), None)


@dataclass(frozen=True)
class SplitRef:
    """One split to read, with the partition values that all its rows share. `num_records` counts deleted rows too."""

    path: str
    size: int
    num_records: int | None
    partition_values: dict[str, Value | None]
    delta_log: DeltaLogRef | None = None

    @property
    def num_live(self) -> int | None:
        """The number of rows that are not deleted, if the log has it."""
        if self.num_records is None or self.delta_log is None:
            return self.num_records
        return self.num_records - self.delta_log.num_deleted


@dataclass(frozen=True)
class ScanTask:
    """The part of a scan that runs in one process. With a corpus, scores are by the statistics of all splits."""

    uri: str
    options: dict[str, str] = field(repr=False)  # credentials may be among them
    schema: TableSchema
    mapping: FieldMapping
    request: ScanRequest
    splits: tuple[SplitRef, ...]
    corpus: Corpus | None = None


@dataclass(frozen=True)
class ScanPlan:
    """The tasks of a scan, at least one, so that a count over no splits is 0 and not an empty answer.

    `rows` is the number of rows in the splits, None if the log does not record it for each of them. `dropped` is the
    number of files that each stage of pruning has dropped. `locations` has the host where each task should run, which
    has the indexes of its splits in its cache if any host has; None: anywhere. `files` are the splits as the log has
    them, if they are of one snapshot. `splits_foreign` is the number of splits to read that another program wrote.
    """

    tasks: tuple[ScanTask, ...]
    rows: int | None
    bytes: int
    splits_total: int
    splits_read: int
    dropped: Mapping[str, int]
    locations: tuple[str | None, ...]
    files: PrunedFiles | None = None
    splits_foreign: int = 0


def check_predicate(snapshot: Snapshot, predicate: Predicate, settings: Settings) -> None:
    """Raise QueryError, before anything runs, for a search that does not parse or does not fit its columns."""
    for query in text_queries(predicate):
        check_text_query(
            query,
            snapshot.mapping,
            partition_columns=snapshot.partition_columns,
            max_all_fields=settings.get(keys.INDEX_ALL_MAX_FIELDS),
            limits=QueryLimits.of(settings),
        )


def plan_scan(
    uri: str,
    snapshot: Snapshot,
    request: ScanRequest,
    settings: Settings,
    *,
    parallelism: int = 1,
    hosts: Sequence[str] = (),
) -> ScanPlan:
    """Distribute the splits that may match to tasks of about equal size.

    With `hosts`, those of the executors, a scan with a condition has the splits of each host in tasks of their own.
    A scan of all rows opens no index, so it runs where there is room.
    """
    check_predicate(snapshot, request.predicate, settings)
    pruned = snapshot.prune(request.predicate)
    refs = _enough(split_refs(pruned), request)
    size = total_bytes(ref.size for ref in refs)
    is_light = request.aggregate == COUNT_ROWS or text_queries(request.predicate)
    slots = max(parallelism, math.ceil(size / (SEARCH_TASK_BYTES if is_light else SCAN_TASK_BYTES)))
    options = options_for_tasks(uri, settings)
    groups = _distribute_to_hosts(refs, slots, hosts if request.predicate != TRUE else ())
    tasks = tuple(
        ScanTask(
            uri=uri,
            options=options,
            schema=snapshot.schema,
            mapping=snapshot.mapping,
            request=request,
            splits=group,
        )
        for _, group in groups
    )
    rows = total(ref.num_live for ref in refs)
    _log.debug(
        "%s: a scan of version %d reads %d of %d splits in %d tasks; dropped %s",
        uri,
        snapshot.version,
        len(refs),
        snapshot.files.expected,
        len(tasks),
        ", ".join(f"{count} by {stage}" for stage, count in pruned.dropped.items() if count) or "none",
    )
    return ScanPlan(
        tasks=tasks,
        rows=rows,
        bytes=size,
        splits_total=snapshot.files.expected,
        splits_read=len(refs),
        dropped=pruned.dropped,
        locations=tuple(host for host, _ in groups),
        files=pruned,
        splits_foreign=_foreign_splits(snapshot, pruned),
    )


def _foreign_splits(snapshot: Snapshot, pruned: PrunedFiles) -> int:
    own = own_refs(snapshot.metadata.configuration)
    return sum(ref not in own for ref in pruned.column("docMappingRef"))


def split_refs(pruned: PrunedFiles) -> list[SplitRef]:
    """Return the files as splits to read. CorruptTableError if the log has an impossible number of deleted rows."""
    names = (KEY, "size", "numRecords", "deltaLog", "numDeleted")
    columns = zip(*map(pruned.column, names), pruned.partition_values(), strict=True)
    return [
        SplitRef(path, size, rows, values, DeltaLogRef.of(log, deleted, rows, path))
        for path, size, rows, log, deleted, values in columns
    ]


def scan_schema(schema: TableSchema, request: ScanRequest) -> pa.Schema:
    """Return the schema of the batches of a scan."""
    if request.aggregate is not None:
        fields = result_fields(schema, request.aggregate)
        return pa.schema([(field.name, field.arrow_type) for field in fields])
    return row_schema(schema, request)


def row_schema(schema: TableSchema, request: ScanRequest) -> pa.Schema:
    """Return the schema of the rows that a scan reads."""
    return _schema_of_columns(schema, request.columns)


@lru_cache(maxsize=64)
def _schema_of_columns(schema: TableSchema, columns: tuple[str, ...]) -> pa.Schema:
    return pa.schema(
        [
            pa.field(SPLIT_PATH, pa.string(), nullable=False)
            if name == SPLIT_PATH
            else output_field(schema, name)
            for name in columns
        ]
    )


def count_from_log(task: ScanTask, ref: SplitRef) -> int | None:
    """Return the number of matching rows of a split if the log alone decides it, else None."""
    predicate = bind(task.request.predicate, ref.partition_values)
    if predicate == TRUE:
        return ref.num_live
    return 0 if isinstance(predicate, Constant) and not predicate.value else None


def count_rows(task: ScanTask, ref: SplitRef, lease: SplitLeases) -> int:
    """Return the number of matching rows of a split: by the log if it decides, else by the index."""
    count = count_from_log(task, ref)
    if count is not None:
        return count
    with lease(ref) as split:
        return split.count(bind(task.request.predicate, ref.partition_values))


def split_rows(
    task: ScanTask, ref: SplitRef, split: SplitReader, limit: int | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one split, with the columns that have one value in the whole split."""
    yield from _conform(task, ref, split.rows(_row_request(task, ref, limit)))


def split_hits(task: ScanTask, ref: SplitRef, split: SplitReader, hits: Hits) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some hits of one split, in the order of the rows, as `split_rows` does."""
    yield from _conform(task, ref, split.fetch(_row_request(task, ref, None), hits.by_row()))


def split_values(task: ScanTask, ref: SplitRef, split: SplitReader, rows: RowIds) -> Iterator[pa.RecordBatch]:
    """Yield the columns of some rows of one split, which are ascending, for aggregates: see `SplitReader.values_of`."""
    names = [name for name in task.request.columns if name not in ref.partition_values]
    if task.request.columns and not names:
        constants = [_constant(task, ref, name, len(rows)) for name in task.request.columns]
        yield pa.RecordBatch.from_arrays(constants, names=list(task.request.columns))
        return
    for batch in split.values_of(rows, names):
        current().counters.add(ROWS_FETCHED, batch.num_rows)
        columns = [
            batch.column(name) if name in names else _constant(task, ref, name, batch.num_rows)
            for name in task.request.columns
        ]
        yield pa.RecordBatch.from_arrays(columns, names=list(task.request.columns))


def _constant(task: ScanTask, ref: SplitRef, name: str, length: int) -> pa.Array:
    """Return a partition column of a split: one value, and the code 0 for each row."""
    value = pa.array([ref.partition_values[name]], task.schema.field(name).arrow_type)
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(length, np.uint8)), value)


def _row_request(task: ScanTask, ref: SplitRef, limit: int | None) -> RowRequest:
    request = task.request
    return RowRequest(
        columns=tuple(
            name for name in request.columns if name not in ref.partition_values and name != SPLIT_PATH
        ),
        predicate=bind(request.predicate, ref.partition_values),
        limit=limit,
        top=request.top,
        snippet=request.snippet,
    )


def _conform(task: ScanTask, ref: SplitRef, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    constants = {**ref.partition_values, SPLIT_PATH: ref.path}
    schema = row_schema(task.schema, task.request)
    for batch in batches:
        current().counters.add(ROWS_FETCHED, batch.num_rows)
        yield _with_constants(batch, constants, schema)


def _enough(refs: list[SplitRef], request: ScanRequest) -> list[SplitRef]:
    """Return the first splits that hold enough rows, if there is a limit and no condition; else all of them."""
    if request.limit is None or request.predicate != TRUE:
        return refs
    taken, rows = [], 0
    for ref in refs:
        if rows >= request.limit:
            break
        taken.append(ref)
        rows += ref.num_live or 0
    return taken


def _distribute_to_hosts(
    refs: list[SplitRef], slots: int, hosts: Sequence[str]
) -> list[tuple[str | None, tuple[SplitRef, ...]]]:
    """Return groups of splits with the host of each; None without hosts."""
    if not hosts or not refs:
        return [(None, group) for group in _distribute(refs, slots)]
    by_host: dict[str, list[SplitRef]] = {}
    for ref, host in zip(refs, assign_hosts([ref.path for ref in refs], hosts), strict=True):
        by_host.setdefault(host, []).append(ref)
    slots_of_host = math.ceil(slots / len(set(hosts)))
    return [(host, group) for host in sorted(by_host) for group in _distribute(by_host[host], slots_of_host)]


def _distribute(refs: list[SplitRef], slots: int) -> list[tuple[SplitRef, ...]]:
    """Assign each split, largest first, to the lightest group. Inside a group the order is that of the log."""
    groups: list[list[int]] = [[] for _ in range(max(1, min(slots, len(refs))))]
    weights = [(0, number) for number in range(len(groups))]  # a heap: the lightest is first
    for i in sorted(range(len(refs)), key=lambda i: -refs[i].size):
        weight, lightest = weights[0]
        groups[lightest].append(i)
        heapq.heapreplace(weights, (weight + refs[i].size, lightest))
    return [tuple(refs[i] for i in sorted(group)) for group in groups]


def _with_constants(
    batch: pa.RecordBatch, constants: Mapping[str, Value | None], schema: pa.Schema
) -> pa.RecordBatch:
    if len(batch.schema) == len(schema):
        return batch
    columns = [
        pa.repeat(pa.scalar(constants[field.name], field.type), batch.num_rows)
        if field.name in constants
        else batch.column(field.name)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)

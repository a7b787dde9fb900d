"""Pruning: which live files of a table can hold a row that matches a condition. `prune` is the one way to ask.

It is here, at the level of the state, because its first stages decide what of a state is read at all, and because
commits that drop partitions need it as well as scans; `Snapshot.prune` is the entry for both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicates import TRUE, Bounds, Predicate, bind, columns_of, may_match
from indextables.runtime import lazy_property
from indextables.schema import Field, Value, decode_value
from indextables.state.blocks import IndexedBlock
from indextables.state.column_masks import ColumnMasks
from indextables.state.conditions import Condition
from indextables.state.loading import Selection
from indextables.state.manifest import ManifestInfo
from indextables.state.map_columns import map_column
from indextables.stats import BloomFilter, ColumnFilter, bounds_of, inline_filters

PartitionValues: TypeAlias = dict[str, Value | None]

MANIFEST_BOUNDS: Final = "manifest bounds"
BLOCK_BOUNDS: Final = "block bounds"
PARTITION_VALUES: Final = "partition values"
MIN_MAX: Final = "min/max"
BLOOM_FILTERS: Final = "Bloom filters"
STAGES: Final = (MANIFEST_BOUNDS, BLOCK_BOUNDS, PARTITION_VALUES, MIN_MAX, BLOOM_FILTERS)
"""The stages of pruning, in order."""

_FULL_READ_SHARE: Final = 0.5


class PrunableFiles(Protocol):
    """The live files of a version: those of a state, and those that later versions added."""

    def select(self, selection: Selection) -> pa.Table:
        """Return the entries of the files without some that the selection leaves out."""


@dataclass(frozen=True)
class PrunedFiles:
    """The entries of the files that can match, and how many files each stage dropped."""

    entries: pa.Table
    partition_columns: Sequence[Field]
    dropped: Mapping[str, int]
    own_refs: Collection[str] = ()

    def partition_values(self) -> list[PartitionValues]:
        """Return the typed partition values of each file. Files of one partition share theirs."""
        partitions = _Partitions(self.partition_columns, TRUE)
        return [
            partitions.get(texts).values for texts in _partition_texts(self.entries, self.partition_columns)
        ]

    def column(self, name: str) -> list[Any]:
        values: list[Any] = self.entries.column(name).to_pylist()
        return values

    def extremes(self, column: Field) -> list[tuple[Value, Value] | None]:
        """Return the least and greatest value of a column in each file, as when the file was written.

        None where the log does not have exactly these: in files of other writers, of strings, which may be cut, and
        of columns without statistics, such as those with a NaN.
        """
        lows, highs = (
            map_column(self.entries.column(side), column.name) for side in ("minValues", "maxValues")
        )
        bounds_of_files: list[tuple[Value, Value] | None] = []
        for ref, low, high in zip(
            self.column("docMappingRef"), lows.to_pylist(), highs.to_pylist(), strict=True
        ):
            bounds = bounds_of(column, {column.name: low}, {column.name: high}, ours=True)
            is_exact = ref in self.own_refs and column.type != "string"
            bounds_of_files.append(
                (bounds.low, bounds.high)
                if is_exact and bounds is not None and bounds.low is not None and bounds.high is not None
                else None
            )
        return bounds_of_files


def prune(files: PrunableFiles, condition: Condition) -> PrunedFiles:
    """Return the live files that can hold a row for which the condition is TRUE.

    A stage may only drop a file none of whose rows can match; a file that it cannot decide goes to the next one:

    1. manifest bounds: the partition bounds and statistics of a whole manifest, which is then not read;
    2. block bounds: those of each block of a manifest, in its header; the other blocks are fetched by range;
    3. partition values, which all rows of a file share;
    4. min/max: the minima and maxima of the columns of a file;
    5. Bloom filters: the small ones in the log, which know values that a column does not hold.

    The state is read lazily: only the blocks that stages 1 and 2 keep are fetched and decoded. Stages 3 and 4 run
    twice. First column-wise, on the entries of each manifest as it is read: these masks are fast and keep some files
    that cannot match. Then file by file, on what is left of the state and on the files that later versions added.

    Exactness begins with the partition values: what they say of a row is certain, so after stage 3 a condition on
    partition columns alone is decided, and the files that remain are exactly those that match. For other columns the
    bounds are loose and a filter errs now and then: which rows of the remaining files match is decided by the index of
    the split or by the rows themselves.
    """
    count = _Counter()
    selection = Selection(
        manifests=lambda infos: _keep_by_manifest_bounds(infos, condition, count),
        reads_index=condition.names_bounded_columns,
        index_columns=columns_of(condition.predicate),
        blocks=lambda index: _keep_by_block_bounds(index, condition, count),
        entries=lambda entries: _keep_by_columns(entries, condition, count),
        restart=count.reset,
    )
    entries = files.select(selection)
    columns = [condition.schema.field(name) for name in condition.partition_columns]
    if condition.predicate != TRUE:
        statistics = _FileStatistics(entries, condition)
        candidates = _keep_by_partition_values(entries, _Partitions(columns, condition.predicate), count)
        candidates = _keep_by_min_max(candidates, statistics, count)
        candidates = _keep_by_bloom_filters(candidates, statistics, count)
        if len(candidates) < entries.num_rows:
            entries = entries.take(pa.array([candidate.row for candidate in candidates], pa.int64()))
    return PrunedFiles(entries, columns, count.by_stage(), condition.own_refs)


class _Counter:
    """How many files each stage dropped. Threads that read manifests add to it at the same time: `append` is atomic."""

    def __init__(self) -> None:
        self._drops: list[tuple[str, int]] = []

    def drop(self, stage: str, files: int) -> None:
        self._drops.append((stage, files))

    def reset(self) -> None:
        self._drops.clear()

    def by_stage(self) -> dict[str, int]:
        return {stage: sum(n for of, n in self._drops if of == stage) for stage in STAGES}


def _keep_by_manifest_bounds(
    infos: Sequence[ManifestInfo], condition: Condition, count: _Counter
) -> list[ManifestInfo]:
    candidates = [info for info in infos if condition.may_hold_in(info)]
    count.drop(
        MANIFEST_BOUNDS, sum(info.num_entries for info in infos) - sum(i.num_entries for i in candidates)
    )
    return candidates


def _keep_by_block_bounds(
    index: Sequence[IndexedBlock], condition: Condition, count: _Counter
) -> list[IndexedBlock] | None:
    """Return the blocks to read, or None if they are most of the manifest: then one read of all of it is faster."""
    blocks = [block for block in index if condition.may_hold_within(block.bounds, block.statistics)]
    if sum(b.place.size for b in blocks) > _FULL_READ_SHARE * sum(b.place.size for b in index):
        return None
    count.drop(BLOCK_BOUNDS, sum(b.place.count for b in index) - sum(b.place.count for b in blocks))
    return blocks


def _keep_by_columns(entries: pa.Table, condition: Condition, count: _Counter) -> pa.Table:
    """Drop entries by partition values and by min/max, column-wise; some that remain cannot match."""
    masks = ColumnMasks(condition, entries)
    mask = masks.by_bounds()
    if mask is None:
        return entries
    by_values = masks.by_partition_values()
    after_values = entries.num_rows if by_values is None else pc.sum(by_values).as_py() or 0
    candidates = entries.filter(mask)
    count.drop(PARTITION_VALUES, entries.num_rows - after_values)
    count.drop(MIN_MAX, after_values - candidates.num_rows)
    return candidates


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file that may match, by its row, and what is left of the predicate; None if nothing more can be decided."""

    row: int
    residual: Predicate | None


def _keep_by_partition_values(
    entries: pa.Table, partitions: _Partitions, count: _Counter
) -> list[_Candidate]:
    files = map(partitions.get, _partition_texts(entries, partitions.columns))
    candidates = [
        _Candidate(row, partition.residual) for row, partition in enumerate(files) if partition.may_match
    ]
    count.drop(PARTITION_VALUES, entries.num_rows - len(candidates))
    return candidates


def _keep_by_min_max(
    candidates: list[_Candidate], statistics: _FileStatistics, count: _Counter
) -> list[_Candidate]:
    remaining = [
        c for c in candidates if c.residual is None or may_match(c.residual, statistics.bounds(c.row))
    ]
    count.drop(MIN_MAX, len(candidates) - len(remaining))
    return remaining


def _keep_by_bloom_filters(
    candidates: list[_Candidate], statistics: _FileStatistics, count: _Counter
) -> list[_Candidate]:
    def may_hold(candidate: _Candidate) -> bool:
        if candidate.residual is None or not statistics.filters(candidate.row):
            return True
        # With the bounds again: a branch of the condition may be ruled out by them, and another by a filter.
        return may_match(candidate.residual, statistics.bounds_and_filters(candidate.row))

    remaining = [candidate for candidate in candidates if may_hold(candidate)]
    count.drop(BLOOM_FILTERS, len(candidates) - len(remaining))
    return remaining


@dataclass(frozen=True)
class _Partition:
    """The values that all rows of some files have, and the predicate with those put in.

    `may_match` is False if no row can match. `residual` is None if the statistics of a file cannot change that.
    """

    values: PartitionValues
    residual: Predicate | None
    may_match: bool


@dataclass(frozen=True)
class _Partitions:
    """The partitions of a table, each decoded and bound once."""

    columns: Sequence[Field]
    predicate: Predicate
    _by_texts: dict[tuple[str | None, ...], _Partition] = field(default_factory=dict)

    def get(self, texts: tuple[str | None, ...]) -> _Partition:
        if texts not in self._by_texts:
            pairs = zip(self.columns, texts, strict=True)
            values = {column.name: decode_value(text, column.type) for column, text in pairs}
            bound = bind(self.predicate, values)
            residual = bound if columns_of(bound) else None
            decided = residual is not None or may_match(bound, lambda _: None)
            self._by_texts[texts] = _Partition(values, residual, may_match=decided)
        return self._by_texts[texts]


def _partition_texts(entries: pa.Table, columns: Sequence[Field]) -> Sequence[tuple[str | None, ...]]:
    if not columns:
        return [()] * entries.num_rows
    values = entries.column("partitionValues")
    return list(zip(*(map_column(values, column.name).to_pylist() for column in columns), strict=True))


class _FileStatistics:
    """The minima, maxima and small Bloom filters of each file, by its row."""

    def __init__(self, entries: pa.Table, condition: Condition) -> None:
        self._entries = entries
        self._schema = condition.schema
        self._own_refs = condition.own_refs
        self._texts: dict[tuple[str, str], list[str | None]] = {}
        self._filters: dict[int, dict[str, BloomFilter]] = {}

    def bounds(self, row: int) -> Callable[[str], Bounds | None]:
        def bounds_by_name(name: str) -> Bounds | None:
            column = self._schema.get(name)
            if column is None:
                return None  # a field of a struct, which has no statistics
            low, high = (
                {column.name: self._column(side, column.name)[row]} for side in ("minValues", "maxValues")
            )
            return bounds_of(column, low, high, ours=self._refs[row] in self._own_refs)

        return bounds_by_name

    def bounds_and_filters(self, row: int) -> Callable[[str], Bounds | None]:
        bounds_by_name = self.bounds(row)

        def with_filter(name: str) -> Bounds | None:
            bounds = bounds_by_name(name)
            column = self._schema.get(name)
            bloom = None if column is None else self.filters(row).get(column.name)
            if column is None or bloom is None:
                return bounds
            return dataclasses.replace(bounds or Bounds(), members=ColumnFilter(column, bloom))

        return with_filter

    def filters(self, row: int) -> Mapping[str, BloomFilter]:
        if row not in self._filters:
            self._filters[row] = inline_filters(self._stats[row])
        return self._filters[row]

    @lazy_property
    def _stats(self) -> list[str | None]:
        stats: list[str | None] = self._entries.column("stats").to_pylist()
        return stats

    @lazy_property
    def _refs(self) -> list[str | None]:
        refs: list[str | None] = self._entries.column("docMappingRef").to_pylist()
        return refs

    def _column(self, side: str, name: str) -> list[str | None]:
        """Return one column's minimum or maximum in every file."""
        if (side, name) not in self._texts:
            self._texts[side, name] = map_column(self._entries.column(side), name).to_pylist()
        return self._texts[side, name]

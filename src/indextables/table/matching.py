"""Which live files can hold a matching row: entries stay in Arrow, and what is asked of each is asked once for many."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from indextables.log import Snapshot
from indextables.predicates import TRUE, Bounds, Predicate, Value, bind, columns_of, may_match
from indextables.schema import Field, TableSchema, decode_value, own_refs
from indextables.state import map_column
from indextables.stats import BloomFilter, ColumnFilter, bounds_of, inline_filters

PartitionValues = dict[str, Value | None]


@dataclass(frozen=True)
class MatchingFiles:
    """Entries of files, and the columns that tell their partitions."""

    entries: pa.Table
    partition_columns: Sequence[Field]

    def partition_values(self) -> list[PartitionValues]:
        """Those of each file, typed. Files of one partition share theirs."""
        partitions = _Partitions(self.partition_columns, TRUE)
        return [partitions.get(texts).values for texts in _texts(self.entries, self.partition_columns)]

    def column(self, name: str) -> list[Any]:
        found: list[Any] = self.entries.column(name).to_pylist()
        return found


def matching_files(snapshot: Snapshot, predicate: Predicate) -> MatchingFiles:
    """The live files that can hold a row for which the predicate is TRUE."""
    entries = snapshot.matching(predicate)
    columns = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    if predicate == TRUE:
        return MatchingFiles(entries, columns)
    partitions = _Partitions(columns, predicate)
    found = [partitions.get(texts) for texts in _texts(entries, columns)]
    statistics = _Statistics(snapshot.schema, entries, own_refs(snapshot.metadata.configuration))
    keep = [
        row
        for row, partition in enumerate(found)
        if (statistics.may_match(partition.rest, row) if partition.verdict is None else partition.verdict)
    ]
    if len(keep) < entries.num_rows:
        entries = entries.take(pa.array(keep, pa.int64()))
    return MatchingFiles(entries, columns)


@dataclass(frozen=True)
class _Partition:
    """The values that all rows of some files have, and what is left of the predicate then.

    `verdict` is whether the files may match, where that does not depend on their statistics.
    """

    values: PartitionValues
    rest: Predicate
    verdict: bool | None


class _Partitions:
    def __init__(self, columns: Sequence[Field], predicate: Predicate) -> None:
        self._columns = columns
        self._predicate = predicate
        self._known: dict[tuple[str | None, ...], _Partition] = {}

    def get(self, texts: tuple[str | None, ...]) -> _Partition:
        found = self._known.get(texts)
        if found is None:
            pairs = zip(self._columns, texts, strict=True)
            values = {column.name: decode_value(text, column.type) for column, text in pairs}
            rest = bind(self._predicate, values)
            verdict = None if columns_of(rest) else may_match(rest, lambda _: None)
            found = self._known[texts] = _Partition(values, rest, verdict)
        return found


def _texts(entries: pa.Table, columns: Sequence[Field]) -> Sequence[tuple[str | None, ...]]:
    if not columns:
        return [()] * entries.num_rows
    values = entries.column("partitionValues")
    return list(zip(*(map_column(values, column.name).to_pylist() for column in columns), strict=True))


class _Statistics:
    """What minima, maxima and small Bloom filters say of what partition values do not decide of a predicate."""

    def __init__(self, schema: TableSchema, entries: pa.Table, own: Collection[str]) -> None:
        self._schema = schema
        self._entries = entries
        self._own = own
        self._lists: dict[tuple[str, str], list[str | None]] = {}
        self._filters: dict[int, dict[str, BloomFilter]] = {}

    def may_match(self, rest: Predicate, row: int) -> bool:
        def bounds(name: str) -> Bounds | None:
            column = self._schema.field(name)
            low, high = (
                {column.name: self._texts(side, column.name)[row]} for side in ("minValues", "maxValues")
            )
            known = bounds_of(column, low, high, ours=self._refs[row] in self._own)
            bloom = self._blooms(row).get(column.name)
            if bloom is None:
                return known
            return dataclasses.replace(known or Bounds(), members=ColumnFilter(column, bloom))

        return may_match(rest, bounds)

    def _blooms(self, row: int) -> dict[str, BloomFilter]:
        if row not in self._filters:
            self._filters[row] = inline_filters(self._stats[row])
        return self._filters[row]

    @cached_property
    def _stats(self) -> list[str | None]:
        stats: list[str | None] = self._entries.column("stats").to_pylist()
        return stats

    @cached_property
    def _refs(self) -> list[str | None]:
        refs: list[str | None] = self._entries.column("docMappingRef").to_pylist()
        return refs

    def _texts(self, side: str, name: str) -> list[str | None]:
        """One column's minimum or maximum in every file."""
        known = self._lists.get((side, name))
        if known is None:
            known = self._lists[side, name] = map_column(self._entries.column(side), name).to_pylist()
        return known

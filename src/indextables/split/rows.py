"""The rows of a split: one or more Parquet members inside the bundle, each with some of the columns.

The members have the same row groups: the same rows are in the same group of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import CorruptTableError
from indextables.predicates import Bounds, Predicate, columns_of, may_match
from indextables.rows import (
    Footer,
    MappedSource,
    PageDirectory,
    RangedSource,
    RowIds,
    RowReader,
    Source,
    decoding,
)
from indextables.runtime import CacheSpec, current, lazy_property
from indextables.split.container import CHUNK_CHECKSUMS, PAGE_DIRECTORY, Bundle
from indextables.split.index_cache import entry_name

WINDOW_ROWS: Final = 65536
"""How many rows are read and handed out together, about."""

_WINDOW_BYTES: Final = 64 << 20

_FOOTERS: Final = CacheSpec[str, Footer]("Parquet footers of splits", entries=128, eviction="random")


class RowsMember:
    """A Parquet member of a split, which is opened when its rows are first needed."""

    def __init__(self, bundle: Bundle, name: str) -> None:
        self._bundle = bundle
        self._member = bundle.member(name)

    @lazy_property
    def reader(self) -> RowReader:
        bundle, member = self._bundle, self._member
        path = bundle.store.local_path(bundle.key)
        source: Source = (
            RangedSource(
                lambda start, length: bundle.range(member.offset + start, length),
                member.length,
                self._damage,
            )
            if path is None
            else MappedSource(path, member.offset, member.length, self._damage)
        )
        footer = (
            current()
            .cache(_FOOTERS)
            .get_or_make(f"{entry_name(bundle)}/{member.name}", lambda: self._read_footer(source))
        )
        return RowReader(source, footer, self._read_checksums)

    @property
    def starts(self) -> RowIds:
        """The first row of each row group, and one past the last row of all."""
        return self.reader.footer.starts

    @property
    def group_bytes(self) -> list[int]:
        return self.reader.footer.group_bytes

    def bounds(self, group: int, columns: Sequence[str]) -> dict[str, Bounds]:
        """Return what the statistics of a row group say of these columns."""
        with decoding(self._damage):
            return self.reader.footer.bounds(group, columns)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
        return self._one_batch(self.reader.read(groups, columns))

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Return just these rows, which are ascending."""
        return self._one_batch(self.reader.fetch(rows, columns))

    def _read_footer(self, source: Source) -> Footer:
        bundle, name = self._bundle, self._member.name
        directory = bundle.read(name + PAGE_DIRECTORY) if name + PAGE_DIRECTORY in bundle.members else None
        location = bundle.parquet_footers.get(name)
        with decoding(self._damage):
            if location is None:
                metadata = pq.read_metadata(source.load(()).arrow_file())
            else:
                raw = bundle.verify(location, bundle.range(location.offset, location.length))
                metadata = pq.read_metadata(pa.BufferReader(raw))
            pages = None if directory is None else PageDirectory(directory, metadata)
            if pages is not None:
                _ = pages.page_rows  # refused here if it is not a directory
            return Footer(metadata, pages)

    def _read_checksums(self) -> bytes | None:
        name = self._member.name + CHUNK_CHECKSUMS
        return self._bundle.read(name) if name in self._bundle.members else None

    def _one_batch(self, table: pa.Table) -> pa.RecordBatch:
        batches = table.combine_chunks().to_batches()
        if len(batches) > 1:  # strings beyond 2 GB do not fit one array
            raise self._damage("a window of rows is larger than 2 GB")
        return batches[0] if batches else table.schema.empty_table().to_batches(max_chunksize=1)[0]

    def _damage(self, reason: object) -> CorruptTableError:
        return self._bundle.damaged(f"{self._member.name}: {reason}")


@dataclass(frozen=True)
class Window:
    """Row groups that are read together, and the rows wanted of them, ascending; None wants all."""

    groups: tuple[int, ...]
    wanted: RowIds | None


class RowStore:
    """The rows of one split. `members` says which member has a column."""

    def __init__(self, members: Mapping[str, RowsMember]) -> None:
        self._member_of = members
        self._members = list(dict.fromkeys(members.values()))

    @property
    def _first(self) -> RowsMember:
        return self._members[0]

    def windows(self, wanted: RowIds | None, predicate: Predicate) -> Iterator[Window]:
        """Yield the row groups that hold wanted rows and whose statistics do not rule the predicate out."""
        for groups in self._runs(self._matching_groups(wanted, predicate), wanted):
            yield Window(tuple(groups), None if wanted is None else self._within(groups, wanted))

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        """Return the rows of these groups, in the order in which `read` returns them."""
        return self._first.reader.row_ids(groups)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
        """Return all rows of these groups."""
        if not columns:
            return empty_batch(len(self.row_ids(groups)))
        return self._concat(columns, lambda member, names: member.read(groups, names))

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Return just these rows, which are ascending."""
        if not columns:
            return empty_batch(len(rows))
        runs = self._runs(self._first.reader.groups_of(rows), rows)
        batches = [self._fetch_run(self._within(run, rows), columns) for run in runs]
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)

    def _fetch_run(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        return self._concat(columns, lambda member, names: member.fetch(rows, names))

    def _concat(
        self, columns: Sequence[str], read: Callable[[RowsMember, list[str]], pa.RecordBatch]
    ) -> pa.RecordBatch:
        """Return the columns in one batch, each read from its own member."""
        names: dict[RowsMember, list[str]] = {}
        for name in columns:
            names.setdefault(self._member_of[name], []).append(name)
        batches = [read(member, of_member) for member, of_member in names.items()]
        if len(batches) == 1:
            return batches[0]
        arrays = {name: batch.column(name) for batch in batches for name in batch.schema.names}
        return pa.RecordBatch.from_arrays([arrays[name] for name in columns], names=list(columns))

    def _runs(self, groups: Iterable[int], wanted: RowIds | None) -> Iterator[list[int]]:
        """Yield row groups in runs that, with what is wanted of them, fit in memory comfortably."""
        if wanted is not None and self._fits_in_memory(wanted):
            run = list(groups)
            if run:
                yield run
            return
        run = []
        rows = size = 0
        for group in groups:
            more = all_rows = int(self._first.starts[group + 1] - self._first.starts[group])
            if wanted is not None:
                more = min(all_rows, self._first.reader.rows_decoded_for(self._within([group], wanted)))
            bytes_of_all = sum(member.group_bytes[group] for member in self._members)
            more_bytes = bytes_of_all * more // max(1, all_rows)
            if run and (rows + more > WINDOW_ROWS or size + more_bytes > _WINDOW_BYTES):
                yield run
                run, rows, size = [], 0, 0
            run.append(group)
            rows += more
            size += more_bytes
        if run:
            yield run

    def _fits_in_memory(self, wanted: RowIds) -> bool:
        """Return True if the wanted rows fit in memory whichever groups they are in."""
        reader = self._first.reader
        return self._is_small(reader.most_rows_decoded_for(len(wanted))) or self._is_small(
            reader.rows_decoded_for(wanted)
        )

    def _is_small(self, rows: int) -> bool:
        """Return True if so many decoded rows fit, going by the average size of a row."""
        if rows > WINDOW_ROWS:
            return False
        every = int(self._first.starts[-1])
        return rows * sum(sum(member.group_bytes) for member in self._members) <= _WINDOW_BYTES * max(
            1, every
        )

    def _within(self, groups: Sequence[int], wanted: RowIds) -> RowIds:
        """Return the wanted rows of a run of groups, of which those between are not wanted."""
        low, high = self._first.starts[groups[0]], self._first.starts[groups[-1] + 1]
        rows: RowIds = wanted[np.searchsorted(wanted, low) : np.searchsorted(wanted, high)]
        return rows

    def _matching_groups(self, wanted: RowIds | None, predicate: Predicate) -> Iterator[int]:
        every = range(len(self._first.starts) - 1)
        columns = columns_of(predicate)
        for group in every if wanted is None else self._first.reader.groups_of(wanted):
            if not columns or may_match(predicate, self._bounds(group, columns).get):
                yield group

    def _bounds(self, group: int, columns: Iterable[str]) -> dict[str, Bounds]:
        bounds: dict[str, Bounds] = {}
        for name in columns:
            if name in self._member_of:
                bounds |= self._member_of[name].bounds(group, [name])
        return bounds


def empty_batch(rows: int) -> pa.RecordBatch:
    """Return a batch of `rows` rows and no columns."""
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None], children=[]))

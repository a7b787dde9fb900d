"""The rows of a split: Parquet inside the bundle, read by row group, column and range, never as a whole."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.predicates import Bounds, Predicate, columns_of, may_match
from indextables.schema import TableSchema
from indextables.split.bundle import Bundle
from indextables.split.cache import entry_name
from indextables.split.chunks import chunks_of
from indextables.split.members import CHUNK_CHECKSUMS
from indextables.split.ranges import MemberSource, open_member

RowIds: TypeAlias = npt.NDArray[np.int64]

WINDOW_ROWS: Final = 65536
"""How many rows are read and handed out together, about."""

_WINDOW_BYTES: Final = 256 << 20


class _Footers:
    """The last footers read: parsing one with thousands of chunks costs more than a search does."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[str, pq.FileMetaData] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> pq.FileMetaData | None:
        with self._lock:
            found = self._known.get(name)
            if found is not None:
                self._known.move_to_end(name)
            return found

    def put(self, name: str, footer: pq.FileMetaData) -> None:
        with self._lock:
            self._known[name] = footer
            while len(self._known) > self._most:
                self._known.popitem(last=False)


_footers: Final = _Footers(64)


@dataclass(frozen=True)
class Window:
    """Row groups that are read together, and the rows wanted of them, ascending; None wants all."""

    groups: tuple[int, ...]
    wanted: RowIds | None


class RowStore:
    """The Parquet member of one split."""

    def __init__(self, bundle: Bundle, name: str, schema: TableSchema) -> None:
        self._bundle = bundle
        self._member = bundle.member(name)
        self._schema = schema

    @cached_property
    def _source(self) -> MemberSource:
        return open_member(self._bundle, self._member)

    @cached_property
    def _checksums(self) -> bytes | None:
        name = self._member.name + CHUNK_CHECKSUMS
        return self._bundle.read(name) if name in self._bundle.members else None

    @cached_property
    def _file(self) -> pq.ParquetFile:
        name = f"{entry_name(self._bundle)}/{self._member.name}"
        known = _footers.get(name)
        footer = self._bundle.parquet_footers.get(self._member.name)
        if known is None and footer is not None:
            self._bundle.checked(footer, self._bundle.range(footer.offset, footer.length))
        with _damage(self._bundle):
            file = pq.ParquetFile(
                self._source.arrow_file(),
                metadata=known,
                pre_buffer=False,  # `load` has fetched what is read
                page_checksum_verification=self._checksums is None,
            )
        _footers.put(name, file.metadata)
        return file

    @cached_property
    def _starts(self) -> RowIds:
        """The first row of each group, and one past the last row of all."""
        meta = self._file.metadata
        counts = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @property
    def num_rows(self) -> int:
        return int(self._file.metadata.num_rows)

    def windows(self, wanted: RowIds | None, predicate: Predicate) -> Iterator[Window]:
        """The row groups that hold wanted rows and whose statistics do not rule the predicate out."""
        for groups in self._together(self._groups(wanted, predicate)):
            yield self._window(groups, wanted)

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        """The rows of these groups, in the order in which `read` gives them."""
        spans = [np.arange(self._starts[group], self._starts[group + 1]) for group in groups]
        return np.concatenate(spans) if spans else np.empty(0, dtype=np.int64)

    def read(self, groups: Sequence[int], columns: Sequence[str], *, threads: bool = True) -> pa.RecordBatch:
        if not columns:
            return empty_batch(int(sum(self._starts[g + 1] - self._starts[g] for g in groups)))
        with _damage(self._bundle):
            indices = [self._file.schema_arrow.get_field_index(name) for name in columns]
            self._source.load(chunks_of(self._file.metadata, self._checksums, groups, indices))
            found = self._file.read_row_groups(list(groups), columns=list(columns), use_threads=threads)
            table = found.select(list(columns))
            self._source.release()
            batches = table.combine_chunks().to_batches()
        if len(batches) > 1:  # strings beyond 2 GB do not fit one array
            raise self._bundle.damaged("a window of rows is larger than 2 GB")
        return batches[0] if batches else table.schema.empty_table().to_batches(max_chunksize=1)[0]

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Just these rows, ascending."""
        if not columns:
            return empty_batch(len(rows))
        pieces: list[pa.RecordBatch] = []
        for groups in self._together(self._groups_of(rows)):
            window = self._window(groups, rows)
            # A thread for each of many tiny chunks costs more than it decodes.
            ids, batch = self.row_ids(groups), self.read(groups, columns, threads=False)
            whole = window.wanted is None or len(ids) == len(window.wanted)
            pieces.append(batch if whole else batch.take(pa.array(np.searchsorted(ids, window.wanted))))
        return pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)

    def _together(self, groups: Iterable[int]) -> Iterator[list[int]]:
        """Row groups in runs that fit in memory comfortably."""
        run: list[int] = []
        rows = size = 0
        for group in groups:
            meta = self._file.metadata.row_group(group)
            if run and (rows + meta.num_rows > WINDOW_ROWS or size + meta.total_byte_size > _WINDOW_BYTES):
                yield run
                run, rows, size = [], 0, 0
            run.append(group)
            rows += meta.num_rows
            size += meta.total_byte_size
        if run:
            yield run

    def _window(self, groups: list[int], wanted: RowIds | None) -> Window:
        if wanted is None:
            return Window(tuple(groups), None)
        low, high = self._starts[groups[0]], self._starts[groups[-1] + 1]
        return Window(tuple(groups), wanted[np.searchsorted(wanted, low) : np.searchsorted(wanted, high)])

    def _groups(self, wanted: RowIds | None, predicate: Predicate) -> Iterator[int]:
        candidates = range(len(self._starts) - 1) if wanted is None else self._groups_of(wanted)
        columns = columns_of(predicate)
        for group in candidates:
            if not columns or may_match(predicate, self._bounds(group).get):
                yield group

    def _groups_of(self, rows: RowIds) -> list[int]:
        found: list[int] = np.unique(np.searchsorted(self._starts, rows, side="right") - 1).tolist()
        return found

    def _bounds(self, group: int) -> dict[str, Bounds]:
        return _group_bounds(self._file.metadata.row_group(group), self._schema)


def empty_batch(rows: int) -> pa.RecordBatch:
    """Rows without columns, which still number."""
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None], children=[]))


def _group_bounds(group: pq.RowGroupMetaData, schema: TableSchema) -> dict[str, Bounds]:
    bounds: dict[str, Bounds] = {}
    for index in range(group.num_columns):
        chunk = group.column(index)
        column = schema.get(chunk.path_in_schema)
        # Parquet's float statistics leave NaN out, which Spark sorts above all; binary is not compared here.
        if column is None or column.type in ("float", "double", "binary") or not chunk.is_stats_set:
            continue
        statistics = chunk.statistics
        if statistics.has_min_max:
            bounds[column.name] = Bounds(low=statistics.min, high=statistics.max)
    return bounds


class _damage:  # noqa: N801 - reads as a statement
    """Whatever Parquet makes of damaged bytes, the caller learns which split they are in."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, (pa.ArrowException, OSError, ValueError)):
            raise self._bundle.damaged(error) from error

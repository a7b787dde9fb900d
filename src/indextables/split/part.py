"""One Parquet member of a split: some columns of its rows, read by row group or by page, never as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.parquet_chunks import chunks_of
from indextables.predicates import Bounds
from indextables.schema import TableSchema
from indextables.split.container import CHUNK_CHECKSUMS, PAGE_DIRECTORY, Bundle
from indextables.split.excerpt import ColumnPages, GroupPages, parquet_of
from indextables.split.footer import FOOTERS, Footer, RowIds
from indextables.split.index_cache import entry_name
from indextables.split.pages import PageDirectory
from indextables.split.ranges import MemberSource, open_member

_WORTH_PICKING: Final = 0.5
"""Up to this share of the pages of its row groups are picked one by one; above, whole row groups are read."""


class ParquetPart:
    """A Parquet member. Row groups are numbered, and rows counted, as in every other member of its split."""

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
    def _footer(self) -> Footer:
        return FOOTERS.get(f"{entry_name(self._bundle)}/{self._member.name}", self._read_footer)

    def _read_footer(self) -> Footer:
        known = self._bundle.parquet_footers.get(self._member.name)
        if known is not None:
            self._bundle.checked(known, self._bundle.range(known.offset, known.length))
        with _damage(self._bundle):
            metadata = pq.read_metadata(self._source.arrow_file())
        name = self._member.name + PAGE_DIRECTORY
        is_there = name in self._bundle.members
        if not is_there:
            return Footer(metadata, None)
        directory = PageDirectory(self._bundle.read(name), metadata)
        with _damage(self._bundle):
            _ = directory.page_rows
        return Footer(metadata, directory)

    @cached_property
    def _file(self) -> pq.ParquetFile:
        with _damage(self._bundle):
            return pq.ParquetFile(
                self._source.arrow_file(),
                metadata=self._footer.metadata,
                pre_buffer=False,  # `load` has fetched what is read
                page_checksum_verification=self._checksums is None,
            )

    @property
    def starts(self) -> RowIds:
        """The first row of each group, and one past the last row of all."""
        return self._footer.starts

    @property
    def group_bytes(self) -> list[int]:
        return self._footer.group_bytes

    def bounds(self, group: int) -> dict[str, Bounds]:
        """What the statistics of a row group say of its columns."""
        return _group_bounds(self._footer.metadata.row_group(group), self._schema)

    def rows_decoded_for(self, rows: RowIds) -> int:
        """How many rows fetching these decodes, about."""
        pages = self._footer.pages
        if pages is None:
            groups = self.groups_of(rows)
            return int(sum(self.starts[group + 1] - self.starts[group] for group in groups))
        return len(np.unique(rows // pages.page_rows)) * pages.page_rows

    def groups_of(self, rows: RowIds) -> list[int]:
        found: list[int] = np.unique(np.searchsorted(self.starts, rows, side="right") - 1).tolist()
        return found

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        spans = [np.arange(self.starts[group], self.starts[group + 1]) for group in groups]
        return np.concatenate(spans) if spans else np.empty(0, dtype=np.int64)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
        with _damage(self._bundle):
            indices = self._footer.indices(columns)
            self._source.load(chunks_of(self._footer.metadata, self._checksums, groups, indices))
            found = self._file.read_row_groups(list(groups), columns=list(columns))
            table = found.select(list(columns))
            self._source.release()
            return self._one_batch(table)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Just these rows, ascending."""
        groups = self.groups_of(rows)
        pages = self._footer.pages
        if pages is not None:
            with _damage(self._bundle):
                picked = self._picked(rows, groups, pages)
                possible = sum(-int(-pages.group_rows[group] // pages.page_rows) for group in groups)
                if sum(map(len, picked.values())) <= _WORTH_PICKING * possible:
                    return self._excerpt(rows, picked, pages, columns)
        ids, batch = self.row_ids(groups), self.read(groups, columns)
        return batch if len(ids) == len(rows) else batch.take(pa.array(np.searchsorted(ids, rows)))

    def _picked(self, rows: RowIds, groups: Sequence[int], pages: PageDirectory) -> dict[int, list[int]]:
        """The pages of each row group that have one of these rows."""
        picked = {}
        for group in groups:
            low = np.searchsorted(rows, self.starts[group])
            high = np.searchsorted(rows, self.starts[group + 1])
            picked[group] = np.unique((rows[low:high] - self.starts[group]) // pages.page_rows).tolist()
        return picked

    def _excerpt(
        self, rows: RowIds, picked: dict[int, list[int]], pages: PageDirectory, columns: Sequence[str]
    ) -> pa.RecordBatch:
        kinds = [self._footer.columns[name] for name in columns]
        found = {
            group: [pages.chunks(group, kind.place, wanted) for kind in kinds]
            for group, wanted in picked.items()
        }
        self._source.load(
            [
                chunk
                for group in found.values()
                for head, data in group
                for chunk in ([head, *data] if head is not None else data)
            ]
        )
        loaded = self._source.loaded
        groups = []
        for group, wanted in picked.items():
            taken = [
                ColumnPages(
                    name,
                    kind.physical_type,
                    kind.codec,
                    None if head is None else loaded(head),
                    [loaded(chunk) for chunk in data],
                )
                for name, kind, (head, data) in zip(columns, kinds, found[group], strict=True)
            ]
            groups.append(GroupPages(pages.rows_in(group, wanted), taken))
        schema = pa.schema([self._schema.arrow.field(name) for name in columns])
        coded = _with_dictionaries(schema, groups)
        excerpt = pq.ParquetFile(
            pa.BufferReader(parquet_of(schema, groups)), pre_buffer=False, read_dictionary=coded
        )
        self._source.release()
        # A thread for each of many small chunks costs more than it decodes.
        batch = self._one_batch(excerpt.read(use_threads=False))
        starts = np.concatenate(
            [self.starts[group] + np.array(wanted) * pages.page_rows for group, wanted in picked.items()]
        )
        found = batch.take(pa.array(_places(rows, starts, self.starts, pages.page_rows)))
        for name in coded:
            place = columns.index(name)
            found = found.set_column(place, schema.field(place), found.column(place).dictionary_decode())
        return found

    def _one_batch(self, table: pa.Table) -> pa.RecordBatch:
        batches = table.combine_chunks().to_batches()
        if len(batches) > 1:  # strings beyond 2 GB do not fit one array
            raise self._bundle.damaged("a window of rows is larger than 2 GB")
        return batches[0] if batches else table.schema.empty_table().to_batches(max_chunksize=1)[0]


def _with_dictionaries(schema: pa.Schema, groups: Sequence[GroupPages]) -> list[str]:
    """Columns of text that is written by its number in a dictionary: only what is wanted in the end is spelt out."""
    return [
        field.name
        for place, field in enumerate(schema)
        if pa.types.is_string(field.type)
        and any(group.columns[place].dictionary is not None for group in groups)
    ]


def _places(rows: RowIds, page_starts: RowIds, group_starts: RowIds, page_rows: int) -> RowIds:
    """Where these rows stand among the rows of pages that begin at `page_starts`, one page after another."""
    next_group = group_starts[np.searchsorted(group_starts, page_starts, side="right")]
    lengths = np.minimum(page_rows, next_group - page_starts)
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    page = np.searchsorted(page_starts, rows, side="right") - 1
    places: RowIds = before[page] + rows - page_starts[page]
    return places


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

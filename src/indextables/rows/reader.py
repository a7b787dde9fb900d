"""Reading rows of a Parquet file, by row group or by page, never as a whole.

Arrow sees no byte of a row before its checksum was verified, where the file has checksums: those of column chunks for
whole row groups, those of the page directory for pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables.rows.chunks import chunk_spans
from indextables.rows.excerpt import GroupPages, LeafPages, parquet_excerpt
from indextables.rows.footer import Footer
from indextables.rows.pages import PageDirectory, PickedPages, RowIds
from indextables.rows.sources import Source, decoding
from indextables.runtime import lazy_property

_PICKED_SHARE: Final = 0.9
"""Up to this share of the pages of its row groups are picked one by one; above, whole row groups are read."""

_THREADS_FROM: Final = 1 << 20
"""Bytes to decode from which threads gain more than they cost."""


class RowReader:
    """The rows of one Parquet file. Methods may be called from several threads.

    `checksums` returns those of the column chunks, or None for a file without them.
    """

    def __init__(self, source: Source, footer: Footer, checksums: Callable[[], bytes | None]) -> None:
        self.footer = footer
        self._source = source
        self._read_checksums = checksums

    @lazy_property
    def _checksums(self) -> bytes | None:
        return self._read_checksums()

    def groups_of(self, rows: RowIds) -> list[int]:
        """Return the row groups that hold these rows."""
        groups: list[int] = np.unique(np.searchsorted(self.footer.starts, rows, side="right") - 1).tolist()
        return groups

    def groups_between(self, start: int, stop: int) -> range:
        """Return the row groups of the rows from `start` (included) to `stop` (excluded), of which there is one."""
        first = int(np.searchsorted(self.footer.starts, start, side="right")) - 1
        return range(first, int(np.searchsorted(self.footer.starts, stop - 1, side="right")))

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        """Return the rows of these groups, in the order in which `read` returns them."""
        starts = self.footer.starts
        spans = [np.arange(starts[group], starts[group + 1]) for group in groups]
        return np.concatenate(spans) if spans else np.empty(0, dtype=np.int64)

    def rows_decoded_for(self, rows: RowIds) -> int:
        """Return the number of rows that are decoded to fetch `rows`, page by page if there is a page directory."""
        if self.footer.pages is None:
            return len(self.row_ids(self.groups_of(rows)))
        with decoding(self._source.damaged):
            return self.footer.pages.decoded_rows(rows, self.footer.starts)

    def most_rows_decoded_for(self, count: int) -> int:
        """Return a number of rows that are enough to decode for any `count` rows: a page of each."""
        pages, every = self.footer.pages, int(self.footer.starts[-1])
        return every if pages is None else min(every, count * pages.longest)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Return all rows of these row groups."""
        footer = self.footer
        with decoding(self._source.damaged):
            spans = chunk_spans(footer.metadata, self._checksums, groups, footer.leaves_of(columns))
            file = pq.ParquetFile(
                self._source.load(spans).arrow_file(),
                metadata=footer.metadata,
                pre_buffer=False,  # what is read has been loaded
                page_checksum_verification=self._checksums is None,
            )
            rows = sum(int(footer.starts[group + 1] - footer.starts[group]) for group in groups)
            threads = rows * footer.row_bytes(columns) >= _THREADS_FROM
            table = file.read_row_groups(list(groups), columns=list(columns), use_threads=threads)
            self._check_count(table, rows)
            if self._checksums is None:
                table.validate(full=True)  # text need not be UTF-8 in bytes that have no checksum
            return table.select(list(columns))

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.Table:
        """Return just these rows, which are ascending."""
        pages = self.footer.pages
        if pages is not None and len(rows) and self.footer.has_excerpts:
            with decoding(self._source.damaged):
                picked = pages.pick(rows, self.footer.starts)
                if picked.share <= _PICKED_SHARE:
                    return self._fetch_pages(picked, pages, columns)
        groups = self.groups_of(rows)
        ids, table = self.row_ids(groups), self.read(groups, columns)
        return table if np.array_equal(ids, rows) else _take(table, np.searchsorted(ids, rows))

    def _fetch_pages(self, picked: PickedPages, pages: PageDirectory, columns: Sequence[str]) -> pa.Table:
        leaves = self.footer.leaves_of(columns)
        spans = {
            group: [pages.spans(group, leaf, numbers) for leaf in leaves]
            for group, numbers in picked.groups.items()
        }
        loaded = self._source.load(
            [
                span
                for chunks in spans.values()
                for dictionary, data in chunks
                for span in ([dictionary, *data] if dictionary is not None else data)
            ]
        )
        view = loaded.view
        groups = [
            GroupPages(
                rows,
                [
                    LeafPages(
                        self.footer.kinds[leaf],
                        rows if self.footer.is_flat(leaf) else self._num_values(group, leaf),
                        None if dictionary is None else view(dictionary),
                        list(map(view, data)),
                    )
                    for leaf, (dictionary, data) in zip(leaves, spans[group], strict=True)
                ],
            )
            for group, rows in zip(picked.groups, picked.group_rows, strict=True)
        ]
        schema = pa.schema([self.footer.schema.field(name) for name in columns])
        coded = _texts_with_dictionary(schema, self.footer, groups, leaves)
        raw = parquet_excerpt(schema, groups)
        file = pq.ParquetFile(pa.BufferReader(raw), pre_buffer=False, read_dictionary=coded)
        table = file.read(use_threads=len(raw) >= _THREADS_FROM)
        self._check_count(table, sum(picked.group_rows))
        table = _take(table, picked.places)
        for name in coded:
            place = columns.index(name)
            table = table.set_column(place, schema.field(place), pc.cast(table.column(place), pa.string()))
        return table

    def _num_values(self, group: int, leaf: int) -> int:
        return int(self.footer.metadata.row_group(group).column(leaf).num_values)

    def _check_count(self, table: pa.Table, rows: int) -> None:
        if table.num_rows != rows:
            raise ValueError(f"it gave {table.num_rows} rows where its footer has {rows}")


def _take(table: pa.Table, places: RowIds) -> pa.Table:
    return table.combine_chunks().take(pa.array(places))


def _texts_with_dictionary(
    schema: pa.Schema, footer: Footer, groups: Sequence[GroupPages], leaves: Sequence[int]
) -> list[str]:
    """Return the string columns that have a dictionary: they are taken as numbers, and decoded when few are left."""
    coded = {
        footer.kinds[leaf].path[0]
        for place, leaf in enumerate(leaves)
        if any(group.leaves[place].dictionary is not None for group in groups)
    }
    return [field.name for field in schema if pa.types.is_string(field.type) and field.name in coded]

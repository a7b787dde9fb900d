"""Reading the rows of a dataset: all of them, those that satisfy a predicate, or those at given positions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.columns.arguments import check_parallelism, column_groups, expect, names, positions, row_span
from indextables.columns.chunk_reader import ChunkReader
from indextables.columns.conditions import condition, matches, roots
from indextables.columns.conformance import empty_rows, known_columns
from indextables.columns.deltas import Deletes, load_deletes
from indextables.columns.horizontal import HorizontalRows
from indextables.columns.layout import resolved
from indextables.columns.manifest import ColumnGroup, Manifest
from indextables.columns.pruning import surviving
from indextables.columns.stored_files import Files
from indextables.config import Settings
from indextables.errors import InputError
from indextables.predicates import TRUE, Predicate
from indextables.rows import RowIds
from indextables.runtime import lazy_property
from indextables.storage import table_uri

BATCH_ROWS: Final = 65536
_SPARSE: Final = 8
"""If fewer than one row in this many matches, the other columns are fetched for the matching rows alone."""


class Reader:
    """The rows of one version of a dataset, seen through `schema`.

    A column of the schema that is in no group is null in every row. `columns` are those that are read by default.
    `base` is where relative paths begin; the manifest of a transaction and the groups of a `Writer` have addresses.
    With `apply_deltas` the delta logs of the manifest delete rows; `primary_key` names the columns of their keys.

    >>> from indextables.columns import Writer
    >>> rows = pa.table({"id": [1, 2, 3], "text": ["a", "b", "c"]})
    >>> with Writer("memory:doc-columns-reader", rows.schema) as writer:
    ...     writer.write(rows)
    ...     groups = writer.close()
    >>> reader = Reader(groups, rows.schema)
    >>> reader.scan("id >= 2", columns=["text"]).read_all().to_pylist()
    [{'text': 'b'}, {'text': 'c'}]
    >>> reader.take([2, 0, 2], columns=["id"]).column("id").to_pylist()
    [3, 1, 3]
    """

    def __init__(
        self,
        source: Manifest | Iterable[ColumnGroup],
        schema: pa.Schema,
        *,
        base: str | os.PathLike[str] | None = None,
        columns: Sequence[str] | None = None,
        apply_deltas: bool = False,
        primary_key: str | Sequence[str] | None = None,
        settings: Settings | Mapping[str, str] | None = None,
    ) -> None:
        expect(schema, pa.Schema, "schema", "a pyarrow.Schema")
        manifest = source if isinstance(source, Manifest) else Manifest(column_groups(source))
        self._base = None if base is None else table_uri(base)
        self._manifest = manifest if self._base is None else resolved(manifest, self._base)
        self._schema = schema
        self._columns = known_columns(schema.names if columns is None else columns, schema)
        self._apply_deltas = apply_deltas
        self._primary_key = None if primary_key is None else names(primary_key, "primary_key", one=True)
        self._files = Files(settings)
        self._rows = HorizontalRows(self._manifest.column_groups, schema, self._files)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the columns that are read by default."""
        return self._rows.schema(self._columns)

    @property
    def num_rows(self) -> int:
        """The number of rows, without deleted ones if delta logs are applied."""
        return self._rows.num_rows - (len(self._deleted_rows) if self._apply_deltas else 0)

    def scan(
        self,
        predicate: Predicate | str | None = None,
        *,
        columns: Sequence[str] | None = None,
        rows: tuple[int, int] | None = None,
    ) -> pa.RecordBatchReader:
        """Return the rows for which the predicate is TRUE, in order, as a stream. The predicate may be SQL text.

        Row groups that cannot match are not read, nor are the other columns of those in which nothing matches.
        `rows` limits the scan to the positions from the first (included) to the second (excluded) of all rows stored.
        """
        names = self._names(columns)
        tables = self._tables(condition(predicate, self._schema), names, self._span(rows))
        batches = (batch for table in tables for batch in _batches(table))
        return pa.RecordBatchReader.from_batches(self._rows.schema(names), batches)

    def to_table(
        self, predicate: Predicate | str | None = None, *, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the rows of a scan, all at once. Without columns, the table still has its number of rows."""
        names = self._names(columns)
        tables = list(self._tables(condition(predicate, self._schema), names, self._span(None)))
        if not names:
            return empty_rows(sum(table.num_rows for table in tables))
        return pa.concat_tables(tables) if tables else self._rows.schema(names).empty_table()

    def count(self, predicate: Predicate | str | None = None, *, rows: tuple[int, int] | None = None) -> int:
        """Return how many rows a scan would return."""
        tree = condition(predicate, self._schema)
        start, stop = self._span(rows)
        if tree == TRUE and not self._apply_deltas:
            return stop - start
        return sum(table.num_rows for table in self._tables(tree, (), (start, stop)))

    def take(
        self,
        indices: Sequence[int] | npt.NDArray[np.int64] | pa.Array,
        columns: Sequence[str] | None = None,
        *,
        parallelism: int = 1,
    ) -> pa.Table:
        """Return the rows at these positions of a scan without predicate, in this order; a position may repeat.

        Only the pages that hold these rows are read, of Parquet files that have a page directory; of other Parquet
        files, only the row groups.
        """
        check_parallelism(parallelism)
        names, row_ids = self._names(columns), positions(indices)
        if len(row_ids) and not (row_ids.min() >= 0 and row_ids.max() < self.num_rows):
            wrong = row_ids.max() if row_ids.max() >= self.num_rows else row_ids.min()
            raise InputError(f"there is no row {wrong}; the rows are 0 to {self.num_rows - 1}")
        if not names:
            return empty_rows(len(row_ids))
        stored = self._stored_positions(row_ids) if self._apply_deltas else row_ids
        distinct, places = np.unique(stored, return_inverse=True)
        table = self._rows.fetch(distinct, names, parallelism)
        is_ascending = len(distinct) == len(places) and bool((np.diff(places) > 0).all())
        return table if is_ascending else table.take(pa.array(places))

    def get_chunk_reader(self, group: int, columns: Sequence[str] | None = None) -> ChunkReader:
        """Return a reader of one column group by the pieces that its files are made of. Delta logs are not applied.

        `columns` are those of the group to read, by default the ones that this reader reads, as the group
        orders them. There may be none: the chunks then have rows without columns.
        """
        groups = self._manifest.column_groups
        expect(group, int, "the number of a column group", "an int")
        if not 0 <= group < len(groups):
            raise InputError(f"there is no column group {group}; there are {len(groups)}, numbered from 0")
        present = groups[group].columns
        if columns is None:
            return ChunkReader(self._rows.groups[group], [name for name in present if name in self._columns])
        names = known_columns(columns, self._schema)
        absent = [name for name in names if name not in present]
        if absent:
            raise InputError(f"column {absent[0]!r} is not in column group {group}")
        return ChunkReader(self._rows.groups[group], names)

    @lazy_property
    def _deletes(self) -> Deletes:
        return load_deletes(
            self._manifest.delta_logs if self._apply_deltas else (),
            self._manifest.column_groups,
            self._schema,
            self._files,
            base=self._base,
            primary_key=self._primary_key,
        )

    @lazy_property
    def _deleted_rows(self) -> RowIds:
        """The positions of all deleted rows."""
        if not self._deletes.keys:
            return self._deletes.positions
        names = self._deletes.columns
        deleted: list[RowIds] = []
        for start, stop in self._rows.windows([(0, self._rows.num_rows)], names):
            stays = self._deletes.keep(start, _batch(self._rows.read(start, stop, names)))
            deleted.append(np.flatnonzero(~stays) + start)
        return np.concatenate(deleted) if deleted else self._deletes.positions

    def _stored_positions(self, live: RowIds) -> RowIds:
        """Return where the n-th row that is not deleted is stored: n plus the deleted rows before it."""
        before = self._deleted_rows - np.arange(len(self._deleted_rows))
        return live + np.searchsorted(before, live, side="right")

    def _tables(self, tree: Predicate, names: Sequence[str], span: tuple[int, int]) -> Iterator[pa.Table]:
        deletes = self._deletes
        tested = list(dict.fromkeys([*roots(tree, self._schema), *deletes.columns]))
        filters = tree != TRUE or bool(deletes.keys) or bool(len(deletes.positions))
        spans = surviving(self._rows.groups, tree, self._schema, span)
        every = list(dict.fromkeys([*names, *tested]))
        for start, stop in self._rows.windows(spans, every):
            if not filters:
                yield self._rows.read(start, stop, names)
                continue
            window = _batch(self._rows.read(start, stop, tested))
            keep = deletes.keep(start, window)
            if tree != TRUE:
                keep &= matches(tree, window).to_numpy(zero_copy_only=False)
            if keep.any():
                yield self._matching_rows(start, stop, keep, window, names)

    def _matching_rows(
        self,
        start: int,
        stop: int,
        keep: npt.NDArray[np.bool_],
        window: pa.RecordBatch,
        names: Sequence[str],
    ) -> pa.Table:
        """Return the matching rows of a window: the columns that were tested, and the others, which are read now."""
        count = int(keep.sum())
        missing = [column for column in names if column not in window.schema.names]
        if not names:
            return self._rows.fetch(np.flatnonzero(keep), ())
        mask = pa.array(keep)
        matching = pa.Table.from_batches([window.filter(mask)])
        if missing and count * _SPARSE < len(keep):
            others = self._rows.fetch(np.flatnonzero(keep) + start, missing)
        else:
            others = self._rows.read(start, stop, missing).filter(mask) if missing else None
        columns = [
            matching.column(column)
            if others is None or column in window.schema.names
            else others.column(column)
            for column in names
        ]
        return pa.table(columns, schema=self._rows.schema(names))

    def _names(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        return self._columns if columns is None else known_columns(columns, self._schema)

    def _span(self, rows: tuple[int, int] | None) -> tuple[int, int]:
        start, stop = (0, self._rows.num_rows) if rows is None else row_span(rows)
        if not 0 <= start <= stop <= self._rows.num_rows:
            raise InputError(
                f"there are no rows {start} to {stop}; the dataset has {self._rows.num_rows} rows"
            )
        return start, stop


def _batch(table: pa.Table) -> pa.RecordBatch:
    """Return a window of rows as one batch."""
    return table.combine_chunks().to_batches()[0] if table.num_rows else _no_rows(table)


def _no_rows(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in table.schema], schema=table.schema
    )


def _batches(table: pa.Table) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches(max_chunksize=BATCH_ROWS)
    return batches

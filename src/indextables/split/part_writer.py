"""One Parquet member of a split being written: some of its columns, whose pages all begin at the same rows."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import SchemaError
from indextables.parquet_chunks import chunk_checksums
from indextables.schema import TableSchema
from indextables.split.container import CHUNK_CHECKSUMS, PAGE_DIRECTORY
from indextables.split.pages import page_directory

_PAGE_BYTES: Final = 64 << 10
_MAX_PAGE_ROWS: Final = 256
"""A page is what one hit costs a search: this much of the widest column, but no more rows than this."""

_DICTIONARY_BYTES: Final = 16 << 10
"""A dictionary is read with any page of its row group, so it stays small; beyond this, values are written plainly."""

_ZSTD_LEVEL: Final = 1
_NO_LIMIT: Final = 1 << 30


class PartWriter:
    """Writes the columns of `schema` to a Parquet file; `texts` are those among them that are tokenised."""

    def __init__(
        self, path: Path, schema: TableSchema, texts: Collection[str], compression: str = "lz4"
    ) -> None:
        self.path = path
        self.columns = tuple(schema.names)
        self._schema = schema
        self._texts = texts
        self._compression = compression
        self._page_rows = _MAX_PAGE_ROWS
        self._writer: pq.ParquetWriter | None = None

    def write_group(self, rows: pa.Table) -> None:
        """Write these rows as one row group. They may have more columns than this member."""
        # One chunk a column: pages begin anew with each.
        table = rows.select(list(self.columns)).combine_chunks()
        self._opened(table).write_table(table, row_group_size=max(1, table.num_rows))

    def finish(self) -> list[tuple[str, bytes]]:
        """Close the file; the small members that go with it."""
        self._opened(self._schema.arrow.empty_table()).close()
        documents = [(self.path.name + CHUNK_CHECKSUMS, chunk_checksums(self.path))]
        pages = page_directory(self.path, self._page_rows)
        if pages is not None:
            documents.append((self.path.name + PAGE_DIRECTORY, pages))
        return documents

    def abort(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):  # closing writes a footer, to a file that is about to go
                self._writer.close()

    def _opened(self, first: pa.Table) -> pq.ParquetWriter:
        """The writer; the first rows say how many of their kind make a page."""
        if self._writer is None:
            widest = max((column.nbytes / max(1, len(column)) for column in first.columns), default=1)
            self._page_rows = max(1, min(_MAX_PAGE_ROWS, int(_PAGE_BYTES / max(1, widest))))
            self._writer = pq.ParquetWriter(self.path, self._schema.arrow, **self._options())
        return self._writer

    def _options(self) -> dict[str, Any]:
        return {
            "compression": self._compression,
            "compression_level": _ZSTD_LEVEL if self._compression == "zstd" else None,
            "write_page_checksum": True,
            "write_statistics": [name for name in self.columns if name not in self._texts],
            "use_dictionary": [
                column.name
                for column in self._schema
                if column.type in ("string", "byte", "short", "integer", "date")
                and column.name not in self._texts
            ],
            "dictionary_pagesize_limit": _DICTIONARY_BYTES,
            "max_rows_per_page": self._page_rows,
            "write_batch_size": self._page_rows,
            "data_page_size": _NO_LIMIT,
        }


def column_groups(columns: Sequence[str], chosen: str) -> list[list[str]]:
    """The columns of each member: groups as the setting names them, and one more for all the others, first.

    Columns that the table does not have are passed over: the setting may stand for many tables.

    >>> column_groups(["id", "title", "body", "vector"], "body; vector")
    [['id', 'title'], ['body'], ['vector']]
    >>> column_groups(["id", "body"], "")
    [['id', 'body']]
    """
    named = [
        [name.strip().lower() for name in group.split(",") if name.strip()] for group in chosen.split(";")
    ]
    every = [name for group in named for name in group]
    twice = sorted({name for name in every if every.count(name) > 1})
    if twice:
        raise SchemaError(f"column {twice[0]!r} is in two column groups; a column is stored once")
    rest = [name for name in columns if name.lower() not in every]
    groups = [rest, *([name for name in columns if name.lower() in group] for group in named)]
    return [group for group in groups if group] or [[]]

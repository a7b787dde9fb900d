"""Writing rows as a Parquet file whose pages all begin at the same rows, with the checksums that readers verify."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.rows.pages import checksums_and_pages

_NO_LIMIT: Final = 1 << 30


@dataclass(frozen=True)
class PageSize:
    """How large pages are: about `bytes` of the widest column in memory, within these numbers of rows."""

    bytes: int
    max_rows: int
    min_rows: int = 1

    def rows(self, sample: pa.Table) -> int:
        """Return how many rows like these make a page."""
        widest = max((column.nbytes / max(1, len(column)) for column in sample.columns), default=1)
        return max(self.min_rows, min(self.max_rows, int(self.bytes / max(1, widest))))


class RowWriter:
    """Writes one local file. The first rows decide how many make a page, and with `options` how they are encoded.

    `options` gets the first rows and the number of rows of a page; it returns further arguments of Parquet's writer.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        page_size: PageSize,
        options: Callable[[pa.Table, int], Mapping[str, Any]],
    ) -> None:
        self.path = path
        self._schema = schema
        self._page_size = page_size
        self._options = options
        self._page_rows = page_size.max_rows
        self._writer: pq.ParquetWriter | None = None

    def write_group(self, rows: pa.Table) -> None:
        """Write these rows as one row group. They may have more columns than the file."""
        # One chunk per column: Parquet begins a page with each chunk.
        table = rows.select(self._schema.names).combine_chunks()
        self._open(table).write_table(table, row_group_size=max(1, table.num_rows))

    def finish(self, metadata: Mapping[str, str] | None = None) -> tuple[bytes, bytes | None]:
        """Close the file, with this metadata in its footer; return the checksums and the page directory."""
        writer = self._open(self._schema.empty_table())
        if metadata:
            writer.add_key_value_metadata(dict(metadata))
        writer.close()
        return checksums_and_pages(self.path, self._page_rows)

    def abort(self) -> None:
        """Close the file, which is about to be deleted."""
        if self._writer is not None:
            with contextlib.suppress(Exception):  # closing writes a footer
                self._writer.close()

    def _open(self, first_rows: pa.Table) -> pq.ParquetWriter:
        if self._writer is None:
            self._page_rows = self._page_size.rows(first_rows)
            self._writer = pq.ParquetWriter(
                self.path,
                self._schema,
                write_page_checksum=True,
                **page_options(self._page_rows),
                **self._options(first_rows, self._page_rows),
            )
        return self._writer


def page_options(page_rows: int) -> dict[str, Any]:
    """Return the arguments of a Parquet writer that make pages of so many rows, and an index of where they are."""
    return {
        "write_page_index": True,
        "max_rows_per_page": page_rows,
        "write_batch_size": page_rows,
        "data_page_size": _NO_LIMIT,
    }

"""The rows and the files of a version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.table.arguments import to_columns, to_count
from indextables.table.handle.version import TableVersion
from indextables.table.history import files_table, with_column_names
from indextables.table.scans import ScanRequest

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class TableRows(TableVersion):
    """The part of a handle that returns rows and files as they are."""

    def files(self, where: str | None = None) -> pa.Table:
        """Return one row for each live file that may hold a row that satisfies `where`.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-files", pa.table({"day": ["mon", "tue"], "n": [1, 2]}), partition_by=["day"])
        >>> it.open("memory://doc-files").files(where="day = 'mon'").column("num_records").to_pylist()
        [1]
        """
        files = files_table(self._snapshot.prune(self._where(where)).entries)
        return with_column_names(files, self._snapshot.schema)

    def to_arrow(
        self, columns: Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pa.Table:
        """Return the rows that satisfy `where`, a Spark SQL condition that may use TEXTSEARCH and its siblings.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-to-arrow", pa.table({"id": [1, 2], "level": ["INFO", "ERROR"]}))
        >>> it.open("memory://doc-to-arrow").to_arrow(columns=["id"], where="level = 'ERROR'").to_pylist()
        [{'id': 2}]
        """
        batches = self.to_batches(columns, where=where, limit=limit)
        return pa.Table.from_batches(batches, schema=batches.schema)

    def to_batches(
        self, columns: Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """Return the rows of `to_arrow` as a stream, for results that are larger than memory.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-to-batches", pa.table({"n": range(5)}))
        >>> sum(batch.num_rows for batch in it.open("memory://doc-to-batches").to_batches(limit=3))
        3
        """
        names = to_columns(columns, self._snapshot.schema)
        return self._read(ScanRequest(names, self._where(where), limit=to_count(limit, "limit", "rows")))

    def to_pandas(
        self, columns: Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pd.DataFrame:
        """Return the rows of `to_arrow` as a pandas DataFrame.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-to-pandas", pa.table({"n": [1, 2]}))
        >>> int(it.open("memory://doc-to-pandas").to_pandas(where="n > 1")["n"].sum())
        2
        """
        return self.to_arrow(columns, where=where, limit=limit).to_pandas()

    def to_polars(
        self, columns: Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pl.DataFrame:
        """Return the rows of `to_arrow` as a Polars DataFrame. InputError if Polars is not installed.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-to-polars", pa.table({"n": [1, 2]}))
        >>> it.open("memory://doc-to-polars").to_polars(where="n > 1").to_dicts()
        [{'n': 2}]
        """
        from indextables.table.answers import to_polars

        return to_polars(self.to_arrow(columns, where=where, limit=limit))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return all rows as a stream of Arrow's C interface, which Polars, DuckDB and pandas read."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

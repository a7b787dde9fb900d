"""The handle of a table: one version of it, the questions that it answers, and the operations on its log."""

from __future__ import annotations

import pyarrow.compute as pc

from indextables.log import load_snapshot
from indextables.table.handle.changes import TableChanges
from indextables.table.handle.searches import TableSearches
from indextables.table.handle.upkeep import TableUpkeep


class Table(TableSearches, TableChanges, TableUpkeep):
    """One version of a table. It does not change; `open` the table again, or `refresh`, to see later versions.

    >>> import indextables as it, pyarrow as pa
    >>> rows = pa.table({"id": [1, 2], "message": ["disk full on db1", "login ok"]})
    >>> it.write("memory://doc-table", rows, text=["message"])
    0
    >>> table = it.open("memory://doc-table")
    >>> table
    <indextables.Table memory://doc-table version=0 files=1 rows=2>
    >>> table.version, table.schema.names, table.partition_columns, table.protocol.min_reader_version
    (0, ['id', 'message'], [], 4)
    >>> table.search("message:(disk AND full)", columns=["id"]).column("id").to_pylist()
    [1]
    """

    def refresh(self) -> Table:
        """Open the newest version of the same table, with the same settings.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-refresh", pa.table({"n": [1]}))
        >>> table = it.open("memory://doc-refresh")
        >>> _ = it.write("memory://doc-refresh", pa.table({"n": [2]}))
        >>> table.count(), table.refresh().count()
        (1, 2)
        """
        snapshot = load_snapshot(self._store(), settings=self._settings)
        return Table(self._uri, snapshot, self._settings)

    def __repr__(self) -> str:
        files = self._snapshot.files.entries()
        counts = pc.subtract(files.column("numRecords"), pc.fill_null(files.column("numDeleted"), 0))
        rows = "unknown" if counts.null_count else pc.sum(counts).as_py() or 0
        return f"<indextables.Table {self._uri} version={self.version} files={files.num_rows} rows={rows}>"

    def _repr_html_(self) -> str:
        from indextables.table.answers import table_view

        return table_view(self)

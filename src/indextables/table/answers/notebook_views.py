"""A table in a notebook: what it is, how its columns are indexed, and its last commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from indextables.notebook import table_html

if TYPE_CHECKING:
    from indextables.table.handle import Table

_COMMITS: Final = 3


def table_view(table: Table) -> str:
    """Return the table as HTML."""
    files = table.files()
    rows = table.count()
    size = (pc.sum(files.column("size")).as_py() or 0) / (1 << 20)
    kinds = {field.name: field.kind for field in table.snapshot.mapping.fields}
    columns = [
        (
            field.name,
            str(field.type),
            "partition" if field.name in table.partition_columns else kinds.get(field.name, "none"),
        )
        for field in table.schema
    ]
    commits = [
        (row["version"], f"{row['timestamp']:%Y-%m-%d %H:%M:%S}", row["operation"], row["rows_added"])
        for row in table.history().slice(0, _COMMITS).to_pylist()
    ]
    note = f"version {table.version}: {rows:,} rows in {files.num_rows:,} splits, {size:,.1f} MiB"
    return table_html(table.uri, ("column", "type", "index"), columns, note) + table_html(
        "Last commits", ("version", "time", "operation", "rows added"), commits
    )

"""DESCRIBE HISTORY and RESTORE TABLE: the versions of a table, and one of them as the newest."""

from __future__ import annotations

from typing import Final

import orjson
import pyarrow as pa

from indextables.schema import TimeError, parse_time
from indextables.spark.sql.statements import DescribeHistory, Restore
from indextables.spark.sql.tokens import misplaced
from indextables.table import Table, open_table

RESTORE_COLUMNS: Final = pa.schema(
    {
        "table_path": pa.string(),
        "status": pa.string(),
        "restored_version": pa.int64(),
        "version": pa.int64(),
        "num_files": pa.int64(),
    }
)


def describe_history(table: Table, statement: DescribeHistory) -> pa.Table:
    """Return the rows of `Table.history`, with the parameters as JSON text."""
    history = table.history()
    if statement.limit is not None:
        history = history.slice(0, statement.limit.number)
    at = history.schema.get_field_index("parameters")
    texts = [
        None if pairs is None else orjson.dumps(dict(pairs)).decode()
        for pairs in history.column(at).to_pylist()
    ]
    return history.set_column(at, pa.field("parameters", pa.string()), pa.array(texts, pa.string()))


def run_restore(table: Table, statement: Restore, sql: str, zone: str) -> pa.Table:
    """Restore a version and return its number and that of the new one. A time without a zone is in `zone`."""
    version = statement.version
    if statement.timestamp is not None:
        try:
            time = parse_time(statement.timestamp.name, zone)
        except ValueError as reason:
            text = str(reason) if isinstance(reason, TimeError) else "not a time such as 2026-01-31 12:00:00"
            raise misplaced(text, sql, statement.timestamp.position) from None
        version = open_table(table.uri, as_of=time, settings=table.settings).version
    assert version is not None, "the grammar requires a version or a time"
    restored = table.restore(version)
    row = {
        "table_path": table.uri,
        "status": "SUCCESS",
        "restored_version": version,
        "version": restored,
        "num_files": table.refresh().files().num_rows,
    }
    return pa.Table.from_pylist([row], schema=RESTORE_COLUMNS)

"""The rows of a command for the JVM: a Spark schema, and JSON, in the answer or, if it is long, in a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any, Final

import orjson
import pyarrow as pa

from indextables.schema import field_json, struct_json
from indextables.storage import disk_errors

MAX_INLINE_BYTES: Final = 1 << 20
"""An answer is metadata of a schema, which Spark can pass on up to a few megabytes."""

_BATCH_ROWS: Final = 1000
_TYPES: Final = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "integer",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.timestamp("ms", tz="UTC"): "timestamp",
}


def rows_answer(table: pa.Table) -> dict[str, Any]:
    r"""Return the schema, and the rows as JSON arrays, one per line. Timestamps are microseconds since 1970.

    >>> rows_answer(pa.table({"a": [1], "b": [{"c": "x"}]}))["rows"]
    '[1,["x"]]\n'
    """
    return {"schema": struct_json(map(_field, table.schema)), **_inline_or_file(_lines(table))}


def _field(column: pa.Field) -> dict[str, Any]:
    if pa.types.is_struct(column.type):
        return field_json(column.name, {"type": "struct", "fields": list(map(_field, column.type))})
    return field_json(column.name, _TYPES[column.type])


def _inline_or_file(lines: Iterator[bytes]) -> dict[str, str]:
    inline: list[bytes] = []
    size = 0
    for line in lines:
        inline.append(line)
        size += len(line)
        if size > MAX_INLINE_BYTES:
            return {"file": _written([*inline], lines)}
    return {"rows": b"".join(inline).decode()}


def _written(first: list[bytes], rest: Iterator[bytes]) -> str:
    """Write a file that the JVM on this machine reads and deletes."""
    with disk_errors("save the rows of an answer in", tempfile.gettempdir()):
        handle, path = tempfile.mkstemp(prefix="indextables-", suffix=".jsonl")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(first)
                file.writelines(rest)
        except BaseException:
            os.unlink(path)  # noqa: PTH108
            raise
    return path


def _lines(table: pa.Table) -> Iterator[bytes]:
    for batch in _micros(table).to_batches(max_chunksize=_BATCH_ROWS):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            values = [list(value.values()) if isinstance(value, dict) else value for value in row]
            yield orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


def _micros(table: pa.Table) -> pa.Table:
    """Return the table with timestamps as Spark's numbers, microseconds."""
    columns = [
        column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)

"""Rows that a caller gives: Arrow data of several kinds as one stream of batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from indextables.errors import InputError
from indextables.schema import TableSchema


def arrow_stream(data: Any) -> tuple[TableSchema, Iterable[pa.RecordBatch]]:
    """Return the columns of the rows, and the rows. InputError for data of another kind."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return TableSchema.from_arrow(data.schema), data.to_batches(max_chunksize=65536)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return TableSchema.from_arrow(reader.schema), reader
    raise InputError(
        f"cannot write a {type(data).__name__}; give a pyarrow Table, RecordBatch or RecordBatchReader, "
        "or an object with __arrow_c_stream__ such as a Polars or pandas DataFrame"
    )

"""Rows that a caller gives: Arrow data of several kinds as one stream of batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from indextables.errors import InputError
from indextables.schema import TableSchema


def arrow_stream(data: Any) -> tuple[TableSchema, Iterable[pa.RecordBatch]]:
    """Return the columns of the rows, and the rows. InputError for data of another kind."""
    if isinstance(data, Mapping | list | tuple):
        data = _from_python(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return TableSchema.from_arrow(data.schema), data.to_batches(max_chunksize=65536)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        if hasattr(type(data), "__dataframe__"):  # of pandas or Polars: its rows are in memory
            return TableSchema.from_arrow(reader.schema), reader.read_all().to_batches(max_chunksize=65536)
        return TableSchema.from_arrow(reader.schema), reader
    raise InputError(
        f"cannot write a {type(data).__name__}; give a pyarrow Table, RecordBatch or RecordBatchReader, "
        "an object with __arrow_c_stream__ such as a Polars or pandas DataFrame, a list of dictionaries, or a "
        "dictionary of columns"
    )


def _from_python(data: Any) -> pa.Table:
    """Return rows as dictionaries, or columns as lists, as a table. InputError if they are not."""
    try:
        if isinstance(data, Mapping):
            return pa.table({_name(name): _column(values) for name, values in data.items()})
        names = dict.fromkeys(name for row in data for name in row.keys())  # noqa: SIM118 - a row must be a mapping
        columns = {_name(name): pa.array([row.get(name) for row in data]) for name in names}
    except (pa.ArrowException, AttributeError, TypeError, ValueError, OverflowError) as reason:
        raise InputError(
            f"the data is no table: {reason}; give a list of dictionaries, or a dictionary of columns of one length"
        ) from reason
    if not columns:
        raise InputError("the data has no columns; give a list of dictionaries, or a dictionary of columns")
    return pa.table(columns)


def _name(name: Any) -> str:
    """Return the name of a column. Arrow would take bytes, and call a column of None 'None'."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a column is text, not {name!r:.100}")
    name.encode()  # lone surrogates have no UTF-8
    return name


def _column(values: Any) -> Any:
    """Return a column as Arrow takes it. Text is a sequence too, and is not a column."""
    if isinstance(values, str | bytes):
        raise TypeError(f"a column is a list of values, not {values!r}")
    return values

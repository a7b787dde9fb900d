"""Conforming rows to a schema: its columns, in its order and types, where that loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.columns.arguments import expect, names
from indextables.errors import SchemaError

_FAMILIES: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
    lambda kind: (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    ),
    pa.types.is_temporal,
    pa.types.is_nested,
)
"""Within a family a cast that Arrow calls safe keeps every value; between families it parses or prints them."""


def conform_table(rows: pa.Table | pa.RecordBatch, schema: pa.Schema, name: str) -> pa.Table:
    """Return the rows with exactly these columns, in this order; errors call the rows `name`.

    >>> schema = pa.schema([("a", pa.int32()), ("b", pa.int64())])
    >>> conform_table(pa.table({"b": [1], "a": [2]}), schema, "rows").to_pylist()
    [{'a': 2, 'b': 1}]
    """
    expect(rows, (pa.Table, pa.RecordBatch), name, "a pyarrow.Table or RecordBatch")
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    if table.schema.equals(schema):
        return table
    columns = table.schema.names
    missing = [column for column in schema.names if column not in columns]
    extra = [column for column in columns if column not in schema.names]
    if missing or extra or len(columns) != len(set(columns)):
        details = [f"missing: {', '.join(map(repr, missing))}"] if missing else []
        details += [f"not in the schema: {', '.join(map(repr, extra))}"] if extra else []
        raise SchemaError(
            f"{name} do not have the columns of the schema ({'; '.join(details) or 'one twice'})"
        )
    return cast_columns(table.select(schema.names), schema, name)


def cast_columns(table: pa.Table, schema: pa.Schema, name: str) -> pa.Table:
    """Return the same columns in the types of the schema."""
    if table.schema.equals(schema):
        return table
    columns = [_cast(table.column(i), field, name) for i, field in enumerate(schema)]
    return pa.table(columns, schema=schema) if columns else table


def check_type(kind: pa.DataType, field: pa.Field, name: str) -> None:
    """Raise SchemaError for a type that has no value in common with the schema's."""
    if not _is_akin(kind, field.type):
        raise _misfit(field, kind, name, "cast it first, or give the schema its type")


def _cast(values: pa.ChunkedArray, field: pa.Field, name: str) -> pa.ChunkedArray:
    if not field.nullable and values.null_count:
        raise SchemaError(
            f"column {field.name!r} of {name} has nulls, but the schema declares it as not null"
        )
    if values.type == field.type:
        return values
    check_type(values.type, field, name)
    try:
        return pc.cast(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise _misfit(field, values.type, name, str(reason)) from None


def _is_akin(kind: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_akin(kind.value_type, target)
    if pa.types.is_dictionary(target):
        return _is_akin(kind, target.value_type)
    if kind == target or pa.types.is_null(kind):
        return True
    return any(member(kind) and member(target) for member in _FAMILIES)


def _misfit(field: pa.Field, kind: pa.DataType, name: str, reason: str) -> SchemaError:
    return SchemaError(
        f"column {field.name!r} of {name} is {kind}, but the schema declares {field.type}: {reason}"
    )


def empty_rows(count: int) -> pa.Table:
    """Return a table of `count` rows and no columns."""
    array = pa.Array.from_buffers(pa.struct([]), count, [None], children=[])
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(array)])


def known_columns(columns: Sequence[str], schema: pa.Schema) -> tuple[str, ...]:
    """Return the requested columns. Raises SchemaError for one that is not in the schema, or is requested twice."""
    existing, seen = frozenset(schema.names), set[str]()
    columns = names(columns, "columns")
    for name in columns:
        if name not in existing:
            raise SchemaError(f"there is no column {name!r}; there are {', '.join(schema.names)}")
        if name in seen:
            raise SchemaError(f"column {name!r} is requested twice; name it once")
        seen.add(name)
    return columns

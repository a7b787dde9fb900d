"""Predicates on the rows of a dataset: as a tree or in SQL, for columns of any type."""

from __future__ import annotations

from typing import get_args

import pyarrow as pa
import pyarrow.compute as pc

from indextables.columns.arguments import expect
from indextables.columns.conformance import known_columns
from indextables.errors import PredicateError, SchemaError
from indextables.predicates import (
    TRUE,
    Predicate,
    columns_of,
    evaluate,
    parse_where,
    text_queries,
)
from indextables.schema import RESERVED_COLUMNS, Field, TableSchema


def condition(predicate: Predicate | str | None, schema: pa.Schema) -> Predicate:
    """Return the tree of a condition, checked against the columns.

    >>> condition("n > 1", pa.schema([("n", pa.int64())]))
    Compare(op='>', column='n', value=1)
    """
    if predicate is None:
        return TRUE
    trees = get_args(Predicate)
    expect(predicate, (str, *trees), "the condition", "SQL text or a tree of indextables.predicates")
    tree = parse_where(predicate, comparable(schema)) if isinstance(predicate, str) else predicate
    searches = text_queries(tree)
    if searches:
        raise PredicateError(
            f"{searches[0].op} needs an index, which column groups do not have; compare values instead"
        )
    known_columns(roots(tree, schema), schema)
    return tree


def comparable(schema: pa.Schema) -> TableSchema:
    """Return the columns in the types that conditions compare; one of another type can be used in IS NULL only."""
    return TableSchema(tuple(_field(field) for field in schema if field.name.lower() not in RESERVED_COLUMNS))


def roots(tree: Predicate, schema: pa.Schema) -> list[str]:
    """Return the columns that a condition reads: for a field of a struct, that of the struct."""
    types = comparable(schema)
    return sorted({types.root(name) if types.resolve(name) else name for name in columns_of(tree)})


def matches(tree: Predicate, rows: pa.RecordBatch) -> pa.BooleanArray:
    """Evaluate the tree for each row; NULL does not match."""
    columns = [_plain(column) for column in rows.columns]
    batch = pa.RecordBatch.from_arrays(columns, names=rows.schema.names)
    return evaluate(tree, batch).fill_null(fill_value=False)


def _field(field: pa.Field) -> Field:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_unsigned_integer(kind) and kind != pa.uint64():
        kind = pa.int64()
    try:
        return TableSchema.from_arrow(pa.schema([pa.field(field.name, kind)])).fields[0]
    except SchemaError:
        return Field(field.name, str(field.type))


def _plain(values: pa.Array) -> pa.Array:
    """Return the values in a type that Arrow compares with a literal of full precision."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _plain(values.dictionary_decode())
    if pa.types.is_string_view(kind):
        return pc.cast(values, pa.string())
    if kind == pa.uint64():
        return pc.cast(values, pa.decimal128(20, 0))
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        return pc.cast(values, pa.timestamp("us", kind.tz))
    return values

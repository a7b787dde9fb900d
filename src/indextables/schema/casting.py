"""Rows in the columns and types of a table: every value exactly, or an error."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.schema.list_views import plain_lists
from indextables.schema.types import TableSchema, Value


def conform(
    batch: pa.RecordBatch, schema: TableSchema, missing: Mapping[str, Value | None] = MappingProxyType({})
) -> pa.RecordBatch:
    """Return the batch with the columns of the schema, in its order and types.

    A column is found by its exact name, else by its name in another case. Columns that the schema does not have are
    left out. `missing` has the values of columns that the batch may lack. SchemaError if another column is missing, or
    if a cast would change a value.

    >>> schema = TableSchema.from_arrow(pa.schema({"id": pa.int64(), "name": pa.string()}))
    >>> conform(pa.record_batch({"Name": ["a"], "id": pa.array([1], pa.int8())}), schema).to_pylist()
    [{'id': 1, 'name': 'a'}]
    """
    if batch.schema.equals(schema.arrow):
        return batch
    names = batch.schema.names
    by_name = {name.lower(): i for i, name in enumerate(names)} | {name: i for i, name in enumerate(names)}
    arrays = []
    for column in schema:
        place = by_name.get(column.name, by_name.get(column.name.lower()))
        if place is None and column.name in missing:
            value = pa.scalar(missing[column.name], column.arrow_type)
            arrays.append(pa.repeat(value, batch.num_rows))
            continue
        if place is None:
            raise SchemaError(
                f"a batch has no column {column.name!r}: all batches of a write need the same columns"
            )
        arrays.append(cast_exactly(batch.column(place), column.name, column.arrow_type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema.arrow)


def cast_exactly(values: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
    """Cast the values of column `name` to type `kind`. SchemaError if the cast would change a value.

    >>> cast_exactly(pa.array([1_000], pa.timestamp("ns", "UTC")), "at", pa.timestamp("us", "UTC"))[0].value
    1
    >>> cast_exactly(pa.array([0.1]), "f", pa.float32())
    Traceback (most recent call last):
        ...
    indextables.errors.SchemaError: column 'f' does not fit type float: 0.1 would become 0.10000000149011612
    """
    if values.type == kind:
        return values
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    values = plain_lists(values, name)
    try:
        cast = pc.cast(values, kind, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        hint = ""
        if pa.types.is_timestamp(values.type) and pa.types.is_timestamp(kind):
            hint = (
                "; a table keeps microseconds: round the column first, "
                "for example with pyarrow.compute.floor_temporal(column, unit='microsecond')"
            )
        raise SchemaError(f"column {name!r} does not fit type {kind}: {reason}{hint}") from None
    if pa.types.is_floating(values.type) and pa.types.is_floating(kind):  # Arrow rounds these silently
        _check_floats(values, cast, name, kind)
    return cast


def _check_floats(values: pa.Array, cast: pa.Array, name: str, kind: pa.DataType) -> None:
    """Raise SchemaError for the first value that the cast has rounded."""
    wide = pc.cast(values, pa.float64())
    back = pc.cast(cast, pa.float64())
    changed = pc.and_(pc.not_equal(wide, back), pc.invert(pc.and_(pc.is_nan(wide), pc.is_nan(back))))
    first = pc.index(changed, pa.scalar(value=True)).as_py()
    if first >= 0:
        raise SchemaError(
            f"column {name!r} does not fit type {kind}: {wide[first]} would become {back[first]}"
        )

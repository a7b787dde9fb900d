"""Types of column groups in Spark: its schema JSON, and the Arrow types in which its workers exchange rows."""

from __future__ import annotations

import orjson
import pyarrow as pa

from indextables.errors import SchemaError
from indextables.schema import arrow_type, canonical_type, field_json, spark_type, struct_json, type_json


def spark_schema(schema: pa.Schema) -> str:
    """Return Spark's schema JSON. SchemaError for a column that Spark cannot hold.

    >>> spark_schema(pa.schema([("v", pa.list_(pa.float32(), 4))]))[:72]
    '{"type":"struct","fields":[{"name":"v","type":{"type":"array","elementTy'
    """
    return struct_json(field_json(column.name, type_json(_spark_type(column))) for column in schema)


def arrow_schema(text: str) -> pa.Schema:
    """Return the Arrow types in which Spark sends and receives rows of this schema.

    >>> arrow_schema(spark_schema(pa.schema([("n", pa.uint8()), ("t", pa.large_string())])))
    n: int16
    t: string
    """
    fields = orjson.loads(text)["fields"]
    return pa.schema([pa.field(field["name"], _arrow_type(field["type"], field["name"])) for field in fields])


def _spark_type(field: pa.Field) -> str:
    kind = spark_type(field.type)
    if kind is None:
        raise SchemaError(
            f"column {field.name!r} is {field.type}, for which Spark has no type; read it with Python instead"
        )
    return kind


def _arrow_type(kind: object, column: str) -> pa.DataType:
    arrow = arrow_type(canonical_type(kind))
    if arrow is None:
        raise SchemaError(
            f"column {column!r} has type {kind}, which column groups cannot hold; cast it or leave it out"
        )
    return arrow

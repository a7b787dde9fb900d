"""Types of column groups in Spark: its schema JSON, and the Arrow types in which its workers exchange rows."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson
import pyarrow as pa

from indextables.errors import SchemaError
from indextables.schema import ARROW_TYPES

_NAMED: Final[dict[str, pa.DataType]] = {**ARROW_TYPES, "timestamp_ntz": pa.timestamp("us")}
_WIDENED: Final[dict[pa.DataType, str]] = {
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.uint64(): "decimal(20,0)",
    pa.float16(): "float",
}
"""Types that Spark does not have, with the narrowest Spark type that holds every value."""

_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


def spark_schema(schema: pa.Schema) -> str:
    """Return Spark's schema JSON. SchemaError for a column that Spark cannot hold.

    >>> spark_schema(pa.schema([("v", pa.list_(pa.float32(), 4))]))[:72]
    '{"type":"struct","fields":[{"name":"v","type":{"type":"array","elementTy'
    """
    return orjson.dumps(_struct(schema)).decode()


def arrow_schema(text: str) -> pa.Schema:
    """Return the Arrow types in which Spark sends and receives rows of this schema.

    >>> arrow_schema(spark_schema(pa.schema([("n", pa.uint8()), ("t", pa.large_string())])))
    n: int16
    t: string
    """
    fields = orjson.loads(text)["fields"]
    return pa.schema([pa.field(field["name"], _arrow_type(field["type"], field["name"])) for field in fields])


def _struct(fields: Any) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": f.name, "type": _spark_type(f.type, f.name), "nullable": True, "metadata": {}}
            for f in fields
        ],
    }


def _spark_type(kind: pa.DataType, column: str) -> Any:
    types = pa.types
    if types.is_dictionary(kind):
        return _spark_type(kind.value_type, column)
    if kind in _WIDENED:
        return _WIDENED[kind]
    for name, arrow_type in _NAMED.items():
        if kind == arrow_type:
            return name
    if types.is_large_string(kind) or types.is_string_view(kind):
        return "string"
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return "binary"
    if types.is_date(kind):
        return "date"
    if types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if types.is_decimal(kind) and kind.precision <= 38:
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return {"type": "array", "elementType": _spark_type(kind.value_type, column), "containsNull": True}
    if types.is_map(kind):
        return {
            "type": "map",
            "keyType": _spark_type(kind.key_type, column),
            "valueType": _spark_type(kind.item_type, column),
            "valueContainsNull": True,
        }
    if types.is_struct(kind):
        return _struct(kind.fields)
    raise SchemaError(
        f"column {column!r} is {kind}, for which Spark has no type; read it with Python instead"
    )


def _arrow_type(kind: Any, column: str) -> pa.DataType:
    if isinstance(kind, str):
        if kind in _NAMED:
            return _NAMED[kind]
        decimal = _DECIMAL.fullmatch(kind)
        if decimal:
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
    else:
        match kind.get("type"):
            case "array":
                return pa.list_(pa.field("element", _arrow_type(kind["elementType"], column)))
            case "map":
                return pa.map_(_arrow_type(kind["keyType"], column), _arrow_type(kind["valueType"], column))
            case "struct":
                fields = kind["fields"]
                return pa.struct([pa.field(f["name"], _arrow_type(f["type"], column)) for f in fields])
    raise SchemaError(
        f"column {column!r} has type {kind}, which column groups cannot hold; cast it or leave it out"
    )

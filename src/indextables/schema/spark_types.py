"""Spark's types, by their name or their JSON, and the Arrow type in which rows have each.

A type is text: Spark's name of a simple type, as in its schema JSON, and the JSON itself of an array, map or struct.
Everything inside a nested type is nullable, as columns are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import orjson
import pyarrow as pa

ARROW_TYPES: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "void": pa.null(),
}
"""Spark's names of the types without parameters, as in its schema JSON, and the Arrow type of each."""

INTEGER_TYPES: Final = frozenset({"byte", "short", "integer", "long"})
FLOAT_TYPES: Final = frozenset({"float", "double"})
TIME_TYPES: Final = frozenset({"timestamp", "timestamp_ntz"})
FIRST_TYPES: Final = frozenset(ARROW_TYPES) - {"timestamp_ntz", "void"}
"""The types that every release knows. A table with another one requires a feature of the protocol."""

SUPPORTED: Final = (*ARROW_TYPES, "decimal(p,s)", "array", "map", "struct")
MAX_PRECISION: Final = 38
MAX_DEPTH: Final = 32
"""How deep types may nest: Arrow, Parquet and Spark walk them recursively."""

VARYING_STRING: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of Spark's metadata for a string column that was declared as char or varchar."""

_WIDENED: Final[dict[pa.DataType, str]] = {
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.uint64(): "decimal(20,0)",
    pa.float16(): "float",
}
"""Types that Spark does not have, with the narrowest Spark type that holds every value."""

_DECIMAL: Final = re.compile(r"decimal(?:\((\d{1,2}),\s*(-?\d{1,2})\))?")
_VARYING: Final = re.compile(r"(?:var)?char\(\d+\)")
_DEFAULT_COLLATION: Final = "string collate UTF8_BINARY"
"""Spark's name for a plain string whose collation is explicit, as SHOW CREATE TABLE writes it."""


def canonical_type(kind: Any) -> str:
    """Return a type of Spark's schema JSON as text; one that no table can hold comes back as it is.

    >>> canonical_type("decimal(9, 2)")
    'decimal(9,2)'
    >>> canonical_type({"type": "array", "elementType": "long", "containsNull": False})
    '{"type":"array","elementType":"long","containsNull":true}'
    """
    nullable = _nullable(kind, 0)
    return nullable if isinstance(nullable, str) else orjson.dumps(nullable).decode()


def is_varying_string(kind: str) -> bool:
    """Return True for Spark's char and varchar, which are strings whose length Spark checks."""
    return _VARYING.fullmatch(kind) is not None


def type_json(kind: str) -> Any:
    """Return a type as a value of Spark's schema JSON."""
    return orjson.loads(kind) if is_nested(kind) else kind


def field_json(name: str, kind: Any, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a column, or a field of a struct, as a value of Spark's schema JSON, which `kind` is too."""
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata or {}}


def struct_json(fields: Iterable[dict[str, Any]]) -> str:
    """Return columns as Spark's schema JSON.

    >>> struct_json([field_json("n", "long")])
    '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'
    """
    return orjson.dumps({"type": "struct", "fields": list(fields)}).decode()


def spark_types_by_name(text: str) -> dict[str, Any]:
    """Return the type of each column of Spark's schema JSON, as it is there.

    ValueError, KeyError or TypeError for other text.

    >>> spark_types_by_name(struct_json([field_json("n", "long"), field_json("s", "string")]))
    {'n': 'long', 's': 'string'}
    """
    return {field["name"]: field["type"] for field in orjson.loads(text)["fields"]}


def is_nested(kind: str) -> bool:
    return kind.startswith("{")


def is_orderable(kind: str) -> bool:
    """Return True if a column of this type has a minimum and a maximum."""
    return not is_nested(kind) and kind not in ("binary", "void")


def decimal_size(kind: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type; None for other types.

    >>> decimal_size("decimal(9,2)"), decimal_size("long")
    ((9, 2), None)
    """
    match = _DECIMAL.fullmatch(kind)
    if match is None:
        return None
    return (int(match[1]), int(match[2])) if match[1] else (10, 0)


@lru_cache(maxsize=1024)
def arrow_type(kind: str) -> pa.DataType | None:
    """Return the Arrow type of a type, or None if a table cannot hold it.

    >>> arrow_type("decimal(9,2)")
    Decimal128Type(decimal128(9, 2))
    >>> arrow_type('{"type":"array","elementType":"string","containsNull":true}')
    ListType(list<element: string>)
    >>> arrow_type("interval day")
    """
    return _arrow_type(type_json(kind), 0)


def type_name(kind: str) -> str:
    """Return a type as Spark's DESCRIBE shows it, for messages.

    >>> type_name('{"type":"array","elementType":"long","containsNull":true}')
    'array<long>'
    """
    return _name(type_json(kind)) if arrow_type(kind) is not None else kind


def spark_type(kind: pa.DataType) -> str | None:
    """Return the narrowest type that holds every value of an Arrow type, or None if there is none.

    >>> spark_type(pa.uint64()), spark_type(pa.list_(pa.float32(), 4))
    ('decimal(20,0)', '{"type":"array","elementType":"float","containsNull":true}')
    """
    document = _spark_type(kind, 0)
    if document is None or isinstance(document, str):
        return document
    return orjson.dumps(document).decode()


def is_variant(kind: pa.DataType) -> bool:
    """Return True for the Arrow type in which Spark passes a variant."""
    return pa.types.is_struct(kind) and any(
        (field.metadata or {}).get(b"variant") == b"true" for field in kind.fields
    )


def struct_fields(kind: str) -> list[tuple[str, str]]:
    """Return the names and types of a struct's fields; none for other types."""
    document = _nested_json(kind)
    if document.get("type") != "struct":
        return []
    return [(field["name"], canonical_type(field["type"])) for field in document["fields"]]


def element_type(kind: str) -> str | None:
    """Return the type of an array's elements; None for other types."""
    document = _nested_json(kind)
    if document.get("type") != "array":
        return None
    return canonical_type(document["elementType"])


def map_types(kind: str) -> tuple[str, str] | None:
    """Return the types of a map's keys and values; None for other types."""
    document = _nested_json(kind)
    if document.get("type") != "map":
        return None
    return canonical_type(document["keyType"]), canonical_type(document["valueType"])


def _nested_json(kind: str) -> dict[str, Any]:
    """Return the JSON of a nested type; empty for other types, and for one that no table can hold."""
    return orjson.loads(kind) if is_nested(kind) and arrow_type(kind) is not None else {}


def _nullable(kind: Any, depth: int) -> Any:
    """Return the JSON of a type in which everything is nullable; what is not understood stays as it is."""
    if isinstance(kind, str):
        if kind == _DEFAULT_COLLATION:
            return "string"
        size = decimal_size(kind)
        return kind if size is None else f"decimal({size[0]},{size[1]})"
    if not isinstance(kind, dict) or depth > MAX_DEPTH:
        return kind
    match kind:
        case {"type": "array", "elementType": element}:
            return {"type": "array", "elementType": _nullable(element, depth + 1), "containsNull": True}
        case {"type": "map", "keyType": key, "valueType": value}:
            return {
                "type": "map",
                "keyType": _nullable(key, depth + 1),
                "valueType": _nullable(value, depth + 1),
                "valueContainsNull": True,
            }
        case {"type": "struct", "fields": list(fields)} if all(map(_is_field, fields)):
            return {"type": "struct", "fields": [_nullable_field(field, depth) for field in fields]}
    return kind


def _is_field(field: Any) -> bool:
    return isinstance(field, dict) and isinstance(field.get("name"), str) and "type" in field


def _nullable_field(field: dict[str, Any], depth: int) -> dict[str, Any]:
    return field_json(field["name"], _nullable(field["type"], depth + 1), field.get("metadata"))


def _arrow_type(kind: Any, depth: int) -> pa.DataType | None:
    if isinstance(kind, str):
        if (size := decimal_size(kind)) is not None:
            precision, scale = size
            is_valid = 1 <= precision <= MAX_PRECISION and 0 <= scale <= precision
            return pa.decimal128(precision, scale) if is_valid else None
        return pa.string() if is_varying_string(kind) else ARROW_TYPES.get(kind)
    if depth > MAX_DEPTH:
        return None
    match kind:
        case {"type": "array", "elementType": inner}:
            element = _arrow_type(inner, depth + 1)
            return None if element is None else pa.list_(pa.field("element", element))
        case {"type": "map", "keyType": of_keys, "valueType": of_values}:
            key, value = _arrow_type(of_keys, depth + 1), _arrow_type(of_values, depth + 1)
            return None if key is None or value is None or pa.types.is_null(key) else pa.map_(key, value)
        case {"type": "struct", "fields": list(fields)} if fields and all(map(_is_field, fields)):
            types = [_arrow_type(field["type"], depth + 1) for field in fields]
            names = [field["name"] for field in fields]
            if None in types or len({name.lower() for name in names}) < len(names):
                return None
            return pa.struct(list(map(pa.field, names, types)))
    return None


def _name(kind: Any) -> str:
    match kind:
        case {"type": "array", "elementType": element}:
            return f"array<{_name(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_name(key)},{_name(value)}>"
        case {"type": "struct", "fields": fields}:
            return f"struct<{','.join(field['name'] + ':' + _name(field['type']) for field in fields)}>"
    return str(kind)


def _spark_type(kind: pa.DataType, depth: int) -> Any:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _spark_type(kind.value_type, depth)
    if kind in _WIDENED:
        return _WIDENED[kind]
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "string"
    if types.is_fixed_size_binary(kind) and not types.is_decimal(kind):
        return "binary"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return "binary"
    if types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if types.is_date(kind):
        return "date"
    if types.is_decimal(kind):
        is_valid = kind.precision <= MAX_PRECISION and 0 <= kind.scale <= kind.precision
        return f"decimal({kind.precision},{kind.scale})" if is_valid else None
    if types.is_nested(kind):
        return None if depth > MAX_DEPTH else _nested_type(kind, depth)
    return next((name for name, arrow in ARROW_TYPES.items() if kind == arrow), None)


def _nested_type(kind: pa.DataType, depth: int) -> dict[str, Any] | None:
    types = pa.types
    if types.is_map(kind):
        key, value = _spark_type(kind.key_type, depth + 1), _spark_type(kind.item_type, depth + 1)
        if key is None or value is None:
            return None
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    if types.is_struct(kind):
        if is_variant(kind):
            return None  # its parts mean nothing by themselves
        fields = [(field.name, _spark_type(field.type, depth + 1)) for field in kind.fields]
        if any(inner is None for _, inner in fields):
            return None
        return {"type": "struct", "fields": [field_json(name, inner) for name, inner in fields]}
    if types.is_union(kind):
        return None
    element = _spark_type(kind.value_type, depth + 1)
    return None if element is None else {"type": "array", "elementType": element, "containsNull": True}

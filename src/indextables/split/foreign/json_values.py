"""Arrays, maps and structs that another writer stored as JSON, as values of a column.

An array is inside an object, under the key `_values` or the name of the column. Dates and timestamps are milliseconds
since 1970, binary values Base64, and decimals text. The index turns text that is a time in RFC 3339 into a time.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson

from indextables.runtime import EPOCH
from indextables.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    TIME_TYPES,
    Field,
    decimal_size,
    element_type,
    map_types,
    parse_decimal,
    struct_fields,
)

_WRAPPED: Final = "_values"


def json_value(value: Any, column: Field) -> Any:
    """Return a stored JSON value as the column has it. ValueError or TypeError if it is not of the column's type."""
    if column.type == "string":
        return value if isinstance(value, str) else orjson.dumps(value, default=_text).decode()
    if element_type(column.type) is not None and isinstance(value, dict):
        value = value.get(_WRAPPED, value.get(column.name, []))
    return _convert(value, column.type)


def _convert(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if (element := element_type(kind)) is not None:
        return [_convert(item, element) for item in _expect(value, list)]
    if (types := map_types(kind)) is not None:
        key, item = types
        return [(_key(name, key), _convert(v, item)) for name, v in _expect(value, dict).items()]
    if fields := struct_fields(kind):
        given = _expect(value, dict)
        return {name: _convert(given.get(name), inner) for name, inner in fields}
    return _simple(kind)(value)


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"a JSON {type(value).__name__} where a {kind.__name__} is expected")
    return value


def _key(name: str, kind: str) -> Any:
    return int(name) if kind in INTEGER_TYPES else _simple(kind)(name)


def _simple(kind: str) -> Callable[[Any], Any]:
    """Return the function that converts a value to a type without inner types."""
    if kind in INTEGER_TYPES:
        return _integer
    if kind in FLOAT_TYPES:
        return float
    if kind in TIME_TYPES:
        return lambda value: _time(value) if kind == "timestamp" else _time(value).replace(tzinfo=None)
    if decimal_size(kind) is not None:
        return lambda value: parse_decimal(str(value))
    return {
        "string": _text,
        "boolean": lambda v: _expect(v, bool),
        "date": _date,
        "binary": base64.b64decode,
    }[kind]


def _integer(value: Any) -> int:
    if isinstance(value, bool) or value != int(value):
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def _time(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return EPOCH + timedelta(milliseconds=_integer(value))


def _date(value: Any) -> date:
    return date.fromisoformat(value) if isinstance(value, str) else _time(value).date()


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return format(value, "f")
    return orjson.dumps(value).decode()

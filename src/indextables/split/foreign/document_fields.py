"""The fields of stored documents as columns of a table.

Other writers store a row as a document, in an index with fewer types than a table: every integer has 64 bits, dates and
timestamps are one type, arrays, maps and structs are JSON, and IP addresses are text in the table. The schema of the
table decides the type of a column. A field that does not fit it is an error only when the column is read, so that the
other columns can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from decimal import Context, Decimal
from ipaddress import IPv6Address
from typing import Any, Final

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.schema import (
    INTEGER_TYPES,
    MAX_PRECISION,
    TIME_TYPES,
    Field,
    FieldMapping,
    TableSchema,
    decimal_size,
    is_nested,
    parse_decimal,
)
from indextables.split.foreign.json_values import json_value

Meta = Mapping[str, Any]

_HOLDS: Final[dict[str, frozenset[str]]] = {
    "text": frozenset({"string"}),
    "ip_addr": frozenset({"string"}),
    "i64": INTEGER_TYPES,
    "u64": INTEGER_TYPES,
    "f64": frozenset({"float", "double"}),
    "bool": frozenset({"boolean"}),
    "date": frozenset({"date", *TIME_TYPES}),
    "json_object": frozenset({"string"}),
    "bytes": frozenset({"binary"}),
}
"""The types of a table that each type of Tantivy can store."""

_FLOAT_DIGITS: Final = 15
_DIGITS: Final = Context(prec=2 * MAX_PRECISION)

_WIDEST: Final = {
    "text": "string",
    "ip_addr": "string",
    "i64": "long",
    "u64": "long",
    "f64": "double",
    "bool": "boolean",
    "date": "timestamp",
    "bytes": "binary",
    "json_object": "string",
}
"""The type of a column for each type of Tantivy, if there is no table schema."""


@dataclass(frozen=True)
class StoredField:
    """One field of the index. `is_tokenised` applies to text only."""

    name: str
    type: str
    is_stored: bool
    is_tokenised: bool


def stored_fields(meta: Meta) -> tuple[StoredField, ...]:
    """Return the fields in the index's `meta.json`. KeyError or TypeError if it is malformed."""
    return tuple(_stored_field(document) for document in meta["schema"])


def _stored_field(document: Meta) -> StoredField:
    options = document["options"]
    indexing = options.get("indexing") if document["type"] == "text" else None
    # A missing tokenizer is the default one. Text that is not indexed has no words.
    tokenised = indexing is not None and indexing.get("tokenizer", "default") != "raw"
    return StoredField(document["name"], document["type"], bool(options.get("stored")), tokenised)


@dataclass(frozen=True)
class DocumentFields:
    """The columns of a table, read from the fields of one index."""

    schema: TableSchema
    fields: tuple[StoredField, ...]

    @classmethod
    def of(cls, fields: tuple[StoredField, ...], schema: TableSchema | None) -> DocumentFields:
        """Return the columns of a table, or without a schema one column for each field."""
        if schema is None:
            schema = TableSchema(tuple(Field(f.name, _WIDEST.get(f.type, f.type)) for f in fields))
        return cls(schema, fields)

    def stored(self, column: Field) -> StoredField | None:
        """Return the field of a column. None if the column was added to the table after the split was written."""
        exact = [field for field in self.fields if field.name == column.name]
        other_case = [field for field in self.fields if field.name.lower() == column.name.lower()]
        return next(iter(exact or other_case), None)

    def refusal(self, column: Field) -> str | None:
        """Return why a column cannot be read, or None if it can."""
        if not column.is_readable:
            return f"this release does not support the type {column.type}"
        field = self.stored(column)
        if field is None:
            return None
        if not _holds(field, column):
            return f"it is {column.type_name} in the table and a field of type {field.type} in the split"
        if not field.is_stored:
            return "it was indexed without being stored, so that its values are lost"
        return None

    def mapping(self, table: FieldMapping | None = None) -> FieldMapping:
        """Return how the readable columns are indexed: as in the table's mapping, else as in the split."""
        readable = TableSchema(tuple(column for column in self.schema if self.refusal(column) is None))
        if table is not None:
            return FieldMapping(tuple(mapped for mapped in table.fields if mapped.name in readable.names))
        tokenised = {
            column.name: "text"
            for column in readable
            if (field := self.stored(column)) is not None and field.type == "text" and field.is_tokenised
        }
        return FieldMapping.of(readable, (), tokenised)

    def column(self, name: str, documents: list[dict[str, list[Any]]]) -> pa.Array:
        """Return the values of a column in some documents. SchemaError if they cannot be read."""
        column = self.schema.field(name)
        if reason := self.refusal(column):
            raise SchemaError(f"column {column.name!r} cannot be read: {reason}; leave it out")
        field = self.stored(column)
        if field is None:
            return pa.nulls(len(documents), column.arrow_type)
        values = [_only(document.get(field.name), column) for document in documents]
        try:
            if field.type == "json_object":
                values = [None if value is None else json_value(value, column) for value in values]
            elif (size := decimal_size(column.type)) is not None:
                values = [None if value is None else _decimal(value, size[1]) for value in values]
        except (ValueError, TypeError, OverflowError, KeyError) as problem:
            raise SchemaError(
                f"column {name!r} has a value that is not of type {column.type_name}: {problem}"
            ) from problem
        if field.type == "ip_addr":
            values = [None if value is None else _address(value) for value in values]
        elif column.type == "date":
            values = [None if value is None else value.date() for value in values]
        elif column.type == "timestamp_ntz":
            values = [
                None if value is None else value.astimezone(UTC).replace(tzinfo=None) for value in values
            ]
        try:
            if column.type == "float":
                return pa.array(values, pa.float64()).cast(pa.float32(), safe=False)
            return pa.array(values, column.arrow_type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as problem:
            raise SchemaError(
                f"column {name!r} has a value that is not of type {column.type}: {problem}"
            ) from problem


def _holds(field: StoredField, column: Field) -> bool:
    """Return True if the values of a field can be those of a column.

    Decimals are stored as floating-point numbers, which keep 15 digits, or as text.
    """
    if (size := decimal_size(column.type)) is not None:
        return field.type == "text" or (field.type == "f64" and size[0] <= _FLOAT_DIGITS)
    if is_nested(column.type):
        return field.type == "json_object"
    return column.type in _HOLDS.get(field.type, frozenset())


def _decimal(value: Any, scale: int) -> Decimal:
    """Return a stored number with the digits of its column."""
    return parse_decimal(str(value)).quantize(Decimal(1).scaleb(-scale), context=_DIGITS)


def _only(values: list[Any] | None, column: Field) -> Any:
    if not values:
        return None
    if len(values) > 1:
        raise SchemaError(
            f"column {column.name!r} has {len(values)} values in one row; a column can have one"
        )
    return values[0]


def _address(text: str) -> str:
    """Return an IP address as it was written: the index stores IPv4 addresses as IPv6.

    >>> _address("::ffff:10.0.0.3"), _address("2001:db8::1")
    ('10.0.0.3', '2001:db8::1')
    """
    short = IPv6Address(text).ipv4_mapped if ":" in text else None
    return text if short is None else str(short)

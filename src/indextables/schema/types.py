"""The schema of a table: as Spark's schema JSON, which the log stores, and as an Arrow schema, which rows have.

Every column is nullable, whatever the writer's schema says: Spark compares nullability when it reads, and a table with
many writers cannot guarantee more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, TypeAlias

import orjson
import pyarrow as pa

from indextables.errors import SchemaError
from indextables.runtime import lazy_property

Value: TypeAlias = str | int | float | bool | bytes | date
"""A value of a column in Python; a timestamp is a `datetime`, which is a `date`, with the time zone UTC."""

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
    "binary": pa.binary(),
}
"""Spark's type names, as in its schema JSON, and the Arrow type of each."""

INTEGER_TYPES: Final = frozenset({"byte", "short", "integer", "long"})
FLOAT_TYPES: Final = frozenset({"float", "double"})

_DEFAULT_COLLATION: Final = "string collate UTF8_BINARY"
"""Spark's name for a plain string whose collation is explicit, as SHOW CREATE TABLE writes it."""

SCORE: Final = "_score"
SNIPPET: Final = "_snippet"
ALL_COLUMN: Final = "_indexall"
"""The metadata column that stands for `*` in `* TEXTSEARCH 'q'`."""

RESERVED_COLUMNS: Final = frozenset({SCORE, SNIPPET, ALL_COLUMN})
"""Names that queries use for what the index computes; no column of a table may have one of them."""


@dataclass(frozen=True)
class Field:
    """One column. `type` is Spark's name of the type, or its JSON where the type has no name.

    Tables of other writers may have columns whose type is not in `ARROW_TYPES`. They can be listed and left out;
    `arrow_type` raises SchemaError for them.
    """

    name: str
    type: str
    metadata: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def arrow_type(self) -> pa.DataType:
        if self.type not in ARROW_TYPES:
            raise SchemaError(_unsupported(self.name, self.type))
        return ARROW_TYPES[self.type]


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table in order.

    >>> schema = TableSchema.from_arrow(pa.schema({"id": pa.int64(), "message": pa.large_string()}))
    >>> schema.names
    ['id', 'message']
    >>> TableSchema.from_json(schema.to_json()) == schema
    True
    """

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for column in self.fields:
            folded = column.name.lower()
            if folded in seen:
                raise SchemaError(
                    f"columns {seen[folded]!r} and {column.name!r} differ only in case: rename one of them"
                )
            if folded in RESERVED_COLUMNS:
                raise SchemaError(f"column {column.name!r} has a reserved name: rename it before writing")
            seen[folded] = column.name

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.fields]

    @lazy_property
    def _by_name(self) -> dict[str, Field]:
        exact = {column.name: column for column in self.fields}
        return {column.name.lower(): column for column in self.fields} | exact

    def get(self, name: str) -> Field | None:
        """Return the column of that name, by exact match or else in another case, as Spark does; None if unknown."""
        return self._by_name.get(name) or self._by_name.get(name.lower())

    def field(self, name: str) -> Field:
        column = self.get(name)
        if column is None:
            raise SchemaError(f"no column {name!r}: the table has {', '.join(self.names)}")
        return column

    def without(self, names: list[str] | tuple[str, ...]) -> TableSchema:
        return TableSchema(tuple(column for column in self.fields if column.name not in set(names)))

    @lazy_property
    def arrow(self) -> pa.Schema:
        return pa.schema([pa.field(column.name, column.arrow_type) for column in self.fields])

    def to_json(self) -> str:
        """Return Spark's schema JSON, as `metaData.schemaString` has it."""
        columns = [
            {"name": c.name, "type": _type_json(c.type), "nullable": True, "metadata": c.metadata}
            for c in self.fields
        ]
        return orjson.dumps({"type": "struct", "fields": columns}).decode()

    @classmethod
    def from_json(cls, text: str) -> TableSchema:
        """Parse the schema of rows to be written. SchemaError for a type that a table cannot hold."""
        schema = cls.of_table(text)
        for column in schema:
            _ = column.arrow_type
        return schema

    @classmethod
    def of_table(cls, text: str) -> TableSchema:
        """Parse the schema of an existing table, which may have types that this release does not support.

        >>> text = '{"type":"struct","fields":[{"name":"n","type":"long"},{"name":"d","type":"decimal(9,2)"}]}'
        >>> TableSchema.of_table(text).field("n").arrow_type
        DataType(int64)
        """
        try:
            columns = orjson.loads(text)["fields"]
            return cls(tuple(_field_from_json(column) for column in columns))
        except (orjson.JSONDecodeError, KeyError, TypeError) as reason:
            raise SchemaError(f"the schema is not Spark schema JSON: {text[:200]!r}") from reason

    @classmethod
    def from_arrow(cls, schema: pa.Schema) -> TableSchema:
        return cls(tuple(Field(column.name, _spark_type(column)) for column in schema))


def _field_from_json(column: dict[str, Any]) -> Field:
    kind = column["type"]
    text = kind if isinstance(kind, str) else orjson.dumps(kind).decode()
    if text == _DEFAULT_COLLATION:
        text = "string"
    return Field(column["name"], text, column.get("metadata") or {})


def _type_json(kind: str) -> Any:
    return orjson.loads(kind) if kind.startswith("{") else kind


def _spark_type(column: pa.Field) -> str:
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "string"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return "binary"
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return "timestamp"
    if pa.types.is_date(kind):
        return "date"
    for name, arrow_type in ARROW_TYPES.items():
        if kind == arrow_type:
            return name
    raise SchemaError(_unsupported(column.name, str(column.type)))


def _unsupported(name: str, kind: object) -> str:
    advice = "give it a time zone" if str(kind).startswith("timestamp") else "cast it or leave it out"
    return (
        f"column {name!r} has type {kind}, which a table cannot hold: {advice}. "
        f"Supported types: {', '.join(ARROW_TYPES)}"
    )

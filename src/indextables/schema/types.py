"""The schema of a table: as Spark's schema JSON, which the log stores, and as an Arrow schema, which rows have.

Every column is nullable, whatever the writer's schema says: Spark compares nullability when it reads, and a table with
many writers cannot guarantee more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeAlias

import orjson
import pyarrow as pa

from indextables.errors import SchemaError
from indextables.runtime import lazy_property
from indextables.schema.spark_types import (
    FIRST_TYPES,
    SUPPORTED,
    VARYING_STRING,
    arrow_type,
    canonical_type,
    field_json,
    is_variant,
    is_varying_string,
    spark_type,
    struct_fields,
    struct_json,
    type_json,
    type_name,
)

Value: TypeAlias = str | int | float | bool | bytes | date | Decimal
"""A value of a column in Python.

A timestamp is a `datetime`, which is a `date`: with the time zone UTC, or without one for `timestamp_ntz`.
"""

SCORE: Final = "_score"
SNIPPET: Final = "_snippet"
ALL_COLUMN: Final = "_indexall"
"""The metadata column that stands for `*` in `* TEXTSEARCH 'q'`."""

SPLIT_PATH: Final = "__split_path"
"""The path of a row's split in the table. With the row's position in the split it orders rows of equal score."""

POSITION: Final = "__split_position"
"""Orders the rows of a split with equal scores. It is the same for every read with the same text queries."""

ROW_NUMBER: Final = "__row_number"
"""The number of a row in its split, from 0. With the path of the split it names the row."""

RESERVED_COLUMNS: Final = frozenset({SCORE, SNIPPET, ALL_COLUMN, SPLIT_PATH, POSITION, ROW_NUMBER})
"""Names of what a read computes, next to the columns of the table; no column of a table may have one of them."""

STORED_NAME: Final = "indextables.column.storedName"
"""The key in a column's metadata of its permanent name: the one that splits, statistics and filters have it by.

All columns of a table have one as soon as a column was added, renamed, dropped or widened. Until then, columns are
stored under the names that they have.
"""

IDENTITY: Final = "indextables.column.identity"
"""The key in a column's metadata of what tells whether columns of two versions are the same column.

It is there only if it is not the stored name. That is so for columns that an overwrite has stored in another way: a
column that became a partition column has its own name in the paths of files.
"""

DEFAULT: Final = "indextables.column.default"
"""The key in a column's metadata of its value, as text, in rows that were written before the column was added."""

_OWN_METADATA: Final = frozenset({STORED_NAME, IDENTITY, DEFAULT})


@dataclass(frozen=True)
class Field:
    """One column. `type` is Spark's name of the type, or its JSON where the type has no name.

    Tables of other writers may have columns of types that no table of this release holds. They can be listed and left
    out; `arrow_type` raises SchemaError for them.
    """

    name: str
    type: str
    metadata: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def arrow_type(self) -> pa.DataType:
        arrow = arrow_type(self.type)
        if arrow is None:
            raise SchemaError(_refusal(self.name, self.type))
        return arrow

    @property
    def is_readable(self) -> bool:
        """Whether this release knows the type."""
        return arrow_type(self.type) is not None

    @property
    def type_name(self) -> str:
        """The type as Spark's DESCRIBE shows it."""
        return type_name(self.type)

    @property
    def stored_name(self) -> str:
        """The name of the column in splits and their statistics."""
        return str(self.metadata.get(STORED_NAME, self.name))

    @property
    def identity(self) -> str:
        """The column that this is, whatever its name and its type in another version of the table."""
        return str(self.metadata.get(IDENTITY, self.stored_name)).lower()

    @property
    def default(self) -> str | None:
        """The value, as text, of rows without the column; None for null."""
        text = self.metadata.get(DEFAULT)
        return None if text is None else str(text)


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
                raise SchemaError(
                    f"column {column.name!r} has a name that is reserved for what reads compute: choose another one"
                )
            seen[folded] = column.name
        for column in self.fields:
            for inner in _inner_fields(column):
                if inner.name.lower() in seen:
                    raise SchemaError(
                        f"the field {inner.name!r} of a struct has the name of another column or field: rename one"
                    )
                seen[inner.name.lower()] = inner.name

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

    def resolve(self, path: str) -> Field | None:
        """Return a column, or a field of a struct by its path `column.field`, under the names in the schema.

        >>> schema = TableSchema.from_arrow(pa.schema({"user": pa.struct({"Name": pa.string()})}))
        >>> schema.resolve("USER.name")
        Field(name='user.Name', type='string', metadata={})
        """
        return self.get(path) or self._paths.get(path.lower())

    @lazy_property
    def _paths(self) -> dict[str, Field]:
        return {inner.name.lower(): inner for column in self.fields for inner in _inner_fields(column)}

    def root(self, path: str) -> str:
        """Return the column that holds what `path` names."""
        return next((c.name for c in self.fields if path == c.name), None) or next(
            c.name for c in self.fields if path.startswith(f"{c.name}.")
        )

    @property
    def uses_extended_types(self) -> bool:
        """Whether a column has a type that the first releases did not know."""
        return any(column.type not in FIRST_TYPES for column in self.fields)

    def field(self, name: str) -> Field:
        column = self.get(name)
        if column is None:
            raise SchemaError(f"no column {name!r}: the table has {', '.join(self.names)}")
        return column

    def without(self, names: list[str] | tuple[str, ...]) -> TableSchema:
        return TableSchema(tuple(column for column in self.fields if column.name not in set(names)))

    @property
    def has_stored_names(self) -> bool:
        """Whether columns were changed since the table was created, so that splits may have others."""
        return any(STORED_NAME in column.metadata for column in self.fields)

    def as_stored(self) -> TableSchema:
        """Return the columns under the names that splits have them by."""
        if not self.has_stored_names:
            return self
        return TableSchema(tuple(Field(c.stored_name, c.type) for c in self.fields))

    def without_identities(self) -> TableSchema:
        """Return the columns without what only the table's own metadata says of them: stored names and defaults."""
        return TableSchema(
            tuple(
                Field(c.name, c.type, {k: v for k, v in c.metadata.items() if k not in _OWN_METADATA})
                for c in self.fields
            )
        )

    @lazy_property
    def arrow(self) -> pa.Schema:
        return pa.schema([pa.field(column.name, column.arrow_type) for column in self.fields])

    def to_json(self) -> str:
        """Return Spark's schema JSON, as `metaData.schemaString` has it."""
        return struct_json(field_json(c.name, type_json(c.type), c.metadata) for c in self.fields)

    @classmethod
    def from_json(cls, text: str) -> TableSchema:
        """Parse the schema of rows to be written. SchemaError for a type that a table cannot hold.

        The rows may come from a table, whose stored names and defaults are not theirs.
        """
        schema = cls.of_table(text).without_identities()
        for column in schema:
            _ = column.arrow_type
        return schema

    @classmethod
    def of_table(cls, text: str) -> TableSchema:
        """Parse the schema of an existing table, which may have types that this release does not support.

        >>> text = '{"type":"struct","fields":[{"name":"n","type":"long"},{"name":"d","type":"interval day"}]}'
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
    kind = canonical_type(column["type"])
    metadata = column.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise TypeError("the metadata of a column is not an object")
    if is_varying_string(kind):  # Spark itself keeps the declared type like this, and checks lengths by it
        return Field(column["name"], "string", metadata | {VARYING_STRING: kind})
    return Field(column["name"], kind, metadata)


def _inner_fields(column: Field) -> list[Field]:
    """Return the fields of a struct, and of the structs in it, by their paths."""
    inner = [Field(f"{column.name}.{name}", kind) for name, kind in struct_fields(column.type)]
    return (
        [field for outer in inner for field in (outer, *_inner_fields(outer))] if column.is_readable else []
    )


def _spark_type(column: pa.Field) -> str:
    kind = spark_type(column.type)
    if kind is None or arrow_type(kind) is None:
        raise SchemaError(_refusal(column.name, "variant" if is_variant(column.type) else str(column.type)))
    return kind


def _refusal(name: str, kind: object) -> str:
    if kind == "variant":
        return (
            f"column {name!r} has type variant, which a table cannot hold: write to_json({name}) as a string, or the "
            f"fields to search as columns of their own, as in variant_get({name}, '$.user', 'string')"
        )
    return (
        f"column {name!r} has type {kind}, which a table cannot hold: cast it or leave it out. "
        f"Supported types: {', '.join(SUPPORTED)}"
    )

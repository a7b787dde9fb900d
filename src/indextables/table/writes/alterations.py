"""Changing the columns and the properties of a table: what a caller asks for becomes one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError, SchemaError
from indextables.log import AlterTable, Snapshot, commit
from indextables.schema import (
    AddColumn,
    ColumnChange,
    DropColumn,
    Field,
    FieldMapping,
    RenameColumns,
    TableSchema,
    WidenColumn,
    arrow_type,
    canonical_type,
    cast_exactly,
    encode_value,
    evolve,
    is_nested,
    requested_typemap,
    resolve_typemap,
    spark_type,
)
from indextables.storage import Store
from indextables.table.writes.properties import properties_to_store

_SQL_NAMES: Final = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "real": "float",
    "bool": "boolean",
}
_MAX_DEFAULT: Final = 1000
"""A default is in the metadata of the table, which every reader loads."""


@dataclass(frozen=True)
class Alteration:
    """What to change, in this order: drop, rename, widen, add, properties. None removes a property."""

    drop: Sequence[str] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    widen: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, Any] = field(default_factory=dict)
    default: Mapping[str, Any] = field(default_factory=dict)
    typemap: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str | None] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)


def alter_table(store: Store, snapshot: Snapshot, alteration: Alteration, settings: Settings) -> int:
    """Commit the changes as one version, and return it. The snapshot's own if they change nothing.

    `alteration.typemap` are settings such as `spark.indextables.indexing.typemap.<column>`, of added columns.
    """
    unknown = sorted(set(alteration.default) - set(alteration.add))
    if unknown:
        raise InputError(
            f"default names {unknown[0]!r}, which is not in add; a default is that of a new column"
        )
    changes: list[ColumnChange] = [DropColumn(name) for name in alteration.drop]
    if alteration.rename:
        changes.append(RenameColumns(tuple(alteration.rename.items())))
    changes += [WidenColumn(name, to_type(kind, name)) for name, kind in alteration.widen.items()]
    added = [
        _add(name, to_type(kind, name), alteration.default.get(name), alteration.comments.get(name))
        for name, kind in alteration.add.items()
    ]
    changes += added
    schema = evolve(snapshot.schema, snapshot.partition_columns, changes) if changes else snapshot.schema
    typemap = _typemap(snapshot, schema, added, Settings(alteration.typemap))
    change = AlterTable(tuple(changes), typemap, _properties(alteration.properties, schema))
    return commit(store, change, base=snapshot, settings=settings).version


def to_type(kind: Any, name: str) -> str:
    """Return a type that is given as an Arrow type, or by its name in Spark.

    >>> to_type(pa.int64(), "n"), to_type("bigint", "n"), to_type("decimal(9, 2)", "n")
    ('long', 'long', 'decimal(9,2)')
    """
    type_name = spark_type(kind) if isinstance(kind, pa.DataType) else None
    if isinstance(kind, str):
        folded = kind.strip()
        folded = folded if is_nested(folded) else folded.lower()
        type_name = canonical_type(_SQL_NAMES.get(folded, folded))
    if type_name is None or arrow_type(type_name) is None or type_name == "void":
        raise InputError(
            f"the type of column {name!r} is {kind!r}; it takes a type of Arrow, such as pa.int64(), or the name of "
            "one in Spark, such as 'long', 'string' or 'decimal(9,2)'"
        )
    return type_name


def _add(name: str, kind: str, default: Any, comment: str | None) -> AddColumn:
    if not isinstance(name, str) or not name:
        raise InputError(f"add has the column {name!r}; the name of a column is a string")
    column = Field(name, kind)
    text = None if default is None else _default_text(column, default)
    added = AddColumn.of(column, text)
    return AddColumn(added.name, added.type, added.stored, text, comment)


def _default_text(column: Field, value: Any) -> str:
    """Return the text of a default. InputError if the column cannot have it."""
    if is_nested(column.type) or column.type == "binary":
        raise InputError(
            f"column {column.name!r} is {column.type_name}, and columns of this type have no default"
        )
    try:
        exact = cast_exactly(pa.array([value]), column.name, column.arrow_type)[0].as_py()
    except (SchemaError, pa.ArrowException, TypeError, ValueError, OverflowError) as reason:
        raise InputError(
            f"the default {value!r} of column {column.name!r} is no {column.type_name}: {reason}"
        ) from None
    text = repr(exact) if isinstance(exact, float) else encode_value(exact, column.type)
    if text is None or len(text) > _MAX_DEFAULT:
        raise InputError(f"the default of column {column.name!r} has more than {_MAX_DEFAULT} characters")
    return text


def _typemap(
    snapshot: Snapshot, schema: TableSchema, added: Sequence[AddColumn], settings: Settings
) -> dict[str, str]:
    """Return how added columns are indexed. InputError if the settings name others, or a text has a default."""
    kinds = resolve_typemap(schema, snapshot.partition_columns, requested_typemap(schema, settings))
    names = {change.name for change in added}
    others = [name for name in kinds if schema.root(name) not in names]
    if others:
        raise InputError(
            f"column {others[0]!r} is not a new one, and how a column is indexed does not change; overwrite the "
            "table to index it in another way"
        )
    columns = [Field(change.name, change.type) for change in added]
    mapping = FieldMapping.of(TableSchema(tuple(columns)), (), kinds)
    for change in added:
        mapped = mapping.get(change.name)
        if change.default is not None and mapped is not None and mapped.kind in ("text", "ip"):
            raise InputError(
                f"column {change.name!r} is indexed as {mapped.kind}, and such a column has no default: the rows "
                "that are there have no words of it in their index. Leave the default out, and fill it with upsert"
            )
    return kinds


def _properties(properties: Mapping[str, str | None], schema: TableSchema) -> dict[str, str | None]:
    """Return the properties by their keys. InputError for one that tables do not have."""
    property_keys = {setting.key for setting in keys.TABLE_PROPERTIES}
    stored: dict[str, str | None] = {}
    for key, value in properties.items():
        name = next((canonical for canonical, _ in Settings({key: value or ""})), key)
        if name not in property_keys:
            raise InputError(
                f"{key!r} is not a property of tables; these are: {', '.join(sorted(property_keys))}. Give other "
                "settings to a read or a write"
            )
        stored[name] = value
    checked = properties_to_store(Settings({k: v for k, v in stored.items() if v is not None}), schema)
    return {**stored, **checked}

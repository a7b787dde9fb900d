"""How each column is indexed: the field mapping of a split, and its entry in the table's schema registry.

A split indexes every column except binary columns, arrays of floats and of nested types, and the partition columns,
whose values are the same in all of its rows. Dates and timestamps are indexed as integers (days, microseconds): the
fast fields of Tantivy's own date type keep seconds only.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import orjson

from indextables.config import keys
from indextables.errors import ConfigError, SchemaError
from indextables.runtime import lazy_property
from indextables.schema.decimals import MAX_WORD_PRECISION
from indextables.schema.field_options import join_kind, split_kind
from indextables.schema.partitions import decode_value
from indextables.schema.spark_types import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    TIME_TYPES,
    decimal_size,
    element_type,
    is_nested,
    map_types,
    struct_fields,
    type_name,
)
from indextables.schema.tokenizer_names import CUTTING_TOKENIZER, TOKENIZER, WORDS_TOKENIZER
from indextables.schema.types import Field, TableSchema, Value

IndexKind = Literal["text", "string", "i64", "i128", "f64", "bool", "ip", "struct", "map", "none"]

REGISTRY_PREFIX: Final = "docMappingSchema."
_TYPES: Final = {
    "text": "text",
    "string": "string",
    "ip": "ip",
    "ipaddr": "ip",
    "ipaddress": "ip",
    **dict.fromkeys(keys.TYPEMAP.substitutes, "string"),
}
"""The kind of a string column for each type that a typemap may name."""

TYPEMAP_PREFIX: Final = "indextables.indexing.typemap."
"""Prefix of the keys of `metaData.configuration` that record how the first writer indexed a string column."""


@dataclass(frozen=True)
class MappedField:
    """One column, a field of a struct by its path `column.field`, or the values of a map by one key, `column.key`.

    Kind `text` is tokenised, `string` is one exact term, `i128` and `ip` are terms that sort like numbers of 128 bits,
    `map` has terms for each entry, `struct` has `inner` fields, and `none` is not in the index. The kind of an array is
    that of its elements: a row matches if one of them does. `root` is the column that a field or key belongs to.

    A text column has a tokenizer (see `tokenizer_names`) and what the index records of its words.
    """

    name: str
    spark_type: str
    kind: IndexKind
    inner: tuple[MappedField, ...] = ()
    root: str | None = None
    key: str | None = None
    tokenizer: str = ""
    record: str = "position"

    def __post_init__(self) -> None:
        if self.kind == "text" and not self.tokenizer:
            object.__setattr__(self, "tokenizer", TOKENIZER)

    @property
    def typemap(self) -> str:
        """What the typemap of a table records for the column."""
        return join_kind(self.kind, self.tokenizer, self.record)

    @property
    def column(self) -> str:
        """The column of the table that holds the values."""
        return self.name if self.root is None else self.root

    @property
    def value_type(self) -> str:
        """The type of a value: of an element, if this is an array."""
        return element_type(self.spark_type) or self.spark_type

    @property
    def type_name(self) -> str:
        return type_name(self.spark_type)


@dataclass(frozen=True)
class StoredColumn:
    """A column of a table, the name that splits have it by, and its value in the rows of splits that lack it."""

    name: str
    stored: str
    default: Value | None = None


@dataclass(frozen=True)
class FieldMapping:
    """How each column of a table is indexed, without the partition columns.

    `columns` says how splits name them, if columns of the table were changed. It is empty for other tables, and for the
    mapping of a split, which has the names that it stores.

    >>> import pyarrow as pa
    >>> columns = {"id": pa.int64(), "message": pa.string(), "host": pa.string()}
    >>> schema = TableSchema.from_arrow(pa.schema(columns))
    >>> mapping = FieldMapping.of(schema, (), {"message": "text"})
    >>> [(field.name, field.kind) for field in mapping.fields]
    [('id', 'i64'), ('message', 'text'), ('host', 'string')]
    >>> FieldMapping.from_json(mapping.to_json()) == mapping
    True
    """

    fields: tuple[MappedField, ...]
    columns: tuple[StoredColumn, ...] = ()

    @classmethod
    def of(
        cls, schema: TableSchema, partition_columns: tuple[str, ...] | list[str], typemap: Mapping[str, str]
    ) -> FieldMapping:
        """Return the mapping of a schema: as the typemap says, else by the type of each column."""
        kinds = resolve_typemap(schema, partition_columns, typemap)
        fields = tuple(_map(column, kinds) for column in schema if column.name not in partition_columns)
        return cls(fields, stored_columns(schema, partition_columns))

    def get(self, name: str) -> MappedField | None:
        """Return the column, struct field or map key of that name; None if there is none.

        Columns and fields are found by exact match or else in another case, keys by exact match.
        """
        exact = next((f for f in self.fields if f.name == name), None)
        return (
            exact or next((f for f in self.all if f.name.lower() == name.lower()), None) or self._entry(name)
        )

    @lazy_property
    def all(self) -> tuple[MappedField, ...]:
        """The columns in their order, and after them the fields of structs."""
        return (*self.fields, *(inner for field in self.fields for inner in _inner(field)))

    def of_kind(self, *kinds: IndexKind) -> list[MappedField]:
        return [f for f in self.all if f.kind in kinds]

    def _entry(self, name: str) -> MappedField | None:
        """Return the values of a map column by the key in a name."""
        for field in self.all:
            if field.kind == "map" and name.lower().startswith(f"{field.name.lower()}."):
                _, value = map_types(field.spark_type) or ("", "")
                key = name[len(field.name) + 1 :]
                return MappedField(
                    f"{field.name}.{key}", value, kind=_kind(value, None), root=field.column, key=key
                )
        return None

    def as_stored(self) -> FieldMapping:
        """Return the mapping of a split that is written now: under the names that splits have."""
        if not self.columns:
            return self
        names = {column.name: column.stored for column in self.columns}
        return FieldMapping(tuple(_rename(field, names[field.name]) for field in self.fields))

    def to_json(self) -> str:
        """Return the `docMappingJson` of a split: a list of fields as the format names them, under stored names."""
        return orjson.dumps([_document(f) for f in self.as_stored().fields]).decode()

    @classmethod
    def from_json(cls, text: str) -> FieldMapping:
        try:
            return cls(tuple(_mapped_field(document) for document in orjson.loads(text)))
        except RecursionError:
            raise ValueError("the mapping is nested too deep") from None


def stored_columns(
    schema: TableSchema, partition_columns: tuple[str, ...] | list[str]
) -> tuple[StoredColumn, ...]:
    """Return how splits name the columns of a table; nothing if none of its columns was ever changed."""
    if not schema.has_stored_names:
        return ()
    return tuple(
        StoredColumn(column.name, column.stored_name, default_value(column))
        for column in schema
        if column.name not in partition_columns
    )


def default_value(column: Field) -> Value | None:
    """Return the value of a column in rows that were written before it was added. SchemaError for one of another type.

    >>> default_value(Field("n", "long", {"indextables.column.default": "7"}))
    7
    """
    if column.default is None or column.type not in FLOAT_TYPES:
        return decode_value(column.default, column.type)
    try:
        return float(column.default)
    except ValueError as reason:
        raise SchemaError(
            f"the default {column.default!r} of column {column.name!r} is not a number"
        ) from reason


def _rename(field: MappedField, name: str) -> MappedField:
    """Return a column, with the fields of a struct, under another name."""
    inner = tuple(_rename(f, name + f.name[len(field.name) :]) for f in field.inner)
    root = None if field.root is None else name[: len(name) - len(field.name) + len(field.root)]
    return replace(field, name=name, inner=inner, root=root)


def tokenizers(text: str) -> dict[str, str]:
    """Return the tokenizer of each text column, from the JSON of a split's mapping.

    It is not part of `FieldMapping`, because the splits of one table may have different tokenizers.

    >>> tokenizers('[{"name":"t","type":"text","tokenizer":"default"},{"name":"n","type":"i64"}]')
    {'t': 'default'}
    """
    return {
        document["name"]: document.get("tokenizer", CUTTING_TOKENIZER)
        for document in _all_documents(orjson.loads(text))
        if document["type"] == "text" and document.get("tokenizer") != "raw"
    }


def _all_documents(documents: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for document in documents:
        yield document
        yield from _all_documents(document.get("fields") or [])


def resolve_typemap(
    schema: TableSchema, partition_columns: tuple[str, ...] | list[str], typemap: Mapping[str, str]
) -> dict[str, str]:
    """Return `text`, `string` or `ip` for each column of the user's typemap, under the column's name in the schema.

    Accepts both forms of the setting: `typemap.message = text` and `typemap.text = message,title`. ConfigError if it
    names an unknown column, a column that is not a string, or another kind.
    """
    kinds: dict[str, str] = {}
    for key, value in typemap.items():
        if schema.get(key) is None and key.lower() in _TYPES:
            pairs = [(name.strip(), key.lower()) for name in value.split(",") if name.strip()]
        else:
            pairs = [(key, value.strip().lower())]
        for name, given in pairs:
            kind, *options = given.split(";", 1)
            kind = _TYPES.get(kind, kind)
            column = schema.resolve(name)
            if column is None:
                raise ConfigError(
                    f"typemap names the unknown column {name!r}: the table has {', '.join(schema.names)}"
                )
            if kind == "none":
                kinds[column.name] = kind
                continue
            if kind not in ("text", "string", "ip"):
                raise ConfigError(f"typemap of column {name!r} is {kind!r}: it takes text, string or ip")
            if (element_type(column.type) or column.type) != "string":
                raise ConfigError(
                    f"typemap of column {name!r}: the column is {column.type_name}; only strings, and arrays of them, "
                    "have a typemap"
                )
            if kind != "string" and column.name in partition_columns:
                raise ConfigError(
                    f"typemap of column {name!r}: a partition column cannot be indexed as {kind}"
                )
            kinds[column.name] = ";".join([kind, *options])
    return kinds


def mapping_hash(document: str) -> str:
    """Return the hash that names a mapping in the registry. It does not depend on the order of keys and fields.

    >>> mapping_hash('[{"name":"b"},{"type":"x","name":"a"}]') == mapping_hash('[{"name":"a","type":"x"},{"name":"b"}]')
    True
    """
    try:
        canonical = orjson.dumps(_canonical(orjson.loads(document)), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        canonical = document.encode()
    return base64.urlsafe_b64encode(hashlib.sha256(canonical).digest())[:16].decode()


def _canonical(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _canonical(value) for key, value in node.items()}
    if isinstance(node, list):
        items = [_canonical(item) for item in node]
        if items and all(isinstance(item, dict) and "name" in item for item in items):
            items.sort(key=lambda item: str(item["name"]))
        return items
    return node


def _map(column: Field, kinds: Mapping[str, str], root: str | None = None) -> MappedField:
    """Return how a column, or a field of the struct column `root`, is indexed."""
    fields = [Field(f"{column.name}.{name}", kind) for name, kind in struct_fields(column.type)]
    if fields and column.is_readable:
        inner = tuple(_map(field, kinds, root or column.name) for field in fields)
        return MappedField(column.name, column.type, kind="struct", inner=inner, root=root)
    return _field(column, kinds.get(column.name), root)


def _field(column: Field, typemap: str | None, root: str | None) -> MappedField:
    try:
        given, tokenizer, record = split_kind(typemap or "")
    except ValueError as reason:
        raise ConfigError(
            f"typemap of column {column.name!r} is {typemap!r}, which this release cannot read: {reason}"
        ) from None
    kind = "none" if given == "none" else _kind(column.type, given)
    if kind == "text":
        return MappedField(column.name, column.type, kind=kind, root=root, tokenizer=tokenizer, record=record)
    return MappedField(column.name, column.type, kind=kind, root=root)


def _inner(field: MappedField) -> Iterator[MappedField]:
    for inner in field.inner:
        yield inner
        yield from _inner(inner)


def _kind(kind: str, typemap: str | None) -> IndexKind:
    if (types := map_types(kind)) is not None:
        key, value = types
        is_searched = (key == "string" or key in INTEGER_TYPES) and not is_nested(value)
        return "map" if is_searched and _kind(value, None) != "none" else "none"
    if (element := element_type(kind)) is not None:
        # The elements of float arrays are kept only: they are vectors, whose numbers no query names.
        return "none" if is_nested(element) or element in FLOAT_TYPES else _kind(element, typemap)
    if kind == "string":
        return typemap if typemap in ("text", "ip") else "string"  # type: ignore[return-value]
    if kind in INTEGER_TYPES or kind in ("date", *TIME_TYPES):
        return "i64"
    if (size := decimal_size(kind)) is not None:
        return "i64" if size[0] <= MAX_WORD_PRECISION else "i128"
    if kind in FLOAT_TYPES:
        return "f64"
    return "bool" if kind == "boolean" else "none"


def value_kind(kind: str) -> IndexKind:
    """Return how values of a type are indexed by default."""
    return _kind(kind, None)


def _document(mapped: MappedField) -> dict[str, Any]:
    is_text = mapped.kind in ("text", "string")
    document: dict[str, Any] = {
        "name": mapped.name,
        "type": {"string": "text", "none": "bytes"}.get(mapped.kind, mapped.kind),
        "sparkType": mapped.spark_type,
        "indexed": is_text or mapped.kind in ("i128", "ip", "map"),
        "fast": mapped.kind in ("i64", "f64", "bool"),
        "stored": False,
    }
    if is_text:
        document["tokenizer"] = mapped.tokenizer if mapped.kind == "text" else "raw"
    if mapped.kind == "text" and mapped.record != "position":
        document["record"] = mapped.record
    if mapped.inner:
        document["fields"] = [_document(inner) for inner in mapped.inner]
    return document


def _mapped_field(document: dict[str, Any], root: str | None = None) -> MappedField:
    kind: IndexKind
    if document["type"] == "text":
        kind = "string" if document.get("tokenizer") == "raw" else "text"
    else:
        kind = {"bytes": "none"}.get(document["type"], document["type"])
    name = document["name"]
    inner = tuple(_mapped_field(field, root or name) for field in document.get("fields") or ())
    if kind != "text":
        return MappedField(name, document["sparkType"], kind=kind, inner=inner, root=root)
    tokenizer = document.get("tokenizer", CUTTING_TOKENIZER)
    # Its words are those of `words`, without the long ones: see `tokenizers`.
    tokenizer = WORDS_TOKENIZER if tokenizer == CUTTING_TOKENIZER else tokenizer
    record = document.get("record", "position")
    return MappedField(
        name, document["sparkType"], kind=kind, inner=inner, root=root, tokenizer=tokenizer, record=record
    )

"""How each column is indexed: the field mapping of a split, and its entry in the table's schema registry.

A split indexes every column except binary columns and the partition columns, whose values are the same in all of its
rows. Dates and timestamps are indexed as integers (days, microseconds): the fast fields of Tantivy's own date type keep
seconds only.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from indextables.config import keys
from indextables.errors import ConfigError
from indextables.schema.types import FLOAT_TYPES, INTEGER_TYPES, Field, TableSchema

IndexKind = Literal["text", "string", "i64", "f64", "bool", "none"]

REGISTRY_PREFIX: Final = "docMappingSchema."
TOKENIZER: Final = "words"
"""Splits text at every character that is not a letter or digit, and lower-cases the words of any length."""

CUTTING_TOKENIZER: Final = "default"
"""The tokenizer of splits written before `TOKENIZER`: the same, but it drops words of 40 bytes and more."""

_TYPES: Final = {"text": "text", "string": "string"} | dict.fromkeys(keys.TYPEMAP.substitutes, "string")
"""The kind of a string column for each type that a typemap may name."""

TYPEMAP_PREFIX: Final = "indextables.indexing.typemap."
"""Prefix of the keys of `metaData.configuration` that record how the first writer indexed a string column."""


@dataclass(frozen=True)
class MappedField:
    """One column. Kind `text` is tokenised, `string` is one exact term, `none` is not in the index."""

    name: str
    spark_type: str
    kind: IndexKind


@dataclass(frozen=True)
class FieldMapping:
    """How each column of a table is indexed, without the partition columns.

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

    @classmethod
    def of(
        cls, schema: TableSchema, partition_columns: tuple[str, ...] | list[str], typemap: Mapping[str, str]
    ) -> FieldMapping:
        """Return the mapping of a schema: as the typemap says, else by the type of each column."""
        kinds = resolve_typemap(schema, partition_columns, typemap)
        return cls(
            tuple(
                MappedField(column.name, column.type, _kind(column, kinds.get(column.name)))
                for column in schema
                if column.name not in partition_columns
            )
        )

    def get(self, name: str) -> MappedField | None:
        """Return the column of that name, by exact match or else in another case; None if there is none."""
        exact = next((f for f in self.fields if f.name == name), None)
        return exact or next((f for f in self.fields if f.name.lower() == name.lower()), None)

    def of_kind(self, *kinds: IndexKind) -> list[MappedField]:
        return [f for f in self.fields if f.kind in kinds]

    def to_json(self) -> str:
        """Return the `docMappingJson` of a split: a list of fields as the format names them."""
        return orjson.dumps([_document(f) for f in self.fields]).decode()

    @classmethod
    def from_json(cls, text: str) -> FieldMapping:
        return cls(tuple(_mapped_field(document) for document in orjson.loads(text)))


def tokenizers(text: str) -> dict[str, str]:
    """Return the tokenizer of each text column, from the JSON of a split's mapping.

    It is not part of `FieldMapping`, because the splits of one table may have different tokenizers.

    >>> tokenizers('[{"name":"t","type":"text","tokenizer":"default"},{"name":"n","type":"i64"}]')
    {'t': 'default'}
    """
    return {
        document["name"]: document.get("tokenizer", CUTTING_TOKENIZER)
        for document in orjson.loads(text)
        if document["type"] == "text" and document.get("tokenizer") != "raw"
    }


def resolve_typemap(
    schema: TableSchema, partition_columns: tuple[str, ...] | list[str], typemap: Mapping[str, str]
) -> dict[str, str]:
    """Return `text` or `string` for each column of the user's typemap, under the column's name in the schema.

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
            kind = _TYPES.get(given, given)
            column = schema.get(name)
            if column is None:
                raise ConfigError(
                    f"typemap names the unknown column {name!r}: the table has {', '.join(schema.names)}"
                )
            if kind not in ("text", "string"):
                raise ConfigError(f"typemap of column {name!r} is {kind!r}: it takes text or string")
            if column.type != "string":
                raise ConfigError(
                    f"typemap of column {name!r}: the column is {column.type}; only string columns have a typemap"
                )
            if kind == "text" and column.name in partition_columns:
                raise ConfigError(f"typemap of column {name!r}: a partition column cannot be indexed as text")
            kinds[column.name] = kind
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


def _kind(column: Field, typemap: str | None) -> IndexKind:
    if column.type == "string":
        return "text" if typemap == "text" else "string"
    if column.type in INTEGER_TYPES or column.type in ("date", "timestamp"):
        return "i64"
    if column.type in FLOAT_TYPES:
        return "f64"
    return "bool" if column.type == "boolean" else "none"


def _document(mapped: MappedField) -> dict[str, Any]:
    is_text = mapped.kind in ("text", "string")
    document: dict[str, Any] = {
        "name": mapped.name,
        "type": {"string": "text", "none": "bytes"}.get(mapped.kind, mapped.kind),
        "sparkType": mapped.spark_type,
        "indexed": is_text,
        "fast": mapped.kind in ("i64", "f64", "bool"),
        "stored": False,
    }
    if is_text:
        document["tokenizer"] = TOKENIZER if mapped.kind == "text" else "raw"
    return document


def _mapped_field(document: dict[str, Any]) -> MappedField:
    kind: IndexKind
    if document["type"] == "text":
        kind = "string" if document.get("tokenizer") == "raw" else "text"
    else:
        kind = {"bytes": "none"}.get(document["type"], document["type"])
    return MappedField(document["name"], document["sparkType"], kind)

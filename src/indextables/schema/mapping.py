"""How each column is indexed: the field mapping of a split, and its entry in the table's schema registry.

A split indexes every column but binary ones and the partition columns, whose values are the same in all its
rows. Dates and timestamps are indexed as their integers (days, microseconds): Tantivy's own date type keeps
seconds only in its fast fields.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from indextables.errors import ConfigError
from indextables.schema.types import FLOAT_TYPES, INTEGER_TYPES, Field, TableSchema

IndexKind = Literal["text", "string", "i64", "f64", "bool", "none"]

REGISTRY_PREFIX: Final = "docMappingSchema."
TOKENIZER: Final = "words"
"""How text is cut into words: at everything but letters and digits, lower-cased, words of any length."""

CUTTING_TOKENIZER: Final = "default"
"""The tokenizer of splits from before `TOKENIZER`: the same, but it drops words of 40 bytes and more."""

TYPEMAP_PREFIX: Final = "indextables.indexing.typemap."
"""Where `metaData.configuration` keeps the choice that the first writer made for a column."""


@dataclass(frozen=True)
class MappedField:
    """One indexed column. `kind` text is tokenised; string is one exact term; none is not in the index."""

    name: str
    spark_type: str
    kind: IndexKind


@dataclass(frozen=True)
class FieldMapping:
    """The indexed columns of a table, partition columns left out.

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
        chosen = resolve_typemap(schema, partition_columns, typemap)
        return cls(
            tuple(
                MappedField(column.name, column.type, _kind(column, chosen.get(column.name)))
                for column in schema
                if column.name not in partition_columns
            )
        )

    def get(self, name: str) -> MappedField | None:
        found = next((f for f in self.fields if f.name == name), None)
        return found or next((f for f in self.fields if f.name.lower() == name.lower()), None)

    def of_kind(self, *kinds: IndexKind) -> list[MappedField]:
        return [f for f in self.fields if f.kind in kinds]

    def to_json(self) -> str:
        """The `docMappingJson` of a split: a list of fields, in the words of the format."""
        return orjson.dumps([_document(f) for f in self.fields]).decode()

    @classmethod
    def from_json(cls, text: str) -> FieldMapping:
        return cls(tuple(_mapped(document) for document in orjson.loads(text)))


def tokenizers(text: str) -> dict[str, str]:
    """Return the tokenizer of each text column, by the JSON of a mapping.

    It belongs to a split, not to a `FieldMapping`: one table may hold splits of several tokenizers.

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
    """The user's typemap by the schema's own column names, checked: `text` or `string`, on string columns.

    Both spellings of the setting are taken: `typemap.message = text` and `typemap.text = message,title`.
    """
    chosen: dict[str, str] = {}
    for key, value in typemap.items():
        if schema.get(key) is None and key.lower() in ("text", "string"):
            pairs = [(name.strip(), key.lower()) for name in value.split(",") if name.strip()]
        else:
            pairs = [(key, value.strip().lower())]
        for name, kind in pairs:
            column = schema.get(name)
            if column is None:
                raise ConfigError(
                    f"typemap names column {name!r}, which the table does not have; "
                    f"it has {', '.join(schema.names)}"
                )
            if kind not in ("text", "string"):
                raise ConfigError(f"typemap of column {name!r} is {kind!r}; it takes text or string")
            if column.type != "string":
                raise ConfigError(f"column {name!r} is {column.type}; only string columns take a typemap")
            if kind == "text" and column.name in partition_columns:
                raise ConfigError(f"column {name!r} is a partition column, which is not indexed as text")
            chosen[column.name] = kind
    return chosen


def mapping_hash(document: str) -> str:
    """The registry's name for a mapping: equal mappings hash alike, however their JSON is ordered.

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


def _kind(column: Field, chosen: str | None) -> IndexKind:
    if column.type == "string":
        return "text" if chosen == "text" else "string"
    if column.type in INTEGER_TYPES or column.type in ("date", "timestamp"):
        return "i64"
    if column.type in FLOAT_TYPES:
        return "f64"
    return "bool" if column.type == "boolean" else "none"


def _document(mapped: MappedField) -> dict[str, Any]:
    stringy = mapped.kind in ("text", "string")
    document: dict[str, Any] = {
        "name": mapped.name,
        "type": {"string": "text", "none": "bytes"}.get(mapped.kind, mapped.kind),
        "sparkType": mapped.spark_type,
        "indexed": stringy,
        "fast": mapped.kind in ("i64", "f64", "bool"),
        "stored": False,
    }
    if stringy:
        document["tokenizer"] = TOKENIZER if mapped.kind == "text" else "raw"
    return document


def _mapped(document: dict[str, Any]) -> MappedField:
    kind: IndexKind
    if document["type"] == "text":
        kind = "string" if document.get("tokenizer") == "raw" else "text"
    else:
        kind = {"bytes": "none"}.get(document["type"], document["type"])
    return MappedField(document["name"], document["sparkType"], kind)

"""Doc mappings in a table's registry: which are ours, and what those of other writers say of the columns.

`metaData.configuration` keeps each mapping once, as `docMappingSchema.<hash>`, and files name theirs by its hash. Some
writers put the mapping into every file instead. Mappings of ours name the Spark type of each field; no other writer
does, and the hash covers it, so a file that names a mapping of ours was written by us.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from indextables.schema.mapping import REGISTRY_PREFIX, TYPEMAP_PREFIX
from indextables.schema.types import TableSchema


def own_refs(configuration: Mapping[str, str]) -> frozenset[str]:
    """The hashes of the mappings that were written by us.

    >>> ours = '[{"name":"n","type":"i64","sparkType":"long"}]'
    >>> own_refs({"docMappingSchema.a": ours, "docMappingSchema.b": '[{"name":"n","type":"i64"}]'})
    frozenset({'a'})
    """
    return frozenset(ref for ref, document in _registry(configuration).items() if _is_ours(document))


def typemap_of(
    configuration: Mapping[str, str],
    schema: TableSchema,
    partition_columns: tuple[str, ...],
    of_a_file: Callable[[], str | None] = lambda: None,
) -> dict[str, str]:
    """Which string columns are text and which are one exact term, as far as the table says.

    Our writers record their choice, and from then on it counts. A table that we never wrote to says it in its doc
    mapping; `of_a_file` is the mapping of any live file, for tables whose registry does not have just the one.
    """
    registry = _registry(configuration)
    chosen = {
        key.removeprefix(TYPEMAP_PREFIX): kind
        for key, kind in configuration.items()
        if key.startswith(TYPEMAP_PREFIX)
    }
    if any(_is_ours(document) for document in registry.values()):
        return chosen
    document = next(iter(registry.values())) if len(registry) == 1 else of_a_file()
    kinds = {} if document is None else _kinds(document)
    return {
        column.name: kinds[column.name]
        for column in schema
        if column.type == "string" and column.name in kinds and column.name not in partition_columns
    } | chosen


def _registry(configuration: Mapping[str, str]) -> dict[str, str]:
    return {
        key.removeprefix(REGISTRY_PREFIX): document
        for key, document in configuration.items()
        if key.startswith(REGISTRY_PREFIX)
    }


def _is_ours(document: str) -> bool:
    return any("sparkType" in field for field in _fields(document))


def _kinds(document: str) -> dict[str, str]:
    """Text with the tokenizer `raw` is one exact term; without a name it is the default tokenizer."""
    return {
        field["name"]: "string" if field.get("tokenizer") == "raw" else "text"
        for field in _fields(document)
        if field.get("type") == "text" and isinstance(field.get("name"), str)
    }


def _fields(document: str) -> list[dict[str, Any]]:
    """The fields of a mapping; a text that is no mapping has none, for it is only a hint."""
    try:
        fields = orjson.loads(document)
    except orjson.JSONDecodeError:
        return []
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []

"""The doc mappings in a table's registry: which ones this package wrote, and what those of other writers say.

`metaData.configuration` keeps each mapping once, as `docMappingSchema.<hash>`, and a file refers to it by the hash.
Some writers put the mapping into every file instead. Only this package records the Spark type of each field, and the
hash covers it: a file that names such a mapping was written by this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from indextables.schema.mapping import REGISTRY_PREFIX, TYPEMAP_PREFIX
from indextables.schema.types import TableSchema


def own_refs(configuration: Mapping[str, str]) -> frozenset[str]:
    """Return the hashes of the mappings that this package wrote.

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
    """Return `text` or `string` for each string column whose kind the table records.

    This package records the kinds in the configuration, and they take precedence. For a table that it has never written
    to, they come from the doc mapping: the only one of the registry, else `of_a_file`, the mapping of any live file.
    """
    registry = _registry(configuration)
    recorded = {
        key.removeprefix(TYPEMAP_PREFIX): kind
        for key, kind in configuration.items()
        if key.startswith(TYPEMAP_PREFIX)
    }
    if any(_is_ours(document) for document in registry.values()):
        return recorded
    document = next(iter(registry.values())) if len(registry) == 1 else of_a_file()
    kinds = {} if document is None else _kinds(document)
    return {
        column.name: kinds[column.name]
        for column in schema
        if column.type == "string" and column.name in kinds and column.name not in partition_columns
    } | recorded


def _registry(configuration: Mapping[str, str]) -> dict[str, str]:
    return {
        key.removeprefix(REGISTRY_PREFIX): document
        for key, document in configuration.items()
        if key.startswith(REGISTRY_PREFIX)
    }


def _is_ours(document: str) -> bool:
    return any("sparkType" in field for field in _fields(document))


def _kinds(document: str) -> dict[str, str]:
    """Return the kind of each text field. The tokenizer `raw` makes one exact term; a missing name is the default."""
    return {
        field["name"]: "string" if field.get("tokenizer") == "raw" else "text"
        for field in _fields(document)
        if field.get("type") == "text" and isinstance(field.get("name"), str)
    }


def _fields(document: str) -> list[dict[str, Any]]:
    """Return the fields of a mapping, and none for a text that is not one: the mapping is only a hint."""
    try:
        fields = orjson.loads(document)
    except orjson.JSONDecodeError:
        return []
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []

"""The schema registry: field mappings stored once in the table's configuration, and referred to by files.

The name of a mapping is the hash of its canonical form (see `mapping_hash`). Other writers have hashed other forms, so
one mapping may have several names. `canonical_names` returns the right one for each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from indextables.log.actions import AddFile, Metadata
from indextables.schema import REGISTRY_PREFIX, mapping_hash


def doc_mapping(file: AddFile, metadata: Metadata) -> str | None:
    """Return the file's `docMappingJson`: its own, or what its `docMappingRef` names, or None if that is unknown.

    >>> table = Metadata("id", "{}", configuration={"docMappingSchema.ab": "[]"})
    >>> doc_mapping(AddFile("x", {}, 1, doc_mapping_ref="ab"), table)
    '[]'
    """
    if file.doc_mapping_json is not None or file.doc_mapping_ref is None:
        return file.doc_mapping_json
    return metadata.configuration.get(f"{REGISTRY_PREFIX}{file.doc_mapping_ref}")


def registry_names(configuration: Mapping[str, str]) -> list[str]:
    """Return the names in the registry.

    >>> registry_names({"docMappingSchema.ab": "[]", "delta.appendOnly": "true"})
    ['ab']
    """
    return [key.removeprefix(REGISTRY_PREFIX) for key in configuration if key.startswith(REGISTRY_PREFIX)]


def canonical_names(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the names in the registry that are not canonical, each with the canonical name of its mapping."""
    renamed: dict[str, str] = {}
    for name in registry_names(configuration):
        canonical = mapping_hash(configuration[f"{REGISTRY_PREFIX}{name}"])
        if name != canonical:
            renamed[name] = canonical
    return renamed


def renormalize_registry(
    metadata: Metadata, files: Iterable[AddFile], threshold: int
) -> tuple[Metadata, list[AddFile]] | None:
    """Return the metadata and the files to write so that each mapping has one name, or None if that is not due.

    It is due if more names than `threshold` are in use, and fewer would do. Names that no live file uses are kept,
    because an older version may need them.
    """
    renamed = canonical_names(metadata.configuration)
    if not renamed:
        return None  # a table that only this package wrote: its files need not be decoded
    files = list(files)
    used = {file.doc_mapping_ref for file in files if file.doc_mapping_ref is not None}
    renamed = {old: new for old, new in renamed.items() if old in used}
    if len(used) <= threshold or len({renamed.get(name, name) for name in used}) == len(used):
        return None
    registry = {
        f"{REGISTRY_PREFIX}{new}": metadata.configuration[f"{REGISTRY_PREFIX}{old}"]
        for old, new in renamed.items()
    }
    changed = [
        dataclasses.replace(file, doc_mapping_ref=renamed[file.doc_mapping_ref], data_change=False)
        for file in files
        if file.doc_mapping_ref in renamed
    ]
    configuration = {**registry, **metadata.configuration}
    return dataclasses.replace(metadata, configuration=configuration), changed

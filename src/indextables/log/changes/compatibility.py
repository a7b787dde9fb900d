"""Compatibility: whether files that were written for one metadata can be added to a table that has another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from indextables.config import keys
from indextables.errors import SchemaError
from indextables.log.actions import AddFile, Metadata
from indextables.log.snapshots import Snapshot, mapping_of
from indextables.schema import REGISTRY_PREFIX, TYPEMAP_PREFIX, TableSchema, mapping_hash


def check_compatible(written_for: Metadata, current: Snapshot, *, exactly: bool = False) -> None:
    """Raise SchemaError if files that were written for one metadata cannot be added to the current table.

    Columns that were added to the table since are missing in such files, as they are in all older ones. `exactly` does
    not allow them.
    """
    reason = incompatibility(written_for, current, may_lack=not exactly)
    if reason is not None:
        raise SchemaError(
            f"the table at {current.uri} has changed (now at version {current.version}): {reason}; "
            f"check its schema and write again"
        )


def incompatibility(mine: Metadata, current: Snapshot, *, may_lack: bool = False) -> str | None:
    """Return why files that were written for that metadata cannot be added to the table, or None if they can.

    The order of columns does not matter. That of partition columns does: it is the order of directories. A column is
    the same if it has the same name, type and stored name. With `may_lack`, the table may have further columns.
    """
    theirs = current.metadata
    if (mine.schema_string, mine.partition_columns, mine.configuration) == (
        theirs.schema_string,
        theirs.partition_columns,
        theirs.configuration,
    ):
        return None
    schema = TableSchema.of_table(theirs.schema_string)
    types_mine = {c.name: (c.type, c.stored_name) for c in TableSchema.of_table(mine.schema_string)}
    types_theirs = {c.name: (c.type, c.stored_name) for c in schema}
    may_lack = may_lack and schema.has_stored_names
    changed = sorted(
        name
        for name in types_mine.keys() | types_theirs
        if types_mine.get(name) != types_theirs.get(name) and not (may_lack and name not in types_mine)
    )
    if changed:
        return f"column {', '.join(changed)} is not what it was"
    if mine.partition_columns != theirs.partition_columns:
        return f"it is now partitioned by {', '.join(theirs.partition_columns) or 'nothing'}"
    kinds_mine = {mapped.name: mapped.kind for mapped in mapping_of(mine).fields}
    kinds_theirs = {mapped.name: mapped.kind for mapped in current.mapping.fields}
    changed = sorted(name for name, kind in kinds_mine.items() if kinds_theirs[name] != kind)
    if changed:
        return f"column {', '.join(changed)} is now indexed in another way"
    return None


def writer_metadata(snapshot: Snapshot) -> Metadata:
    """Return the metadata to write new files for: the table's own, with the mapping of this package's files.

    It differs from the table's own only if this package has not written to the table yet. Then another writer's doc
    mapping is adopted, with the choices that it implies.
    """
    mapping = snapshot.mapping
    key = f"{REGISTRY_PREFIX}{mapping_hash(mapping.to_json())}"
    if key in snapshot.metadata.configuration:
        return snapshot.metadata
    typemap = {f"{TYPEMAP_PREFIX}{mapped.name}": mapped.typemap for mapped in mapping.of_kind("text")}
    configuration = {**snapshot.metadata.configuration, **typemap, key: mapping.to_json()}
    return dataclasses.replace(snapshot.metadata, configuration=configuration)


def evolved_metadata(current: Metadata, planned: Metadata) -> Metadata:
    """Return the current metadata with the columns that were planned for it, and how these are indexed."""
    indexing = {
        key: value
        for key, value in planned.configuration.items()
        if key.startswith((REGISTRY_PREFIX, TYPEMAP_PREFIX))
    }
    return dataclasses.replace(
        current,
        schema_string=planned.schema_string,
        configuration={**current.configuration, **indexing},
    )


def replace_properties(current: Metadata, mine: Metadata, adds: Iterable[AddFile]) -> list[Metadata]:
    """Return the metadata to write for an overwrite: registered mappings, and the table properties that it sets."""
    written = register_mappings(current, mine, adds)
    property_keys = {setting.key for setting in keys.TABLE_PROPERTIES}
    properties = {key: value for key, value in mine.configuration.items() if key in property_keys}
    latest = written[0] if written else current
    if properties.items() <= latest.configuration.items():
        return written
    return [dataclasses.replace(latest, configuration={**latest.configuration, **properties})]


def register_mappings(current: Metadata, mine: Metadata, adds: Iterable[AddFile]) -> list[Metadata]:
    """Return the metadata to write so that the registry has every mapping that the new files name; usually none."""
    references = {
        f"{REGISTRY_PREFIX}{add.doc_mapping_ref}" for add in adds if add.doc_mapping_ref is not None
    }
    if not (references - current.configuration.keys()) & mine.configuration.keys():
        return []
    # The choices that the mapping records come with it. They are the table's, or `mine` would not be compatible.
    new = {
        key: document
        for key, document in mine.configuration.items()
        if key in references or key.startswith(TYPEMAP_PREFIX)
    }
    return [dataclasses.replace(current, configuration={**current.configuration, **new})]

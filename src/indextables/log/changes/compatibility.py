"""Whether files written for one metadata can live in a table that has another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from indextables.config import keys
from indextables.errors import SchemaError
from indextables.log.actions import AddFile, Metadata
from indextables.log.snapshots import Snapshot, mapping_of
from indextables.schema import REGISTRY_PREFIX, TYPEMAP_PREFIX, TableSchema, mapping_hash


def check_compatible(written_for: Metadata, current: Snapshot) -> None:
    """SchemaError if files written for one metadata cannot join the table as it is now."""
    reason = incompatibility(written_for, current)
    if reason is not None:
        raise SchemaError(
            f"the table at {current.uri} has changed (now at version {current.version}): {reason}; "
            f"look at its schema and write again"
        )


def incompatibility(mine: Metadata, current: Snapshot) -> str | None:
    """Why files written for that metadata cannot live in the table, or None.

    The order of columns does not matter; that of partition columns does, for it is the order of directories.
    """
    theirs = current.metadata
    if (mine.schema_string, mine.partition_columns, mine.configuration) == (
        theirs.schema_string,
        theirs.partition_columns,
        theirs.configuration,
    ):
        return None
    types_mine = {column.name: column.type for column in TableSchema.of_table(mine.schema_string)}
    types_theirs = {column.name: column.type for column in TableSchema.of_table(theirs.schema_string)}
    if types_mine != types_theirs:
        changed = sorted(
            name
            for name in types_mine.keys() | types_theirs
            if types_mine.get(name) != types_theirs.get(name)
        )
        return f"column {', '.join(changed)} is not what it was"
    if mine.partition_columns != theirs.partition_columns:
        return f"it is now partitioned by {', '.join(theirs.partition_columns) or 'nothing'}"
    kinds_mine = {mapped.name: mapped.kind for mapped in mapping_of(mine).fields}
    kinds_theirs = {mapped.name: mapped.kind for mapped in current.mapping.fields}
    if kinds_mine != kinds_theirs:
        changed = sorted(name for name, kind in kinds_mine.items() if kinds_theirs[name] != kind)
        return f"column {', '.join(changed)} is now indexed in another way"
    return None


def writer_metadata(snapshot: Snapshot) -> Metadata:
    """The metadata to write new files for: that of the table, and in it how our files are indexed.

    It differs from the table's own only where we have not written before: another writer's doc mapping is taken over
    as ours, with the choices that it implies.
    """
    mapping = snapshot.mapping
    key = f"{REGISTRY_PREFIX}{mapping_hash(mapping.to_json())}"
    if key in snapshot.metadata.configuration:
        return snapshot.metadata
    chosen = {f"{TYPEMAP_PREFIX}{mapped.name}": "text" for mapped in mapping.of_kind("text")}
    configuration = {**snapshot.metadata.configuration, **chosen, key: mapping.to_json()}
    return dataclasses.replace(snapshot.metadata, configuration=configuration)


def replace_properties(current: Metadata, mine: Metadata, adds: Iterable[AddFile]) -> list[Metadata]:
    """The same for a write that replaces all rows: the properties that it gives the table are taken over too."""
    written = register_mappings(current, mine, adds)
    known = {setting.key for setting in keys.TABLE_PROPERTIES}
    chosen = {key: value for key, value in mine.configuration.items() if key in known}
    latest = written[0] if written else current
    if chosen.items() <= latest.configuration.items():
        return written
    return [dataclasses.replace(latest, configuration={**latest.configuration, **chosen})]


def register_mappings(current: Metadata, mine: Metadata, adds: Iterable[AddFile]) -> list[Metadata]:
    """The metadata to write so that every mapping the new files refer to is in the registry; mostly none."""
    wanted = {f"{REGISTRY_PREFIX}{add.doc_mapping_ref}" for add in adds if add.doc_mapping_ref is not None}
    if not (wanted - current.configuration.keys()) & mine.configuration.keys():
        return []
    # With the mapping come the choices that it records: they are the same as before, or `mine` would not fit.
    new = {
        key: document
        for key, document in mine.configuration.items()
        if key in wanted or key.startswith(TYPEMAP_PREFIX)
    }
    return [dataclasses.replace(current, configuration={**current.configuration, **new})]

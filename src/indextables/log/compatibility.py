"""Whether files written for one metadata can live in a table that has another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from indextables.errors import SchemaError
from indextables.log.actions import AddFile, Metadata
from indextables.log.snapshot import Snapshot, mapping_of
from indextables.schema import REGISTRY_PREFIX, TableSchema


def check_fits(written_for: Metadata, current: Snapshot) -> None:
    """SchemaError if files written for one metadata cannot join the table as it is now."""
    reason = mismatch(written_for, current.metadata)
    if reason is not None:
        raise SchemaError(
            f"the table at {current.uri} has changed (now at version {current.version}): {reason}; "
            f"look at its schema and write again"
        )


def mismatch(mine: Metadata, theirs: Metadata) -> str | None:
    """Why files written for the one cannot live in the other, or None.

    The order of columns does not matter; that of partition columns does, for it is the order of directories.
    """
    if (mine.schema_string, mine.partition_columns, mine.configuration) == (
        theirs.schema_string,
        theirs.partition_columns,
        theirs.configuration,
    ):
        return None
    types_mine = {column.name: column.type for column in TableSchema.from_json(mine.schema_string)}
    types_theirs = {column.name: column.type for column in TableSchema.from_json(theirs.schema_string)}
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
    kinds_theirs = {mapped.name: mapped.kind for mapped in mapping_of(theirs).fields}
    if kinds_mine != kinds_theirs:
        changed = sorted(name for name, kind in kinds_mine.items() if kinds_theirs[name] != kind)
        return f"column {', '.join(changed)} is now indexed in another way"
    return None


def registered(current: Metadata, mine: Metadata, adds: Iterable[AddFile]) -> list[Metadata]:
    """The metadata to write so that every mapping the new files refer to is in the registry; mostly none."""
    wanted = {f"{REGISTRY_PREFIX}{add.doc_mapping_ref}" for add in adds if add.doc_mapping_ref is not None}
    new = {
        key: mine.configuration[key]
        for key in sorted(wanted - current.configuration.keys())
        if key in mine.configuration
    }
    if not new:
        return []
    return [dataclasses.replace(current, configuration={**current.configuration, **new})]

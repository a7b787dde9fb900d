"""Changes of a table's columns and properties. They are computed from the newest snapshot, again in every attempt.

No file is written again. A file that lacks a column, or has it under its stored name or in a narrower type, is read as
the table has it now (see `split_columns` in `split`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import keys
from indextables.errors import SchemaError, TableNotFoundError
from indextables.log.actions import Action, Metadata
from indextables.log.changes.compatibility import writer_metadata
from indextables.log.snapshots import Snapshot, mapping_of
from indextables.predicates import TRUE
from indextables.schema import (
    REGISTRY_PREFIX,
    TYPEMAP_PREFIX,
    AddColumn,
    ColumnChange,
    DropColumn,
    RenameColumns,
    TableSchema,
    evolve,
    mapping_hash,
    new_names,
    own_refs,
    resolve_typemap,
    type_name,
)

_OF_COLUMNS: Final = (keys.STATS_COLUMNS, keys.BLOOM_COLUMNS)
"""The properties that name columns."""


@dataclass(frozen=True)
class AlterTable:
    """Changes columns, in this order, and properties. `typemap` says how added columns are indexed.

    A property that is None is removed.
    """

    changes: tuple[ColumnChange, ...] = ()
    typemap: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str | None] = field(default_factory=dict)
    operation: ClassVar[str] = "ALTER TABLE"

    @property
    def parameters(self) -> Mapping[str, str]:
        described = [_describe(change) for change in self.changes]
        described += [f"SET {k} = {v}" if v is not None else f"UNSET {k}" for k, v in self.properties.items()]
        return {"changes": "; ".join(described)}

    def actions(self, current: Snapshot | None) -> list[Action]:
        if current is None:
            raise TableNotFoundError("there is no table to alter")
        metadata = self.new_metadata(current)
        configuration = {**metadata.configuration, **self.properties}
        configuration_left = {key: value for key, value in configuration.items() if value is not None}
        metadata = dataclasses.replace(metadata, configuration=configuration_left)
        return [] if metadata == current.metadata else [metadata]

    def new_metadata(self, current: Snapshot) -> Metadata:
        """Return the metadata of the table with its columns changed."""
        if not self.changes:
            return current.metadata
        _check_own_files(current)
        before = writer_metadata(current)
        schema = evolve(current.schema, current.partition_columns, self.changes)
        names = new_names(current.schema, schema)
        configuration = _rename_keys(before.configuration, current.schema, names)
        added = resolve_typemap(schema, current.partition_columns, self.typemap)
        configuration |= {f"{TYPEMAP_PREFIX}{name}": kind for name, kind in added.items()}
        metadata = dataclasses.replace(before, schema_string=schema.to_json(), configuration=configuration)
        mapping = mapping_of(metadata).to_json()
        registered = {f"{REGISTRY_PREFIX}{mapping_hash(mapping)}": mapping}
        return dataclasses.replace(metadata, configuration=configuration | registered)


def _check_own_files(current: Snapshot) -> None:
    """Raise SchemaError if a live file is of another writer: such files do not have stored names."""
    refs = current.prune(TRUE).entries.column("docMappingRef")
    own = pa.array(sorted(own_refs(current.metadata.configuration)), pa.string())
    if not pc.all(pc.is_in(refs, value_set=own), min_count=0).as_py():
        raise SchemaError(
            f"{current.uri} has splits of another writer, which know columns by their names only; merge them first, "
            "with MERGE SPLITS or Table.merge_splits, or overwrite the table"
        )


def _rename_keys(
    configuration: Mapping[str, str], schema: TableSchema, names: Mapping[str, str]
) -> dict[str, str]:
    """Return the configuration with the new names of columns, and without those of dropped ones."""
    renamed: dict[str, str] = {}
    for key, value in configuration.items():
        if key.startswith(TYPEMAP_PREFIX):
            path = key.removeprefix(TYPEMAP_PREFIX)
            root = schema.root(path) if schema.resolve(path) is not None else ""
            if root in names:
                renamed[f"{TYPEMAP_PREFIX}{names[root]}{path[len(root) :]}"] = value
            continue
        renamed[key] = value
    for setting in _OF_COLUMNS:
        if setting.key in renamed:
            columns = [schema.get(name) for name in setting.parse(renamed[setting.key])]
            names_left = [
                names[column.name] for column in columns if column is not None and column.name in names
            ]
            if names_left:
                renamed[setting.key] = ",".join(names_left)
            else:
                del renamed[setting.key]
    return renamed


def _describe(change: ColumnChange) -> str:
    match change:
        case AddColumn(name, kind, _, default):
            return f"ADD COLUMN {name} {type_name(kind)}" + (
                "" if default is None else f" DEFAULT {default!r}"
            )
        case RenameColumns(names):
            return "; ".join(f"RENAME COLUMN {old} TO {new}" for old, new in names)
        case DropColumn(name):
            return f"DROP COLUMN {name}"
        case _:
            return f"ALTER COLUMN {change.name} TYPE {type_name(change.type)}"

"""What a split stores: the columns of a table under their permanent names.

A table gives a column its stored name when the column is added, and never gives it to another one. So a column can be
renamed, or dropped and added again, without a change to any split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.schema import FieldMapping, TableSchema


@dataclass(frozen=True)
class StoredForm:
    """The columns of a split to write, how they are indexed, and the settings that name some of them."""

    schema: TableSchema
    mapping: FieldMapping
    settings: Settings

    @classmethod
    def of(cls, schema: TableSchema, mapping: FieldMapping, settings: Settings) -> StoredForm:
        """Return the stored form of a table's columns; `schema` and `mapping` do not have the partition columns."""
        if not mapping.columns:
            return cls(schema, mapping, settings)
        return cls(schema.as_stored(), mapping.as_stored(), _with_stored_names(settings, mapping))

    def batch(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows, which have the columns of the table in their order, under the stored names."""
        return pa.RecordBatch.from_arrays(rows.columns, schema=self.schema.arrow)


def _with_stored_names(settings: Settings, mapping: FieldMapping) -> Settings:
    """Return the settings with stored names. Names that the table does not have name nothing in a split either."""
    names = {column.name.lower(): column.stored for column in mapping.columns}

    def stored(listed: Sequence[str]) -> str:
        return ",".join(names[name.strip().lower()] for name in listed if name.strip().lower() in names)

    groups = settings.get(keys.COLUMN_GROUPS).split(";")
    changed = {keys.COLUMN_GROUPS.key: ";".join(stored(group.split(",")) for group in groups)}
    for setting in (keys.STATS_COLUMNS, keys.BLOOM_COLUMNS):
        if listed := settings.get(setting):
            changed[setting.key] = stored(listed)
    return Settings(dict(settings) | changed)

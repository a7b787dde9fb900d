"""Settings that belong to a table: what the write that made it chose holds for later writes that say nothing."""

from __future__ import annotations

from typing import Final

from indextables.config import Settings, keys
from indextables.errors import SchemaError
from indextables.log import Metadata
from indextables.schema import TableSchema

_COLUMNS: Final = (keys.STATS_COLUMNS, keys.BLOOM_COLUMNS)
"""The properties that name columns."""


def properties_to_store(settings: Settings, schema: TableSchema) -> dict[str, str]:
    """The properties that a caller has set, as a table's configuration keeps them.

    SchemaError for a column that is not there, or that has no minimum.

    >>> from indextables.schema import Field
    >>> schema = TableSchema((Field("Host", "string"),))
    >>> properties_to_store(Settings({"spark.indextables.stats.bloom.columns": "host"}), schema)
    {'spark.indextables.stats.bloom.columns': 'Host'}
    """
    known = {setting.key for setting in keys.TABLE_PROPERTIES}
    chosen = {key: value for key, value in settings if key in known}
    for setting in keys.TABLE_PROPERTIES:
        settings.get(setting)  # a value that does not parse is an error now and not in some task
    for setting in _COLUMNS:
        if setting.key in chosen:
            columns = [schema.field(name) for name in settings.get(setting)]
            binary = [column.name for column in columns if column.type == "binary"]
            if binary and setting is keys.STATS_COLUMNS:
                raise SchemaError(
                    f"column {binary[0]!r} is binary and has no min/max; leave it out of {setting.key}"
                )
            chosen[setting.key] = ",".join(column.name for column in columns)
    return chosen


def with_properties(settings: Settings, metadata: Metadata) -> Settings:
    """The settings, and where they are silent those of the table."""
    known = {setting.key for setting in keys.TABLE_PROPERTIES}
    kept = {key: value for key, value in metadata.configuration.items() if key in known}
    return Settings(kept | dict(settings))

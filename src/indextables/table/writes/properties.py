"""Table properties: settings of the write that creates a table, which later writes use unless they set their own."""

from __future__ import annotations

from typing import Final

from indextables.config import Settings, keys
from indextables.errors import SchemaError
from indextables.schema import TableSchema, is_orderable

_KEYS: Final = frozenset(setting.key for setting in keys.TABLE_PROPERTIES)

_COLUMNS: Final = (keys.STATS_COLUMNS, keys.BLOOM_COLUMNS)
"""The properties that name columns."""


def properties_to_store(settings: Settings, schema: TableSchema) -> dict[str, str]:
    """Return the properties that the caller has set, in the form of a table's configuration.

    SchemaError for a column that the table does not have, or that cannot have a minimum.

    >>> from indextables.schema import Field
    >>> schema = TableSchema((Field("Host", "string"),))
    >>> properties_to_store(Settings({"spark.indextables.stats.bloom.columns": "host"}), schema)
    {'spark.indextables.stats.bloom.columns': 'Host'}
    """
    properties = {key: value for key, value in settings if key in _KEYS}
    for setting in keys.TABLE_PROPERTIES:
        settings.get(setting)  # raise the error of a value that does not parse now, and not in a task
    for setting in _COLUMNS:
        if setting.key in properties:
            columns = [schema.field(name) for name in settings.get(setting)]
            unordered = [column for column in columns if not is_orderable(column.type)]
            if unordered and setting is keys.STATS_COLUMNS:
                raise SchemaError(
                    f"column {unordered[0].name!r} is {unordered[0].type_name} and has no min/max; leave it out of "
                    f"{setting.key}"
                )
            unhashed = [column for column in unordered if column.type != "binary"]
            if unhashed:
                raise SchemaError(
                    f"column {unhashed[0].name!r} is {unhashed[0].type_name} and has no Bloom filter; leave it out of "
                    f"{setting.key}"
                )
            properties[setting.key] = ",".join(column.name for column in columns)
    return properties

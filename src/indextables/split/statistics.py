"""What a split's log entry and its Bloom filters say of its rows, collected batch by batch."""

from __future__ import annotations

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.schema import FieldMapping, TableSchema, is_orderable
from indextables.stats import BloomCollector, MinMaxCollector


class RowStatistics:
    """Collects minima, maxima and Bloom filters. `columns` are those that a batch must have."""

    def __init__(self, schema: TableSchema, mapping: FieldMapping, settings: Settings) -> None:
        bounded, max_length = _bounded_columns(schema, mapping, settings)
        filtered = [
            column.name
            for name in settings.get(keys.BLOOM_COLUMNS)
            if (column := schema.get(name)) and (is_orderable(column.type) or column.type == "binary")
        ]
        self.columns = frozenset((*bounded, *filtered))
        self.max_inline_bytes = settings.get(keys.BLOOM_MAX_INLINE_BYTES)
        self.bounds = MinMaxCollector(schema, bounded, max_length)
        self.blooms = BloomCollector(schema, filtered, settings.get(keys.BLOOM_FPP))

    def add(self, batch: pa.RecordBatch) -> None:
        self.bounds.add(batch)
        self.blooms.add(batch)


def _bounded_columns(
    schema: TableSchema, mapping: FieldMapping, settings: Settings
) -> tuple[list[str], int | None]:
    """Return the columns with minimum and maximum, and how many characters of a string are kept.

    Unless the settings name them, these are the first columns except texts, for which they are of little use.
    """
    length = settings.get(keys.STATS_MAX_LENGTH) if settings.get(keys.STATS_TRUNCATION) else None
    configured = settings.get(keys.STATS_COLUMNS)
    if configured:
        return [column.name for name in configured if (column := schema.get(name)) is not None], length
    count = settings.get(keys.STATS_COLUMNS_COUNT)
    text = {field.name for field in mapping.of_kind("text")}
    leading = schema.names if count < 0 else schema.names[:count]
    return [name for name in leading if name not in text], length

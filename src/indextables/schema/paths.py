"""Values inside struct columns, by their path `column.field`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def path_values(batch: pa.RecordBatch, path: str) -> pa.Array:
    """Return a column of the batch, or a field of a struct, which is null where the struct is. KeyError if unknown.

    >>> rows = pa.record_batch({"user": [{"name": "ada"}, None]})
    >>> path_values(rows, "user.name").to_pylist()
    ['ada', None]
    """
    names = batch.schema.names
    if path in names:
        return batch.column(path)
    name = _first(names, path)
    values, rest = batch.column(name), path[len(name) + 1 :]
    while rest:
        name = _first([field.name for field in values.type.fields], rest)
        values, rest = pc.struct_field(values, [name]), rest[len(name) + 1 :]
    return values


def _first(names: list[str], path: str) -> str:
    """Return the name with which a path begins. Names may have dots; a schema has no two that give one path."""
    for name in names:
        if path == name or path.startswith(f"{name}."):
            return name
    raise KeyError(path)

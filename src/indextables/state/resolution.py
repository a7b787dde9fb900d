"""Entries of other releases: which of their fields are ours, and their values in our types.

A field is known by its id, whatever its name, and by its name where there is none. What a file does not have gets
its default, what we do not know is passed over, and numbers may be wider or narrower than ours.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.state.entry_fields import ENTRY_SCHEMA, FIELDS, EntryField
from indextables.stats import EARLIEST_MS, LATEST_MS, MAX_RECORDS

_FIGURES: Final = (
    ("numRecords", 0, MAX_RECORDS),
    ("modificationTime", EARLIEST_MS, LATEST_MS),
    ("addedAtTimestamp", EARLIEST_MS, LATEST_MS),
)
_NAMES: Final = frozenset(field.name for field in FIELDS)


def source_of(field: EntryField, written: list[dict[str, Any]]) -> str | None:
    """The writer's name for one of our fields.

    The same id is the same field, whatever its name; but a name that is another field of ours shows a writer
    that numbers fields in its own way, and then only names count.
    """
    others = _NAMES - {field.name}
    same_id = (f["name"] for f in written if f.get("field-id") == field.id and f["name"] not in others)
    same_name = (f["name"] for f in written if f["name"] == field.name)
    return next(same_id, None) or next(same_name, None)


def resolved(table: pa.Table, sources: tuple[str | None, ...]) -> pa.Table:
    """The entries in ENTRY_SCHEMA, from a table that has a column for each name among `sources`."""
    columns = []
    for field, source in zip(FIELDS, sources, strict=True):
        if source is None:
            columns.append(pa.repeat(pa.scalar(field.default, field.type), table.num_rows))
            continue
        column = table.column(source)
        if column.type != field.type:
            if not _is_wider_or_narrower(column.type, field.type):
                raise ValueError(f"field {source!r} has type {column.type}")
            column = column.cast(field.type)
        if field.required and column.null_count:
            raise ValueError(f"field {source!r} is null in an entry")
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=ENTRY_SCHEMA)


def with_possible_figures(entries: pa.Table) -> pa.Table:
    """Replace the counts and times that cannot be true: by null where there may be one, by 0 elsewhere."""
    for name, low, high in _FIGURES:
        column = entries.column(name)
        found = pc.min_max(column)
        if found["min"].as_py() is None or (low <= found["min"].as_py() and found["max"].as_py() <= high):
            continue
        field = entries.schema.field(name)
        is_possible = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
        unknown = pa.scalar(None if name == "numRecords" else 0, field.type)
        column = pc.if_else(is_possible, column, unknown)
        entries = entries.set_column(entries.schema.get_field_index(name), field, column)
    return entries


def _is_wider_or_narrower(written: pa.DataType, ours: pa.DataType) -> bool:
    """Whether a value of the one may be a value of the other, as Avro widens types; which ones are, a cast tells."""
    if pa.types.is_integer(ours):
        return bool(pa.types.is_integer(written) or pa.types.is_floating(written))
    return bool(pa.types.is_null(written) or written.id == ours.id)


def physical(node: Any) -> Any:
    """The schema without what only says how a value is meant: the number of a moment, not the moment, is ours."""
    if isinstance(node, dict):
        return {key: physical(value) for key, value in node.items() if key != "logicalType"}
    return [physical(item) for item in node] if isinstance(node, list) else node


def is_plain(kind: Any) -> bool:
    """Whether pyruhvro surely knows the type: from some others, such as bytes, it dies instead of refusing them."""
    match kind:
        case str():
            return kind in _PLAIN
        case list():
            return len(kind) == 2 and "null" in kind and all(map(is_plain, kind))
        case {"type": "map", "values": inner} | {"type": "array", "items": inner}:
            return is_plain(inner)
        case {"type": str(name)}:
            return name in _PLAIN
        case _:
            return False


_PLAIN: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "string"})

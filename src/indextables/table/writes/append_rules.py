"""Rules of an append: rows must have the table's columns, partitioning and indexing, or types that widen to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from indextables.config import Settings, keys
from indextables.errors import ConfigError, SchemaError
from indextables.log import AlterTable, Metadata, Snapshot, writer_metadata
from indextables.schema import (
    AddColumn,
    Field,
    TableSchema,
    fast_columns,
    join_kind,
    requested_typemap,
    resolve_typemap,
    todays_name,
    type_name,
    value_kind,
    widens,
    widens_in_place,
)


def append_metadata(
    base: Snapshot,
    rows: TableSchema,
    partition_by: list[str] | tuple[str, ...] | None,
    settings: Settings,
    *,
    is_complete: bool = False,
) -> Metadata:
    """Return the metadata to write the rows of an append for: the table's, or with columns that the append adds.

    SchemaError or ConfigError for an append that would change columns, partitioning or indexing. `is_complete` says
    that the rows must have every column; otherwise those that they lack are null, or have their default.
    """
    added = _added_columns(base.schema, rows, settings)
    required = base.schema.names if is_complete else base.partition_columns
    check_columns(base.schema, rows, added=[column.name for column in added], required=required)
    check_partitioning(base.partition_columns, partition_by)
    columns = TableSchema((*base.schema, *added))
    requested = requested_typemap(columns, settings)
    kinds = resolve_typemap(columns, base.partition_columns, requested)
    new = {name: kind for name, kind in kinds.items() if base.schema.resolve(name) is None}
    _check_indexing(base, {name: kind for name, kind in kinds.items() if name not in new})
    _check_fast_fields(base, settings)
    if not added:
        return writer_metadata(base)
    return AlterTable(tuple(map(AddColumn.of, added)), new).new_metadata(base)


def append_schema(base: Snapshot, rows: TableSchema, settings: Settings) -> TableSchema:
    """Return the columns that Spark fits the rows of an append to: the table's, and those that the append adds.

    SchemaError if the rows have other columns, or lack a partition column. Types are for Spark to compare, which casts
    more of them than `append_metadata` accepts.
    """
    added = _added_columns(base.schema, rows, settings)
    _check_names(base.schema, rows, [column.name for column in added], base.partition_columns)
    return TableSchema((*base.schema, *added))


def _added_columns(table: TableSchema, rows: TableSchema, settings: Settings) -> list[Field]:
    """Return the columns of the rows that the table lacks, if the write is to add such columns."""
    is_asked_for = settings.get(keys.MERGE_SCHEMA)
    return [column for column in rows if table.get(column.name) is None] if is_asked_for else []


def _check_indexing(base: Snapshot, kinds: Mapping[str, str]) -> None:
    """Raise ConfigError if the write asks for another index of a column than the table has."""
    for name, kind in kinds.items():
        mapped = base.mapping.get(name)
        stored: str = "string" if mapped is None else mapped.kind  # partition columns are not in the mapping
        if mapped is not None and ";" in kind:
            stored = join_kind(mapped.kind, mapped.tokenizer, mapped.record, full=True)
            current = join_kind(mapped.kind, todays_name(mapped.tokenizer), mapped.record, full=True)
            if kind == current:
                continue  # the table keeps the rules that it was created with
        if stored != kind:
            raise ConfigError(
                f"column {name!r} is indexed as {stored} in this table and the write says {kind}; "
                "leave the typemap and the options of the column out, or overwrite the table"
            )


def _check_fast_fields(base: Snapshot, settings: Settings) -> None:
    """Raise ConfigError if the write asks for a fast field of a column that the table only stores."""
    for column in fast_columns(base.schema, settings):
        mapped = base.mapping.get(column.name)
        if mapped is not None and mapped.kind == "none" and value_kind(column.type) != "none":
            raise ConfigError(
                f"column {column.name!r} is stored and not indexed in this table, and {keys.FAST_FIELDS.key} names it; "
                "leave it out there, or overwrite the table"
            )


def check_partitioning(table: Sequence[str], partition_by: Sequence[str] | None) -> None:
    """Raise SchemaError for a write by other partition columns than the table's. None: the write names none."""
    if partition_by is not None and [n.lower() for n in partition_by] != [n.lower() for n in table]:
        raise SchemaError(
            f"the table is partitioned by {_enumerate(tuple(table))} and the write by "
            f"{_enumerate(tuple(partition_by))}; leave the partitioning out, or overwrite the table"
        )


def check_columns(
    table: TableSchema,
    rows: TableSchema,
    *,
    added: Sequence[str] = (),
    required: Collection[str] | None = None,
) -> None:
    """Raise SchemaError for rows whose columns differ from the table's; their order does not matter."""
    _check_names(table, rows, added, table.names if required is None else required)
    for column in table:
        given = rows.get(column.name)
        if given is not None and not widens(given.type, column.type):
            wider = widens_in_place(column.type, given.type)
            other = (
                f", or widen the column with Table.alter or ALTER TABLE to {given.type_name}" if wider else ""
            )
            raise SchemaError(
                f"column {column.name!r} is {column.type_name} in the table and {type_name(given.type)} in the rows; "
                f"cast it first{other}"
            )


def _check_names(
    table: TableSchema, rows: TableSchema, added: Sequence[str], required: Collection[str]
) -> None:
    extra = [column for column in rows if table.get(column.name) is None and column.name not in added]
    if extra:
        unknown = ", ".join(f"{column.name!r} ({column.type_name})" for column in extra)
        raise SchemaError(
            f"the rows have columns that the table does not have: {unknown}. The table has "
            f"{_enumerate(tuple(table.names))}. Leave them out, add them with Table.alter(add=...) or ALTER TABLE ADD "
            f"COLUMN, or write with {keys.MERGE_SCHEMA.key} = true, which adds them; in Spark the "
            "option mergeSchema does too"
        )
    missing = [column.name for column in table if column.name in required and rows.get(column.name) is None]
    if missing:
        raise SchemaError(
            f"the rows lack the columns {_enumerate(tuple(missing))} of the table, which this operation needs; it has "
            f"{_enumerate(tuple(rows.names))}. Add them to the rows"
        )


def _enumerate(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names) if names else "nothing"

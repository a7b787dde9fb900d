"""Rules of an append: rows must have the table's columns, partitioning and indexing, or types that widen to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from indextables.errors import ConfigError, SchemaError
from indextables.log import Snapshot
from indextables.schema import TableSchema, arrow_type, decimal_size, join_kind, resolve_typemap, type_name

_WIDENS_TO: Final[dict[str, frozenset[str]]] = {
    "byte": frozenset({"short", "integer", "long"}),
    "short": frozenset({"integer", "long"}),
    "integer": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
}
"""For each type, the wider types that hold all its values: rows of the type may be appended to such a column."""


def check_appendable(
    base: Snapshot,
    schema: TableSchema,
    partition_by: list[str] | tuple[str, ...] | None,
    typemap: Mapping[str, str],
) -> None:
    """Raise SchemaError or ConfigError for an append that would change columns, partitioning or indexing."""
    check_columns(base.schema, schema)
    check_partitioning(base.partition_columns, partition_by)
    for name, kind in resolve_typemap(base.schema, base.partition_columns, typemap).items():
        mapped = base.mapping.get(name)
        stored: str = "string" if mapped is None else mapped.kind  # partition columns are not in the mapping
        if mapped is not None and ";" in kind:
            stored = join_kind(mapped.kind, mapped.tokenizer, mapped.record, full=True)
        if stored != kind:
            raise ConfigError(
                f"column {name!r} is indexed as {stored} in this table and the write says {kind}; "
                "leave the typemap and the options of the column out, or overwrite the table"
            )


def check_partitioning(table: Sequence[str], partition_by: Sequence[str] | None) -> None:
    """Raise SchemaError for a write by other partition columns than the table's. None: the write names none."""
    if partition_by is not None and [n.lower() for n in partition_by] != [n.lower() for n in table]:
        raise SchemaError(
            f"the table is partitioned by {_enumerate(tuple(table))} and the write by "
            f"{_enumerate(tuple(partition_by))}; leave the partitioning out, or overwrite the table"
        )


def check_columns(table: TableSchema, rows: TableSchema) -> None:
    """Raise SchemaError for rows whose columns differ from the table's; their order does not matter."""
    extra = [column.name for column in rows if table.get(column.name) is None]
    missing = [column.name for column in table if rows.get(column.name) is None]
    if extra or missing:
        details = [f"unknown to the table: {_enumerate(tuple(extra))}"] if extra else []
        details += [f"missing: {_enumerate(tuple(missing))}"] if missing else []
        raise SchemaError(f"the columns do not fit the table ({'; '.join(details)})")
    for column in table:
        row_type = rows.field(column.name).type
        if not _widens(row_type, column.type):
            raise SchemaError(
                f"column {column.name!r} is {column.type_name} in the table and {type_name(row_type)} in the rows; "
                "cast it first"
            )


def _widens(rows: str, table: str) -> bool:
    """Return True if a column of the table's type holds every value of a column of the rows' type."""
    if rows in (table, "void") or table in _WIDENS_TO.get(rows, ()):
        return True
    of_rows, of_table = decimal_size(rows), decimal_size(table)
    if of_rows is not None and of_table is not None:
        return of_rows[1] <= of_table[1] and of_rows[0] - of_rows[1] <= of_table[0] - of_table[1]
    return arrow_type(rows) == arrow_type(table) is not None  # they differ in comments


def _enumerate(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names) if names else "nothing"

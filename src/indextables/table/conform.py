"""Making rows fit a table: same columns in the table's order and types, or an error that names the difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from indextables.errors import ConfigError, SchemaError
from indextables.log import Snapshot
from indextables.schema import TableSchema, resolve_typemap

_WIDENS_TO: Final[dict[str, frozenset[str]]] = {
    "byte": frozenset({"short", "integer", "long"}),
    "short": frozenset({"integer", "long"}),
    "integer": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
}
"""Types whose every value the other can hold: those may be appended to a column of the wider type."""


def check_appendable(
    base: Snapshot,
    schema: TableSchema,
    partition_by: list[str] | tuple[str, ...] | None,
    typemap: Mapping[str, str],
) -> None:
    """Refuses an append that would change what the table is."""
    check_columns(base.schema, schema)
    if partition_by is not None and tuple(n.lower() for n in partition_by) != tuple(
        n.lower() for n in base.partition_columns
    ):
        raise SchemaError(
            f"the table is partitioned by {_listed(base.partition_columns)} and the write by "
            f"{_listed(tuple(partition_by))}; leave the partitioning out, or overwrite the table"
        )
    for name, kind in resolve_typemap(base.schema, base.partition_columns, typemap).items():
        mapped = base.mapping.get(name)
        stored = "string" if mapped is None else mapped.kind  # partition columns are not in the mapping
        if stored != kind:
            raise ConfigError(
                f"column {name!r} is indexed as {stored} in this table and the write says {kind}; "
                "leave the typemap out, or overwrite the table"
            )


def check_columns(table: TableSchema, rows: TableSchema) -> None:
    """Refuses rows whose columns are not the table's, whatever their order."""
    extra = [column.name for column in rows if table.get(column.name) is None]
    missing = [column.name for column in table if rows.get(column.name) is None]
    if extra or missing:
        details = [f"unknown to the table: {_listed(tuple(extra))}"] if extra else []
        details += [f"missing: {_listed(tuple(missing))}"] if missing else []
        raise SchemaError(f"the columns do not fit the table ({'; '.join(details)})")
    for column in table:
        given = rows.field(column.name).type
        if given != column.type and column.type not in _WIDENS_TO.get(given, ()):
            raise SchemaError(
                f"column {column.name!r} is {column.type} in the table and {given} in the rows; cast it first"
            )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names) if names else "nothing"

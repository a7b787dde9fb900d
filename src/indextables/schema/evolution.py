"""Changes of a table's columns, as pure functions of its schema.

A column keeps its stored name for ever, whatever its name becomes, and an added column gets one that no other column
has ever had: a name that is dropped and added again is another column (see `STORED_NAME`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from indextables.errors import SchemaError
from indextables.runtime import new_id
from indextables.schema.types import DEFAULT, IDENTITY, STORED_NAME, Field, TableSchema
from indextables.schema.widening import widens_in_place

_COMMENT = "comment"


@dataclass(frozen=True)
class AddColumn:
    """Adds a column at the end. `stored` is its stored name, and `default` the text of its value in older rows."""

    name: str
    type: str
    stored: str
    default: str | None = None
    comment: str | None = None

    @classmethod
    def of(cls, column: Field, default: str | None = None) -> AddColumn:
        """Return the change that adds a column, under a stored name that no column has ever had."""
        return cls(column.name, column.type, _new_stored_name(column), default)


@dataclass(frozen=True)
class RenameColumns:
    """Gives columns other names, all at the same time: two columns can swap theirs."""

    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DropColumn:
    """Removes a column from the table. Splits keep its values until they are merged."""

    name: str


@dataclass(frozen=True)
class WidenColumn:
    """Gives a column a wider type, which its index holds already."""

    name: str
    type: str


ColumnChange: TypeAlias = AddColumn | RenameColumns | DropColumn | WidenColumn


def evolve(
    schema: TableSchema, partition_columns: Sequence[str], changes: Iterable[ColumnChange]
) -> TableSchema:
    """Return the schema after the changes. SchemaError for one that cannot be made, with what can be done instead.

    >>> schema = TableSchema((Field("a", "integer"), Field("b", "string")))
    >>> changed = evolve(schema, (), [RenameColumns((("a", "n"),)), WidenColumn("n", "long")])
    >>> [(column.name, column.type, column.stored_name) for column in changed]
    [('n', 'long', 'a'), ('b', 'string', 'b')]
    """
    columns = [replace(c, metadata={**c.metadata, STORED_NAME: c.stored_name}) for c in schema]
    for change in changes:
        match change:
            case AddColumn():
                columns.append(_new_field(change, columns))
            case RenameColumns(names):
                columns = _rename(columns, names, partition_columns)
            case DropColumn(name):
                columns.remove(_changeable(columns, name, partition_columns, "dropped"))
                if all(column.name in partition_columns for column in columns):
                    raise SchemaError(
                        f"column {name!r} is the last one; a table needs at least one that is no partition column"
                    )
            case WidenColumn(name, kind):
                column = _changeable(columns, name, partition_columns, "widened")
                columns[columns.index(column)] = _widen(column, kind)
    return TableSchema(tuple(columns))


def overwrite(
    before: TableSchema,
    after: TableSchema,
    partition_columns: Sequence[str],
    *,
    without_default: Collection[str] = (),
) -> TableSchema:
    """Return the schema of a table whose rows are all replaced by rows with the columns of `after`.

    A column of a name that the table has is that column, even if its type is another one; a column of another name is
    new. In a table whose columns were never changed, a column is its name, and nothing needs to be recorded.

    >>> before = evolve(TableSchema((Field("a", "long"),)), (), [RenameColumns((("a", "n"),))])
    >>> after = overwrite(before, TableSchema((Field("n", "long"), Field("a", "long"))), ())
    >>> after.field("n").stored_name, after.field("a").stored_name == "a"
    ('a', False)
    """
    if not before.has_stored_names:
        return after
    in_paths = {name.lower() for name in partition_columns}
    columns = []
    for column in after:
        old = before.get(column.name)
        stored = _new_stored_name(column) if old is None else old.stored_name
        identity = stored if old is None else old.identity
        if column.name in partition_columns:
            stored = column.name
        elif stored.lower() in in_paths:  # the statistics of the two columns would have one name
            stored = _new_stored_name(column)
        metadata = {**column.metadata, STORED_NAME: stored}
        if identity.lower() != stored.lower():
            metadata[IDENTITY] = identity
        default = old.default if old is not None and old.type == column.type else None
        if default is not None and column.name not in (*without_default, *partition_columns):
            metadata[DEFAULT] = default
        columns.append(replace(column, metadata=metadata))
    return TableSchema(tuple(columns))


def new_names(before: TableSchema, after: TableSchema) -> Mapping[str, str]:
    """Return the name that each column has after a change, by its name before; dropped columns are left out."""
    by_stored = {column.stored_name: column.name for column in after}
    return {c.name: by_stored[c.stored_name] for c in before if c.stored_name in by_stored}


def _find(columns: Sequence[Field], name: str) -> Field:
    folded = [column for column in columns if column.name.lower() == name.lower()]
    if not folded:
        path = TableSchema(tuple(columns)).resolve(name)
        if path is not None:
            raise SchemaError(
                f"{name!r} is a field of a struct, and only whole columns can be changed; add a column for it instead"
            )
        raise SchemaError(f"no column {name!r}: the table has {', '.join(column.name for column in columns)}")
    return folded[0]


def _changeable(columns: Sequence[Field], name: str, partition_columns: Sequence[str], how: str) -> Field:
    column = _find(columns, name)
    if column.name in partition_columns:
        raise SchemaError(
            f"column {column.name!r} is a partition column, whose name and values are in the paths of files: it "
            f"cannot be {how}. Write the rows to a table with the partitioning that you want"
        )
    return column


def _new_field(change: AddColumn, columns: Sequence[Field]) -> Field:
    if any(column.name.lower() == change.name.lower() for column in columns):
        raise SchemaError(f"the table has a column {change.name!r} already; choose another name")
    if any(column.stored_name.lower() == change.stored.lower() for column in columns):
        raise SchemaError(f"the stored name {change.stored!r} of column {change.name!r} is taken; try again")
    metadata = {STORED_NAME: change.stored}
    if change.default is not None:
        metadata[DEFAULT] = change.default
    if change.comment is not None:
        metadata[_COMMENT] = change.comment
    return Field(change.name, change.type, metadata)


def _rename(
    columns: Sequence[Field], names: Sequence[tuple[str, str]], partition_columns: Sequence[str]
) -> list[Field]:
    new = {_changeable(columns, old, partition_columns, "renamed").name: name for old, name in names}
    renamed = [replace(column, name=new.get(column.name, column.name)) for column in columns]
    folded = [column.name.lower() for column in renamed]
    taken = [name for name in new.values() if folded.count(name.lower()) > 1]
    if taken:
        raise SchemaError(f"two columns would have the name {taken[0]!r}; choose another one")
    return renamed


def _new_stored_name(column: Field) -> str:
    return f"{column.name}_{new_id().hex[:12]}"


def _widen(column: Field, kind: str) -> Field:
    wide = Field(column.name, kind)
    if not widens_in_place(column.type, kind):
        raise SchemaError(
            f"column {column.name!r} is {column.type_name} and cannot become {wide.type_name}: integers can become "
            "wider integers, float can become double, and decimals can get more digits before the point. For other "
            "types, add a column and fill it with upsert, or overwrite the table"
        )
    return replace(column, type=kind)

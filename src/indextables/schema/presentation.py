"""Rows of one version of a table, read as the columns of another one.

A feed of changes and a stream read splits of many versions, and show them with the columns of one. Each split is read
by the schema of the version that had it. A column of the reader is one of three things in it:

- the column of the same identity, which may have had another name or a narrower type then, or have been a partition
  column;
- missing, if no column had this identity then: it has its default, or else null. Splits keep the values of a column
  that was dropped. They are read if it is there again, as after a restore, so that a row is deleted as it was inserted;
- one that cannot be read, if the column had a type then whose values the type of now does not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from indextables.schema.spark_types import arrow_type
from indextables.schema.types import DEFAULT, STORED_NAME, Field, TableSchema
from indextables.schema.widening import widens, widens_in_place

_MISSING: Final = "\0"
"""Begins the stored name of a column that is not to be read. No split has a column of such a name."""


@dataclass(frozen=True)
class Presentation:
    """The columns of a reader, as the splits of another version have them.

    `schema` has the names and types of the reader, and the stored names of that version. `partition_columns` are the
    names, in that version and now, of columns that it was partitioned by. `unreadable` has the columns with types that
    do not widen, as they were, and `unsearchable` those whose values can be read, and whose index is another one.
    """

    schema: TableSchema
    partition_columns: Mapping[str, str]
    unreadable: Mapping[str, Field]
    unsearchable: Mapping[str, Field]


def present(now: TableSchema, then: TableSchema, partition_columns: Collection[str]) -> Presentation:
    r"""Return how splits of the schema `then`, with these partition columns, have the columns of `now`.

    >>> then = TableSchema((Field("a", "integer"), Field("b", "string")))
    >>> shown = present(TableSchema((Field("a", "long"), Field("b", "long"), Field("c", "long"))), then, ["a"])
    >>> dict(shown.partition_columns), sorted(shown.unreadable), shown.schema.field("b").stored_name
    ({'a': 'a'}, ['b'], '\x00b')
    """
    by_identity = {column.identity: column for column in then}
    stored = {column.stored_name.lower() for column in then}
    columns: list[Field] = []
    partitions: dict[str, str] = {}
    unreadable: dict[str, Field] = {}
    unsearchable: dict[str, Field] = {}
    for column in now:
        old = by_identity.get(column.identity)
        default = column.default if old is None else old.default
        if old is None and column.identity == column.stored_name.lower() and column.identity not in stored:
            name = column.stored_name
        elif old is None or old.type == "void":  # it has no value
            name = f"{_MISSING}{column.name}"
        elif not widens(old.type, column.type):
            unreadable[column.name] = old
            name, default = f"{_MISSING}{column.name}", None
        elif old.name in partition_columns:
            partitions[old.name] = name = column.name
        else:
            name = old.stored_name
        if old is not None and column.name not in unreadable and not _is_indexed_alike(old.type, column.type):
            unsearchable[column.name] = old
        metadata = {STORED_NAME: name} | ({} if default is None else {DEFAULT: default})
        columns.append(Field(column.name, column.type, metadata))
    return Presentation(TableSchema(tuple(columns)), partitions, unreadable, unsearchable)


def _is_indexed_alike(old: str, new: str) -> bool:
    return old == "void" or arrow_type(old) == arrow_type(new) or widens_in_place(old, new)

"""A split as the columns of its table: the one place where stored names become names, and missing columns values.

A split is written once, and the columns of its table change. A column of the table is one of three things in a split:

- stored, under the permanent name of the column, with the type that it had when the split was written;
- missing, because it was added later: then it has one value in all rows, its default or else null;
- for a table whose columns never changed, the column of the same name.

Everything above, queries, predicates, rows and rankings, uses the names and types of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.predicates import Predicate, with_names
from indextables.rows import RowIds
from indextables.runtime import lazy_property
from indextables.schema import Field, FieldMapping, MappedField, TableSchema, Value, cast_exactly, widens
from indextables.split.rows import RowStore, Window, empty_batch

_MISSING: Final = "\0"
"""Takes the place of the name of a missing column. No column has it, so that nothing is known of its values."""


@dataclass(frozen=True)
class SplitColumns:
    """How a split has the columns of its table.

    `stored` is the mapping of the split. `mapping` is that of the table, with the kinds and tokenizers of the split.
    """

    stored: FieldMapping
    mapping: FieldMapping

    @classmethod
    def of(cls, stored: FieldMapping, table: FieldMapping | None) -> SplitColumns:
        """Return the columns of a split. SchemaError if a column has a type that does not widen to the table's."""
        if table is None or not table.columns:
            return cls(stored, stored)
        by_name = {field.name: field for field in stored.fields}
        names = {column.name: column.stored for column in table.columns}
        fields = tuple(_in_split(field, by_name.get(names[field.name])) for field in table.fields)
        return cls(stored, FieldMapping(fields, table.columns))

    @property
    def is_plain(self) -> bool:
        """Whether the split has the columns of its table under their names."""
        return not self.mapping.columns

    @lazy_property
    def schema(self) -> TableSchema:
        """The columns of the table with their types."""
        return TableSchema(tuple(Field(field.name, field.spark_type) for field in self.mapping.fields))

    @lazy_property
    def stored_schema(self) -> TableSchema:
        """The columns of the split with their types."""
        return TableSchema(tuple(Field(field.name, field.spark_type) for field in self.stored.fields))

    @lazy_property
    def names(self) -> Mapping[str, str]:
        """The stored name of each column, and of each field of a struct, that the split has."""
        if self.is_plain:
            return {field.name: field.name for field in self.stored.all}
        stored = {field.name for field in self.stored.fields}
        roots = {column.name: column.stored for column in self.mapping.columns if column.stored in stored}
        return {
            field.name: roots[field.column] + field.name[len(field.column) :]
            for field in self.mapping.all
            if field.column in roots
        }

    @lazy_property
    def constants(self) -> Mapping[str, Value | None]:
        """The value of each column, and of each field of a struct, that the split does not have."""
        defaults = {column.name: column.default for column in self.mapping.columns}
        return {
            field.name: defaults.get(field.name) for field in self.mapping.all if field.name not in self.names
        }

    def stored_name(self, name: str) -> str:
        """Return the stored name of a column, or one that no column has if the split does not have it."""
        return self.names.get(name, _MISSING)


class TableRows:
    """The rows of a split as the columns of its table."""

    def __init__(self, rows: RowStore, columns: SplitColumns) -> None:
        self._rows = rows
        self._columns = columns

    def windows(self, wanted: RowIds | None, predicate: Predicate) -> Iterator[Window]:
        """Yield the row groups that hold wanted rows and whose statistics do not rule the predicate out."""
        return self._rows.windows(wanted, with_names(predicate, self._columns.stored_name))

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        """Return the rows of these groups, in the order in which `read` returns them."""
        return self._rows.row_ids(groups)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
        """Return all rows of these groups."""
        return self._as_table(self._rows.read(groups, self._stored_names(columns)), columns)

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Return just these rows, which are ascending."""
        return self._as_table(self._rows.fetch(rows, self._stored_names(columns)), columns)

    def _stored_names(self, columns: Sequence[str]) -> list[str]:
        names = self._columns.names
        return [names[name] for name in columns if name in names]

    def _as_table(self, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        if not columns:
            return empty_batch(batch.num_rows)
        names, constants, schema = self._columns.names, self._columns.constants, self._columns.schema
        arrays = []
        for name in columns:
            kind = schema.field(name).arrow_type
            if name in names:
                arrays.append(cast_exactly(batch.column(names[name]), name, kind))
            else:
                arrays.append(pa.repeat(pa.scalar(constants[name], kind), batch.num_rows))
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _in_split(table: MappedField, stored: MappedField | None) -> MappedField:
    """Return a column of the table, with the kind and the tokenizer that it has in a split."""
    if stored is None:
        return table
    if not widens(stored.spark_type, table.spark_type):
        raise SchemaError(
            f"its column {stored.name!r} is {stored.type_name}, which is no {table.type_name} of column {table.name!r}"
        )
    fields = {field.name[len(stored.name) :]: field for field in stored.inner}
    inner = tuple(_in_split(field, fields.get(field.name[len(table.name) :])) for field in table.inner)
    return replace(table, kind=stored.kind, inner=inner, tokenizer=stored.tokenizer, record=stored.record)

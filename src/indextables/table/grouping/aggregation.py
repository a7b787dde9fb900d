"""What an aggregate query asks for: the groups, and what to compute of each.

The results of several splits are partial: an aggregate of aggregates combines them. Spark does that for the results of
tasks, so a task may return several rows for one group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from indextables.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    MAX_PRECISION,
    Field,
    TableSchema,
    decimal_size,
    is_nested,
)
from indextables.table.grouping.bucket_keys import BucketKeys

Function: TypeAlias = Literal["count", "sum", "min", "max"]

_SUM_DIGITS: Final = 10
"""Spark's sum of decimals has so many digits more than they have."""


@dataclass(frozen=True)
class GroupKey:
    """A column whose values make groups, or the buckets of its values."""

    column: str
    buckets: BucketKeys | None = None


@dataclass(frozen=True)
class Measure:
    """A figure of a group. Without a column, `count` counts rows; else the values that are not null."""

    function: Function
    column: str | None = None


@dataclass(frozen=True)
class Aggregate:
    """The keys and the measures of a query. The default counts rows.

    >>> Aggregate((GroupKey("level"),), (Measure("count"), Measure("max", "ms"))).columns
    ('level', 'ms')
    """

    groups: tuple[GroupKey, ...] = ()
    measures: tuple[Measure, ...] = (Measure("count"),)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the aggregate reads, each once."""
        of_measures = (measure.column for measure in self.measures if measure.column is not None)
        return tuple(dict.fromkeys((*(key.column for key in self.groups), *of_measures)))


COUNT_ROWS: Final = Aggregate()


def result_fields(schema: TableSchema, aggregate: Aggregate) -> list[Field]:
    """Return the columns of the result, with the types that Spark gives them: the keys, then the measures."""
    keys = [
        Field(f"group_{i}", _key_type(schema.field(key.column), key))
        for i, key in enumerate(aggregate.groups)
    ]
    measures = [
        Field(f"measure_{i}", _measure_type(schema, measure)) for i, measure in enumerate(aggregate.measures)
    ]
    return [*keys, *measures]


def is_supported(schema: TableSchema, aggregate: Aggregate) -> bool:
    """Return True if the columns have types of which tasks compute the same as Spark.

    >>> schema = TableSchema((Field("n", "long"), Field("s", "string")))
    >>> [is_supported(schema, Aggregate((), (Measure("sum", name),))) for name in schema.names]
    [True, False]
    """
    return all(_is_key(schema.get(key.column), key) for key in aggregate.groups) and all(
        measure.column is None or _is_measured(schema.get(measure.column), measure.function)
        for measure in aggregate.measures
    )


def _is_key(column: Field | None, key: GroupKey) -> bool:
    if column is None or not _is_plain(column):
        return False
    return key.buckets is None or key.buckets.type_of(column.type) is not None


def _is_measured(column: Field | None, function: Function) -> bool:
    if column is None or not column.is_readable:
        return False
    match function:
        case "count":
            return True
        case "sum":
            return column.type in INTEGER_TYPES | FLOAT_TYPES or decimal_size(column.type) is not None
        case _:
            return _is_plain(column)


def _is_plain(column: Field) -> bool:
    return column.is_readable and not is_nested(column.type) and column.type != "void"


def _key_type(column: Field, key: GroupKey) -> str:
    return column.type if key.buckets is None else key.buckets.type_of(column.type) or column.type


def _measure_type(schema: TableSchema, measure: Measure) -> str:
    if measure.column is None or measure.function == "count":
        return "long"
    kind = schema.field(measure.column).type
    if measure.function != "sum":
        return kind
    size = decimal_size(kind)
    if size is not None:
        return f"decimal({min(size[0] + _SUM_DIGITS, MAX_PRECISION)},{size[1]})"
    return "long" if kind in INTEGER_TYPES else "double"

"""Aggregates from Spark's plan, as the jar serialises them. What is not wholly understood is left to Spark.

`{"groups": [...], "measures": [...]}`. A group is a column or a call of a bucket function; a measure is
`{"op": "COUNT_STAR"}`, or COUNT, SUM, MIN, MAX or AVG of a column. Nodes are those of filters (see `predicates`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from indextables.config import keys
from indextables.schema import Field, TableSchema
from indextables.table import (
    Aggregate,
    BucketKeys,
    Function,
    GroupKey,
    Measure,
    NumberBuckets,
    Range,
    RangeBuckets,
    Table,
    TimeBuckets,
    is_supported,
)

Document = dict[str, Any]

_FUNCTIONS: Final[dict[str, Function]] = {"COUNT": "count", "SUM": "sum", "MIN": "min", "MAX": "max"}
_COUNT_STAR: Final = "COUNT_STAR"
_AVERAGE: Final = "AVG"


class _NotOursError(Exception):
    """A part of the aggregate that Spark must compute itself."""


def is_count_of_rows(document: Document) -> bool:
    """Return True for COUNT(*) without groups."""
    return not document["groups"] and [node.get("op") for node in document["measures"]] == [_COUNT_STAR]


def parse_aggregate(document: Document, schema: TableSchema) -> Aggregate | None:
    """Return the aggregate that tasks compute; None to leave it to Spark.

    >>> schema = TableSchema((Field("n", "integer"),))
    >>> parse_aggregate({"groups": [{"col": ["n"]}], "measures": [{"op": "COUNT_STAR"}]}, schema)
    Aggregate(groups=(GroupKey(column='n', buckets=None),), measures=(Measure(function='count', column=None),))
    """
    try:
        groups = tuple(_group(node, schema) for node in document["groups"])
        measures = tuple(_measure(node, schema) for node in document["measures"])
    except _NotOursError:
        return None
    aggregate = Aggregate(groups, measures)
    return aggregate if is_supported(schema, aggregate) else None


def averaged_columns(document: Document, schema: TableSchema) -> list[Field] | None:
    """Return the columns of averages; None if one is not of a column. Spark then asks for their sums and counts."""
    try:
        return [
            _column(_only_argument(node), schema)
            for node in document["measures"]
            if node.get("op") == _AVERAGE
        ]
    except _NotOursError:
        return None


def refused_aggregate(
    document: Document, table: Table, sums_as_doubles: Callable[[Sequence[str]], bool]
) -> Document | None:
    """Return the answer to an aggregate that tasks do not compute; None if they do.

    An average is refused, and Spark asks for its sum and count instead. These are refused too where Spark's own
    average could differ: it adds the values of a long as doubles, which do not overflow. `sums_as_doubles` returns
    True for columns whose exact sums are those that Spark would get.
    """
    schema = table.snapshot.schema
    averaged = averaged_columns(document, schema) if table.settings.get(keys.PUSH_AGGREGATES) else None
    if averaged is None:
        return _refusal(as_sums=False)
    if averaged:
        longs = [column.name for column in averaged if column.type == "long"]
        return _refusal(as_sums=not longs or sums_as_doubles(longs))
    return _refusal(as_sums=False) if parse_aggregate(document, schema) is None else None


def _refusal(*, as_sums: bool) -> Document:
    return {"refused": True, "as_sums": as_sums}


def _measure(node: Document, schema: TableSchema) -> Measure:
    op = node.get("op")
    if op == _COUNT_STAR:
        return Measure("count")
    if op not in _FUNCTIONS:
        raise _NotOursError
    return Measure(_FUNCTIONS[op], _column(_only_argument(node), schema).name)


def _only_argument(node: Document) -> Document:
    arguments = node.get("args", [])
    if len(arguments) != 1:
        raise _NotOursError
    argument: Document = arguments[0]
    return argument


def _group(node: Document, schema: TableSchema) -> GroupKey:
    if "udf" not in node:
        return GroupKey(_column(node, schema).name)
    arguments = node.get("args", [])
    if not arguments or node["udf"] not in _BUCKETS:
        raise _NotOursError
    buckets = _BUCKETS[node["udf"]](arguments[1:])
    return GroupKey(_column(arguments[0], schema).name, buckets)


def _column(node: Document, schema: TableSchema) -> Field:
    path = node.get("col")
    column = schema.get(path[0]) if path is not None and len(path) == 1 else None
    if column is None:
        raise _NotOursError
    return column


def _number_buckets(arguments: list[Document]) -> BucketKeys:
    width, *offset = (_number(node) for node in arguments)
    if width is None or None in offset or not (0 < width < math.inf) or len(offset) > 1:
        raise _NotOursError
    return NumberBuckets(width, *(number for number in offset if number is not None))


def _time_buckets(arguments: list[Document]) -> BucketKeys:
    try:
        micros = [int(_text(node)) for node in arguments]
    except ValueError:
        raise _NotOursError from None
    limit = 1 << 61
    if not 1 <= len(micros) <= 2 or not 0 < micros[0] < limit or not all(-limit < n < limit for n in micros):
        raise _NotOursError
    return TimeBuckets(*micros)


def _range_buckets(arguments: list[Document]) -> BucketKeys:
    if not arguments or len(arguments) % 3:
        raise _NotOursError
    return RangeBuckets(
        tuple(
            Range(_text(arguments[i]), _number(arguments[i + 1]), _number(arguments[i + 2]))
            for i in range(0, len(arguments), 3)
        )
    )


_BUCKETS: Final = {
    "indextables_histogram": _number_buckets,
    "indextables_date_histogram": _time_buckets,
    "indextables_range": _range_buckets,
}
"""The functions of SQL. The jar sends numbers as doubles, and times in microseconds."""


def _text(node: Document) -> str:
    if node.get("lit") is None:
        raise _NotOursError
    text: str = node["lit"]
    return text


def _number(node: Document) -> float | None:
    if "lit" not in node:
        raise _NotOursError
    if node["lit"] is None:
        return None
    try:
        number = float(node["lit"])
    except ValueError:
        raise _NotOursError from None
    if not math.isfinite(number):
        raise _NotOursError
    return number

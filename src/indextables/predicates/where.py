"""`where=` strings. The SQL parser is imported on first use: that takes longer than most tasks run."""

from __future__ import annotations

from indextables.predicates.limits import DEFAULT_LIMITS, QueryLimits
from indextables.predicates.tree import UTC, Predicate
from indextables.schema import TableSchema


def parse_where(
    text: str, schema: TableSchema, *, limits: QueryLimits = DEFAULT_LIMITS, zone: str = UTC
) -> Predicate:
    """Parse a condition in Spark SQL; the search operators are allowed.

    Times without an offset are in `zone`. PredicateError for what is not supported or beyond the limits.

    >>> from indextables.schema import Field
    >>> parse_where("level = 'ERROR'", TableSchema((Field("level", "string"),)))
    Compare(op='=', column='level', value='ERROR')
    """
    from indextables.predicates import sql  # noqa: PLC0415 - see above

    return sql.parse_where(text, schema, limits=limits, zone=zone)

"""The condition of a command as a predicate on its table. An error shows where the condition is in the command."""

from __future__ import annotations

from collections.abc import Callable

from indextables.errors import PredicateError
from indextables.predicates import TRUE, Predicate, QueryLimits, parse_where
from indextables.spark.sql.statements import Condition
from indextables.spark.sql.tokens import misplaced
from indextables.table import Table


def predicate_of(
    condition: Condition | None,
    table: Table,
    sql: str,
    zone: str,
    check: Callable[[Predicate], None] | None = None,
) -> Predicate:
    """Return the predicate of a condition that `check` accepts, or TRUE without a condition.

    CommandError if the text is not a condition on the table, or `check` raises a PredicateError.
    """
    if condition is None:
        return TRUE
    try:
        predicate = table_predicate(condition.text, table, zone)
        if check is not None:
            check(predicate)
    except PredicateError as reason:
        raise misplaced(str(reason), sql, condition.position) from None
    return predicate


def table_predicate(text: str, table: Table, zone: str) -> Predicate:
    """Return the predicate of a text. Times that name no time zone are in `zone`."""
    limits = QueryLimits.of(table.settings)
    return parse_where(text, table.snapshot.schema, limits=limits, zone=zone)

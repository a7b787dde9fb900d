"""Conditions that callers give as text: a search query, a condition in SQL, or both."""

from __future__ import annotations

from typing import Final

from indextables.config import Settings, keys
from indextables.predicates import (
    ALL_FIELDS,
    Predicate,
    QueryLimits,
    TextQuery,
    conjunction,
    parse_where,
)
from indextables.schema import TableSchema
from indextables.table.arguments.checks import check_condition, check_query

ANY_FIELDS: Final = {keys.INDEX_ALL_MAX_FIELDS.key: "0"}
"""Every word of a query may name its own field, so the guard against accidental searches of wide tables is off."""


def text_query(query: str) -> TextQuery:
    """Return the predicate of a query in the query language."""
    return TextQuery("INDEXQUERY", ALL_FIELDS, check_query(query))


def parse_condition(
    query: str | None, where: str | None, schema: TableSchema, settings: Settings, zone: str = "UTC"
) -> Predicate:
    """Return the predicate of the rows that match the query and satisfy `where`; TRUE without either."""
    parts: list[Predicate] = [] if query is None else [text_query(query)]
    if where is not None:
        parts.append(parse_where(check_condition(where), schema, limits=QueryLimits.of(settings), zone=zone))
    return conjunction(parts)

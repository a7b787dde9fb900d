"""A search of a table: what a caller asks for, checked and planned, and a page of the best rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.config import Settings
from indextables.errors import InputError
from indextables.predicates import at_one_moment
from indextables.schema import ROW_NUMBER, SCORE, SNIPPET, SPLIT_PATH, FieldMapping, TableSchema
from indextables.split import Snippet
from indextables.table.arguments import (
    ANY_FIELDS,
    check_flag,
    check_query,
    parse_condition,
    to_columns,
    to_count,
)
from indextables.table.scans import (
    PageIdentity,
    Ranks,
    ScanRequest,
    plan_scan,
    record_scan,
    token_of,
    top_rows,
    with_token,
)

if TYPE_CHECKING:
    from indextables.table.handle import TableVersion


@dataclass(frozen=True)
class SearchArguments:
    """The arguments of `Table.search`."""

    query: str
    where: str | None = None
    limit: int | None = 10
    offset: int = 0
    after: str | pa.Table | None = None
    columns: Sequence[str] | None = None
    snippet: str | Snippet | None = None
    explain: bool = False
    places: bool = False
    """Add the two columns that name each row: the path of its split and its number there."""


def search_table(table: TableVersion, arguments: SearchArguments) -> pa.Table:
    """Return a page of the best rows. See `Table.search`."""
    snapshot, settings = table.snapshot, Settings(dict(table.settings) | ANY_FIELDS)
    count, skipped = (
        to_count(arguments.limit, "limit", "rows"),
        to_count(arguments.offset, "offset", "rows") or 0,
    )
    explain = check_flag(arguments.explain, "explain")
    predicate = parse_condition(check_query(arguments.query), arguments.where, snapshot.schema, settings)
    columns = to_columns(arguments.columns, snapshot.schema)
    shown = (
        None
        if arguments.snippet is None
        else to_snippet(arguments.snippet, snapshot.schema, snapshot.mapping)
    )
    identity = PageIdentity(snapshot.metadata.id, snapshot.version, arguments.query, arguments.where)
    token = None if arguments.after is None else token_of(arguments.after)
    key, now = (None, None) if token is None else identity.read(token)
    ranks = Ranks(count, skipped, key)
    request = ScanRequest(
        columns=(
            *columns,
            *((SPLIT_PATH, ROW_NUMBER) if arguments.places else ()),
            SCORE,
            *([SNIPPET] if shown else []),
        ),
        predicate=at_one_moment(predicate, now),
        top=ranks.stop,
        snippet=shown,
    )
    plan = plan_scan(table.uri, snapshot, request, settings)
    record_scan(plan)
    page = top_rows(plan, ranks, explain=explain)
    if page.last is not None:
        token = identity.token(page.last, request.now)
    return with_token(page.rows, token)


def best_rows(
    table: TableVersion, query: str, *, start: int, stop: int, where: str | None, snippet: str | None
) -> pa.Table:
    """Return the rows from place `start` to before `stop`, best first, with the columns that name each row."""
    return search_table(
        table, SearchArguments(query, where, limit=stop - start, offset=start, snippet=snippet, places=True)
    )


def to_snippet(snippet: str | Snippet, schema: TableSchema, mapping: FieldMapping) -> Snippet:
    """Return how to show the matches of a text column. InputError if it is not one."""
    shown = snippet if isinstance(snippet, Snippet) else Snippet(snippet)
    if shown.column is None:
        return shown
    column = schema.field(shown.column).name
    mapped = mapping.get(column)
    if mapped is None or (mapped.kind, mapped.spark_type) != ("text", "string"):
        raise InputError(
            f"snippet is {column!r}, which is not a string column indexed as text; only text has snippets"
        )
    return shown

"""What a request asks for, checked: query, condition, time range, version, columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from indextables.errors import InputError
from indextables.table import Table, open_table
from indextables.ui.limits import MAX_ROWS


@dataclass(frozen=True)
class Asked:
    """The parameters that views share. `where` is the condition with the time range."""

    table: Table
    query: str | None
    where: str | None
    time: str | None
    start: datetime | None
    end: datetime | None
    by: str | None
    limit: int
    offset: int
    order: str


def open_tables(tables: Mapping[str, Table], number: str, version: str | None) -> Table:
    """Return the table of that number, at a version or at its newest."""
    table = tables.get(number)
    if table is None:
        raise InputError(f"there is no table {number!r}")
    if not version:
        return table.refresh()
    return open_table(table.uri, version=_whole(version, "v", 1 << 62), settings=table.settings)


def to_asked(table: Table, params: Mapping[str, str]) -> Asked:
    """Return the parameters of a request about rows."""
    time = params.get("time") or time_column(table)
    start, end = (_moment(params.get(name), name) for name in ("from", "to"))
    conditions = [f"({params['where']})"] if params.get("where", "").strip() else []
    if time is not None:
        name = quoted(table.snapshot.schema.field(time).name)
        conditions += [f"{name} >= {time_literal(start)}"] if start else []
        conditions += [f"{name} < {time_literal(end)}"] if end else []
    order = params.get("sort") or ("score" if params.get("q", "").strip() else "time")
    if order not in ("score", "time"):
        raise InputError(f"sort is {order!r}; it takes score or time")
    by = params.get("by") or None
    return Asked(
        table=table,
        query=params.get("q", "").strip() or None,
        where=" AND ".join(conditions) or None,
        time=time,
        start=start,
        end=end,
        by=None if by is None else table.snapshot.schema.field(by).name,
        limit=_whole(params.get("limit") or "50", "limit", MAX_ROWS),
        offset=_whole(params.get("offset") or "0", "offset", 1 << 31),
        order=order,
    )


def time_column(table: Table) -> str | None:
    """Return the first column of timestamps that are moments: those without a time zone are not."""
    moments = (f.name for f in table.schema if pa.types.is_timestamp(f.type) and f.type.tz is not None)
    return next(moments, None)


def quoted(name: str) -> str:
    """Return a column name for a condition.

    >>> quoted("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def time_literal(moment: datetime) -> str:
    """Return a time for a condition."""
    return f"timestamp'{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z'"


def _moment(text: str | None, name: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{name} is {text!r}; it takes a time such as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _whole(text: str, name: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) > most:
        raise InputError(f"{name} is {text!r}; it takes a whole number up to {most}")
    return int(text)

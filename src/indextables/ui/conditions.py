"""What a request asks for, checked: query, condition, time range, version, columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from indextables.errors import InputError
from indextables.runtime import EPOCH, now_ms
from indextables.split.query import span
from indextables.table import Table, open_table, time_columns
from indextables.ui.limits import MAX_ROWS


@dataclass(frozen=True)
class Asked:
    """The parameters that views share. `where` is the condition with the time range.

    `start` and `end` have no time zone where the column of times has none.
    """

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
    return open_table(table.uri, version=to_whole(version, "v", 1 << 62), settings=table.settings)


def to_asked(table: Table, params: Mapping[str, str]) -> Asked:
    """Return the parameters of a request about rows."""
    time = params.get("time") or time_column(table)
    zoned = time is not None and has_zone(table, time)
    start, end = (_moment(params.get(name), name, zoned=zoned) for name in ("from", "to"))
    if start is not None and end is not None and end <= start and params["from"] != params["to"]:
        raise InputError("'to' is before 'from'")
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
        limit=to_whole(params.get("limit") or "50", "limit", MAX_ROWS),
        offset=to_whole(params.get("offset") or "0", "offset", 1 << 31),
        order=order,
    )


def time_column(table: Table) -> str | None:
    """Return the column of the histogram and of the time range: the first one of timestamps with a zone, or of any."""
    return next(iter(time_columns(table)), None)


def has_zone(table: Table, column: str) -> bool:
    """Return True if the times of a column are moments, False if they are those of a clock on an unknown wall."""
    return table.snapshot.schema.field(column).type != "timestamp_ntz"


def quoted(name: str) -> str:
    """Return a column name for a condition.

    >>> quoted("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def time_literal(moment: datetime) -> str:
    """Return a time for a condition.

    >>> time_literal(datetime(2026, 1, 31, 12))
    "timestamp_ntz'2026-01-31T12:00:00.000000'"
    """
    if moment.tzinfo is None:
        return f"timestamp_ntz'{moment.isoformat(timespec='microseconds')}'"
    return f"timestamp'{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z'"


def _moment(text: str | None, name: str, *, zoned: bool) -> datetime | None:
    """Return the time that a limit of the range denotes: of a date without a time, `to` is the end of the day."""
    if not text:
        return None
    try:
        moment = _relative(text, name, zoned=zoned) or _day_limit(text, name) or datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InputError(
            f"{name} is {text!r}; it takes a day such as 2026-01-31, a time such as 2026-01-31 12:00, or a time "
            "before now such as -1h or -7d"
        ) from None
    if not zoned:
        return moment.replace(tzinfo=None)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _relative(text: str, name: str, *, zoned: bool) -> datetime | None:
    """Return the time of date maths (`now-1h`, or `-1h`); None for other texts. ValueError if it cannot be read."""
    maths = f"now{text}" if text[0] in "+-" else text
    if not maths.startswith("now"):
        return None
    first, last = span(maths, "timestamp" if zoned else "timestamp_ntz", now=1000 * now_ms())
    return EPOCH + timedelta(microseconds=last + 1 if name == "to" and last > first else first)


def _day_limit(text: str, name: str) -> datetime | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return datetime.combine(day + timedelta(days=name == "to"), datetime.min.time())


def to_whole(text: str, name: str, most: int) -> int:
    """Return the whole number of a parameter. InputError if it is none, or above `most`."""
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) > most:
        raise InputError(f"{name} is {text!r}; it takes a whole number up to {most}")
    return int(text)

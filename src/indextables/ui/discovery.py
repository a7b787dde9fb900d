"""The page Discover: rows with marked hits, the histogram, the most frequent values, the plan."""

from __future__ import annotations

import dataclasses
import html
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import InputError
from indextables.schema import SNIPPET
from indextables.table import (
    Overview,
    Table,
    bucket_width,
    find_overview,
    newest_rows,
    plain_rows,
    text_columns,
)
from indextables.ui.conditions import Asked, quoted, time_literal
from indextables.ui.limits import MAX_CELL, MAX_EXPORTED, Turn

_MARK: Final = re.compile(r"<b>(.*?)</b>", re.DOTALL)
_SERIES: Final = 6
_SAFE_INTEGER: Final = 1 << 53
_AROUND: Final = 5
_MAX_AROUND: Final = 20_000


def rows_answer(asked: Asked, turn: Turn | None = None) -> dict[str, Any]:
    """Return a page of rows, best or newest first."""
    started, turn = time.perf_counter(), turn or Turn()
    turn.check()
    table, text = asked.table, text_column(asked.table)
    if asked.order == "score" and asked.query is not None:
        found = table.search(
            asked.query, limit=asked.limit, offset=asked.offset, where=asked.where, snippet=text
        )
    else:
        found = _newest(asked, text, turn)
    return {
        "rows": [to_row(row) for row in plain_rows(found)],
        "text": text,
        "version": table.version,
        "ms": round(1000 * (time.perf_counter() - started)),
    }


def exported_rows(asked: Asked, columns: Sequence[str], turn: Turn) -> pa.Table:
    """Return the first rows in the order of the page, as many as an export may have."""
    turn.check()
    table = asked.table
    names = [table.snapshot.schema.field(name).name for name in columns] or table.schema.names
    if asked.order == "score" and asked.query is not None:
        found = table.search(asked.query, limit=MAX_EXPORTED, columns=names, where=asked.where)
    else:
        found = _newest(dataclasses.replace(asked, limit=MAX_EXPORTED, offset=0), None, turn)
    return found.select(names)


def overview_answer(asked: Asked, fields: Sequence[str], turn: Turn | None = None) -> dict[str, Any]:
    """Return the number of rows, the histogram, the most frequent values of some columns, and the plan.

    `counted` is smaller than `total` if the time was up before all rows were in the histogram and the values.
    """
    started, turn = time.perf_counter(), turn or Turn()
    turn.check()
    first, last = _range(asked)
    every = bucket_width(last, first) if asked.time is not None else "1h"
    found = find_overview(
        asked.table,
        query=asked.query,
        where=asked.where,
        time=asked.time,
        every=every,
        by=asked.by,
        fields=fields,
        is_time_up=turn.is_time_up,
    )
    return {
        "total": found.total,
        "counted": found.counted,
        "every": every,
        "histogram": _series(found),
        "top": {
            name: None if values is None else [to_row(row) for row in plain_rows(values)]
            for name, values in found.top.items()
        },
        "nulls": found.nulls,
        "plan": {
            "splits": found.plan.splits_total,
            "read": found.plan.splits_read,
            "skipped": {stage: count for stage, count in found.plan.dropped.items() if count},
        },
        "version": asked.table.version,
        "ms": round(1000 * (time.perf_counter() - started)),
    }


def around_answer(asked: Asked, moment: str) -> dict[str, Any]:
    """Return the rows of the whole table just before and after a time, in its order."""
    if asked.time is None:
        raise InputError("the table has no column of times")
    try:
        at = datetime.fromisoformat(moment).astimezone(UTC)
    except ValueError:
        raise InputError(f"{moment!r} is not a time") from None
    name = quoted(asked.time)
    for seconds in (1, 10, 60, 600, 3600):
        low, high = at - timedelta(seconds=seconds), at + timedelta(seconds=seconds)
        where = f"{name} >= {time_literal(low)} AND {name} <= {time_literal(high)}"
        found = asked.table.to_arrow(where=where, limit=_MAX_AROUND)
        if found.num_rows > 2 * _AROUND:
            break
    found = found.sort_by([(asked.time, "ascending")])
    before = (
        pc.sum(pc.less(found.column(asked.time), pa.scalar(at, found.schema.field(asked.time).type))).as_py()
        or 0
    )
    part = found.slice(max(0, before - _AROUND), 2 * _AROUND + 1)
    return {"rows": [to_row(row) for row in plain_rows(part)]}


def text_column(table: Table) -> str | None:
    """Return the first column that is indexed as text."""
    return next(iter(text_columns(table)), None)


def to_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for the browser: long texts are cut, large integers are text, snippets are lists of parts."""
    return {name: _parts(value) if name == SNIPPET else _cell(value) for name, value in row.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_CELL:
        return f"{value[:MAX_CELL]}… ({len(value):,} characters)"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return str(value)
    return value


def _parts(snippet: str | None) -> list[str] | None:
    """Return the text of a snippet in parts, of which every second one is a hit. The browser never sees its HTML.

    >>> _parts("a &lt;i&gt; <b>disk</b>")
    ['a <i> ', 'disk', '']
    """
    return None if snippet is None else [html.unescape(part) for part in _MARK.split(snippet)]


def _newest(asked: Asked, text: str | None, turn: Turn) -> pa.Table:
    """Return the newest rows; those of a table without times are in its order."""
    table, name = asked.table, asked.time
    if name is None:
        if asked.query is not None:
            raise InputError("the table has no column of times; sort by score")
        found = table.to_arrow(where=asked.where, limit=asked.limit + asked.offset)
        return found.slice(asked.offset)
    return newest_rows(
        table,
        name,
        query=asked.query,
        where=asked.where,
        start=asked.offset,
        stop=asked.offset + asked.limit,
        snippet=text,
        check=turn.check,
    )


def _range(asked: Asked) -> tuple[int, int]:
    """Return the least and greatest time of the rows, in microseconds, by the time range and by the log."""
    files = asked.table.files(where=asked.where).select(["min_values", "max_values"]).to_pylist()
    bounds = [
        int(value)
        for file in files
        for values in (file["min_values"], file["max_values"])
        for key, value in values or ()
        if key == asked.time and value is not None and value.lstrip("-").isdigit()
    ]
    first, last = min(bounds, default=0), max(bounds, default=0)
    if asked.start is not None:
        first = max(first, int(asked.start.timestamp() * 1_000_000))
    if asked.end is not None:
        last = min(last, int(asked.end.timestamp() * 1_000_000))
    return first, max(first, last)


def _series(found: Overview) -> dict[str, Any] | None:
    """Return the counts by bucket of the most frequent values, and of all others together."""
    if found.histogram is None:
        return None
    rows = [row for row in found.histogram.to_pylist() if row["bucket"] is not None]
    totals: dict[Any, int] = {}
    for row in rows:
        totals[row["value"]] = totals.get(row["value"], 0) + row["count"]
    names = sorted(totals, key=lambda value: (-totals[value], str(value)))
    shown, others = names[:_SERIES], set(names[_SERIES:])
    buckets = sorted({row["bucket"] for row in rows})
    place = {bucket: number for number, bucket in enumerate(buckets)}
    counts = {name: [0] * len(buckets) for name in [*map(_label, shown), *(["other"] if others else [])]}
    for row in rows:
        label = "other" if row["value"] in others else _label(row["value"])
        counts[label][place[row["bucket"]]] += row["count"]
    return {"times": [bucket.timestamp() for bucket in buckets], "series": counts}


def _label(value: object) -> str:
    return "rows" if value is None else str(value)

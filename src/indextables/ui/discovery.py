"""The page Discover: rows with marked hits, the histogram, the most frequent values, the plan."""

from __future__ import annotations

import dataclasses
import html
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from indextables.errors import InputError
from indextables.schema import ROW_NUMBER, SNIPPET, SPLIT_PATH, micros
from indextables.table import (
    Overview,
    RowPlace,
    Table,
    best_rows,
    bucket_width,
    find_overview,
    newest_rows,
    plain_rows,
    rows_around,
    text_columns,
)
from indextables.ui.conditions import Asked
from indextables.ui.limits import MAX_CELL, MAX_EXPORTED, Turn

_MARK: Final = re.compile(r"<b>(.*?)</b>", re.DOTALL)
_SERIES: Final = 6
_MICROS: Final = 1_000_000
_SAFE_INTEGER: Final = 1 << 53
_AROUND: Final = 5


def rows_answer(asked: Asked, turn: Turn | None = None) -> dict[str, Any]:
    """Return a page of rows, best or newest first."""
    started, turn = time.perf_counter(), turn or Turn()
    turn.check()
    table, text = asked.table, text_column(asked.table)
    if asked.order == "score" and asked.query is not None:
        start, stop = asked.offset, asked.offset + asked.limit
        found = best_rows(table, asked.query, start=start, stop=stop, where=asked.where, snippet=text)
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
        "from": None if asked.start is None else asked.start.isoformat(),
        "to": None if asked.end is None else asked.end.isoformat(),
        "histogram": _series(found, is_stacked=asked.by is not None),
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


def around_answer(asked: Asked, place: RowPlace, turn: Turn | None = None) -> dict[str, Any]:
    """Return the rows of the whole table just before and after one row in the order of time, and which one it is."""
    if asked.time is None:
        raise InputError("the table has no column of times")
    check = (turn or Turn()).check
    found = list(plain_rows(rows_around(asked.table, asked.time, place, count=_AROUND, check=check)))
    here = next(
        n for n, row in enumerate(found) if (row[SPLIT_PATH], row[ROW_NUMBER]) == (place.split, place.row)
    )
    return {"rows": [to_row(row) for row in found], "here": here}


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
        places=True,
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
        first = max(first, micros(asked.start))
    if asked.end is not None:
        last = min(last, micros(asked.end))
    return first, max(first, last)


def _series(found: Overview, *, is_stacked: bool) -> dict[str, Any] | None:
    """Return the counts by bucket of the most frequent values, and of all others together.

    Buckets start at `times` and end at `ends`, in seconds: months and years have no width of their own.
    """
    if found.histogram is None:
        return None
    table = found.histogram.filter(found.histogram.column("bucket").is_valid())
    starts, stops = (_seconds(table.column(name)) for name in ("bucket", "end"))
    values, numbers = (table.column(name).to_pylist() for name in ("value", "count"))
    rows = list(zip(starts, values, numbers, strict=True))
    totals: dict[Any, int] = {}
    for _, value, count in rows:
        totals[value] = totals.get(value, 0) + count
    ranked = sorted(totals, key=lambda value: (-totals[value], str(value)))
    shown, others = ranked[:_SERIES], set(ranked[_SERIES:])
    ends = dict(zip(starts, stops, strict=True))
    buckets = sorted(ends)
    place = {bucket: number for number, bucket in enumerate(buckets)}
    labels = {value: ("null" if is_stacked else "rows") if value is None else str(value) for value in shown}
    counts = {name: [0] * len(buckets) for name in [*labels.values(), *(["other"] if others else [])]}
    for bucket, value, count in rows:
        counts[labels.get(value, "other")][place[bucket]] += count
    return {"times": buckets, "ends": [ends[bucket] for bucket in buckets], "series": counts}


def _seconds(times: pa.ChunkedArray) -> list[float]:
    """Return times in seconds since 1970, with or without a zone. A bucket that is the last of all has no end."""
    return [(micros_of_time or 0) / _MICROS for micros_of_time in times.cast(pa.int64()).to_pylist()]

"""Dates and times in a query: whole days, months and years, and date maths (`now-1h`, `2024-01-01||+1M/d`).

A value of a date or timestamp column may denote many values of the index: `2024-05-01` is every microsecond of that
day, and `now/h` of this hour. `[` takes the first of them and `]` the last; `{` and `}` exclude all. Days, weeks,
months and years are those of the time zone of the query. Hours, minutes and seconds are durations.

A local time, of a column without a zone, is a reading of a clock: its days are those of the clock, an hour is always
the next hour on it, and `now` is what a clock in the time zone of the query shows. The index has it as if it were UTC.

`now` is the moment at which the query was made (see `TextQuery`), the same for all splits and tasks.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from typing import Final

from indextables.runtime import EPOCH
from indextables.schema import TimeError, micros, parse_time, parse_wall_time, shorten, time_zone
from indextables.split.query.numbers import LiteralError, index_number, number

_MATHS: Final = re.compile(r"(now|.*?\|\|)((?:[-+]\d{1,9}[yMwdhHms]|/[yMwdhHms])*)", re.DOTALL)
_STEP: Final = re.compile(r"([-+])(\d+)([yMwdhHms])|/([yMwdhHms])")
_YEAR_OR_MONTH: Final = re.compile(r"(\d{4})(?:-(\d{2}))?")
_MAX_STEPS: Final = 20
_DURATIONS: Final = {
    "h": timedelta(hours=1),
    "H": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}
_HINT: Final = "date maths is written as now-1h, now/d or 2024-01-01||+1M/d, with the units y M w d h m s"


def span(text: str, spark_type: str, zone: str = "UTC", now: int | None = None) -> tuple[int, int]:
    """Return the first and the last integer of the index that a text denotes. LiteralError as in `number`.

    `now` is in microseconds since 1970.

    >>> first, last = span("2024-02", "date")
    >>> last - first + 1
    29
    >>> span("now-1h", "timestamp", now=7_200_000_000)
    (3600000000, 3600000000)
    >>> span("now-1h", "timestamp_ntz", "+02:00", now=7_200_000_000)
    (10800000000, 10800000000)
    """
    if spark_type in ("date", "timestamp", "timestamp_ntz"):
        try:
            moments = _moments(text.strip(), spark_type, zone, now)
        except OverflowError:
            raise LiteralError(f"{shorten(text)!r} is not between the years 1 and 9999") from None
        except TimeError as reason:
            raise LiteralError(str(reason)) from None
        if moments is not None:
            first, last = (_index_number(moment, spark_type) for moment in moments)
            return first, last
    value = number(text, spark_type, zone)
    return value, value


def _moments(text: str, spark_type: str, zone: str, now: int | None) -> tuple[datetime, datetime] | None:
    """Return the first and last moment of a period or of date maths; None if the text is a single value."""
    is_date = spark_type == "date"
    tz = time_zone(zone) if spark_type == "timestamp" else UTC
    if maths := _MATHS.fullmatch(text):
        if maths[1] == "now":
            if now is None:
                raise LiteralError("the query has no time for `now`")
            anchor = (EPOCH + timedelta(microseconds=now)).astimezone(time_zone(zone))
        else:
            anchor = _anchor(maths[1].removesuffix("||"), spark_type, zone)
        if is_date:
            anchor = datetime.combine(anchor.date(), datetime.min.time(), UTC)
        elif spark_type == "timestamp_ntz":
            anchor = anchor.replace(tzinfo=UTC, fold=0)
        return _calculate(anchor, maths[2], text, is_date=is_date)
    if text.startswith("now") or "||" in text:
        raise LiteralError(f"{shorten(text)!r} cannot be read: {_HINT}")
    if (period := _period(text)) is None:
        return None
    start = datetime.combine(period[0], datetime.min.time(), tz)
    return start, _last(start, period[1])


def _anchor(text: str, spark_type: str, zone: str) -> datetime:
    """Return the time before `||`: a local time without a zone, or else one in the time zone of the query."""
    is_local = spark_type == "timestamp_ntz"
    if (period := _period(text)) is not None:
        midnight = datetime.combine(period[0], datetime.min.time())
        return midnight if is_local else midnight.replace(tzinfo=time_zone(zone))
    try:
        return parse_wall_time(text) if is_local else parse_time(text, zone).astimezone(time_zone(zone))
    except TimeError:
        raise
    except ValueError:
        raise LiteralError(f"{shorten(text)!r} is not a date or timestamp: {_HINT}") from None


def _period(text: str) -> tuple[date, str] | None:
    """Return the first day and the unit of a text that names a day, month or year."""
    try:
        if short := _YEAR_OR_MONTH.fullmatch(text):
            return date(int(short[1]), int(short[2] or 1), 1), "M" if short[2] else "y"
        return date.fromisoformat(text), "d"
    except ValueError:
        return None


def _calculate(moment: datetime, steps: str, text: str, *, is_date: bool) -> tuple[datetime, datetime]:
    rounded = ""
    matches = list(_STEP.finditer(steps))
    if len(matches) > _MAX_STEPS:
        raise LiteralError(
            f"date maths has at most {_MAX_STEPS} steps, and {shorten(text)!r} has {len(matches)}"
        )
    for step in matches:
        unit = step[3] or step[4]
        if is_date and unit in _DURATIONS:
            raise LiteralError(
                f"a date has no hours: write days, weeks, months or years in {shorten(text)!r}"
            )
        if step[4]:
            moment, rounded = _round(moment, unit), unit
        else:
            count = int(step[2]) if step[1] == "+" else -int(step[2])
            moment, rounded = _shift(moment, count, unit), ""
    return moment, _last(moment, rounded) if rounded else moment


def _last(start: datetime, unit: str) -> datetime:
    """Return the last microsecond of the unit that begins at a moment."""
    try:
        return _exact(_shift(start, 1, unit)) - timedelta(microseconds=1)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)  # the unit ends with the year 9999


def _shift(moment: datetime, count: int, unit: str) -> datetime:
    if unit in _DURATIONS:
        return (_exact(moment) + count * _DURATIONS[unit]).astimezone(moment.tzinfo)
    local = moment.replace(tzinfo=None, fold=0)
    if unit in "dw":
        local += timedelta(days=count * (7 if unit == "w" else 1))
    else:
        months = local.year * 12 + local.month - 1 + count * (12 if unit == "y" else 1)
        year, month = divmod(months, 12)
        if not 1 <= year <= 9999:
            raise OverflowError
        local = local.replace(year=year, month=month + 1, day=min(local.day, monthrange(year, month + 1)[1]))
    return local.replace(tzinfo=moment.tzinfo)


def _round(moment: datetime, unit: str) -> datetime:
    """Return the first moment of the unit. A week begins on Monday."""
    moment = moment.replace(microsecond=0)
    if unit == "s":
        return moment
    moment = moment.replace(second=0)
    if unit == "m":
        return moment
    moment = moment.replace(minute=0)
    if unit in "hH":
        return moment
    moment = moment.replace(hour=0, fold=0)
    if unit == "w":
        return _shift(moment, -moment.weekday(), "d")
    return moment if unit == "d" else moment.replace(day=1, month=1 if unit == "y" else moment.month)


def _exact(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _index_number(moment: datetime, spark_type: str) -> int:
    return index_number(moment.date(), spark_type) if spark_type == "date" else micros(_exact(moment))

"""Dates and times in a query: the first and the last value that a text denotes, in the time zone of the query."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.predicates import And, TextQuery, at_one_moment, text_queries
from indextables.runtime import Runtime, use
from indextables.split.query.moments import span
from indextables.split.query.numbers import LiteralError

NOW = datetime(2024, 5, 15, 13, 45, 30, 250_000, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def _times(text: str, zone: str = "UTC") -> tuple[str, str]:
    first, last = span(text, "timestamp", zone, _micros(NOW))
    texts = [(EPOCH + timedelta(microseconds=n)).isoformat().removesuffix("+00:00") for n in (first, last)]
    return texts[0], texts[1]


def _dates(text: str, zone: str = "UTC") -> tuple[str, str]:
    first, last = span(text, "date", zone, _micros(NOW))
    return str(date(1970, 1, 1) + timedelta(first)), str(date(1970, 1, 1) + timedelta(last))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("now", "2024-05-15T13:45:30.250000", None),
        ("now-1h", "2024-05-15T12:45:30.250000", None),
        ("now+1d-1h", "2024-05-16T12:45:30.250000", None),
        ("now/s", "2024-05-15T13:45:30", "2024-05-15T13:45:30.999999"),
        ("now/m", "2024-05-15T13:45:00", "2024-05-15T13:45:59.999999"),
        ("now/H", "2024-05-15T13:00:00", "2024-05-15T13:59:59.999999"),
        ("now/d", "2024-05-15T00:00:00", "2024-05-15T23:59:59.999999"),
        ("now/w", "2024-05-13T00:00:00", "2024-05-19T23:59:59.999999"),
        ("now/M", "2024-05-01T00:00:00", "2024-05-31T23:59:59.999999"),
        ("now/y", "2024-01-01T00:00:00", "2024-12-31T23:59:59.999999"),
        ("now/d+1h", "2024-05-15T01:00:00", None),
        ("2024-01-31||+1M", "2024-02-29T00:00:00", None),
        ("2024-02-29||+1y", "2025-02-28T00:00:00", None),
        ("2024-01-01||+1M/d", "2024-02-01T00:00:00", "2024-02-01T23:59:59.999999"),
        ("2024-01-01T12:00:00Z||-1w", "2023-12-25T12:00:00", None),
        ("2024-05-01", "2024-05-01T00:00:00", "2024-05-01T23:59:59.999999"),
        ("2024-02", "2024-02-01T00:00:00", "2024-02-29T23:59:59.999999"),
        ("2023", "2023-01-01T00:00:00", "2023-12-31T23:59:59.999999"),
        ("2024-05-01T00:00:00", "2024-05-01T00:00:00", None),
        ("9999", "9999-01-01T00:00:00", "9999-12-31T23:59:59.999999"),
    ],
)
def test_a_time_denotes_a_moment_or_a_whole_unit(text: str, first: str, last: str | None) -> None:
    assert _times(text) == (first, last or first)


def test_days_are_those_of_the_time_zone() -> None:
    assert _times("2024-05-01", "Asia/Kolkata") == ("2024-04-30T18:30:00", "2024-05-01T18:29:59.999999")
    assert _times("now/d", "America/New_York") == ("2024-05-15T04:00:00", "2024-05-16T03:59:59.999999")
    # On this day, New York had 23 hours: a day is not a duration, and hours are.
    assert _times("2024-03-10", "America/New_York") == ("2024-03-10T05:00:00", "2024-03-11T03:59:59.999999")
    assert _times("2024-03-10||+1d", "America/New_York")[0] == "2024-03-11T04:00:00"
    assert _times("2024-03-10||+24h", "America/New_York")[0] == "2024-03-11T05:00:00"


def _local(text: str, zone: str = "UTC") -> tuple[str, str]:
    first, last = span(text, "timestamp_ntz", zone, _micros(NOW))
    texts = [(EPOCH + timedelta(microseconds=n)).isoformat().removesuffix("+00:00") for n in (first, last)]
    return texts[0], texts[1]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024-05-01", "2024-05-01T00:00:00", "2024-05-01T23:59:59.999999"),
        ("2024-02", "2024-02-01T00:00:00", "2024-02-29T23:59:59.999999"),
        ("2023", "2023-01-01T00:00:00", "2023-12-31T23:59:59.999999"),
        ("2024-05-01T12:00:00", "2024-05-01T12:00:00", None),
        ("2024-05-01T12", "2024-05-01T12:00:00", "2024-05-01T12:59:59.999999"),
        ("2024-05-01 12:30", "2024-05-01T12:30:00", "2024-05-01T12:30:59.999999"),
        ("2024-05-01T12:30||+1h", "2024-05-01T13:30:00", None),
        ("9999-12-31T23", "9999-12-31T23:00:00", "9999-12-31T23:59:59.999999"),
        ("2024-05-01T12:00:00||+90m", "2024-05-01T13:30:00", None),
        ("2024-01-31||+1M/d", "2024-02-29T00:00:00", "2024-02-29T23:59:59.999999"),
        (
            "2024-03-10||+24h",
            "2024-03-11T00:00:00",
            None,
        ),  # no clock is put forward: New York's was, that day
        ("now", "2024-05-15T09:45:30.250000", None),
        ("now-1h", "2024-05-15T08:45:30.250000", None),
        ("now/d", "2024-05-15T00:00:00", "2024-05-15T23:59:59.999999"),
    ],
)
def test_a_local_time_is_a_reading_of_a_clock(text: str, first: str, last: str | None) -> None:
    assert _local(text, "America/New_York") == (first, last or first)


@pytest.mark.parametrize(
    ("text", "zone", "first", "last"),
    [
        ("2024-05-01T12", "Asia/Kolkata", "2024-05-01T06:30:00", "2024-05-01T07:29:59.999999"),
        ("2024-05-01T12Z", "Asia/Kolkata", "2024-05-01T12:00:00", "2024-05-01T12:59:59.999999"),
        ("2024-05-01T12:30+05:30", "UTC", "2024-05-01T07:00:00", "2024-05-01T07:00:59.999999"),
        ("2024-05-01T12:30:00", "UTC", "2024-05-01T12:30:00", "2024-05-01T12:30:00"),
    ],
)
def test_an_hour_and_a_minute_are_as_long_as_they_are(text: str, zone: str, first: str, last: str) -> None:
    moments = [EPOCH + timedelta(microseconds=n) for n in span(text, "timestamp", zone)]
    assert [moment.isoformat().removesuffix("+00:00") for moment in moments] == [first, last]


@pytest.mark.parametrize(
    "text",
    ["2024-W18", "2024-W18-1", "2024W181", "20240501", "2024-5-1", "2024-122", "24-05-01", "２０２４-05-01"],
)
@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp_ntz"])
def test_a_date_has_one_form(text: str, kind: str) -> None:
    for query in (text, f"{text}||+1d"):
        with pytest.raises(LiteralError, match="such as 2024-01-31|date maths"):
            span(query, kind)
    for time in (f"{text}T12:00:00", "2024-05-01T120000", "2024-05-01T1200", "2024-05-01x12:00:00"):
        with pytest.raises(LiteralError, match="such as 2024-01-31|not a date"):
            span(time, kind)


def test_a_local_time_has_no_offset() -> None:
    for text in ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z||+1d"):
        with pytest.raises(LiteralError, match="has an offset"):
            _local(text)


def test_a_date_column_has_no_hours() -> None:
    assert _dates("now-7d") == ("2024-05-08", "2024-05-08")
    assert _dates("now", "Pacific/Auckland") == ("2024-05-16", "2024-05-16")
    assert _dates("2024-02") == ("2024-02-01", "2024-02-29")
    assert _dates("now/w", "America/New_York") == ("2024-05-13", "2024-05-19")
    with pytest.raises(LiteralError, match="a date has no hours"):
        _dates("now-1h")


@pytest.mark.parametrize(
    "text",
    [
        *("now-", "now-1", "now-1x", "now/", "now 1h", "nowadays", "x||+1d", "||/d", "2024-13||/d"),
        *("now+999999999y", "now-999999999d", "9999-12-31||+1d", "now" + "+1d" * 21),
    ],
)
def test_what_is_not_a_time_says_how_times_are_written(text: str) -> None:
    with pytest.raises(LiteralError):
        _times(text)


@given(st.text(alphabet="now0123456789-+/|:TZyMwdhms. ", max_size=25))
def test_any_text_is_a_span_or_an_error(text: str) -> None:
    for kind in ("timestamp", "timestamp_ntz", "date"):
        try:
            first, last = span(text, kind, "America/New_York", _micros(NOW))
        except LiteralError:
            continue
        assert first <= last


def test_now_is_fixed_when_the_query_is_made() -> None:
    clock = iter(range(1_000, 2_000))
    with use(Runtime(clock=lambda: next(clock))):
        first = TextQuery("INDEXQUERY", "ts", "ts:<now")
        second = TextQuery("INDEXQUERY", "ts", "ts:>now")
        assert TextQuery("INDEXQUERY", "ts", "a").now is None
    assert (first.now, second.now) == (1_000_000, 1_001_000)
    together = at_one_moment(And((first, second)))
    assert {query.now for query in text_queries(together)} == {1_000_000}
    assert {query.now for query in text_queries(at_one_moment(together, 5))} == {5}

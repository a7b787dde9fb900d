"""Minima and maxima that other writers left prune no file with a matching row, for all their peculiarities."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.predicates import Compare, In, StringMatch, evaluate, may_match
from indextables.schema import Field, own_refs
from indextables.stats import bounds_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
WORDS = st.text("ab?\x7f\ue000\uffee\ufffd\U00010000\U0001f600", max_size=6)
FLOATS = st.floats(width=32) | st.sampled_from([math.nan, 0.0, -0.0, math.inf, -math.inf])
MOMENTS = st.datetimes(datetime(1902, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))


def units(text: str) -> bytes:
    return text.encode("utf-16-be")


def cut(text: str, length: int, lost: str) -> str:
    """The first `length` units of UTF-16; half a character becomes `lost`."""
    short = units(text)[: 2 * length]
    try:
        return short.decode("utf-16-be")
    except UnicodeDecodeError:
        return short[:-2].decode("utf-16-be") + lost


def statistics(column: Field, low: str, high: str) -> Any:
    return {column.name: bounds_of(column, {column.name: low}, {column.name: high})}.get


def check(column: Field, values: list[Any], low: str, high: str, literal: Any, op: Any) -> None:
    rows = pa.record_batch([pa.array(values, column.arrow_type)], names=[column.name])
    for predicate in (Compare(op, column.name, literal), In(column.name, (literal,))):
        if True in evaluate(predicate, rows).to_pylist():
            assert may_match(predicate, statistics(column, low, high))


@settings(deadline=None)
@given(
    st.lists(WORDS, min_size=1),
    WORDS,
    OPERATORS,
    st.integers(1, 4),
    st.sampled_from("?\ufffd"),
    st.booleans(),
)
def test_strings_cut_at_any_length_in_either_order(
    values: list[str], literal: str, op: str, length: int, lost: str, by_units: bool
) -> None:
    order = units if by_units else str
    low, high = (cut(end(values, key=order), length, lost) for end in (min, max))
    column = Field("s", "string")
    check(column, values, low, high, literal, op)
    prefix = StringMatch("starts_with", "s", literal)
    if any(value.startswith(literal) for value in values):
        assert may_match(prefix, statistics(column, low, high))


@settings(deadline=None)
@given(st.lists(FLOATS, min_size=1), FLOATS, OPERATORS, st.sampled_from(["float", "double"]))
def test_the_maximum_of_numbers_leaves_room_for_nan(
    values: list[float], literal: float, op: str, kind: str
) -> None:
    numbers = [value for value in values if not math.isnan(value)]
    if numbers:
        low, high = decimal(min(numbers), kind), decimal(max(numbers), kind)
        check(Field("f", kind), values, low, high, literal, op)


def decimal(value: float, kind: str) -> str:
    """The shortest decimal that is this number in its type, and a whole number without a point."""
    if math.isinf(value) or kind == "double":
        return repr(value).removesuffix(".0")
    return next(f"{value:.{n}g}" for n in range(1, 18) if same_float(float(f"{value:.{n}g}"), value))


def same_float(one: float, other: float) -> bool:
    try:
        return struct.pack("f", one) == struct.pack("f", other)
    except OverflowError:
        return False


@settings(deadline=None)
@given(st.lists(MOMENTS, min_size=1), MOMENTS, OPERATORS, st.booleans())
def test_timestamps_of_any_time_and_the_first_one_only(
    values: list[datetime], literal: datetime, op: str, first_only: bool
) -> None:
    low, high = (values[0], values[0]) if first_only else (min(values), max(values))
    texts = [str((moment - EPOCH) // timedelta(microseconds=1)) for moment in (low, high)]
    check(Field("t", "timestamp"), values, texts[0], texts[1], literal, op)


@settings(deadline=None)
@given(st.lists(st.dates(date(1900, 1, 1)), min_size=1), st.dates(), OPERATORS, st.booleans())
def test_dates_as_microseconds_and_in_iso_form(
    values: list[date], literal: date, op: str, as_micros: bool
) -> None:
    days = [(day - EPOCH.date()).days * 86_400_000_000 for day in (min(values), max(values))]
    low, high = map(str, days) if as_micros else (min(values).isoformat(), max(values).isoformat())
    check(Field("d", "date"), values, low, high, literal, op)


@pytest.mark.parametrize(
    ("column", "low", "high", "predicate"),
    [
        (Field("d", "date"), "1704067200000000", "1704153600000000", Compare(">", "d", date(2024, 1, 2))),
        (Field("t", "timestamp"), "5", "9", Compare(">", "t", EPOCH + timedelta(microseconds=9))),
        (Field("f", "double"), "10", "20", Compare("=", "f", 21.0)),
        (Field("f", "double"), "10", "20", Compare("<", "f", 10.0)),
        (Field("s", "string"), "h", "m", Compare("=", "s", "n")),
        (Field("s", "string"), "h", "m", Compare("<", "s", "h")),
        (Field("i", "integer"), "1", "3", In("i", (0, 4))),
    ],
)
def test_they_still_prune(column: Field, low: str, high: str, predicate: Compare | In) -> None:
    assert not may_match(predicate, statistics(column, low, high))


@pytest.mark.parametrize("text", ["19723", "1704067200000001", "2024", "soon", "+12024-01-01"])
def test_a_date_in_no_known_form_bounds_nothing(text: str) -> None:
    assert bounds_of(Field("d", "date"), {"d": text}, {"d": text}) is None


def test_files_of_ours_promise_more() -> None:
    column = Field("f", "double")
    bounds = {"f": bounds_of(column, {"f": "1.0"}, {"f": "2.0"}, ours=True)}.get
    assert not may_match(Compare(">", "f", 2.0), bounds)
    assert may_match(Compare(">", "f", 2.0), statistics(column, "1.0", "2.0"))


def test_a_file_is_ours_if_its_mapping_is() -> None:
    configuration = {
        "docMappingSchema.ours": '[{"name":"n","type":"i64","sparkType":"long"}]',
        "docMappingSchema.theirs": '[{"name":"sparkType","type":"i64"}]',
        "docMappingSchema.broken": "{",
        "docMappingSchema.odd": '{"sparkType":"long"}',
        "other": '[{"sparkType":"long"}]',
    }
    assert own_refs(configuration) == {"ours"}

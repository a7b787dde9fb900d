"""Min and max of a column bound every value in it, whatever the values and however they were cut."""

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.schema import TableSchema, micros
from indextables.stats import MinMaxCollector, cut_above

CHARACTERS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\U0010ffff\ud7ff\ue000az")),
    max_size=6,
)


def bounds(
    values: list[Any], kind: pa.DataType, *, batches: int = 2, length: int | None = 3
) -> tuple[Any, Any]:
    schema = TableSchema.from_arrow(pa.schema({"c": kind}))
    collector = MinMaxCollector(schema, ["c"], length)
    step = max(1, math.ceil(len(values) / batches))
    for start in range(0, len(values), step):
        collector.add(pa.record_batch({"c": pa.array(values[start : start + step], kind)}))
    return collector.min_values().get("c"), collector.max_values().get("c")


def holes(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(st.none(), values), max_size=12)


@settings(deadline=None)
@given(holes(st.integers(-(2**63), 2**63 - 1)))
def test_integers(values: list[int | None]) -> None:
    low, high = bounds(values, pa.int64())
    present = [value for value in values if value is not None]
    assert (low, high) == ((str(min(present)), str(max(present))) if present else (None, None))


@settings(deadline=None)
@given(holes(CHARACTERS), st.integers(1, 4))
def test_strings_lie_between_their_bounds(values: list[str | None], length: int) -> None:
    low, high = bounds(values, pa.string(), length=length)
    for value in values:
        if value is not None:
            assert low is not None
            assert low <= value
            assert high is None or value <= high
    assert all(bound is None or len(bound) <= length for bound in (low, high))


@settings(deadline=None)
@given(CHARACTERS, st.integers(1, 4))
def test_a_cut_maximum_is_rounded_up_or_left_out(text: str, length: int) -> None:
    cut = cut_above(text, length)
    if cut is None:
        assert set(text[:length]) == {"\U0010ffff"}
    else:
        assert cut >= text
        cut.encode()  # no surrogate slipped in


@settings(deadline=None)
@given(holes(st.floats(width=32)))
def test_floats_without_nan_lie_between_their_bounds(values: list[float | None]) -> None:
    low, high = bounds(values, pa.float32())
    present = [value for value in values if value is not None]
    if not present or any(map(math.isnan, present)):
        assert (low, high) == (None, None)
        return
    assert all(float(low) <= value <= float(high) for value in present)
    assert {np.float32(low), np.float32(high)} <= {np.float32(value) for value in present}


@settings(deadline=None)
@given(holes(st.dates()))
def test_dates(values: list[date | None]) -> None:
    low, high = bounds(values, pa.date32())
    present = [value for value in values if value is not None]
    wanted = (min(present).isoformat(), max(present).isoformat()) if present else (None, None)
    assert (low, high) == wanted


@settings(deadline=None)
@given(holes(st.datetimes(timezones=st.just(UTC))))
def test_timestamps_are_microseconds(values: list[datetime | None]) -> None:
    low, high = bounds(values, pa.timestamp("us", tz="UTC"))
    present = [micros(value) for value in values if value is not None]
    assert (low, high) == ((str(min(present)), str(max(present))) if present else (None, None))


def test_a_date_beyond_the_calendar_has_no_bound() -> None:
    far = pa.array([3_000_000, 5], pa.int32()).cast(pa.date32())
    collector = MinMaxCollector(TableSchema.from_arrow(pa.schema({"c": pa.date32()})), ["c"])
    collector.add(pa.record_batch({"c": far}))
    assert collector.max_values() == {}
    assert collector.min_values() == {"c": (date(1970, 1, 1) + timedelta(days=5)).isoformat()}


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        ([True, None, False], pa.bool_(), ("false", "true")),
        ([True, True], pa.bool_(), ("true", "true")),
        ([0.0, -0.0], pa.float64(), ("0.0", "0.0")),
        ([1.5, float("nan")], pa.float64(), (None, None)),
        ([float("nan"), 1.5], pa.float64(), (None, None)),
        ([float("-inf"), float("inf")], pa.float64(), ("-inf", "inf")),
        ([b"a"], pa.binary(), (None, None)),
        ([None], pa.string(), (None, None)),
        ([""], pa.string(), ("", "")),
    ],
)
def test_the_text_of_each_type(values: list[Any], kind: pa.DataType, wanted: tuple[Any, Any]) -> None:
    assert bounds(values, kind) == wanted


def test_without_a_length_strings_are_whole() -> None:
    assert bounds(["x" * 100], pa.string(), length=None) == ("x" * 100, "x" * 100)


def test_only_the_chosen_columns_are_collected() -> None:
    schema = TableSchema.from_arrow(pa.schema({"a": pa.int64(), "b": pa.int64()}))
    collector = MinMaxCollector(schema, ["b"])
    collector.add(pa.record_batch({"a": [1], "b": [2]}))
    assert collector.min_values() == {"b": "2"}

"""Histograms, most frequent values and statistics are those that a plain evaluation of the rows gives."""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import indextables as it
from indextables.runtime import current
from indextables.schema import Field
from indextables.table import SPLITS_SEARCHED
from indextables.table.grouping.buckets import buckets_of
from indextables.table.grouping.exact_sums import FloatSum, IntegerSum

NAN = float("nan")
SCHEMA = pa.schema(
    {
        "day": pa.date32(),
        "ts": pa.timestamp("us", tz="UTC"),
        "born": pa.date32(),
        "tiny": pa.int8(),
        "big": pa.int64(),
        "x": pa.float64(),
        "single": pa.float32(),
        "level": pa.string(),
        "flag": pa.bool_(),
        "raw": pa.binary(),
        "message": pa.string(),
    }
)
SEEDS = range(4)


def random_row(rng: random.Random) -> dict[str, object]:
    def maybe(value):
        return None if rng.random() < 0.15 else value

    ts = datetime(1960, 1, 1, tzinfo=UTC) + timedelta(microseconds=rng.randrange(80 * 365 * 86400 * 10**6))
    floats = [0.0, -0.0, NAN, math.inf, -math.inf, 0.1, 0.3, -0.7, rng.uniform(-9, 9)]
    return {
        "day": rng.choice([date(2026, 1, 31), date(2026, 2, 1), None]),
        "ts": maybe(ts),
        "born": maybe(ts.date()),
        "tiny": maybe(rng.randint(-128, 127)),
        "big": maybe(rng.choice([2**63 - 1, -(2**62), rng.randint(-50, 50)])),
        "x": maybe(rng.choice(floats)),
        "single": maybe(rng.choice([0.5, -0.0, 0.0, NAN, rng.randint(-40, 40) / 8])),
        "level": maybe(rng.choice(["INFO", "WARN", "ERROR", "", "é"])),
        "flag": maybe(rng.random() < 0.5),
        "raw": maybe(rng.choice([b"", b"\x00", b"\xff"])),
        "message": rng.choice(["disk full", "disk slow", "login ok"]),
    }


@pytest.fixture(params=SEEDS, scope="module")
def seeded(request) -> tuple[it.Table, list[dict[str, object]], int]:
    rng = random.Random(request.param)
    path = f"memory://aggregates-{request.param}"
    rows: list[dict[str, object]] = []
    for number in range(3):
        batch = [random_row(rng) for _ in range(rng.randint(1, 60))]
        data = pa.Table.from_pylist(batch, schema=SCHEMA)
        mode = "overwrite" if number == 0 else "append"
        it.write(path, data, mode=mode, partition_by=["day"], text=["message"])
        rows += batch
    return it.open(path), rows, request.param


CONDITIONS = [
    (None, None, lambda row: True),
    ("message:disk", None, lambda row: "disk" in row["message"]),
    (None, "level = 'INFO'", lambda row: row["level"] == "INFO"),
    (None, "day = DATE'2026-02-01'", lambda row: row["day"] == date(2026, 2, 1)),
    ("full", "day IS NULL", lambda row: row["day"] is None and "full" in row["message"]),
    (None, "tiny > 1000", lambda row: False),
]


def plain(value: object) -> object:
    """A value that equals itself: one NaN, one zero."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def rank(value: object) -> tuple:
    """The order of results: null last, NaN after all other numbers."""
    value = plain(value)
    return (
        value is None,
        value == "NaN" and not isinstance(value, float),
        0 if value in (None, "NaN") else value,
    )


def step_back(value: object, every: object) -> object:
    """The start of a value's bucket, by another way than the library: exact arithmetic or calendar fields."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return value
    if isinstance(value, int):
        return value // every * every
    if isinstance(value, float):
        step, number = Fraction(str(every)), math.floor(Fraction(value) / Fraction(str(every)))
        starts = [float(n * step) for n in (number - 1, number, number + 1)]
        return max(start for start in starts if start <= value)
    days = value.date() if isinstance(value, datetime) else value
    first = {
        "1 month": lambda: days.replace(day=1),
        "3 months": lambda: days.replace(month=(days.month - 1) // 3 * 3 + 1, day=1),
        "1y": lambda: days.replace(month=1, day=1),
        "10 years": lambda: date(days.year // 10 * 10, 1, 1),
        "1w": lambda: days - timedelta(days=days.weekday()),
        "1d": lambda: days,
    }
    if every in first:
        start = first[every]()
        return (
            datetime(start.year, start.month, start.day, tzinfo=UTC) if isinstance(value, datetime) else start
        )
    fields = {"1h": {"minute": 0}, "15m": {"minute": value.minute // 15 * 15}, "20 seconds": {}}[every]
    second = value.second // 20 * 20 if every == "20 seconds" else 0
    return value.replace(second=second, microsecond=0, **fields)


HISTOGRAMS = [
    *[
        ("ts", every)
        for every in ("20 seconds", "15m", "1h", "1d", "1w", "1 month", "3 months", "1y", "10 years")
    ],
    *[("born", every) for every in ("1d", "1w", "1 month", "1y", "10 years")],
    *[("tiny", every) for every in (1, 7, 100)],
    *[("x", every) for every in (1, 0.1, 2.5)],
    ("single", 0.25),
    ("day", "1 month"),
]


@pytest.mark.parametrize("by", [None, "level", "single", "day"])
def test_a_histogram_counts_the_rows_of_each_bucket(seeded, by):
    table, rows, seed = seeded
    rng = random.Random(seed)
    for column, every in HISTOGRAMS:
        if column == by:
            continue
        query, where, matches = rng.choice(CONDITIONS)
        result = table.histogram(column, every=every, query=query, where=where, by=by)
        expected = Counter(
            (plain(step_back(row[column], every)), *([] if by is None else [plain(row[by])]))
            for row in rows
            if matches(row)
        )
        order = sorted(expected, key=lambda key: [rank(part) for part in key])
        columns = [[plain(value) for value in part.to_pylist()] for part in result.columns]
        assert list(zip(*columns, strict=True)) == [(*key, expected[key]) for key in order], (
            column,
            every,
            where,
        )
        assert result.column_names == ["bucket", *([] if by is None else [by]), "count"]


@pytest.mark.parametrize("column", SCHEMA.names)
def test_top_values_are_the_most_frequent(seeded, column):
    table, rows, _ = seeded
    for query, where, matches in CONDITIONS:
        expected = Counter(plain(row[column]) for row in rows if matches(row))
        order = sorted(expected.items(), key=lambda item: (-item[1], rank(item[0])))
        for n in (0, 3, None):
            result = table.top_values(column, n=n, query=query, where=where).to_pydict()
            found = list(zip(map(plain, result["value"]), result["count"], strict=True))
            assert found == order[:n], (column, where)


@pytest.mark.parametrize("column", SCHEMA.names)
def test_stats_are_those_of_the_rows(seeded, column):
    table, rows, _ = seeded
    for query, where, matches in CONDITIONS:
        matching = [row[column] for row in rows if matches(row)]
        values = sorted((value for value in matching if value is not None), key=rank)
        stats = table.stats(column, query=query, where=where)
        assert (stats.count, stats.nulls) == (len(values), len(matching) - len(values))
        assert stats.distinct == len({plain(value) for value in values})
        assert plain(stats.min) == (plain(values[0]) if values else None)
        assert plain(stats.max) == (plain(values[-1]) if values else None)
        if column in ("tiny", "big"):
            assert stats.sum == (sum(values) if values else None)
            assert stats.mean == (sum(values) / len(values) if values else None)
        elif column in ("x", "single"):
            finite = all(map(math.isfinite, values))
            total = math.fsum(values) if finite else sum(v for v in values if not math.isfinite(v))
            assert plain(stats.sum) == (plain(total) if values else None)
        else:
            assert stats.sum is None
            assert stats.mean is None
        assert table.stats(column, where=where, distinct=False).distinct is None


def test_a_partition_column_is_aggregated_by_the_log_alone():
    days = pa.array([date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 2), None], pa.date32())
    data = pa.table({"day": days, "level": ["a", "b", "a", "a"], "n": [1, 2, 3, 4]})
    it.write("memory://aggregates-log", data, partition_by=["day", "level"])
    table = it.open("memory://aggregates-log")
    before = current().counters.values().get(SPLITS_SEARCHED, 0)
    assert table.top_values("level", where="day >= DATE'2026-01-01'").to_pydict() == {
        "value": ["a", "b"],
        "count": [2, 1],
    }
    assert table.histogram("day", every="1 month", by="level").to_pydict() == {
        "bucket": [date(2026, 1, 1), date(2026, 1, 1), None],
        "level": ["a", "b", "a"],
        "count": [2, 1, 1],
    }
    assert table.stats("day").distinct == 2
    assert current().counters.values().get(SPLITS_SEARCHED, 0) == before
    table.top_values("level", where="n > 1")
    assert current().counters.values().get(SPLITS_SEARCHED, 0) > before


def test_fill_adds_the_empty_buckets_between_others():
    stamps = [datetime(2026, 1, 30, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC), None]
    it.write(
        "memory://aggregates-fill", pa.table({"ts": stamps, "level": ["a", "b", "b"], "x": [0.1, 0.4, NAN]})
    )
    table = it.open("memory://aggregates-fill")
    assert table.histogram("ts", every="1d", fill=True).column("count").to_pylist() == [1, 0, 0, 1, 1]
    both = table.histogram("ts", every="2d", by="level", fill=True)
    assert both.column("level").to_pylist() == ["a", "b", "a", "b", "a", "b", "b"]
    assert both.column("count").to_pylist() == [1, 0, 0, 0, 0, 1, 1]
    assert both.column("bucket").to_pylist()[-1] is None
    floats = table.histogram("x", every=0.1, fill=True).to_pydict()
    assert floats["bucket"][:4] == [0.1, 0.2, 0.3, 0.4]
    assert floats["count"] == [1, 0, 0, 1, 1]
    assert table.histogram("ts", every="1d", where="level = 'c'", fill=True).num_rows == 0
    limited = it.open("memory://aggregates-fill", settings={"spark.indextables.aggregation.maxMemory": "1M"})
    with pytest.raises(it.InputError, match="fill=True gives 259201 buckets"):
        limited.histogram("ts", every="1s", fill=True)


@pytest.mark.parametrize(
    "ask", [lambda t: t.top_values("n"), lambda t: t.stats("n"), lambda t: t.histogram("n", every=1)]
)
def test_more_distinct_values_than_the_memory_setting_allows_are_an_error(ask):
    it.write("memory://aggregates-many", pa.table({"n": range(5000)}), mode="overwrite")
    assert len(it.open("memory://aggregates-many").top_values("n", n=None)) == 5000
    table = it.open("memory://aggregates-many", settings={"spark.indextables.aggregation.maxMemory": "64K"})
    with pytest.raises(it.InputError, match=r"raise spark\.indextables\.aggregation\.maxMemory"):
        ask(table)
    assert table.stats("n", distinct=False).sum == 12497500
    assert table.stats("n", where="n < 100").distinct == 100


@pytest.fixture(scope="module")
def small() -> it.Table:
    data = pa.Table.from_pylist([{"big": 1, "x": 1.0, "level": "a", "message": "m"}], schema=SCHEMA)
    it.write("memory://aggregates-small", data, mode="overwrite")
    return it.open("memory://aggregates-small")


@pytest.mark.parametrize(
    ("column", "every", "message"),
    [
        ("nope", 1, "no column 'nope'"),
        (7, 1, "takes the name of a column"),
        ("level", 1, "top_values counts the values of any column"),
        ("flag", 1, "top_values counts the values of any column"),
        ("big", 0, "a whole number above zero"),
        ("big", -5, "a whole number above zero"),
        ("big", 2.5, "a whole number above zero"),
        ("big", "10", "a whole number above zero"),
        ("big", True, "a whole number above zero"),
        ("big", 2**63, "a whole number above zero"),
        ("x", "10", "a number above zero"),
        ("x", 0, "a number above zero"),
        ("x", -0.5, "a number above zero"),
        ("x", NAN, "a number above zero"),
        ("x", math.inf, "a number above zero"),
        ("x", 1e-200, "too small for 1.0"),
        ("ts", 10, "text such as '1h'"),
        ("ts", "0h", "text such as '1h'"),
        ("ts", "-1h", "text such as '1h'"),
        ("ts", "1M", "text such as '1h'"),
        ("ts", "1.5h", "text such as '1h'"),
        ("ts", "1 fortnight", "text such as '1h'"),
        ("ts", "999999999w", "a duration below 100000 years"),
        ("born", "1h", "whole days, weeks, months or years"),
        ("born", None, "whole days, weeks, months or years"),
    ],
)
def test_a_histogram_that_does_not_fit_its_column_is_refused(small, column, every, message):
    with pytest.raises(it.InputError, match=message):
        small.histogram(column, every=every)


@pytest.mark.parametrize("by", ["BIG", "nope", 3])
def test_a_wrong_by_is_refused(small, by):
    with pytest.raises(it.InputError, match="name another column|no column|takes the name"):
        small.histogram("big", every=1, by=by)


def test_other_wrong_arguments_are_refused(small):
    with pytest.raises(it.InputError, match="n is -1"):
        small.top_values("level", n=-1)
    with pytest.raises(it.InputError, match="fill is 1"):
        small.histogram("big", every=1, fill=1)
    with pytest.raises(it.InputError, match="distinct is 'no'"):
        small.stats("level", distinct="no")
    with pytest.raises(it.QueryError):
        small.top_values("level", query="message:(")
    with pytest.raises(it.PredicateError):
        small.stats("level", where="level =")
    it.write("memory://aggregates-names", pa.table({"count": [1], "n": [2]}), mode="overwrite")
    with pytest.raises(it.InputError, match="another column of the result"):
        it.open("memory://aggregates-names").histogram("n", every=1, by="count")
    assert it.open("memory://aggregates-names").top_values("count").to_pylist() == [{"value": 1, "count": 1}]


def test_a_bucket_that_starts_below_the_type_is_an_error():
    lowest = pa.array([-(2**63)], pa.int64())
    data = pa.table({"n": lowest, "ts": lowest.cast(pa.timestamp("us", "UTC"))})
    it.write("memory://aggregates-lowest", data, mode="overwrite")
    table = it.open("memory://aggregates-lowest")
    assert table.histogram("n", every=2**62).column("bucket").to_pylist() == [-(2**63)]
    for column, every in (("n", 3), ("ts", "7h"), ("ts", "1w"), ("ts", "1 month")):
        with pytest.raises(it.InputError, match="starts before the least value of its type"):
            table.histogram(column, every=every)
    with pytest.raises(it.InputError, match="years 1 to 9999"):
        table.stats("ts")


@pytest.mark.parametrize("every", ["1d", "2w", "5 months", "7y"])
def test_the_greatest_dates_and_times_have_a_bucket(every):
    for kind, number in (("timestamp", 2**63 - 1), ("date", 2**31 - 1)):
        field = Field("c", kind)
        storage = pa.int64() if kind == "timestamp" else pa.int32()
        buckets = buckets_of(field, every)
        value = pa.array([number], storage)
        start = buckets.starts(buckets.keys(value.cast(field.arrow_type))).cast(storage)[0].as_py()
        width = {"1d": 1, "2w": 14, "5 months": 155, "7y": 7 * 366}[every]
        width *= 86400 * 10**6 if kind == "timestamp" else 1
        assert number - width < start <= number


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_are_exact_in_any_order(seed):
    rng = random.Random(seed)
    numbers = [rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300) for _ in range(500)]
    total = FloatSum()
    for start in range(0, 500, 77):
        total.add(np.array(numbers[start : start + 77]), 3)
    exact = sum(map(Fraction, numbers)) * 3
    assert total.value() == float(exact)
    assert total.mean(1500) == float(exact / 1500)
    whole = IntegerSum()
    integers = [rng.randint(-(2**63), 2**63 - 1) for _ in range(500)]
    whole.add(np.array(integers), 2)
    assert whole.value() == 2 * sum(integers)


def test_a_float_sum_above_the_greatest_double_is_infinite():
    total = FloatSum()
    total.add(np.array([1.7e308, 1.7e308]))
    assert total.value() == math.inf
    assert total.mean(2) == 1.7e308

"""Bloom filters: no file that holds a matching row is ever skipped, and those that lack the value mostly are."""

from __future__ import annotations

import itertools
import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indextables as it
from indextables.errors import ConfigError, CorruptTableError, SchemaError
from indextables.log.snapshots import cache
from indextables.predicates import (
    And,
    Bounds,
    Compare,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    evaluate,
    may_match,
    parse_where,
)
from indextables.schema import ARROW_TYPES, Field, TableSchema, arrow_type
from indextables.split import contents
from indextables.split.container.bundle import BLOOM_COLUMNS, open_bundle
from indextables.stats import BloomCollector, BloomFilter, ColumnFilter, inline_filters, inline_stats
from indextables.stats.hashing import hash_of, hashes_of
from indextables.storage import open_store
from indextables.table import COUNT_ROWS, ScanRequest, plan_scan

PREFIX = "spark.indextables."
PLACES = itertools.count()
CASES = 4_000
FLOATS = [0.0, -0.0, math.nan, math.inf, -math.inf, 0.1, 1.5, float(np.float32(0.1)), 1e300]
POOLS: dict[str, list[Any]] = {
    "string": ["", "a", "b", "ü", "\U0001f600", "a\0", "x" * 300, "0"],
    "byte": [-128, -1, 0, 1, 127],
    "short": [-(1 << 15), -1, 0, 1, (1 << 15) - 1],
    "integer": [-(1 << 31), -1, 0, 1, (1 << 31) - 1],
    "long": [-(1 << 63), -1, 0, 1, 1 << 53, (1 << 53) + 1, (1 << 63) - 1],
    "float": [value for value in FLOATS if value != 1e300],
    "double": [*FLOATS, -1e-300, 5e-324],
    "boolean": [True, False],
    "date": [date.min, date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date.max],
    "timestamp": [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(2024, 5, 1, tzinfo=UTC),
        datetime(2024, 5, 1, 0, 0, 0, 1, UTC),
    ],
    "timestamp_ntz": [datetime(1, 1, 1), datetime(1970, 1, 1), datetime(2024, 5, 1, 0, 0, 0, 1)],
    "decimal(9,2)": [
        Decimal("0.00"),
        Decimal("0.10"),
        Decimal("-0.10"),
        Decimal("9999999.99"),
        Decimal("1E+3"),
    ],
    "decimal(38,0)": [Decimal(0), Decimal(10**38 - 1), Decimal(-(10**38) + 1), Decimal("1E+30")],
    "binary": [b"", b"a", b"\0", b"\xff", b"0"],
}
assert POOLS.keys() >= ARROW_TYPES.keys() - {"void"}, "every column type"


def bloomed(values: list[Any], kind: str, fpp: float = 0.01) -> tuple[pa.RecordBatch, ColumnFilter]:
    batch = pa.record_batch({"c": pa.array(values, arrow_type(kind))})
    schema = TableSchema((Field("c", kind),))
    collector = BloomCollector(schema, ["c"], fpp)
    for start in range(0, batch.num_rows, 3):
        collector.add(batch.slice(start, 3))
    text = inline_stats(collector.filters(), 1 << 20)
    return batch, ColumnFilter(Field("c", kind), inline_filters(text)["c"])


def random_case(rng: random.Random) -> tuple[str, list[Any], Predicate]:
    """A column of some type, and a condition on it whose literals are often among its values."""
    kind = rng.choice(sorted(POOLS))
    values = [rng.choice([None, *POOLS[kind]]) for _ in range(rng.randint(0, 6))]

    def literal() -> Any:
        held = [value for value in values if value is not None]
        return rng.choice(held if held and rng.random() < 0.5 else POOLS[kind])

    def predicate(depth: int) -> Predicate:
        match rng.randrange(7 if depth else 4):
            case 0:
                return Compare("=", "c", literal())
            case 1:
                return Compare("<=>", "c", None if rng.random() < 0.2 else literal())
            case 2:
                return In(
                    "c", tuple(None if rng.random() < 0.2 else literal() for _ in range(rng.randint(1, 3)))
                )
            case 3:
                return IsNull("c")
            case 4:
                return Not(predicate(depth - 1))
            case 5:
                return And((predicate(depth - 1), predicate(depth - 1)))
            case _:
                return Or((predicate(depth - 1), predicate(depth - 1)))

    return kind, values, predicate(2)


def run_cases(first: int, count: int) -> tuple[int, int]:
    """How many were skipped, and how many were kept because a row matches."""
    skipped = matching = 0
    for seed in range(first, first + count):
        rng = random.Random(seed)
        may, answers = check_case(random_case(rng), rng.choice([0.5, 0.01, 1e-6]), seed)
        skipped += not may
        matching += True in answers
    return skipped, matching


def test_what_holds_a_matching_row_is_never_skipped():
    skipped, matching = run_cases(0, CASES)
    assert skipped > CASES / 20
    assert matching > CASES / 4


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_what_holds_a_matching_row_is_never_skipped_in_the_long_run():
    run_cases(1 << 32, 200_000)


def check_case(
    case: tuple[str, list[Any], Predicate], fpp: float, seed: int
) -> tuple[bool, list[bool | None]]:
    kind, values, predicate = case
    batch, members = bloomed(values, kind, fpp)
    answers = evaluate(predicate, batch).to_pylist()
    may = may_match(predicate, lambda _: Bounds(members=members))
    assert may or True not in answers, f"seed {seed}: {values} has rows for {predicate}"
    return may, answers


@pytest.mark.parametrize("kind", sorted(POOLS))
def test_what_is_not_there_is_mostly_skipped(kind: str):
    few = {
        "string": ("a", "b"),
        "binary": (b"a", b"b"),
        "boolean": (True, False),
        "date": (date(2024, 1, 1), date(2024, 1, 2)),
        "timestamp": (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 0, 0, 0, 1, UTC)),
        "float": (0.5, 0.25),
        "double": (0.1, -0.1),
        "timestamp_ntz": (datetime(2024, 1, 1), datetime(2024, 1, 2)),
        "decimal(9,2)": (Decimal("0.10"), Decimal("0.20")),
        "decimal(38,0)": (Decimal(1), Decimal(2)),
    }.get(kind, (1, 2))
    held, absent = few
    _, members = bloomed([held, None, held], kind, 1e-6)
    assert members.may_contain(held)
    assert not members.may_contain(absent)


def test_equal_values_have_one_hash_whatever_their_bits():
    assert hash_of(-0.0, "double") == hash_of(0.0, "float") == hash_of(0, "double")
    assert hash_of(math.nan, "double") == hash_of(-math.nan, "double")
    for bits in (0x7FF8000000000001, 0xFFF8000000000000):
        odd = np.array([bits], np.uint64).view(np.float64)
        assert hashes_of(pa.array(odd), "double").tolist() == [hash_of(math.nan, "double")]


def test_a_literal_of_another_kind_says_nothing():
    others = [
        "1",
        1,
        1.5,
        True,
        b"1",
        date(2024, 1, 1),
        datetime(2024, 1, 1, tzinfo=UTC),
        "\ud800",
        1 << 70,
        10**400,
    ]
    own = {"string": str, "binary": bytes, "boolean": bool, "date": date, "timestamp": datetime}
    for kind in POOLS:
        _, members = bloomed([], kind)
        for value in others:
            if type(value) is not own.get(kind) and not isinstance(value, int | float):
                assert members.may_contain(value), f"{value!r} in a column of {kind}"
    assert bloomed([], "long")[1].may_contain(1 << 70)
    assert bloomed([], "double")[1].may_contain(10**400)
    assert bloomed([], "string")[1].may_contain("\ud800")


def test_hashes_never_change():
    """They are in files. A change of any of these makes filters lie."""
    assert [hash_of(0, "long"), hash_of(-1, "integer"), hash_of(1.5, "double")] == [
        16294208416658607535,
        16490336266968443936,
        15481881892811333770,
    ]
    assert hash_of("disk", "string") == hash_of(b"disk", "binary") == 1091659701304918778
    assert hash_of(date(2024, 1, 1), "date") == hash_of(19723, "long")
    assert hash_of(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "timestamp") == hash_of(1_000_000, "long")
    made = BloomFilter.of(hashes_of(pa.array([1, 2, 3]), "long"), 0.01)
    assert (
        made.to_bytes().hex()
        == "4954424601070001000000020000008c00004408200002110018006080000240040000200000"
    )


@pytest.mark.parametrize("fpp", [0.1, 0.01, 0.001])
def test_a_filter_is_wrong_about_as_often_as_it_may_be(fpp: float):
    made = BloomFilter.of(hashes_of(pa.array(np.arange(20_000)), "long"), fpp)
    wrong = sum(made.has(hash_of(n, "long")) for n in range(1_000_000, 1_020_000)) / 20_000
    assert wrong < 1.5 * fpp
    size = -20_000 * math.log(fpp) / math.log(2) ** 2 / 8
    assert len(made.bits) == math.ceil(size)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 32), st.binary(min_size=1, max_size=20))
def test_a_filter_reads_back_as_it_was(probes: int, bits: bytes):
    made = BloomFilter(probes, bits)
    assert BloomFilter.from_bytes(made.to_bytes()) == made


@pytest.mark.parametrize(
    "data", [b"", b"ITBF", b"ITBF\x01\x07", b"XXXX\x01\x07\0", b"ITBF\x01\x00\0", b"ITBF\x01\xff\0"]
)
def test_what_is_no_filter_is_an_error(data: bytes):
    with pytest.raises(ValueError):
        BloomFilter.from_bytes(data)


def test_a_filter_of_a_later_version_filters_nothing():
    assert BloomFilter.from_bytes(b"ITBF\x02\x07\0") is None


@pytest.mark.parametrize(
    "stats",
    [
        None,
        "",
        "x",
        "{}",
        '{"numRecords":3}',
        '{"bloomFilters":3}',
        '{"bloomFilters":{"a":"?"}}',
        '{"bloomFilters":{"a":"AAAA"}}',
    ],
)
def test_stats_that_hold_no_filter_filter_nothing(stats: str | None):
    assert inline_filters(stats) == {}


def test_values_are_collected_within_bounds():
    schema = TableSchema((Field("c", "long"),))
    collector = BloomCollector(schema, ["c"], 0.01)
    for _ in range(300):
        collector.add(pa.record_batch({"c": pa.array(range(5_000), pa.int64())}))
    assert sum(map(len, collector._seen["c"])) < 1_100_000
    assert collector.filters()["c"] == BloomFilter.of(
        np.unique(hashes_of(pa.array(range(5_000)), "long")), 0.01
    )


# In tables


@pytest.fixture(params=["memory", "local"])
def path(request, tmp_path) -> str:
    cache.forget()
    return str(tmp_path / "t") if request.param == "local" else f"memory://bloom-{next(PLACES)}"


def options(**more: str) -> dict[str, str]:
    return {PREFIX + "stats.bloom.columns": "id", PREFIX + "indexWriter.heapSize": "15M"} | {
        PREFIX + key: value for key, value in more.items()
    }


def scattered(path: str, chosen: dict[str, str], splits: int = 4) -> it.Table:
    """Each split has its own ids, and all have the same smallest and largest."""
    for n in range(splits):
        ids = ["!first", *(f"id-{i}" for i in range(n, 200, splits)), "~last"]
        it.write(path, pa.table({"id": ids, "n": range(len(ids))}), settings=chosen if n == 0 else None)
    return it.open(path)


def splits_read(table: it.Table, where: str) -> int:
    request = ScanRequest(("n",), parse_where(where, table.snapshot.schema))
    return plan_scan(table.uri, table.snapshot, request, table.settings).splits_read


def test_planning_skips_the_splits_that_lack_a_value(path):
    table = scattered(path, options(**{"stats.bloom.maxInlineBytes": "1024", "stats.bloom.fpp": "0.0001"}))
    assert splits_read(table, "n >= 0") == 4
    assert splits_read(table, "id = 'id-7'") == 1
    assert splits_read(table, "id <=> 'id-7'") == 1
    assert splits_read(table, "id IN ('id-7', 'id-9')") == 2
    assert splits_read(table, "id = 'no such id'") == 0
    assert splits_read(table, "id = 'id-7' AND n >= 0 OR id = 'absent'") == 1
    assert splits_read(table, "NOT id = 'id-7'") == 4
    assert splits_read(table, "id = '!first'") == 4
    assert table.files("id = 'id-7'").num_rows == 1
    assert table.to_arrow(["id"], where="id = 'id-7'").column("id").to_pylist() == ["id-7"]
    for form in ("avro", "json"):
        it.open(path, settings={PREFIX + "state.format": form}).checkpoint()
        cache.forget()
        assert splits_read(it.open(path), "id = 'id-7'") == 1, f"after a {form} checkpoint"


def test_a_large_filter_is_read_from_the_split_and_spares_its_index(path, monkeypatch):
    table = scattered(path, options(**{"stats.bloom.maxInlineBytes": "0", "stats.bloom.fpp": "0.0001"}))
    assert splits_read(table, "id = 'no such id'") == 4, "the log has no filters"

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("the index was opened")

    monkeypatch.setattr(contents, "open_index", opened)
    assert table.count(where="id = 'no such id'") == 0
    assert table.to_arrow(where="id IN ('absent', 'none')").num_rows == 0
    with pytest.raises(AssertionError, match="the index was opened"):
        table.count(where="id = 'id-7'")
    monkeypatch.undo()
    assert table.count(where="id = 'id-7'") == 1


KINDS = {
    "s": pa.array(["a", None, "ü", ""]),
    "i": pa.array([1, None, -(1 << 31), 7], pa.int32()),
    "l": pa.array([1 << 60, None, -1, 0]),
    "f": pa.array([0.1, None, -0.0, math.nan], pa.float32()),
    "d": pa.array([-0.0, None, math.nan, 0.1]),
    "b": pa.array([True, None, True, True]),
    "day": pa.array([date(1969, 12, 31), None, date(2024, 1, 1), date(2024, 1, 2)]),
    "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None, datetime(1900, 1, 1, tzinfo=UTC), None]),
    "x": pa.array([b"", None, b"\xff", b"a"]),
}


@pytest.mark.parametrize("inline", ["0", "4096"])
def test_every_type_answers_as_without_filters(path, inline: str):
    rows = pa.table(KINDS)
    chosen = options(**{"stats.bloom.columns": ",".join(KINDS), "stats.bloom.maxInlineBytes": inline})
    chosen |= {PREFIX + "dataSkippingNumIndexedCols": "0"}
    it.write(path, rows, settings=chosen)
    table = it.open(path)
    batch = rows.to_batches()[0]
    for name, column in KINDS.items():
        literals = [value for value in column.to_pylist() if value is not None]
        literals += [_absent(literals[0])]
        for value in literals:
            for predicate in (
                Compare("=", name, value),
                Compare("<=>", name, value),
                In(name, (value, None)),
            ):
                expected = evaluate(predicate, batch).to_pylist().count(True)
                request = ScanRequest((), predicate, aggregate=COUNT_ROWS)
                assert table._read(request).read_all().column(0).to_pylist() == [expected], predicate
        predicate = Compare("<=>", name, None)
        expected = column.null_count
        assert table._read(ScanRequest((), predicate, aggregate=COUNT_ROWS)).read_all().column(
            0
        ).to_pylist() == [expected]


def _absent(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case str():
            return value + "?"
        case bytes():
            return value + b"?"
        case date():
            return value + timedelta(days=12345)
        case _:
            return value + 3


def test_text_columns_may_have_one_too(path):
    chosen = options(**{"stats.bloom.columns": "message"})
    it.write(path, pa.table({"message": ["disk full", "all well"]}), text=["message"], settings=chosen)
    table = it.open(path)
    assert table.count(where="message = 'disk full'") == 1
    assert table.count(where="message = 'disk'") == 0
    assert table.count(where="message TEXTSEARCH 'disk'") == 1
    assert splits_read(table, "message = 'disk'") == 0


def test_a_column_of_nulls_only_matches_nothing(path):
    it.write(path, pa.table({"id": pa.nulls(3, pa.string()), "n": [1, 2, 3]}), settings=options())
    table = it.open(path)
    assert splits_read(table, "id = 'x'") == 0
    assert table.count(where="id IS NULL") == 3
    assert table.count(where="id <=> NULL") == 3


def test_partition_columns_need_none(path):
    chosen = options(**{"stats.bloom.columns": "day,id"})
    it.write(path, pa.table({"id": ["a"], "day": ["mon"]}), partition_by=["day"], settings=chosen)
    assert it.open(path).count(where="day = 'mon' AND id = 'a'") == 1


def test_a_damaged_filter_is_an_error_that_names_the_split(tmp_path):
    chosen = options(**{"stats.bloom.maxInlineBytes": "0", "dataSkippingNumIndexedCols": "0"})
    it.write(tmp_path / "t", pa.table({"id": ["a"], "n": [1]}), settings=chosen)
    (split,) = (tmp_path / "t").rglob("*.split")
    bundle = open_bundle(open_store(str(tmp_path / "t")), str(split.relative_to(tmp_path / "t")))
    assert BLOOM_COLUMNS in bundle.members
    member = bundle.members["bloom-0.filter"]
    data = bytearray(split.read_bytes())
    data[member.offset + member.length - 1] ^= 1
    split.write_bytes(data)
    with pytest.raises(CorruptTableError, match="bloom-0.filter"):
        it.open(tmp_path / "t").count(where="id = 'b'")
    assert it.open(tmp_path / "t").count() == 1


# Settings of a table


def stats_of(path: str) -> list[dict[str, Any]]:
    cache.forget()
    return [
        {
            "min": dict(file.min_values or {}),
            "max": dict(file.max_values or {}),
            "bloom": set(inline_filters(file.stats)),
        }
        for file in it.open(path).snapshot.files.values()
    ]


ROW = pa.table({"a": ["x" * 40], "b": [1], "c": [2.5], "t": ["some text"], "x": [b"1"]})


def test_what_a_table_was_made_with_holds_for_later_writes(path):
    chosen = {PREFIX + "stats.bloom.columns": "B", PREFIX + "dataSkippingStatsColumns": "c,T"}
    it.write(path, ROW, text=["t"], settings=chosen)
    it.write(path, ROW)
    for stats in stats_of(path):
        assert (stats["bloom"], stats["min"]) == ({"b"}, {"c": "2.5", "t": "some text"})
    it.write(path, ROW, settings={PREFIX + "stats.bloom.columns": "a"})
    it.write(path, ROW)
    assert [stats["bloom"] for stats in stats_of(path)] == [{"b"}, {"b"}, {"a"}, {"b"}], (
        "an append's choice is its own"
    )
    it.write(path, ROW, mode="overwrite", settings={PREFIX + "stats.bloom.columns": "c"})
    it.write(path, ROW)
    assert [(stats["bloom"], set(stats["min"])) for stats in stats_of(path)] == [({"c"}, {"c", "t"})] * 2


def test_an_overwrite_with_other_columns_keeps_what_still_fits(path):
    it.write(path, ROW, settings={PREFIX + "stats.bloom.columns": "a,b"})
    it.write(path, pa.table({"b": [1], "z": [2]}), mode="overwrite")
    assert [stats["bloom"] for stats in stats_of(path)] == [{"b"}]


@pytest.mark.parametrize(
    ("count", "expected"),
    [("0", set()), ("1", {"a"}), ("2", {"a", "b"}), ("-1", {"a", "b", "c"}), ("32", {"a", "b", "c"})],
)
def test_the_number_of_columns_with_min_and_max(path, count: str, expected: set[str]):
    it.write(path, ROW, text=["t"], settings={PREFIX + "dataSkippingNumIndexedCols": count})
    (stats,) = stats_of(path)
    assert set(stats["min"]) == set(stats["max"]) == expected


def test_named_columns_win_over_their_number(path):
    chosen = {PREFIX + "dataSkippingNumIndexedCols": "0", PREFIX + "dataSkippingStatsColumns": "c"}
    it.write(path, ROW, settings=chosen)
    assert [set(stats["min"]) for stats in stats_of(path)] == [{"c"}]


@pytest.mark.parametrize(
    ("chosen", "low", "high"),
    [
        ({}, "x" * 32, "x" * 31 + "y"),
        ({"stats.truncation.maxLength": "5"}, "xxxxx", "xxxxy"),
        ({"stats.truncation.enabled": "false"}, "x" * 40, "x" * 40),
        ({"stats.truncation.enabled": "false", "stats.truncation.maxLength": "5"}, "x" * 40, "x" * 40),
    ],
)
def test_how_much_of_a_string_is_kept(path, chosen: dict[str, str], low: str, high: str):
    it.write(path, ROW, settings={PREFIX + key: value for key, value in chosen.items()})
    it.write(path, ROW)
    for stats in stats_of(path):
        assert (stats["min"]["a"], stats["max"]["a"]) == (low, high)
    assert it.open(path).count(where=f"a = '{'x' * 40}'") == 2


def test_partition_values_are_never_cut(path):
    rows = pa.table({"p": ["y" * 50], "n": [1]})
    it.write(path, rows, partition_by=["p"], settings={PREFIX + "stats.truncation.maxLength": "3"})
    (file,) = it.open(path).snapshot.files.values()
    assert file.partition_values == {"p": "y" * 50}


@pytest.mark.parametrize("key", ["stats.bloom.columns", "dataSkippingStatsColumns"])
def test_a_column_that_is_not_there_is_refused(path, key: str):
    with pytest.raises(SchemaError, match="no column 'hots'"):
        it.write(path, ROW, settings={PREFIX + key: "a,hots"})


def test_a_column_without_order_has_no_min_and_max(path):
    with pytest.raises(SchemaError, match="'x' is binary and has no min/max"):
        it.write(path, ROW, settings={PREFIX + "dataSkippingStatsColumns": "x"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stats.bloom.fpp", "0"),
        ("stats.bloom.fpp", "1"),
        ("stats.bloom.fpp", "x"),
        ("dataSkippingNumIndexedCols", "-2"),
    ],
)
def test_values_out_of_range_are_refused_before_anything_is_written(path, key: str, value: str):
    with pytest.raises(ConfigError, match=key):
        it.write(path, ROW, settings={PREFIX + key: value})


def test_without_a_choice_there_are_no_filters(path):
    it.write(path, ROW)
    (file,) = it.open(path).snapshot.files.values()
    assert file.stats is None
    (key,) = it.open(path).snapshot.files
    assert BLOOM_COLUMNS not in open_bundle(open_store(path), key).members

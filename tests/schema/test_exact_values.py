"""Values are read back exactly as written, or the write is an error: nothing is rounded or ignored silently."""

from __future__ import annotations

import random
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import ConfigError, InputError, PredicateError, QueryError, SchemaError
from indextables.schema import Field, FieldMapping, TableSchema, cast_exactly, parse_time
from indextables.split.writer import SplitWriter

NANOS = pa.timestamp("ns", "UTC")
MICROS = pa.timestamp("us", "UTC")


def test_nanoseconds_are_refused_and_whole_microseconds_kept(tmp_path: Path) -> None:
    fine = pa.table({"at": pa.array([1_704_067_200_123_456_789], NANOS)})
    with pytest.raises(
        SchemaError, match="'at' does not fit .* a table keeps microseconds: round the column first"
    ):
        it.write(tmp_path / "t", fine)
    it.write(tmp_path / "t", pa.table({"at": pa.array([1_704_067_200_123_456_000, None], NANOS)}))
    rows = it.open(tmp_path / "t").to_arrow().column("at").to_pylist()
    assert rows == [datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC), None]


def test_other_units_and_zones_keep_their_moment(tmp_path: Path) -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    rows = pa.table(
        {
            "at": pa.array([moment], pa.timestamp("s", "Asia/Kolkata")),
            "ms": pa.array([moment], pa.timestamp("ms", "UTC")),
        }
    )
    it.write(tmp_path / "t", rows)
    assert it.open(tmp_path / "t").to_arrow().to_pylist() == [{"at": moment, "ms": moment}]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([1.5, 0.1]), pa.float32()),
        (pa.array([1e300]), pa.float32()),
        (pa.array([1 << 40]), pa.int32()),
        (pa.array([(1 << 53) + 1]), pa.float64()),
        (pa.array([0.5]), pa.int64()),
        (pa.array([1_704_110_400_123], pa.int64()).cast(pa.date64()), pa.date32()),
        (pa.array([1], pa.timestamp("ns", "UTC")), MICROS),
        (pa.array([1 << 62], pa.timestamp("s", "UTC")), MICROS),
        (pa.array([1], NANOS).dictionary_encode(), MICROS),
    ],
    ids=str,
)
def test_a_cast_that_would_change_a_value_is_refused(values: pa.Array, kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="column 'c' does not fit"):
        cast_exactly(values, "c", kind)


def test_a_cast_keeps_what_fits() -> None:
    floats = cast_exactly(pa.array([0.5, None, float("nan"), float("inf")]), "c", pa.float32())
    assert str(floats.to_pylist()) == "[0.5, None, nan, inf]"


def test_a_split_refuses_what_a_table_refuses(tmp_path: Path) -> None:
    schema = TableSchema((Field("f", "float"), Field("at", "timestamp")))
    writer = SplitWriter(schema, FieldMapping.of(schema, (), {}), settings=Settings(), directory=tmp_path)
    at = pa.array([0], MICROS)
    try:
        with pytest.raises(SchemaError, match="0.1 would become"):
            writer.write(pa.record_batch({"f": pa.array([0.1]), "at": at}))
    finally:
        writer.abort()


def test_the_name_of_the_null_partition_is_no_value(tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2], "p": ["x", "__HIVE_DEFAULT_PARTITION__"]})
    with pytest.raises(SchemaError, match="would be read back as null"):
        it.write(tmp_path / "t", rows, partition_by=["p"])
    it.write(tmp_path / "flat", rows)
    assert it.open(tmp_path / "flat").to_arrow().column("p").to_pylist() == rows.column("p").to_pylist()


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> it.Table:
    path = tmp_path_factory.mktemp("times") / "t"
    at = pa.array([datetime(2024, 5, 1, 0, 0, 0, 123456, tzinfo=UTC)], MICROS)
    it.write(path, pa.table({"at": at, "s": ["x"]}))
    return it.open(path)


@pytest.mark.parametrize(
    "text",
    ["2024-05-01T00:00:00.123456", "2024-05-01 00:00:00.123456000Z", "2024-05-01T05:30:00.123456+05:30"],
)
def test_times_without_an_offset_are_in_utc(times: it.Table, text: str) -> None:
    assert times.count(query=f'at:"{text}"') == times.count(where=f"at = '{text}'") == 1


def test_a_finer_time_than_microseconds_is_refused(times: it.Table) -> None:
    with pytest.raises(QueryError, match="a table keeps microseconds"):
        times.count(query='at:>"2024-05-01T00:00:00.123456789"')
    with pytest.raises(PredicateError, match="a table keeps microseconds"):
        times.count(where="at > '2024-05-01T00:00:00.123456789'")


@pytest.mark.parametrize(
    ("zone", "hour"),
    [
        ("UTC", 12),
        ("Asia/Kolkata", 6),
        ("+05:30", 6),
        ("GMT+1", 11),
        ("UTC-03:00", 15),
        ("Z", 12),
        ("America/New_York", 16),
    ],
)
def test_a_zone_is_named_as_sessions_name_it(zone: str, hour: int) -> None:
    assert parse_time("2024-05-01T12:00", zone).hour == hour
    assert parse_time("2024-05-01T12:00Z", zone).hour == 12


def test_a_zone_that_python_does_not_know_is_an_error_only_where_it_matters() -> None:
    assert parse_time("2024-05-01T12:00Z", "Mars/Olympus").hour == 12
    with pytest.raises(ValueError, match="write timestamps with an offset"):
        parse_time("2024-05-01T12:00", "Mars/Olympus")


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("typemap.m", "spark.indextables.indexing.typemap.m"),
        ("indexing.typemap.M", "spark.indextables.indexing.typemap.M"),
        ("aws.region", "spark.indextables.aws.region"),
        ("heapSize", "spark.indextables.indexwriter.heapsize"),
        ("nonsense", "docs/configuration.md"),
    ],
)
def test_a_setting_without_its_prefix_is_refused(tmp_path: Path, key: str, meant: str) -> None:
    rows = pa.table({"m": ["a"]})
    for call in (
        lambda: it.write(tmp_path / "t", rows, settings={key: "text"}),
        lambda: it.open(tmp_path / "t", settings={key: "text"}),
    ):
        with pytest.raises(ConfigError, match=meant.replace(".", r"\.")):
            call()


@pytest.mark.parametrize("text", [5, [5], [None]])
def test_names_of_columns_are_strings(tmp_path: Path, text: Any) -> None:
    with pytest.raises(InputError):
        it.write(tmp_path / "t", pa.table({"m": ["a"]}), text=text)


def _view(rng: random.Random, kind: type[pa.ListViewArray], offsets: pa.DataType) -> pa.Array:
    """Return a list view whose lists overlap, are in any order and may be null."""
    count, elements = rng.randrange(1, 7), pa.array([rng.randrange(9) for _ in range(20)])
    starts = pa.array([rng.randrange(15) for _ in range(count)], offsets)
    sizes = pa.array([rng.randrange(5) for _ in range(count)], offsets)
    mask = pa.array([rng.random() < 0.3 for _ in range(count)], pa.bool_())
    return kind.from_arrays(starts, sizes, elements, mask=mask)


@pytest.mark.parametrize("seed", range(30))
def test_list_views_are_written_as_lists(seed: int) -> None:
    rng = random.Random(seed)
    view = _view(rng, pa.ListViewArray, pa.int32())
    large = _view(rng, pa.LargeListViewArray, pa.int64())
    for values in (view, large, view.slice(1), pa.StructArray.from_arrays([view], ["x"]).slice(1)):
        kind = pa.list_(pa.int64())
        cast = cast_exactly(values, "v", pa.struct({"x": kind}) if pa.types.is_struct(values.type) else kind)
        cast.validate(full=True)
        assert cast.to_pylist() == values.to_pylist()
    it.write(f"memory://list-views-{seed}", pa.table({"v": view}))
    assert it.open(f"memory://list-views-{seed}").to_arrow()["v"].to_pylist() == view.to_pylist()


def test_run_ends_are_written_as_values_and_list_views_in_maps_refused() -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"])
    it.write("memory://run-ends", pa.table({"v": runs}))
    assert it.open("memory://run-ends").to_arrow()["v"].to_pylist() == ["a", "a", "b"]
    views = pa.array([[("a", [1])]], pa.map_(pa.string(), pa.list_view(pa.int64())))
    with pytest.raises(SchemaError, match="list views inside map"):
        it.write("memory://map-of-views", pa.table({"v": views}))


def test_text_that_is_not_utf8_has_no_bounds_and_is_kept() -> None:
    offsets, data = pa.py_buffer(struct.pack("3i", 0, 1, 2)), pa.py_buffer(b"\xffa")
    values = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])
    it.write("memory://not-utf8", pa.table({"id": [1, 2], "v": values}))
    table = it.open("memory://not-utf8")
    assert table.to_arrow(where="v = 'a'", columns=["id"])["id"].to_pylist() == [2]
    assert table.to_arrow()["v"].cast(pa.binary()).to_pylist() == [b"\xff", b"a"]

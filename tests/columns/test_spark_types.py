"""Columns and options of column groups as Spark has them, without a session."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from indextables.columns import ColumnGroup, ColumnGroupFile, Manifest, SchemaBased, Single, write
from indextables.columns import open as open_dataset
from indextables.errors import ConfigError, SchemaError
from indextables.spark.formats.arrow_types import arrow_schema, spark_schema
from indextables.spark.formats.dataset_options import DatasetOptions
from indextables.spark.formats.dataset_scan import DatasetTask, row_ranges, run_dataset_task, split_scan

SPARK_TYPES = [
    (pa.int8(), pa.int8()),
    (pa.uint32(), pa.int64()),
    (pa.uint64(), pa.decimal128(20, 0)),
    (pa.large_string(), pa.string()),
    (pa.dictionary(pa.int8(), pa.string()), pa.string()),
    (pa.binary(4), pa.binary()),
    (pa.date64(), pa.date32()),
    (pa.timestamp("ns", "Asia/Tokyo"), pa.timestamp("us", "UTC")),
    (pa.timestamp("s"), pa.timestamp("us")),
    (pa.decimal128(9, 2), pa.decimal128(9, 2)),
    (pa.list_(pa.float32(), 2), pa.list_(pa.field("element", pa.float32()))),
    (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int32())),
    (pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]), None),
]


@pytest.mark.parametrize(("stored", "given"), SPARK_TYPES, ids=str)
def test_every_type_that_spark_can_hold_is_given_in_its_own(stored, given):
    found = arrow_schema(spark_schema(pa.schema([("c", stored)]))).field("c").type
    assert found == (given or stored)
    assert arrow_schema(spark_schema(pa.schema([("c", found)]))).field("c").type == found


def test_types_that_spark_cannot_hold_are_named():
    with pytest.raises(SchemaError, match="'c' is duration"):
        spark_schema(pa.schema([("c", pa.duration("s"))]))
    with pytest.raises(SchemaError, match="'c' has type interval"):
        arrow_schema('{"type":"struct","fields":[{"name":"c","type":"interval"}]}')


def test_options_are_checked():
    assert DatasetOptions.parse({}).policy is None
    assert DatasetOptions.parse({"policy": "single"}).policy == Single()
    read = DatasetOptions.parse({"applydeltas": "true", "primarykey": "a, b"})
    assert (read.apply_deltas, read.primary_key) == (True, ("a", "b"))
    written = DatasetOptions.parse({"policy": "schema_based", "patterns": "v.*", "compressionlevel": "9"})
    assert written.policy == SchemaBased(("v.*",))
    assert written.writer == {"compression_level": 9}
    for options, message in [
        ({"polcy": "single"}, "unknown option 'polcy'"),
        ({"policy": "wild"}, "single or schema_based"),
        ({"policy": "size_based"}, "name the columns"),
        ({"policy": "schema_based"}, "needs the option patterns"),
        ({"patterns": "a"}, "belongs to the policy"),
        ({"applydeltas": "perhaps"}, "applyDeltas is 'perhaps'"),
    ]:
        with pytest.raises(ConfigError, match=message):
            DatasetOptions.parse(options)


def test_rows_are_shared_out_without_gap_or_overlap():
    files = tuple(ColumnGroupFile(str(i), 0, 30_000) for i in range(10))
    group = ColumnGroup(("id",), "parquet", files)
    ranges = row_ranges((group,), 300_000, 4)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 300_000
    assert [stop for _, stop in ranges[:-1]] == [start for start, _ in ranges[1:]]
    assert all(start % 30_000 == 0 for start, _ in ranges)  # between files
    assert row_ranges((), 0, 4) == [(0, 0)]
    large = ColumnGroupFile("x", 0, 1000, properties={"file_size": str(1 << 30)})
    assert len(row_ranges((ColumnGroup(("id",), "parquet", (large,)),), 1000, 2)) == 8


def test_tasks_read_their_part_in_the_types_of_spark():
    moment = dt.datetime(2020, 1, 1, 0, 0, 0, 123456, tzinfo=dt.UTC)
    rows = pa.table(
        {
            "n": pa.array(range(200_000), pa.uint32()),
            "t": pa.array([moment] * 200_000, pa.timestamp("ns", "UTC")),
            "w": pa.array(["x"] * 200_000),
        }
    )
    write("memory:columns-spark-tasks", rows, policy=SchemaBased(("w",)))
    dataset = open_dataset("memory:columns-spark-tasks")
    whole = DatasetTask({}, dataset.manifest, dataset.schema, ("t", "n"), (0, 200_000))
    tasks = split_scan(whole, 3)
    assert len(tasks) == 3
    assert all(group.columns == ("n", "t") for task in tasks for group in task.manifest.column_groups)
    batches = [batch for task in tasks for batch in run_dataset_task(task)]
    assert {str(batch.schema) for batch in batches} == {"t: timestamp[us, tz=UTC]\nn: int64"}
    assert [n for batch in batches for n in batch.column("n").to_pylist()] == list(range(200_000))
    assert batches[0].column("t")[0].as_py() == moment
    limited = DatasetTask({}, dataset.manifest, dataset.schema, ("n",), (0, 200_000), limit=7)
    assert sum(batch.num_rows for batch in run_dataset_task(limited)) == 7
    nothing = split_scan(DatasetTask({}, Manifest(), dataset.schema, (), (0, 0), count_only=True), 4)
    assert [batch.column(0).to_pylist() for task in nothing for batch in run_dataset_task(task)] == [[0]]

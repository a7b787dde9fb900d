"""Streaming writes: each batch is written once, whatever is run again."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

import indextables as it

TEXT = "spark.indextables.indexing.typemap.message"
SCHEMA = "id long, day string, message string"


class Input:
    """A directory of JSON files, each of which is one batch of a stream, and a checkpoint."""

    def __init__(self, spark, directory: Path) -> None:
        self.spark = spark
        directory.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(dir=directory))
        self.files = directory / "in"
        self.files.mkdir()
        self.path = str(directory / "table")
        self.checkpoint = directory / "checkpoint"
        self.rows: list[dict[str, Any]] = []

    def add(self, *days: str) -> None:
        number = len(list(self.files.iterdir()))
        rows = [
            {"id": len(self.rows) + i, "day": day, "message": f"batch {number}"} for i, day in enumerate(days)
        ]
        (self.files / f"{number:03d}.json").write_text("\n".join(map(json.dumps, rows)))
        self.rows += rows

    def frame(self):
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.files))

    def run(self, frame=None, mode: str = "append", *partition_by: str, **options: str):
        stream = (self.frame() if frame is None else frame).writeStream.format("indextables")
        stream = stream.outputMode(mode).option("checkpointLocation", str(self.checkpoint)).options(**options)
        if partition_by:
            stream = stream.partitionBy(*partition_by)
        query = stream.trigger(availableNow=True).start(self.path)
        query.awaitTermination()
        return query

    def written(self) -> list[dict[str, Any]]:
        return sorted(it.open(self.path).to_arrow().to_pylist(), key=lambda row: row["id"])


def append_makes_a_partitioned_table_and_continues(spark, directory: Path) -> None:
    stream = Input(spark, directory)
    stream.add("mon", "tue")
    stream.add("tue")
    stream.run(None, "append", "day", **{TEXT: "text"})
    assert stream.written() == stream.rows
    table = it.open(stream.path)
    assert (table.version, table.partition_columns) == (1, ["day"])
    assert table.count(query="message:batch") == 3
    assert list(table.snapshot.txns.values()) == [1]
    stream.add("wed", "mon")
    stream.run()
    assert stream.written() == stream.rows
    assert it.open(stream.path).version == 2


def a_batch_that_is_run_again_changes_nothing(spark, directory: Path) -> None:
    stream = Input(spark, directory)
    stream.add("mon", "tue")
    stream.add("tue")
    stream.run()
    for name in ("1", ".1.crc"):
        (stream.checkpoint / "commits" / name).unlink(missing_ok=True)
    stream.run()
    table = it.open(stream.path)
    assert (table.version, stream.written()) == (1, stream.rows)


def complete_replaces_the_table_in_one_commit(spark, directory: Path) -> None:
    stream = Input(spark, directory)
    stream.add("mon", "tue")
    stream.add("tue")
    frame = stream.frame().groupBy("day").count()
    stream.run(frame, "complete")
    assert it.open(stream.path).version == 1
    assert _counts(stream.path) == {"mon": 1, "tue": 2}
    for name in ("1", ".1.crc"):
        (stream.checkpoint / "commits" / name).unlink(missing_ok=True)
    stream.add("tue")
    stream.run(frame, "complete")
    assert it.open(stream.path).version == 2
    assert _counts(stream.path) == {"mon": 1, "tue": 3}
    assert list(it.open(stream.path).snapshot.txns.values()) == [2]


def writes_of_foreach_batch_are_made_once(spark, directory: Path) -> None:
    path = str(directory / "written once")

    def write(number: int, mode: str = "append") -> None:
        rows = spark.range(number * 10, number * 10 + 10).write.format("indextables").mode(mode)
        rows.option("txnAppId", "loader").option("txnVersion", number).save(path)

    for number in (0, 1, 1, 0, 2, 2):
        write(number)
    assert sorted(it.open(path).to_arrow().column("id").to_pylist()) == list(range(30))
    write(2, "overwrite")
    assert it.open(path).count() == 30
    spark.range(5).writeTo(f"indextables.`{path}`").option("txnAppId", "loader").option(
        "txnVersion", "2"
    ).append()
    assert it.open(path).count() == 30
    write(3, "overwrite")
    assert (it.open(path).count(), it.open(path).version) == (10, 3)


def small_splits_are_merged_by_the_stream(spark, directory: Path) -> None:
    stream = Input(spark, directory)
    for number in range(5):
        stream.add(*["mon"] * (number + 1))
    merge = "spark.indextables.mergeOnWrite."
    stream.run(None, "append", **{merge + "minSplits": "3", merge + "async.enabled": "false"})
    assert stream.written() == stream.rows
    table = it.open(stream.path)
    operations = table.history().column("operation").to_pylist()
    assert sum("MERGE" in operation for operation in operations) >= 1, operations
    assert table.files().num_rows <= 3
    assert list(table.snapshot.txns.values()) == [4]


def a_name_is_written_to_and_created(spark, directory: Path) -> None:
    stream = Input(spark, directory)
    stream.add("mon", "tue")
    stream.add("tue")

    def run(name: str, frame=None, mode: str = "append", **options: str):
        writer = (
            (stream.frame() if frame is None else frame).writeStream.format("indextables").outputMode(mode)
        )
        writer = writer.option("checkpointLocation", str(stream.checkpoint)).options(**options)
        if mode == "append":
            writer = writer.partitionBy("day")
        writer.trigger(availableNow=True).toTable(name).awaitTermination()

    name = f"streamed_{uuid.uuid4().hex}"
    run(name, **{TEXT: "text"})
    assert spark.table(name).count() == 3
    assert spark.sql(f"SELECT * FROM {name} WHERE message TEXTSEARCH 'batch'").count() == 3
    assert [row[0] for row in spark.sql(f"SHOW PARTITIONS {name}").collect()] == ["day=mon", "day=tue"]
    stream.add("wed")
    run(name)
    run(name)  # nothing is new
    assert spark.table(name).count() == 4
    assert spark.sql(f"DESCRIBE HISTORY {name}").count() == 3
    shutil.rmtree(stream.checkpoint)
    other = f"streamed_{uuid.uuid4().hex}"
    spark.sql(f"CREATE TABLE {other} (day STRING, count BIGINT) USING indextables LOCATION '{stream.path}'")
    run(f"indextables.default.{other}", stream.frame().groupBy("day").count(), "complete")
    assert _counts(stream.path) == {"mon": 1, "tue": 2, "wed": 1}
    assert spark.readStream.table(other).isStreaming
    shutil.rmtree(stream.checkpoint)
    with pytest.raises(_REFUSED, match=r'toTable takes the name of a table; .*\.start\("/nowhere"\)'):
        run("indextables.`/nowhere`")


def what_is_not_supported_names_what_is(spark, directory: Path) -> None:
    stream = Input(spark, directory)
    stream.add("mon", "tue")
    counts = stream.frame().groupBy("day").count()
    with pytest.raises(_REFUSED, match="append adds the rows of each batch, and complete replaces"):
        stream.run(counts, "update")
    with pytest.raises(_REFUSED, match="options of the writes in foreachBatch"):
        stream.run(None, "append", txnAppId="mine", txnVersion="1")
    with pytest.raises(_REFUSED, match="unknown setting 'no.such.option'"):
        stream.run(None, "append", **{"no.such.option": "1"})
    shutil.rmtree(stream.checkpoint)
    stream.run(None, "append", "day")
    stream.add("mon")
    with pytest.raises(_REFUSED, match="partitioned by 'day' and the write by 'message'"):
        stream.run(None, "append", "message")
    shutil.rmtree(stream.checkpoint)
    with pytest.raises(_REFUSED, match="partitioned by 'day' and the write by 'count'"):
        stream.run(counts, "complete", "count")
    assert it.open(stream.path).count() == 2
    for options, message in {
        ("txnAppId", "a"): "txnAppId and txnVersion go together",
        ("txnVersion", "1"): "txnAppId and txnVersion go together",
    }.items():
        write = spark.range(1).write.format("indextables").mode("append").option(*options)
        with pytest.raises(_REFUSED, match=message):
            write.save(str(directory / "other"))
    write = spark.range(1).write.format("indextables").mode("append")
    for number in ("-1", "x", "1.0", str(1 << 63)):
        with pytest.raises(_REFUSED, match="txnVersion is"):
            write.option("txnAppId", "a").option("txnVersion", number).save(str(directory / "other"))
    read = spark.read.format("indextables").option("txnAppId", "a").option("txnVersion", "1")
    with pytest.raises(_REFUSED, match="(?i)unknown setting 'txnAppId'"):
        read.load(stream.path).collect()


_REFUSED = (AnalysisException, StreamingQueryException)

CASES: dict[str, Callable[..., None]] = {
    case.__name__: case
    for case in (
        append_makes_a_partitioned_table_and_continues,
        a_batch_that_is_run_again_changes_nothing,
        complete_replaces_the_table_in_one_commit,
        writes_of_foreach_batch_are_made_once,
        small_splits_are_merged_by_the_stream,
        a_name_is_written_to_and_created,
        what_is_not_supported_names_what_is,
    )
}


def prepare(spark, directory: Path) -> Path:
    return directory


def _counts(path: str) -> dict[str, int]:
    return {row["day"]: row["count"] for row in it.open(path).to_arrow().to_pylist()}


@pytest.mark.parametrize("case", CASES)
def test_streaming_writes(spark, tmp_path, case):
    CASES[case](spark, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_streaming_writes_on_connect(connect_report, case):
    assert connect_report[case] is None, connect_report[case]

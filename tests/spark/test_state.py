"""The Avro state under Spark: written by its writes, read by its scans and on its executors, known to its Java."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.log.snapshots import cache
from indextables.state import LOG_DIRECTORY

STATE = "spark.indextables.checkpoint.interval"
DAYS = 4


def rows(spark, version: int):
    data = [(n, n % DAYS, f"row {n} of {version}") for n in range(40 * version, 40 * version + 40)]
    return spark.createDataFrame(data, "id long, day int, message string").coalesce(1)


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of three versions, the later two with a state, written by Spark."""
    path = tmp_path_factory.mktemp("state") / "table"
    for version in range(3):
        writer = rows(spark, version).write.format("indextables").mode("append").partitionBy("day")
        writer.option(STATE, "1").save(str(path))
    return path


@pytest.fixture
def path(written: Path, tmp_path: Path) -> str:
    """A copy of it: paths in the log are relative."""
    cache.forget()
    return str(shutil.copytree(written, tmp_path / "table"))


def log(path: str) -> Path:
    return Path(path) / LOG_DIRECTORY


def only(frame) -> dict[str, Any]:
    (row,) = frame.collect()
    return row.asDict()


@pytest.mark.spec("testReadWithSparkDataSource", "testWriteWithSparkDataSource")
def test_a_write_leaves_a_state_and_a_read_needs_nothing_else(spark, path: str):
    assert sorted(file.name[-2:] for file in log(path).glob("state-v*")) == ["01", "02"]
    for version in log(path).glob("*.json"):
        version.unlink()
    cache.forget()
    frame = spark.read.format("indextables").load(path)
    assert sorted(row.id for row in frame.collect()) == list(range(120))
    assert frame.filter("day = 2 AND id > 100").count() == 5
    assert frame.filter("day = 9").count() == 0


@pytest.mark.spec("testStateSnapshotSerialization", "testDistributedStateRead")
def test_executors_read_the_state_and_get_whole_snapshots_and_entries(spark, path: str):
    context = spark.sparkContext
    cache.forget()
    snapshot = it.open(path).snapshot
    files = dict(snapshot.files.items())

    def read_there(_: int) -> tuple[int, list[str]]:
        import indextables as there  # noqa: PLC0415

        return there.open(path).version, sorted(there.open(path).files().column("path").to_pylist())

    assert context.parallelize(range(4), 4).map(read_there).collect() == [(2, sorted(files))] * 4
    entries = context.parallelize(list(files.items()), 4).map(lambda pair: pair).collect()
    assert dict(entries) == files
    (travelled,) = context.parallelize([snapshot], 1).map(lambda one: one).collect()
    assert travelled == snapshot
    assert dict(travelled.files.items()) == files


@pytest.mark.spec("testConcurrentCompaction", "testDistributedCompaction")
def test_executors_that_compact_at_once_leave_one_sound_state(spark, path: str):
    def compact(_: int) -> int:
        import indextables as there  # noqa: PLC0415

        return there.open(path).checkpoint()

    versions = spark.sparkContext.parallelize(range(4), 4).map(compact).collect()
    assert all(3 <= version <= 6 for version in versions)  # version 2 has a state, which is not replaced
    cache.forget()
    state = only(spark.sql(f"DESCRIBE INDEXTABLES STATE '{path}'"))
    assert (state["version"], state["num_manifests"], state["num_files"]) == (max(versions), 1, 3 * DAYS)
    assert state["total_bytes"] == sum(it.open(path).files().column("size").to_pylist())
    assert spark.read.format("indextables").load(path).count() == 120


@pytest.mark.spec("testFileEntryKryoSerialization", "testFileEntryJavaSerialization")
def test_the_parts_of_a_scan_survive_the_serializers_of_spark(spark, path: str):
    """What Spark sends to executors holds the files of the state; it may use Java's serializer or Kryo."""
    java = spark.sparkContext._jvm
    reader = spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0)
    plan = reader.load(path).filter("day < 3")._jdf.queryExecution().sparkPlan()
    scan = plan
    while scan.children().nonEmpty():
        scan = scan.children().head()
    parts = scan.inputRDD().partitions() if hasattr(scan, "inputRDD") else scan.execute().partitions()
    assert len(parts) > 0
    tag = java.scala.reflect.ClassTag.Any()
    settings = spark.sparkContext._jsc.sc().getConf()
    for kind in (
        java.org.apache.spark.serializer.JavaSerializer,
        java.org.apache.spark.serializer.KryoSerializer,
    ):
        serializer = kind(settings).newInstance()
        for part in parts:
            copy = serializer.deserialize(serializer.serialize(part, tag), tag)
            assert copy.index() == part.index()
            assert copy.toString() == part.toString()


@pytest.mark.spec("testWriteWithSparkDataSource")
def test_the_avro_reader_of_java_reads_every_file_of_a_state(spark, path: str):
    java = spark.sparkContext._jvm
    found: dict[str, list[dict]] = {"FileEntry": [], "StateManifest": []}
    for file in sorted(log(path).rglob("*.avro")):
        reader = java.org.apache.avro.file.DataFileReader(
            java.java.io.File(str(file)), java.org.apache.avro.generic.GenericDatumReader()
        )
        try:
            schema = reader.getSchema()
            assert schema.getNamespace() == "io.indextables.state"
            while reader.hasNext():
                found[schema.getName()].append(json.loads(reader.next().toString()))
        finally:
            reader.close()
    assert [record["stateVersion"] for record in found["StateManifest"]] == [1, 2]
    assert {entry["path"] for entry in found["FileEntry"]} == set(it.open(path).files()["path"].to_pylist())
    assert sum(entry["numRecords"] for entry in found["FileEntry"]) == 120


@pytest.mark.spec("testCheckpointSqlUpgrade")
def test_checkpoint_turns_a_json_checkpoint_into_an_avro_state(spark, tmp_path: Path):
    path = str(tmp_path / "older")
    for n in range(3):
        it.write(path, pa.table({"id": [n], "day": [n]}), mode="append", partition_by=["day"])
    it.open(path, settings={"spark.indextables.state.format": "json"}).checkpoint()
    before = it.open(path).files().sort_by("path")
    assert only(spark.sql(f"DESCRIBE INDEXTABLES STATE '{path}'"))["format"] == "json"
    assert not list(log(path).glob("state-v*"))
    cache.forget()
    assert only(spark.sql(f"CHECKPOINT INDEXTABLES '{path}'"))["status"] == "SUCCESS"
    state = only(spark.sql(f"DESCRIBE INDEXTABLES STATE '{path}'"))
    assert (state["format"], state["version"], state["num_files"]) == ("avro-state", 2, 3)
    cache.forget()
    assert it.open(path).files().sort_by("path").equals(before)
    assert sorted(row.id for row in spark.read.format("indextables").load(path).collect()) == [0, 1, 2]

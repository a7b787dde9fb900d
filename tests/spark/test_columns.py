"""`format("indextables.columns")`: the rows, the modes, and that a projection reads only the groups it needs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import columns
from indextables.columns import DeltaLogType, Transaction, write_delta

FORMAT = "indextables.columns"


@pytest.fixture
def frame(spark):
    return spark.range(0, 1000, 1, 3).selectExpr(
        "id",
        "CAST(id % 10 AS INT) AS k",
        "IF(id % 7 = 0, NULL, concat('t', id)) AS t",
        "array(CAST(id AS FLOAT), 0.5F) AS v",
        "timestamp_seconds(id) AS at",
        "CAST(id AS DECIMAL(9,2)) AS d",
    )


def rows(frame):
    return sorted(map(tuple, frame.collect()), key=str)


def test_rows_come_back_as_they_went_in(spark, frame, tmp_path):
    path = str(tmp_path / "ds")
    frame.write.format(FORMAT).option("policy", "schema_based").option("patterns", "v, t").save(path)
    found = spark.read.format(FORMAT).load(path)
    assert [(field.name, field.dataType.simpleString()) for field in found.schema] == frame.dtypes
    assert rows(found) == rows(frame)
    assert found.count() == 1000
    assert found.filter("k = 3 AND t IS NOT NULL").count() == frame.filter("k = 3 AND t IS NOT NULL").count()
    condition = "id >= 990 OR at < timestamp_seconds(3) OR d = 500"
    assert rows(found.filter(condition)) == rows(frame.filter(condition))
    assert len(found.limit(5).collect()) == 5
    stored = columns.open(path).to_arrow(["id", "at"], where="id = 5").to_pylist()
    assert stored == [{"id": 5, "at": dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=dt.UTC)}]


def test_a_projection_reads_only_the_files_of_its_groups(spark, frame, tmp_path):
    path = str(tmp_path / "ds")
    frame.write.format(FORMAT).option("policy", "schema_based").option("patterns", "v").save(path)
    wide, _ = columns.open(path).manifest.column_groups
    assert wide.columns == ("v",)
    for file in wide.files:  # the footers stay, which tell the types
        whole, footer = Path(file.path).read_bytes(), int(file.properties["footer_size"])
        Path(file.path).write_bytes(bytes(len(whole) - footer) + whole[-footer:])
    found = spark.read.format(FORMAT).load(path)
    assert found.agg({"id": "sum"}).first()[0] == 499500
    assert rows(found.filter("k = 1").select("t", "id")) == rows(frame.filter("k = 1").select("t", "id"))
    with pytest.raises(Exception, match="cannot be read"):
        found.collect()


def test_the_modes_of_a_save(spark, frame, tmp_path):
    path = str(tmp_path / "ds")
    small = frame.select("id", "k").limit(10)
    small.write.format(FORMAT).save(path)
    with pytest.raises(Exception, match="there is a dataset at .* already; choose mode"):
        small.write.format(FORMAT).save(path)
    small.write.format(FORMAT).mode("ignore").save(path)
    small.select("k", "id").write.format(FORMAT).mode("append").save(path)  # columns by name
    assert spark.read.format(FORMAT).load(path).count() == 20
    assert spark.read.format(FORMAT).option("versionAsOf", 1).load(path).count() == 10
    frame.select("t").write.format(FORMAT).mode("overwrite").save(path)
    assert rows(spark.read.format(FORMAT).load(path)) == rows(frame.select("t"))
    empty = str(tmp_path / "empty")
    frame.limit(0).write.format(FORMAT).save(empty)
    assert spark.read.format(FORMAT).load(empty).columns == frame.columns
    with pytest.raises(Exception, match="column groups are not partitioned"):
        small.write.format(FORMAT).partitionBy("k").save(str(tmp_path / "other"))
    with pytest.raises(Exception, match="unknown option 'polcy'"):
        small.write.format(FORMAT).option("polcy", "single").save(str(tmp_path / "other"))
    with pytest.raises(Exception, match="there is no dataset of column groups"):
        spark.read.format(FORMAT).load(str(tmp_path / "nothing"))


def test_delta_logs_are_applied_on_request(spark, frame, tmp_path):
    path = str(tmp_path / "ds")
    frame.select("id", "k").write.format(FORMAT).save(path)
    deleted = pa.table({"id": [1, 2, 3], "ts": [7, 7, 7]})
    log = write_delta(path, DeltaLogType.PRIMARY_KEY, deleted)
    Transaction.open(path).add_delta_log(log.path, log.num_entries, log.type).commit()
    read = spark.read.format(FORMAT)
    assert read.load(path).count() == 1000
    live = spark.read.format(FORMAT).option("applyDeltas", "true").option("primaryKey", "id").load(path)
    assert live.count() == 997
    assert live.filter("id < 5").select("id").toPandas()["id"].sort_values().tolist() == [0, 4]

"""Without the jar, Spark uses the Python source alone: slower, with fewer features, never wrong."""

from __future__ import annotations

import base64
import json
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import indextables as it
from indextables.errors import ConfigError
from indextables.spark import configure


def reads_are_right_whatever_the_order_of_filters(spark, directory: Path) -> None:
    path = str(directory / "reads")
    table = pa.table({"id": range(1000), "k": [i % 7 for i in range(1000)], "host": ["a", "b"] * 500})
    it.write(path, table, partition_by=["host"])
    rows = spark.read.format("indextables").load(path)
    assert rows.filter("k = 1").count() == 143
    assert rows.count() == 1000
    assert rows.filter("k = 1").union(rows.filter("k = 2")).groupBy("k").count().collect() is not None
    assert {
        tuple(row) for row in rows.filter("k = 1").union(rows.filter("k = 2")).groupBy("k").count().collect()
    } == {
        (1, 143),
        (2, 143),
    }
    assert rows.select("host", "id").filter("id < 3").orderBy("id").collect() == [
        ("a", 0),
        ("b", 1),
        ("a", 2),
    ]
    assert rows.alias("a").join(rows.filter("host = 'a'").alias("b"), "id").count() == 500


def appends_and_overwrites_commit(spark, directory: Path) -> None:
    path = str(directory / "writes")
    rows = spark.range(100).selectExpr("id", "concat('words of ', id) AS Message")
    text = {"spark.indextables.indexing.typemap.Message": "text"}
    rows.write.format("indextables").mode("append").options(**text).save(path)
    rows.limit(10).write.format("indextables").mode("append").save(path)
    assert spark.read.format("indextables").load(path).count() == 110
    assert it.open(path).count(query="Message:words") == 110
    rows.limit(5).write.format("indextables").mode("overwrite").save(path)
    assert spark.read.format("indextables").load(path).count() == 5
    assert spark.read.format("indextables").option("versionAsOf", 1).load(path).count() == 110
    assert it.open(path).version == 2


def configure_says_that_spark_runs_without_the_jar(spark, directory: Path) -> None:
    with pytest.raises(ConfigError, match="^Spark runs in this process already"):
        configure(SparkSession.builder)


class Payload:
    """Creates a directory when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._marker),)


def sql_runs_no_code_of_its_own(spark, directory: Path) -> None:
    marker = directory / "code-ran"
    plan = base64.b64encode(pickle.dumps(Payload(marker))).decode()
    shape = {"options": {}, "columns": ["id"], "filters": [], "parallelism": 1}
    request = json.dumps({"command": "scan", "path": "/t", "plan": plan} | shape)
    job = Path(tempfile.mkdtemp(dir=directory)) / "x.job"
    job.write_bytes(pickle.dumps(Payload(marker)))
    for text in (request, json.dumps({"command": "job", "options": {}, "job": str(job)})):
        view = f"CREATE OR REPLACE TEMPORARY VIEW hostile (id LONG) USING indextables OPTIONS (__request '{text}')"
        with pytest.raises(PySparkException, match="not a request|not a job"):
            spark.sql(view).count() + spark.sql("SELECT * FROM hostile").count()
    spark.sql("DROP VIEW IF EXISTS hostile")
    assert not marker.exists()


CASES = {
    case.__name__: case
    for case in (
        reads_are_right_whatever_the_order_of_filters,
        appends_and_overwrites_commit,
        configure_says_that_spark_runs_without_the_jar,
        sql_runs_no_code_of_its_own,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_without_the_jar(plain_report, case):
    assert plain_report[case] is None, plain_report[case]

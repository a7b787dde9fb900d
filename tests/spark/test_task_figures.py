"""What the tasks of a scan have counted is in the metrics of its plan, and the row that carries it in no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.runtime import current
from indextables.spark.formats.figures import with_figures
from support.scan_figures import figures_of

BY_TASKS = {"spark.indextables.read.answerOnDriver.maxRows": "0"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("figures") / "table")
    for n in range(4):
        words = ["disk full", "all well", f"only{n} here"]
        it.write(path, pa.table({"n": range(n * 3, n * 3 + 3), "message": words}), text=["message"])
    return path


def test_the_metrics_of_a_search(spark, path):
    frame = spark.read.format("indextables").options(**BY_TASKS).load(path)
    it.flush_caches(path)
    spark.sql("FLUSH INDEXTABLES SEARCHER CACHE")
    first = figures_of(frame.filter("message TEXTSEARCH 'disk'"))
    assert (first["rows"], first["splitsSearched"], first["rowsFetched"]) == (4, 4, 4)
    assert first["cacheMisses"] == 4
    assert first["bytesRead"] > 0
    again = figures_of(frame.filter("message TEXTSEARCH 'disk'"))
    assert (again["cacheHits"], again["cacheMisses"]) == (4, 0)


def test_a_task_without_rows_has_figures_too(spark, path):
    frame = spark.read.format("indextables").options(**BY_TASKS).load(path)
    none = figures_of(frame.filter("message TEXTSEARCH 'disk AND well'"))
    assert (none["rows"], none["splitsSearched"], none["rowsFetched"]) == (0, 4, 0)


def test_the_row_of_figures_is_in_no_answer(spark, path):
    frame = spark.read.format("indextables").options(**BY_TASKS).load(path)
    assert frame.count() == 12
    assert frame.filter("message IS NULL OR n IS NULL").count() == 0
    assert frame.selectExpr("1 AS one").groupBy("one").count().collect()[0]["count"] == 12
    assert len(frame.limit(5).collect()) == 5
    assert len(frame.rdd.collect()) == 12
    assert sorted(row.n for row in frame.select("n").collect()) == list(range(12))
    assert frame.agg({"n": "sum"}).head()[0] == 66
    assert frame.columns == ["n", "message"]


def test_a_column_may_have_the_name_of_the_figures(spark, tmp_path: Path):
    path = str(tmp_path / "table")
    it.write(path, pa.table({"__figures": ["a", None, "c"], "n": [1, 2, 3]}))
    frame = spark.read.format("indextables").options(**BY_TASKS).load(path)
    assert sorted(frame.collect(), key=lambda row: row.n) == [("a", 1), (None, 2), ("c", 3)]


def test_column_groups_have_them_too(spark, tmp_path: Path):
    spark.range(100).write.format("indextables.columns").save(str(tmp_path / "groups"))
    frame = spark.read.format("indextables.columns").load(str(tmp_path / "groups"))
    found = figures_of(frame)
    assert (found["rows"], found["splitsSearched"]) == (100, 0)
    assert found["bytesRead"] > 0
    assert frame.count() == 100


def test_figures_are_those_of_the_task_alone():
    schema = pa.schema({"a": pa.int64(), "b": pa.string()})
    current().counters.add("storage.get.fetched", 7)

    def task():
        current().counters.add("storage.get.fetched", 5)
        yield pa.record_batch([pa.array([1, 2]), pa.array(["x", None])], schema=schema)

    *batches, last = with_figures(task(), schema)
    assert [batch.column("__figures").null_count for batch in batches] == [2]
    assert last.column("a").null_count == last.column("b").null_count == last.num_rows == 1
    figures = json.loads(last.column("__figures")[0].as_py())
    assert figures["counts"] == {"storage.get.fetched": 5}
    assert figures["metrics"]["bytesRead"] == 5

"""Queries that share one DataFrame answer as Parquet does, each by its own filters, on classic and on Connect."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

ROWS = 1000


def prepare(spark, directory: Path) -> dict[str, Any]:
    """The same rows as an indextables table, read in both ways that small queries go, and as Parquet."""
    rows = spark.range(0, ROWS, 1, 3).selectExpr(
        "id",
        "cast(id % 7 as int) AS k",
        "IF(id % 11 = 0, NULL, concat('name ', id % 13)) AS name",
        "cast(id * 1.5 AS double) AS amount",
    )
    rows.write.format("indextables").save(str(directory / "ours"))
    rows.write.parquet(str(directory / "theirs"))
    ours = spark.read.format("indextables").load(str(directory / "ours"))
    theirs = spark.read.parquet(str(directory / "theirs"))
    by_tasks = spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0)
    return {"ours": ours, "by tasks": by_tasks.load(str(directory / "ours")), "theirs": theirs}


def same(world: dict[str, Any], query: Callable[[Any], Any]) -> None:
    """The query gives the same rows on both, and leaves the DataFrames as they were."""
    theirs = sorted(map(repr, query(world["theirs"]).collect()))
    for name in ("ours", "by tasks"):
        assert sorted(map(repr, query(world[name]).collect())) == theirs, name
        assert world[name].count() == ROWS


def repeated_filters(spark, world) -> None:
    for name in ("ours", "by tasks"):
        ours = world[name]
        assert [ours.filter(f"k = {k}").count() for k in range(7)] == [143] * 6 + [142], name
        assert ours.count() == ROWS, name
        assert len(ours.filter("k = 1").filter("id < 20").collect()) == 3, name
        assert len(ours.collect()) == ROWS, name


def union_of_two_filters(spark, world) -> None:
    same(world, lambda d: d.filter("k = 1").union(d.filter("k = 2")).groupBy("k").count())


def self_join(spark, world) -> None:
    same(world, lambda d: d.filter("k = 1").alias("a").join(d.filter("id < 50").alias("b"), "id"))
    same(world, lambda d: d.alias("a").join(d.filter("k = 3").alias("b"), "id").selectExpr("a.id", "b.name"))


def scalar_subquery(spark, world) -> None:
    def query(d):
        d.createOrReplaceTempView("numbers")
        return spark.sql(
            "SELECT id, (SELECT max(id) FROM numbers WHERE k = 2) AS top FROM numbers "
            "WHERE k = 1 AND id > (SELECT avg(id) FROM numbers WHERE k = 3)"
        )

    same(world, query)


def temporary_view(spark, world) -> None:
    def query(d):
        d.filter("k < 3").createOrReplaceTempView("few")
        return spark.sql(
            "SELECT k, count(*) FROM few WHERE id % 2 = 0 GROUP BY k "
            "UNION ALL SELECT 100, count(*) FROM few WHERE k = 0 UNION ALL SELECT 200, count(*) FROM few"
        )

    same(world, query)


def semi_and_anti_joins(spark, world) -> None:
    def query(d):
        d.createOrReplaceTempView("numbers")
        return spark.sql(
            "SELECT id FROM numbers a WHERE id IN (SELECT id FROM numbers WHERE k = 4) AND NOT EXISTS "
            "(SELECT 1 FROM numbers b WHERE b.id = a.id AND b.name = 'name 3')"
        )

    same(world, query)


def threads(spark, world) -> None:
    def count(k: int) -> int:
        return world["ours" if k % 2 else "by tasks"].filter(f"k = {k}").count()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, list(range(7)) * 3)) == ([143] * 6 + [142]) * 3


def limits_beside_filters(spark, world) -> None:
    for name in ("ours", "by tasks"):
        ours = world[name]
        assert len(ours.limit(5).collect()) == 5, name
        assert ours.limit(5).count() == 5, name
        assert ours.filter("k = 1").limit(1000).count() == 143, name
        assert ours.limit(ROWS * 2).count() == ROWS, name


def columns_in_any_order(spark, world) -> None:
    same(world, lambda d: d.filter("id < 30").select("name", "id"))
    same(world, lambda d: d.filter("k = 1 AND amount > 100").select("name"))
    same(world, lambda d: d.selectExpr("count(*)", "count(name)", "sum(amount)", "max(k)"))
    same(world, lambda d: d.select("k").distinct())


def filters_that_only_spark_can_decide(spark, world) -> None:
    same(world, lambda d: d.filter("length(name) > 6 AND k = 1"))
    same(world, lambda d: d.filter("id % 2 = 0 OR k = 1").groupBy().count())


CASES = {
    case.__name__: case
    for case in (
        repeated_filters,
        union_of_two_filters,
        self_join,
        scalar_subquery,
        temporary_view,
        semi_and_anti_joins,
        threads,
        limits_beside_filters,
        columns_in_any_order,
        filters_that_only_spark_can_decide,
    )
}


@pytest.fixture(scope="module")
def world(spark, tmp_path_factory):
    return prepare(spark, tmp_path_factory.mktemp("reads"))


@pytest.mark.parametrize("case", CASES)
def test_classic_answers_as_parquet_does(spark, world, case):
    CASES[case](spark, world)


@pytest.mark.parametrize("case", CASES)
def test_connect_answers_as_parquet_does(connect_report, case):
    assert connect_report[case] is None, connect_report[case]


def test_an_old_dataframe_keeps_its_version(spark, world, tmp_path):
    # On Connect a DataFrame is a question, asked again each time; versionAsOf pins it there.
    path = str(tmp_path / "growing")
    world["ours"].limit(10).write.format("indextables").save(path)
    before = spark.read.format("indextables").load(path)
    world["ours"].limit(5).write.format("indextables").mode("append").save(path)
    assert before.count() == len(before.collect()) == 10
    assert spark.read.format("indextables").load(path).count() == 15


def test_statistics_let_spark_broadcast_the_smaller_side(spark, world):
    plan = (
        world["ours"]
        .join(world["ours"].filter("id < 10").select("id"), "id")
        ._jdf.queryExecution()
        .toString()
    )
    assert "BroadcastHashJoin" in plan


def test_the_scan_reports_the_splits_it_read_and_skipped(spark, tmp_path):
    path = str(tmp_path / "metrics")
    spark.range(100).selectExpr("id", "id % 4 AS k").write.format("indextables").partitionBy("k").save(path)
    table = (
        spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0).load(path)
    )
    one = table.filter("k = 1").select("id")
    assert len(one.collect()) == 25
    scan = one._jdf.queryExecution().executedPlan().collectLeaves().head()
    figures = {name: scan.metrics().apply(name).value() for name in ("splitsRead", "splitsSkipped")}
    assert figures == {"splitsRead": 1, "splitsSkipped": 3}


def test_the_scan_reports_what_each_stage_of_pruning_dropped(spark, tmp_path):
    path = str(tmp_path / "stages")
    rows = spark.range(100).selectExpr("id", "id % 4 AS k", "concat('name-', id) AS name")
    bloom = {"spark.indextables.stats.bloom.columns": "name", "spark.indextables.stats.bloom.fpp": "0.0001"}
    rows.write.format("indextables").options(**bloom).partitionBy("k").save(path)
    table = (
        spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0).load(path)
    )

    def dropped(condition: str) -> dict[str, int]:
        found = table.filter(condition)
        found.collect()
        metrics = found._jdf.queryExecution().executedPlan().collectLeaves().head().metrics()
        stages = ("ManifestBounds", "BlockBounds", "PartitionValues", "MinMax", "BloomFilters")
        figures = {stage: metrics.apply(f"splitsPrunedBy{stage}").value() for stage in stages}
        assert metrics.apply("splitsConsidered").value() == 4
        assert metrics.apply("splitsRead").value() == 4 - sum(figures.values())
        return {stage: count for stage, count in figures.items() if count}

    assert dropped("id >= 0") == {}
    assert dropped("k < 3") == {"PartitionValues": 1}
    assert dropped("k < 3 AND id = 1") == {"PartitionValues": 1, "MinMax": 1}
    assert dropped("name = 'name-57'") == {"BloomFilters": 3}


def test_a_task_prefers_the_host_that_has_its_splits_cached(spark, tmp_path):
    path = str(tmp_path / "located")
    spark.range(100).selectExpr("id", "id % 4 AS k").write.format("indextables").partitionBy("k").save(path)
    table = (
        spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0).load(path)
    )
    (executor,) = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    host = executor.host()

    def preferred(frame) -> list[list[str]]:
        batch = frame._jdf.queryExecution().executedPlan().collectLeaves().head().batch()
        return [list(partition.preferredLocations()) for partition in batch.planInputPartitions()]

    conditional = table.filter("id >= 0").select("id")
    assert preferred(conditional) == [[host], [host]]
    assert len(conditional.collect()) == 100
    assert preferred(table.select("id")) == [[], []], "a scan of all rows opens no index"


def test_only_the_columns_asked_for_are_read(spark, world):
    plan = world["ours"].filter("k = 1 AND amount > 3").select("id")._jdf.queryExecution().toString()
    scan = next(line for line in plan.splitlines() if "BatchScan" in line)
    assert "[id#" in scan
    assert "k#" not in scan

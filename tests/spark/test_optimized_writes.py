"""Optimised writes: rows are shuffled to splits of a target size before tasks write them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

import indextables as it
from indextables.config import Settings
from indextables.log import load_snapshot
from indextables.split import RowRequest, open_split
from indextables.storage import open_store

KEY = "spark.indextables.write.optimizeWrite."


def prepare(spark, directory: Path) -> str:
    return str(directory)


def few_rows(spark) -> DataFrame:
    """Few rows in many tasks."""
    return spark.range(0, 120, 1, 40).selectExpr("id", "id % 3 AS day", "concat('message ', id) AS message")


@pytest.fixture
def rows(spark) -> DataFrame:
    return few_rows(spark)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def writer(rows: DataFrame, **options: str):
    write = rows.write.format("indextables")
    for name, value in options.items():
        write = write.option(KEY + name, value)
    return write


def splits(path: str) -> int:
    table = it.open(path)
    assert sorted(table.to_arrow(columns=["id"]).column("id").to_pylist()) == list(range(120))
    return table.files().num_rows


def many_tasks_of_few_rows_write_one_split_a_partition(spark, path: str) -> None:
    rows = few_rows(spark)
    writer(rows, enabled="true").save(f"{path}-plain")
    assert splits(f"{path}-plain") == 1
    writer(rows, enabled="true").partitionBy("day").save(path)
    assert splits(path) == 3


CASES = {case.__name__: case for case in (many_tasks_of_few_rows_write_one_split_a_partition,)}


@pytest.mark.parametrize("case", CASES)
def test_on_classic(spark, path, case):
    CASES[case](spark, path)


@pytest.mark.parametrize("case", CASES)
def test_on_connect(connect_report, case):
    assert connect_report[case] is None, connect_report[case]


def test_a_partitioned_table_is_optimised_unless_it_is_turned_off(rows, path):
    few = rows.coalesce(4)
    few.write.format("indextables").partitionBy("day").save(path)
    assert splits(path) == 3
    for name, options in {
        "off": {"enabled": "false"},
        "none": {"enabled": "true", "distributionMode": "none"},
    }.items():
        writer(few, **options).partitionBy("day").save(f"{path}-{name}")
        assert splits(f"{path}-{name}") == 12


def test_balanced_writes_have_a_task_for_each_core(spark, rows, path):
    writer(rows, enabled="true", distributionMode="balanced").save(path)
    assert splits(path) == spark.sparkContext.defaultParallelism == 2


def test_large_writes_keep_to_the_target_size(spark, path):
    rows = spark.range(0, 40_000, 1, 4).selectExpr("id", "uuid() AS message")
    for _ in range(2):  # the first write has no history
        writer(rows, enabled="true", targetSplitSize="1M", minRowsForEstimation="1000").mode("append").save(
            path
        )
    sizes = it.open(path).files().column("size").to_pylist()
    assert 2 <= len(sizes) <= 16
    assert max(sizes) < 3 << 20
    assert max(it.open(path).files().column("size").to_pylist()[-2:]) < 3 << 19, (
        "the second one knows the first"
    )
    assert it.open(path).count() == 80_000


def test_statements_are_optimised_too(spark, rows, path):
    rows.createOrReplaceTempView("many_tasks")
    spark.conf.set(f"{KEY}enabled", "true")
    try:
        spark.sql(f"CREATE TABLE indextables.`{path}` AS SELECT * FROM many_tasks")
        assert splits(path) == 1
        spark.sql(f"INSERT OVERWRITE indextables.`{path}` SELECT * FROM many_tasks")
        assert splits(path) == 1
        spark.sql(f"INSERT INTO indextables.`{path}` SELECT * FROM many_tasks")
        assert it.open(path).files().num_rows == 2
    finally:
        spark.conf.unset(f"{KEY}enabled")


def ranges(path: str) -> list[tuple[int, int]]:
    """Return the first and last id of each split, whose rows must be in order."""
    found = []
    for file in load_snapshot(open_store(path)).files.values():
        split = open_split(open_store(path), file.path, file.size, settings=Settings())
        ids = [row["id"] for batch in split.rows(RowRequest(("id",))) for row in batch.to_pylist()]
        assert ids == sorted(ids)
        found.append((ids[0], ids[-1]))
    return sorted(found)


def test_small_tasks_are_combined_by_default_and_rows_keep_their_order(spark, rows, path):
    rows.write.format("indextables").save(path)
    assert (splits(path), ranges(path)) == (1, [(0, 119)])
    rows.repartition(8).orderBy("id").write.format("indextables").save(f"{path}-sorted")
    assert ranges(f"{path}-sorted") == [(0, 119)]
    writer(rows, enabled="false").save(f"{path}-off")
    assert splits(f"{path}-off") == 40


def test_splits_have_the_rows_of_neighbouring_tasks(spark, path):
    rows = spark.range(0, 40_000, 1, 16).selectExpr("id", "uuid() AS message")
    writer(rows, targetSplitSize="2M").save(path)  # by default, an eighth of it is enough for a task
    found = ranges(path)
    assert 4 <= len(found) < 16
    assert found[0][0] == 0
    assert found[-1][1] == 39_999
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(found))


@pytest.mark.parametrize(
    "key", ["spark.sql.adaptive.enabled", "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled"]
)
def test_without_adaptive_execution_rows_stay_in_their_tasks(spark, rows, path, key):
    spark.conf.set(key, "false")
    try:
        writer(rows.coalesce(3), enabled="true").save(path)
    finally:
        spark.conf.unset(key)
    assert splits(path) == 3


def test_maps_are_combined_too(spark, path):
    rows = spark.range(0, 120, 1, 3).selectExpr("map('id', id) AS ids")
    rows.write.format("indextables").save(path)
    assert (it.open(path).files().num_rows, it.open(path).count()) == (1, 120)
    writer(rows, enabled="true", distributionMode="balanced").save(f"{path}-balanced")
    assert it.open(f"{path}-balanced").count() == 120


def test_a_column_may_have_a_dot_in_its_name(spark, path):
    rows = spark.range(0, 120, 1, 4).selectExpr("id", "id % 2 AS `a.b`")
    writer(rows, enabled="true").partitionBy("a.b").save(path)
    assert splits(path) == 2
    writer(rows, enabled="true").save(f"{path}-plain")
    assert splits(f"{path}-plain") == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("enabled", "yes", "it takes true or false"),
        ("targetSplitSize", "0", "it takes a size above zero"),
        ("maxSplitSize", "big", "it takes a size"),
        ("distributionMode", "range", "it takes hash, balanced or none"),
        ("samplingRatio", "0", "it takes a number from 0.01 to 100"),
        ("minRowsForEstimation", "-1", "it takes a whole number"),
        ("targetSplitsize2", "1", "unknown setting"),
    ],
)
def test_bad_values_are_refused(rows, path, name, value, message):
    with pytest.raises(AnalysisException, match=message):
        writer(rows, **{"enabled": "true", name: value}).save(path)

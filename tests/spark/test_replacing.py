"""Overwrites of a part of a table, from a DataFrame and in SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 - as everyone imports it


def frame(spark, low: int, high: int, message: str = "old"):
    columns = ("id", "cast(id % 3 AS string) AS day", f"'{message}' AS message")
    return spark.range(low, high).selectExpr(*columns)


def rows(spark, path: str) -> list[tuple[int, str]]:
    found = spark.read.format("indextables").load(path).select("id", "message").collect()
    return sorted((row["id"], row["message"]) for row in found)


@pytest.fixture
def path(spark, tmp_path: Path) -> str:
    place = str(tmp_path / "t")
    frame(spark, 0, 30).write.format("indextables").partitionBy("day").save(place)
    return place


def overwrite(data, **options: str):
    return data.write.format("indextables").mode("overwrite").options(**options)


def test_replace_where_replaces_the_rows_that_satisfy_it(spark, path: str):
    new = frame(spark, 10, 13, "new")
    overwrite(new, replaceWhere="id >= 10 AND id < 20").save(path)
    expected = [(n, "new" if n in (10, 11, 12) else "old") for n in range(30) if not 13 <= n < 20]
    assert rows(spark, path) == expected
    with pytest.raises(Exception, match="do not satisfy"):
        overwrite(new, replaceWhere="day = '0'").save(path)
    with pytest.raises(AnalysisException, match="mode overwrite"):
        new.write.format("indextables").mode("append").option("replaceWhere", "id = 1").save(path)
    assert rows(spark, path) == expected


def test_dynamic_overwrites_replace_the_partitions_of_the_rows(spark, path: str):
    new = frame(spark, 100, 104, "new").filter("day = '1'")
    overwrite(new, partitionOverwriteMode="dynamic").save(path)
    expected = [(n, "old") for n in range(30) if n % 3 != 1] + [(100, "new"), (103, "new")]
    assert rows(spark, path) == expected
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        overwrite(frame(spark, 6, 7, "newer")).save(path)
        expected = [(n, m) for n, m in expected if n % 3 != 0 or n >= 100] + [(6, "newer")]
        assert rows(spark, path) == sorted(expected)
        spark.sql(f"INSERT OVERWRITE indextables.`{path}` SELECT 8L, '2', 'sql'")
        expected = [(n, m) for n, m in expected if n % 3 != 2 or n >= 100] + [(8, "sql")]
        assert rows(spark, path) == sorted(expected)
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def test_insert_overwrite_of_a_partition_and_overwrite_by_a_condition(spark, path: str):
    table = f"indextables.`{path}`"
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (day = '2') SELECT 2L, 'sql'")
    expected = [(n, "old") for n in range(30) if n % 3 != 2] + [(2, "sql")]
    assert rows(spark, path) == sorted(expected)
    frame(spark, 3, 4, "to").writeTo(table).overwrite(F.expr("id < 6 AND day = '0'"))
    expected = [(n, m) for n, m in expected if n not in (0, 3)] + [(3, "to")]
    assert rows(spark, path) == sorted(expected)
    frame(spark, 9, 10, "part").writeTo(table).overwritePartitions()
    expected = [(n, m) for n, m in expected if n % 3 != 0] + [(9, "part")]
    assert rows(spark, path) == sorted(expected)

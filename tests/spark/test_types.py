"""Every type of column: the rows, filters and aggregates of a table are those of Parquet, on classic and on Connect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ROWS = 60

COLUMNS = (
    "id",
    "IF(id % 7 = 0, NULL, cast((id - 30) * 1.25 AS decimal(9,2))) AS price",
    "IF(id % 5 = 0, NULL, cast((id - 30) * 1e20 AS decimal(38,10))) AS wide",
    "IF(id % 9 = 0, NULL, timestamp_ntz'2024-03-31 01:30:00' + make_interval(0, 0, 0, id)) AS local",
    "IF(id % 4 = 0, NULL, array(concat('tag', id % 3), NULL, 'Common')) AS tags",
    "array(cast(id AS int), cast(-id AS int)) AS numbers",
    (
        "IF(id % 6 = 0, NULL, struct(concat('name ', id % 5) AS name, id % 11 AS age, "
        "  struct(concat('city', id % 2) AS city) AS home)) AS user"
    ),
    (
        "IF(id % 8 = 0, NULL, map('color', element_at(array('red', 'blue'), cast(1 + id % 2 AS int)), 'n', "
        "  cast(id AS string))) AS attrs"
    ),
    "map(cast(id AS int), cast(id AS double)) AS by_number",
    "array(struct(id AS a, 'x' AS b)) AS records",
    "cast(array(id, 0.5) AS array<float>) AS vector",
    "cast('2024-01-01' AS timestamp) AS at",
    "cast(concat('c', id % 3) AS binary) AS raw",
)

FILTERS = (
    "price = 1.25",
    "price > 1.25BD AND price <= 30",
    "price IN (1.25, 2.50, NULL)",
    "NOT price = 1.25",
    "price < 1.255",
    "wide = 100000000000000000000",
    "wide >= -3e20",
    "local = timestamp_ntz'2024-04-01 01:30:00'",
    "local > timestamp_ntz'2024-04-05 00:00:00' AND local < timestamp_ntz'2024-05-01'",
    "tags IS NULL",
    "array_contains(tags, 'tag1')",
    "NOT array_contains(tags, 'tag1')",
    "array_contains(numbers, 7)",
    "user.name = 'name 1'",
    "user.home.city = 'city1' AND user.age > 3",
    "user.name IS NULL",
    "user IS NOT NULL AND NOT user.age IN (1, 2)",
    "user.name LIKE 'name%' OR id < 5",
    "attrs['color'] = 'red'",
    "attrs IS NOT NULL AND id % 2 = 0",
    "size(records) = 1 AND vector[0] > 50",
)


def prepare(spark, directory: Path) -> dict[str, Any]:
    """The same rows as a table, read in both ways that small queries go, and as Parquet."""
    rows = spark.range(0, ROWS, 1, 3).selectExpr(*COLUMNS)
    for _ in range(2):  # two commits, so that there is something to merge
        rows.write.format("indextables").mode("append").save(str(directory / "ours"))
        rows.write.mode("append").parquet(str(directory / "theirs"))
    return {
        "directory": directory,
        "ours": _read(spark, directory / "ours"),
        "by tasks": _read(spark, directory / "ours", "0"),
        "theirs": spark.read.parquet(str(directory / "theirs")),
    }


def _read(spark, path: Path, max_rows: str = "100000") -> Any:
    option = "spark.indextables.read.answerOnDriver.maxRows"
    return spark.read.format("indextables").option(option, max_rows).load(str(path))


def texts(rows) -> list[str]:
    return sorted(str(row.asDict(recursive=True)) for row in rows.collect())


def rows_and_types_are_those_of_parquet(spark, world) -> None:
    for name in ("ours", "by tasks"):
        assert world[name].dtypes == world["theirs"].dtypes
        assert texts(world[name]) == texts(world["theirs"]), name


def filters_answer_as_on_parquet(spark, world) -> None:
    for condition in FILTERS:
        expected = texts(world["theirs"].filter(condition).select("id"))
        for name in ("ours", "by tasks"):
            assert texts(world[name].filter(condition).select("id")) == expected, (condition, name)
            assert world[name].filter(condition).count() == len(expected), (condition, name)


def exact_filters_are_pushed_down(spark, world) -> None:
    for condition in ("price = 1.25", "local > timestamp_ntz'2024-04-05 00:00:00'", "user.name = 'name 1'"):
        plan = world["by tasks"].filter(condition)._jdf.queryExecution().executedPlan().toString()
        assert "Filter (" not in plan, plan


def aggregates_are_those_of_parquet(spark, world) -> None:
    query = "sum(price)", "min(wide)", "max(local)", "avg(price)", "count(tags)", "max(user.name)"
    for name in ("ours", "by tasks"):
        assert texts(world[name].selectExpr(*query)) == texts(world["theirs"].selectExpr(*query))


def merged_splits_hold_the_same_rows(spark, world) -> None:
    path = world["directory"] / "ours"
    spark.sql(f"MERGE SPLITS '{path}' TARGET SIZE 100M")
    for maximum in ("0", "100000"):
        assert texts(_read(spark, path, maximum)) == texts(world["theirs"])
        for condition in FILTERS:
            expected = texts(world["theirs"].filter(condition).select("id"))
            assert texts(_read(spark, path, maximum).filter(condition).select("id")) == expected, condition


def declared_lengths_are_kept_and_checked(spark, world) -> None:
    path = world["directory"] / "declared"
    spark.sql(f"CREATE TABLE indextables.`{path}` (c CHAR(4), v VARCHAR(3), n INT)")
    spark.sql(f"INSERT INTO indextables.`{path}` VALUES ('ab', 'xyz', 1)")
    assert spark.sql(f"SELECT c, v FROM indextables.`{path}` WHERE c = 'ab'").collect() == [("ab  ", "xyz")]
    assert spark.sql(f"SELECT n FROM indextables.`{path}` WHERE v = 'xyz'").collect() == [(1,)]
    with pytest.raises(Exception, match="EXCEED_LIMIT_LENGTH"):
        spark.sql(f"INSERT INTO indextables.`{path}` VALUES ('ab', 'too long', 1)")


def decimals_and_local_times_partition_a_table(spark, world) -> None:
    path = str(world["directory"] / "partitioned")
    rows = spark.range(12).selectExpr(
        "id",
        "IF(id % 4 = 3, NULL, cast(id % 4 - 1.5 AS decimal(5,2))) AS price",
        "timestamp_ntz'2024-03-31 02:30:00' + make_interval(0, 0, 0, 0, id % 2) AS local",
    )
    rows.write.format("indextables").partitionBy("price", "local").save(path)
    for condition in (
        "price = -0.5",
        "price > 0",
        "price IS NULL",
        "local > timestamp_ntz'2024-03-31 03:00:00'",
    ):
        assert texts(_read(spark, Path(path), "0").filter(condition)) == texts(rows.filter(condition)), (
            condition
        )


CASES = {case.__name__: case for case in (rows_and_types_are_those_of_parquet, filters_answer_as_on_parquet)}
"""The cases that also run on Connect."""

ON_CLASSIC = (
    exact_filters_are_pushed_down,
    aggregates_are_those_of_parquet,
    declared_lengths_are_kept_and_checked,
    decimals_and_local_times_partition_a_table,
    merged_splits_hold_the_same_rows,
)


@pytest.fixture(scope="module")
def world(spark, tmp_path_factory) -> dict[str, Any]:
    return prepare(spark, tmp_path_factory.mktemp("types"))


@pytest.mark.spark
@pytest.mark.parametrize("case", [*CASES.values(), *ON_CLASSIC], ids=lambda case: case.__name__)
def test_on_classic_spark(spark, world, case) -> None:
    case(spark, world)


@pytest.mark.spark
@pytest.mark.parametrize("case", sorted(CASES))
def test_on_spark_connect(connect_report, case) -> None:
    failure = connect_report[case]
    assert failure is None, failure

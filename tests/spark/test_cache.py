"""Searches of cached DataFrames and tables go to the index, which Spark's cache has not."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables as it


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> str:
    where = str(tmp_path_factory.mktemp("cache") / "logs")
    rows = pa.table(
        {"id": range(4), "level": ["E", "I", "E", "I"], "message": ["disk full", "disk ok", "login", None]}
    )
    it.write(where, rows, text=["message"])
    return where


@pytest.fixture
def logs(spark, path, way):
    yield spark.read.format("indextables").options(**way).load(path)
    spark.catalog.clearCache()


def ids(frame) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


def is_from_cache(frame) -> bool:
    return "InMemoryTableScan" in frame._jdf.queryExecution().executedPlan().toString()


def test_a_cached_dataframe_can_be_searched(logs):
    logs.cache()
    assert logs.count() == 4
    assert is_from_cache(logs)
    assert ids(logs.filter("message TEXTSEARCH 'disk'")) == [0, 1]
    assert ids(logs.filter("NOT message TEXTSEARCH 'full'")) == [1, 2]
    assert [row["id"] for row in logs.filter("* TEXTSEARCH 'login'").select("id", "_score").collect()] == [2]


def test_a_search_above_what_was_cached(logs):
    errors = logs.filter("level = 'E'").selectExpr("id", "message AS text", "upper(level) AS level").cache()
    assert ids(errors) == [0, 2]
    assert is_from_cache(errors)
    found = errors.filter("text TEXTSEARCH 'disk'")
    assert ids(found) == [0]
    assert not is_from_cache(found)


def test_what_is_not_searched_still_comes_from_the_cache(logs):
    levels = logs.groupBy("level").count().cache()
    levels.collect()
    joined = logs.filter("message TEXTSEARCH 'disk'").join(levels, "level")
    assert sorted((row["id"], row["count"]) for row in joined.collect()) == [(0, 2), (1, 2)]
    assert is_from_cache(joined)


@pytest.mark.parametrize("kind", ["view", "table"])
def test_cached_tables_and_views_in_sql(spark, logs, path, kind):
    if kind == "view":
        logs.createOrReplaceTempView("cached_logs")
    else:
        spark.sql(f"CREATE TABLE cached_logs USING indextables LOCATION '{path}'")
    try:
        spark.sql("CACHE TABLE cached_logs")
        assert spark.catalog.isCached("cached_logs")
        query = "SELECT id FROM cached_logs WHERE message TEXTSEARCH 'disk'"
        assert ids(spark.sql(query)) == [0, 1]
        common = (
            "WITH w AS (SELECT id, message AS m FROM cached_logs) SELECT id FROM w WHERE m TEXTSEARCH 'ok'"
        )
        assert ids(spark.sql(common)) == [1]
        both = "(SELECT id, message FROM cached_logs UNION ALL SELECT id, message FROM cached_logs)"
        assert ids(spark.sql(f"SELECT id FROM {both} WHERE message TEXTSEARCH 'ok'")) == [1, 1]
        assert ids(spark.sql(f"SELECT id FROM cached_logs WHERE id IN ({query})")) == [0, 1]
    finally:
        spark.sql(f"DROP {kind} cached_logs")

"""Pages of a search in Spark: equal scores have one order within a version."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.functions import col

import indextables as it

MOST = "spark.indextables.read.answerOnDriver.maxRows"
ROWS, SPLITS, PAGE = 12, 5, 10


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> str:
    where = str(tmp_path_factory.mktemp("pages") / "ties")
    for split in range(SPLITS):
        ids = range(split * ROWS, (split + 1) * ROWS)
        parity = pa.array([i % 2 for i in ids], pa.int32())
        rows = pa.table({"id": ids, "message": ["disk full"] * ROWS, "parity": parity})
        it.write(where, rows, text=["message"])
    return where


@pytest.fixture(scope="module")
def expected(path) -> list[int]:
    return it.open(path).search("disk", limit=None).column("id").to_pylist()


@pytest.fixture(params=[0, 2000], ids=["by tasks", "while planning"])
def logs(request, spark, path):
    logs = spark.read.format("indextables").option(MOST, request.param).load(path)
    logs.createOrReplaceTempView("ties")
    return logs


def pages(spark, query: str) -> list[int]:
    found = [spark.sql(f"{query} LIMIT {PAGE} OFFSET {n}").collect() for n in range(0, SPLITS * ROWS, PAGE)]
    return [row["id"] for page in found for row in page]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM ties WHERE message TEXTSEARCH 'disk' ORDER BY _score DESC",
        "SELECT id, _score AS s FROM ties WHERE message TEXTSEARCH 'disk' ORDER BY s DESC",
        "SELECT * FROM (SELECT id, _score FROM ties WHERE message TEXTSEARCH 'disk') ORDER BY round(_score, 1) DESC",
        "SELECT id FROM ties WHERE message TEXTSEARCH 'disk' AND length(message) > 3 ORDER BY _score DESC",
    ],
)
def test_pages_neither_repeat_nor_miss_a_row(spark, logs, expected, query):
    assert pages(spark, query) == expected


def test_further_sort_columns_go_before_the_ties(spark, logs, expected):
    by_parity = sorted(expected, key=lambda i: i % 2)  # stable: the order of ties stays within
    query = "SELECT id FROM ties WHERE message TEXTSEARCH 'disk' ORDER BY {}"
    assert pages(spark, query.format("_score DESC, parity")) == by_parity
    assert pages(spark, query.format("parity, _score DESC")) == by_parity


def test_pages_of_a_dataframe_and_of_a_join(spark, logs, expected):
    found = logs.filter("message TEXTSEARCH 'disk'").orderBy(col("_score").desc())
    frames = [found.select("id").offset(n).limit(25).collect() for n in (0, 25, 50)]
    assert [row["id"] for frame in frames for row in frame] == expected
    spark.createDataFrame([(0, "even"), (1, "odd")], "parity int, name string").createOrReplaceTempView(
        "names"
    )
    joined = "SELECT id, name FROM ties JOIN names USING (parity) WHERE message TEXTSEARCH 'disk' ORDER BY _score DESC"
    assert pages(spark, joined) == expected


def test_the_best_are_still_found_by_the_index(spark, logs):
    ranked = spark.sql(
        "SELECT id FROM ties WHERE message TEXTSEARCH 'disk' ORDER BY _score DESC LIMIT 10 OFFSET 20"
    )
    assert "best 30 by _score" in ranked._jdf.queryExecution().toString()
    assert ranked.columns == ["id"]


def test_what_is_grouped_or_made_distinct_has_no_rows_to_order_by(spark, logs):
    grouped = "SELECT DISTINCT parity, _score FROM ties WHERE message TEXTSEARCH 'disk' ORDER BY _score DESC, parity"
    assert [row["parity"] for row in spark.sql(grouped).collect()] == [0, 1]
    counted = (
        "SELECT max(_score) AS m, parity FROM ties WHERE message TEXTSEARCH 'disk' "
        "GROUP BY parity ORDER BY m, parity"
    )
    assert [row["parity"] for row in spark.sql(counted).collect()] == [0, 1]

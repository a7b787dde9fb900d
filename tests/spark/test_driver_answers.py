"""Small queries that the driver answers while Spark plans them: the same rows, without a task."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

MOST = "spark.indextables.read.answerOnDriver.maxRows"
KINDS = {
    "id": "long",
    "s": "string",
    "b": "byte",
    "h": "short",
    "i": "integer",
    "f": "float",
    "d": "double",
    "bo": "boolean",
    "da": "date",
    "ts": "timestamp",
    "bi": "binary",
    "p": "integer",
}
MOMENT = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
ROWS = [
    (
        0,
        "disk \U0001f600 é",
        -128,
        -32768,
        -(2**31),
        1.5,
        -0.0,
        True,
        date(1969, 12, 31),
        MOMENT,
        b"\x00\xff",
        1,
    ),
    (
        1,
        "disk full",
        127,
        32767,
        2**31 - 1,
        float("inf"),
        1e300,
        False,
        date(9999, 12, 31),
        MOMENT,
        b"",
        None,
    ),
    (2, None, None, None, None, None, None, None, None, None, None, 1),
    (3, "all is well", 0, 0, 0, 0.0, 0.0, True, date(2024, 1, 1), MOMENT, b"x", 2),
]


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("driver_answers") / "table")
    frame = spark.createDataFrame(ROWS, ", ".join(f"{name} {kind}" for name, kind in KINDS.items())).coalesce(
        1
    )
    writer = frame.write.format("indextables").partitionBy("p")
    writer.option("spark.indextables.indexing.typemap.s", "text").save(path)
    return path


@pytest.fixture(scope="module", autouse=True)
def views(spark, path):
    for view, most in (("by_driver", 2000), ("by_tasks", 0)):
        spark.read.format("indextables").option(MOST, most).load(path).createOrReplaceTempView(view)


def leaves(frame) -> list[str]:
    plan = frame._jdf.queryExecution().sparkPlan().collectLeaves()
    return [plan.apply(i).nodeName().split()[0] for i in range(plan.size())]


def both(spark, query: str) -> tuple[list, list]:
    """Return the rows from the driver and those from tasks; the plans show which is which."""
    by_driver, by_tasks = (spark.sql(query.replace("{t}", view)) for view in ("by_driver", "by_tasks"))
    assert set(leaves(by_driver)) == {"LocalTableScan"}, query
    assert set(leaves(by_tasks)) == {"BatchScan"}, query
    return by_driver.collect(), by_tasks.collect()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM {t} ORDER BY id",
        "SELECT bi, ts, p, da, id FROM {t} WHERE s TEXTSEARCH 'disk' ORDER BY id",
        "SELECT * FROM {t} WHERE s TEXTSEARCH 'nowhere'",
        "SELECT 1 FROM {t} WHERE s TEXTSEARCH 'disk'",
        "SELECT id, _score, _snippet FROM {t} WHERE s TEXTSEARCH 'disk OR well' ORDER BY id",
        "SELECT id, _score FROM {t} WHERE s TEXTSEARCH 'disk' ORDER BY _score DESC LIMIT 1",
        "SELECT a.id, b.s FROM {t} a JOIN {t} b ON a.p = b.p WHERE b.s TEXTSEARCH 'disk' ORDER BY 1, 2",
        "SELECT count(*) FROM {t}",
        "SELECT count(*) AS n FROM {t} WHERE s TEXTSEARCH 'disk' AND id > 0",
        "SELECT count(*) AS n FROM {t} WHERE s TEXTSEARCH 'disk' ORDER BY n LIMIT 1",
        "SELECT count(*) + 1 FROM {t} WHERE p = 7 HAVING count(*) = 0",
        "SELECT * FROM (SELECT count(*) AS n FROM {t} LIMIT 3) WHERE n > 100",
    ],
)
def test_the_answer_is_that_of_tasks(spark, query):
    by_driver, by_tasks = both(spark, query)
    assert list(map(repr, by_driver)) == list(map(repr, by_tasks))


def test_every_type_and_null_arrives(spark):
    rows = spark.sql("SELECT * FROM by_driver ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [
        tuple(v.astimezone().replace(tzinfo=None) if isinstance(v, datetime) else v for v in row)
        for row in ROWS
    ]


def test_limits_give_any_rows(spark):
    by_driver, by_tasks = both(spark, "SELECT id FROM {t} LIMIT 3")
    assert len(by_driver) == len(by_tasks) == 3
    assert {row["id"] for row in by_driver} < set(range(4))


def test_a_query_that_finds_too_many_rows_goes_to_tasks(spark, path):
    table = spark.read.format("indextables").option(MOST, 1).load(path)
    found = table.filter("s TEXTSEARCH 'disk'")
    assert leaves(found) == ["BatchScan"]
    assert found.count() == 2
    assert leaves(table.filter("s TEXTSEARCH 'well'")) == ["LocalTableScan"]


def test_what_spark_must_check_itself_is_checked_on_the_answer(spark):
    by_driver, by_tasks = both(spark, "SELECT id FROM {t} WHERE s TEXTSEARCH 'disk' AND length(s) = 9")
    assert by_driver == by_tasks == [(1,)]


def test_the_statistics_are_those_of_the_answer(spark):
    found = spark.sql("SELECT id FROM by_driver WHERE s TEXTSEARCH 'disk'")
    scan = found._jdf.queryExecution().optimizedPlan().collectLeaves().head().scan()
    assert scan.estimateStatistics().numRows().getAsLong() == 2
    assert scan.description().endswith("where s TEXTSEARCH 'disk', answered while planning")


def test_an_answer_is_of_the_version_that_was_asked(spark, path, tmp_path):
    growing = str(tmp_path / "growing")
    rows = spark.table("by_driver").select("id", "s")
    writer = rows.write.format("indextables").option("spark.indextables.indexing.typemap.s", "text")
    writer.mode("append").save(growing)
    before = spark.read.format("indextables").load(growing).filter("s TEXTSEARCH 'disk'")
    writer.save(growing)
    now = spark.sql(f"SELECT * FROM indextables.`{growing}` WHERE s TEXTSEARCH 'disk'")
    then = spark.sql(f"SELECT * FROM indextables.`{growing}` VERSION AS OF 0 WHERE s TEXTSEARCH 'disk'")
    assert [leaves(frame) for frame in (before, now, then)] == [["LocalTableScan"]] * 3
    assert [len(frame.collect()) for frame in (before, now, then)] == [2, 4, 2]


def test_equal_searches_in_one_query_are_one_exchange(spark):
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        side = "(SELECT s, count(DISTINCT id) AS n FROM by_driver WHERE s TEXTSEARCH 'disk' GROUP BY s)"
        plan = spark.sql(f"SELECT /*+ MERGE(b) */ * FROM {side} a JOIN {side} b ON a.s = b.s")
        assert "ReusedExchange" in plan._jdf.queryExecution().executedPlan().toString()
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")

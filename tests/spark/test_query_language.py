"""Searches from SQL mean what they mean in Python, and options that nothing reads are refused."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions

import indextables as it
from indextables.errors import IndexTablesError

# Midnight in Kolkata, the session's zone, and midnight in UTC.
TIMES = ["2024-05-01T00:00:00+05:30", "2024-05-01T00:00:00+00:00", "2024-05-01T00:00:01+05:30"]
MESSAGES = [r"loading C:\Windows\winsxs\new", r"D:\Windows\temp", "all is well"]


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    found = str(tmp_path_factory.mktemp("language") / "logs")
    rows = [(i, MESSAGES[i], datetime.fromisoformat(TIMES[i]).astimezone(UTC)) for i in range(3)]
    frame = spark.createDataFrame(rows, "id long, message string, at timestamp")
    frame.coalesce(1).write.format("indextables").option(
        "spark.indextables.indexing.typemap.message", "text"
    ).save(found)
    return found


@pytest.fixture(autouse=True)
def logs(spark, path, way):
    spark.read.format("indextables").options(**way).load(path).createOrReplaceTempView("language")


def ids(spark, where: str, **options) -> list[int]:
    return sorted(
        row["id"] for row in spark.sql(f"SELECT id FROM language WHERE {where}", **options).collect()
    )


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (r"""message TEXTSEARCH '"C:\Windows\winsxs"'""", [0]),
        (r"""message TEXTSEARCH '"C:\\Windows\\winsxs"'""", [0]),
        (r"""message TEXTSEARCH r'"C:\Windows\winsxs"'""", [0]),
        (r"""message TEXTSEARCH '"Windows\winsxs" OR well'""", [0, 2]),
        (r"""message TEXTSEARCH '"D:\\Windows\\temp"'""", [1]),
        (r"""message TEXTSEARCH '"C:\\Windows\\winsxs\\new"'""", [0]),
        (r"""message TEXTSEARCH 'all \u0069s' OR message TEXTSEARCH '"\x"'""", [2]),
    ],
)
def test_a_windows_path_is_found_by_one_backslash_or_two(spark, where, found):
    assert ids(spark, where) == found


def test_a_backslash_that_sql_turns_into_a_control_character_is_refused(spark):
    with pytest.raises(AnalysisException, match="double the backslash"):
        ids(spark, r"""message TEXTSEARCH '"D:\Windows\temp"'""")


def test_a_windows_path_is_found_by_a_parameter(spark):
    query = r'"C:\Windows\winsxs"'
    assert ids(spark, "message TEXTSEARCH :q", args={"q": query}) == [0]


@pytest.mark.parametrize("time", ["2024-05-01T00:00:00", "2024-05-01 00:00:00"])
def test_times_in_searches_and_in_sql_are_in_the_sessions_zone(spark, time):
    assert ids(spark, f"at = TIMESTAMP '{time}'") == [0]
    assert ids(spark, f"at INDEXQUERY '\"{time}\"'") == [0]
    assert ids(spark, f"at INDEXQUERY '[\"{time}\" TO *]'") == ids(spark, f"at >= '{time}'") == [0, 1, 2]
    assert ids(spark, f"at INDEXQUERY '>\"{time}\"'") == ids(spark, f"at > '{time}'") == [1, 2]


def test_a_date_is_the_whole_day_in_the_sessions_zone(spark):
    assert ids(spark, "at INDEXQUERY '2024-05-01'") == [0, 1, 2]
    assert ids(spark, "at INDEXQUERY '2024-04-30'") == []
    assert ids(spark, "at INDEXQUERY '[2024-05-01 TO *]'") == ids(spark, "at >= '2024-05-01'") == [0, 1, 2]
    assert ids(spark, "at INDEXQUERY '{2024-05-01 TO *]'") == []
    try:
        spark.conf.set("spark.sql.session.timeZone", "+00:00")
        assert ids(spark, "at INDEXQUERY '2024-04-30'") == [0, 2]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")


def test_a_time_with_an_offset_is_that_moment(spark, path):
    assert ids(spark, "at INDEXQUERY '\"2024-05-01T00:00:00Z\"'") == [1]
    assert it.open(path).count(query='at:"2024-05-01T00:00:00"') == 1
    assert it.open(path).to_arrow(["id"], where="at = '2024-05-01T00:00:00'").column("id").to_pylist() == [1]


def test_another_zone_of_the_session_is_another_moment(spark):
    try:
        spark.conf.set("spark.sql.session.timeZone", "+00:00")
        assert ids(spark, "at INDEXQUERY '\"2024-05-01T00:00:00\"'") == [1]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")


def test_a_condition_of_a_command_is_in_the_sessions_zone(spark, tmp_path):
    path = str(tmp_path / "parts")
    rows = [(i, datetime.fromisoformat(TIMES[i]).astimezone(UTC)) for i in range(3)]
    spark.createDataFrame(rows, "id long, at timestamp").coalesce(1).write.format("indextables").partitionBy(
        "at"
    ).save(path)
    spark.sql(f"DROP INDEXTABLES PARTITIONS FROM '{path}' WHERE at = '2024-05-01 00:00:00'")
    assert sorted(it.open(path).to_arrow(["id"]).column("id").to_pylist()) == [1, 2]


@pytest.mark.parametrize(
    ("query", "found"),
    [("!windows", [2]), ("all && well", [2]), ("/w.*s/", [0, 1]), ('"is w*"', [2]), ("winsxx~", [0])],
)
def test_operators_of_lucene_have_their_meaning(spark, query, found):
    rows = spark.sql("SELECT id FROM language WHERE message TEXTSEARCH :q ORDER BY id", args={"q": query})
    assert [row.id for row in rows.collect()] == found


@pytest.mark.parametrize("query", ["->", "/di(/", "disk~5", ""])
def test_a_refused_spelling_is_an_error_of_planning(spark, query):
    with pytest.raises(AnalysisException, match="TEXTSEARCH on column 'message'"):
        spark.sql("SELECT id FROM language WHERE message TEXTSEARCH :q", args={"q": query}).collect()


def test_a_long_chain_of_conditions_is_answered(spark, path):
    # Deeper than a request may be nested, and not so deep that Spark itself runs out of stack.
    frame = spark.read.format("indextables").load(path)
    chain = reduce(
        lambda left, right: left | right,
        [(functions.col("id") == n) & (functions.col("message") != "x") for n in range(120)],
    )
    assert frame.where(chain).count() == 3
    assert ids(spark, " OR ".join(f"(id = {n} AND message <> 'x')" for n in range(600))) == [0, 1, 2]


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("typemap.message", "spark.indextables.indexing.typemap.message"),
        ("indexing.typemap.message", "spark.indextables.indexing.typemap.message"),
        ("targetSplitSize", "spark.indextables.write.targetSplitSize"),
        ("header", "docs/configuration.md"),
    ],
)
def test_an_option_without_the_prefix_is_refused(spark, path, tmp_path, option, meant):
    frame = spark.range(1).selectExpr("id", "'x' AS message")
    with pytest.raises((AnalysisException, IndexTablesError), match="(?i)" + meant):
        frame.write.format("indextables").option(option, "text").save(str(tmp_path / "new"))
    with pytest.raises((AnalysisException, IndexTablesError), match="(?i)" + meant):
        spark.read.format("indextables").option(option, "text").load(path).collect()
    with pytest.raises((AnalysisException, IndexTablesError), match="(?i)" + meant):
        spark.sql(
            f"CREATE TABLE indextables.`{tmp_path}/made` (id long, message string) OPTIONS ('{option}' 'text')"
        )
    with pytest.raises((AnalysisException, IndexTablesError), match="(?i)" + meant):
        frame.writeTo(f"indextables.`{path}`").option(option, "text").append()
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "made").exists()


def test_properties_of_a_table_may_be_the_users_own(spark, tmp_path):
    spark.sql(f"CREATE TABLE indextables.`{tmp_path}/t` (id long) TBLPROPERTIES ('team' = 'ops')")
    assert it.open(tmp_path / "t").count() == 0


def test_a_null_partitions_name_as_a_value_is_refused(spark, tmp_path):
    frame = spark.range(1).selectExpr("id", "'__HIVE_DEFAULT_PARTITION__' AS p")
    with pytest.raises(Exception, match="would be read back as null"):
        frame.write.format("indextables").partitionBy("p").save(str(tmp_path / "t"))

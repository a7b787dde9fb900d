"""Searches as columns of the DataFrame API, and the table function that searches for many terms."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812

import indextables as it
from indextables.errors import InputError
from indextables.spark.functions import (
    fieldmatch,
    fieldmatchall,
    indexquery,
    indexqueryall,
    score,
    snippet,
    textsearch,
    textsearchall,
)

TERMS = ["disk", "db1", "disk full", "Full", "no such word", "disk"]


def prepare(spark, directory: Path) -> dict[str, Any]:
    path = str(directory)
    rows = spark.range(60).selectExpr(
        "id",
        "CASE id % 4 WHEN 0 THEN 'disk full on db1' WHEN 1 THEN 'full disk' WHEN 2 THEN NULL ELSE 'db1 is well' END "
        "AS message",
        "concat('web-', id % 3) AS host",
        "named_struct('code', id % 5, 'note', 'some note') AS extra",
        "cast(id % 2 AS string) AS day",
    )
    rows.repartition(3).write.format("indextables").partitionBy("day").option(
        "spark.indextables.indexing.typemap.message", "text"
    ).save(path)
    spark.sql("DROP TABLE IF EXISTS searched").collect()
    spark.sql(f"CREATE TABLE searched USING indextables LOCATION '{path}'").collect()
    spark.createDataFrame([(term,) for term in [*TERMS, None]], "term string").createOrReplaceTempView(
        "terms"
    )
    return {"path": path, "logs": spark.read.format("indextables").load(path)}


def ids(frame) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


def explained(frame) -> str:
    """Return the physical plan, which Connect and classic print."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        frame.explain()
    return output.getvalue()


def functions_are_the_operators(spark, world) -> None:
    logs = world["logs"]
    for condition, sql in (
        (textsearch("message", "disk AND db1"), "message TEXTSEARCH 'disk AND db1'"),
        (textsearch(F.col("message"), '"full disk"'), "message TEXTSEARCH '\"full disk\"'"),
        (~textsearch("message", "disk"), "message NOT TEXTSEARCH 'disk'"),
        (fieldmatch("host", "web-1"), "host FIELDMATCH 'web-1'"),
        (indexquery("id", "[10 TO 20]"), "id INDEXQUERY '[10 TO 20]'"),
        (
            textsearch("message", "disk") | fieldmatch("host", "web-2"),
            "message TEXTSEARCH 'disk' OR host FIELDMATCH 'web-2'",
        ),
        (textsearch("*", "disk"), "* TEXTSEARCH 'disk'"),
        (textsearchall("it's OR disk"), "* TEXTSEARCH 'it\\'s OR disk'"),
        (fieldmatchall("web-1"), "* FIELDMATCH 'web-1'"),
        (indexqueryall("web-1"), "* INDEXQUERY 'web-1'"),
    ):
        assert ids(logs.filter(condition)) == ids(logs.filter(sql)) != []
    assert logs.filter(textsearch("message", "disk")).filter("id < 10").count() == 6


def functions_are_pushed_down(spark, world) -> None:
    by_tasks = spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0)
    found = by_tasks.load(world["path"]).filter(textsearch("message", "disk"))
    plan = explained(found)
    assert "textsearch" in plan.lower()
    assert re.search(r"^[ +*():\d-]*Filter ", plan, re.MULTILINE) is None, plan


def scores_and_snippets_are_columns(spark, world) -> None:
    best = (
        world["logs"]
        .filter(textsearch("message", "disk full"))
        .orderBy(score().desc(), "id")
        .select("id", score().alias("s"), snippet().alias("found"))
        .limit(3)
        .collect()
    )
    assert all(row["s"] > 0 for row in best)
    assert "<b>disk</b>" in best[0]["found"]


def a_search_that_cannot_be_pushed_is_an_error(spark, world) -> None:
    with pytest.raises(AnalysisException, match="could not be handed to the index"):
        world["logs"].select(textsearch("message", "disk")).collect()
    with pytest.raises(AnalysisException, match="column 'host'"):
        world["logs"].filter(textsearch("host", "x")).collect()
    with pytest.raises(InputError, match="it takes text"):
        textsearch("message", F.lit("x"))


def many_terms_are_one_scan(spark, world) -> None:
    table = it.open(world["path"])
    expected = sorted(
        (row["id"], row["_term"])
        for row in table.search_many(TERMS, column="message", columns=["id"]).to_pylist()
    )
    path = world["path"]
    for name in (path, "searched", "spark_catalog.default.searched", "indextables.default.searched"):
        found = spark.sql(
            f"SELECT id, _term FROM indextables_search_many('{name}', 'message', TABLE(SELECT term FROM terms))"
        )
        assert sorted(tuple(row) for row in found.collect()) == expected
    assert explained(found).count("BatchScan") == 1
    array = spark.sql(
        "SELECT id, _term FROM indextables_search_many('searched', 'message', array('disk', 'db1', null))"
    )
    assert sorted(tuple(row) for row in array.collect()) == [
        pair for pair in expected if pair[1] in ("disk", "db1")
    ]


def many_terms_take_columns_and_conditions(spark, world) -> None:
    terms = "indextables_search_many('searched', 'message', TABLE(terms))"
    everything = spark.sql(f"SELECT * FROM {terms}")
    assert everything.columns == ["id", "message", "host", "extra", "day", "_term"]
    rows = [row.asDict(recursive=True) for row in everything.collect()]

    def counted(condition: str) -> int:
        return spark.sql(f"SELECT * FROM {terms} WHERE {condition}").count()

    assert counted("day = '1'") == sum(row["day"] == "1" for row in rows)
    assert counted("id < 20 AND _term = 'disk'") == sum(
        row["id"] < 20 and row["_term"] == "disk" for row in rows
    )
    assert counted("length(host) = 5 AND extra.code = 1") == sum(row["extra"]["code"] == 1 for row in rows)
    assert counted("host FIELDMATCH 'web-1'") == sum(row["host"] == "web-1" for row in rows)
    grouped = spark.sql(f"SELECT _term, count(*) FROM {terms} GROUP BY _term").collect()
    assert dict(map(tuple, grouped)) == {
        term: sum(row["_term"] == term for row in rows) for term in {row["_term"] for row in rows}
    }
    joined = spark.sql(f"SELECT count(*) FROM {terms} AS found JOIN terms ON found._term = terms.term")
    assert joined.head()[0] == sum(2 if row["_term"] == "disk" else 1 for row in rows)
    whole = spark.sql(
        "SELECT DISTINCT host FROM indextables_search_many('searched', 'host', array('web-1', 'web'))"
    )
    assert [tuple(row) for row in whole.collect()] == [("web-1",)]


def mistakes_in_many_terms_are_named(spark, world) -> None:
    for arguments, message in (
        ("'searched', 'message'", "takes a table's name or path"),
        ("'searched', 'message', 7", "takes a table's name or path"),
        ("'searched', 'message', TABLE(SELECT 1 AS a, 2 AS b)", "the terms have the columns"),
        ("'nowhere', 'message', array('x')", "there is no table nowhere"),
        ("'/nowhere', 'message', array('x')", "there is no table at /nowhere"),
        ("'searched', 'nothing', array('x')", "unknown column 'nothing'"),
        ("'searched', 'message', array('!!!')", "nothing to search for"),
    ):
        with pytest.raises(AnalysisException, match=message):
            spark.sql(f"SELECT * FROM indextables_search_many({arguments})").collect()


CASES = {
    case.__name__: case
    for case in (
        functions_are_the_operators,
        functions_are_pushed_down,
        scores_and_snippets_are_columns,
        a_search_that_cannot_be_pushed_is_an_error,
        many_terms_are_one_scan,
        many_terms_take_columns_and_conditions,
        mistakes_in_many_terms_are_named,
    )
}


@pytest.fixture(scope="module")
def world(spark, tmp_path_factory):
    yield prepare(spark, tmp_path_factory.mktemp("functions"))
    spark.sql("DROP TABLE searched")


@pytest.mark.parametrize("case", CASES)
def test_on_classic(spark, world, case):
    CASES[case](spark, world)


@pytest.mark.parametrize("case", CASES)
def test_on_connect(connect_report, case):
    assert connect_report[case] is None, connect_report[case]

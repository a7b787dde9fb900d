"""Ranking in Spark: rows, scores and order are those of `Table.search`, however the rows fell into splits."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import indextables as it

QUERIES = ["disk", "disk OR timeout", '"slow query"', "message:disk^3 OR title:timeout", "+disk -node", "di*"]
WORDS = ["disk", "slow", "query", "timeout", "db", "cache", "node", "full"]
MOST = "spark.indextables.read.answerOnDriver.maxRows"


@pytest.fixture(scope="module", params=[1, 4, 16])
def path(request, tmp_path_factory):
    chance = random.Random(request.param)
    path = str(tmp_path_factory.mktemp("joint") / "logs")
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(1, 20))) for _ in range(960)]
    texts.sort(key=len)  # so that the splits differ in length
    size = len(texts) // request.param
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        rows = pa.table(
            {"id": range(start, start + size), "message": part, "title": [t.split()[0] for t in part]}
        )
        it.write(path, rows, text=["message", "title"])
    it.open(path).delete(where="id IN (0, 50, 700)")
    return path


def ranked(spark, path: str, query: str, most: str, tail: str) -> list[tuple[int, float]]:
    spark.read.format("indextables").option(MOST, most).load(path).createOrReplaceTempView("ranked")
    rows = spark.sql(f"SELECT id, _score FROM ranked WHERE message INDEXQUERY '{query}' {tail}").collect()
    return [(row["id"], row["_score"]) for row in rows]


def searched(path: str, query: str, limit: int | None, offset: int = 0) -> list[tuple[int, float]]:
    found = it.open(path).search(query_of(query), limit=limit, offset=offset, columns=["id"]).to_pylist()
    return [(row["id"], row["_score"]) for row in found]


def query_of(query: str) -> str:
    return query if ":" in query else f"message:({query})"


@pytest.mark.parametrize("most", ["0", "2000"])
@pytest.mark.parametrize("query", QUERIES)
def test_pages_are_those_of_table_search(spark, path, query, most):
    for offset in (0, 10):
        found = ranked(spark, path, query, most, f"ORDER BY _score DESC LIMIT 10 OFFSET {offset}")
        assert found == searched(path, query, 10, offset)


def test_every_score_is_that_of_table_search(spark, path):
    for most in ("0", "2000"):
        found = dict(ranked(spark, path, "disk OR timeout", most, ""))
        assert found == dict(searched(path, "disk OR timeout", None))
        some = ranked(spark, path, "disk", most, "LIMIT 7")
        assert len(some) == 7
        assert set(some) <= set(searched(path, "disk", None))


def test_explain_says_by_whose_statistics(spark, path):
    spark.read.format("indextables").option(MOST, "0").load(path).createOrReplaceTempView("ranked")
    sql = "SELECT id FROM ranked WHERE message TEXTSEARCH 'disk' ORDER BY _score DESC LIMIT 3"
    assert "scores by the statistics of all splits" in spark.sql(sql)._jdf.queryExecution().toString()

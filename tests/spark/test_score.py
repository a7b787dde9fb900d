"""Ranking: what Spark returns for ORDER BY _score is what Tantivy returns for the same rows."""

from __future__ import annotations

import random

import pytest
import tantivy

QUERIES = [
    'disk AND "slow query"',
    "disk",
    "disk OR timeout",
    '"slow query"',
    "+disk -timeout",
    "(disk OR db) AND query",
]
WORDS = ["disk", "slow", "query", "timeout", "db", "cache", "node", "full", "error", "retry", "user", "login"]


@pytest.fixture(scope="module")
def messages() -> list[str]:
    chance = random.Random(7)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 25))) for _ in range(800)]


@pytest.fixture(scope="module")
def tantivy_alone(messages):
    schema = tantivy.SchemaBuilder().add_unsigned_field("id", stored=True).add_text_field("message").build()
    index = tantivy.Index(schema)
    writer = index.writer(num_threads=1)
    for i, message in enumerate(messages):
        writer.add_document(tantivy.Document(id=i, message=message))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    assert searcher.num_segments == 1

    def scores(query: str) -> dict[int, float]:
        hits = searcher.search(index.parse_query(query, ["message"]), limit=len(messages)).hits
        return {searcher.doc(address)["id"][0]: score for score, address in hits}

    return scores


@pytest.fixture(scope="module")
def path(spark, messages, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("score") / "logs")
    frame = spark.createDataFrame(list(enumerate(messages)), "id long, message string").coalesce(1)
    frame.write.format("indextables").option("spark.indextables.indexing.typemap.message", "text").save(path)
    return path


@pytest.fixture(autouse=True)
def logs(spark, path, way):
    spark.read.format("indextables").options(**way).load(path).createOrReplaceTempView("scored")


@pytest.mark.parametrize("query", QUERIES)
def test_the_ten_best_are_tantivys(spark, tantivy_alone, query):
    expected = tantivy_alone(query)
    best = spark.sql(
        f"SELECT id, _score FROM scored WHERE message TEXTSEARCH '{query}' ORDER BY _score DESC LIMIT 10"
    ).collect()
    assert [row["_score"] for row in best] == pytest.approx(
        sorted(expected.values(), reverse=True)[:10], rel=1e-6
    )
    assert all(row["_score"] == pytest.approx(expected[row["id"]], rel=1e-6) for row in best)


@pytest.mark.parametrize("query", QUERIES)
def test_all_matches_are_tantivys_with_their_scores(spark, tantivy_alone, query):
    found = spark.sql(f"SELECT id, _score FROM scored WHERE message TEXTSEARCH '{query}'").collect()
    assert {row["id"]: row["_score"] for row in found} == pytest.approx(tantivy_alone(query), rel=1e-6)


def test_the_best_are_found_by_the_index_and_not_by_sorting_all(spark, path):
    by_tasks = spark.read.option("spark.indextables.read.answerOnDriver.maxRows", 0)
    by_tasks.format("indextables").load(path).createOrReplaceTempView("scored")
    ranked = spark.sql("SELECT id FROM scored WHERE message TEXTSEARCH 'disk' ORDER BY _score DESC LIMIT 3")
    assert "best 3 by _score" in ranked._jdf.queryExecution().toString()
    assert ranked.count() == 3


def test_a_score_can_be_filtered_grouped_and_joined(spark, tantivy_alone):
    expected = tantivy_alone("disk")
    median = sorted(expected.values())[len(expected) // 2]
    above = spark.sql(
        f"SELECT id FROM scored WHERE message TEXTSEARCH 'disk' AND _score > {median!r}D"
    ).collect()
    assert {row["id"] for row in above} == {i for i, score in expected.items() if score > median}
    top = spark.sql("SELECT max(_score) AS top FROM scored WHERE message TEXTSEARCH 'disk'").head()["top"]
    assert top == pytest.approx(max(expected.values()), rel=1e-6)


def test_limits_hold_under_a_filter_that_spark_decides(spark, tantivy_alone, messages):
    ranked = spark.sql(
        "SELECT id, _score FROM scored WHERE message TEXTSEARCH 'disk' AND length(message) > 60 "
        "ORDER BY _score DESC LIMIT 5"
    ).collect()
    expected = sorted((s for i, s in tantivy_alone("disk").items() if len(messages[i]) > 60), reverse=True)[
        :5
    ]
    assert [row["_score"] for row in ranked] == pytest.approx(expected, rel=1e-6)


def test_a_snippet_shows_what_was_found(spark):
    rows = spark.sql("SELECT _snippet FROM scored WHERE message TEXTSEARCH 'timeout' LIMIT 20").collect()
    assert len(rows) == 20
    assert all("<b>timeout</b>" in row["_snippet"] for row in rows)


def test_the_columns_need_no_search(spark):
    assert spark.sql("SELECT id, _score, _snippet FROM scored WHERE id < 5").count() == 5

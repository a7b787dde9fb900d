"""What a user is shown: plans, descriptions of tables, and errors that say what works instead."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import indextables as it

MOST = "spark.indextables.read.answerOnDriver.maxRows"


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> str:
    where = str(tmp_path_factory.mktemp("messages") / "logs")
    day = datetime.date(2026, 3, 5)
    it.write(
        where, pa.table({"id": [1, 2], "day": [day] * 2, "message": ["disk full", "ok"]}), text=["message"]
    )
    return where


def text(spark, sql: str) -> str:
    return "\n".join(" ".join(map(str, row)) for row in spark.sql(sql).collect())


@pytest.mark.parametrize("most", [0, 2000])
def test_explain_shows_the_search_and_readable_dates(spark, path, most):
    spark.read.format("indextables").option(MOST, most).load(path).createOrReplaceTempView("explained")
    query = (
        "SELECT id FROM explained WHERE message TEXTSEARCH 'disk' AND day >= DATE'2026-03-05' "
        "AND NOT (* TEXTSEARCH 'x')"
    )
    for mode in ("", "FORMATTED"):
        plan = text(spark, f"EXPLAIN {mode} {query}")
        assert "LocalTableScan" in plan if most else "BatchScan" in plan
        assert "message TEXTSEARCH 'disk'" in plan
        assert "day >= DATE '2026-03-05'" in plan
        assert "NOT (* TEXTSEARCH 'x')" in plan
    assert [row["id"] for row in spark.sql(query).collect()] == [1]


def test_descriptions_show_provider_location_and_text_columns(spark, path, tmp_path):
    spark.sql(f"CREATE TABLE described USING indextables LOCATION '{path}'")
    try:
        for name in (f"indextables.`{path}`", "described"):
            described = text(spark, f"DESCRIBE EXTENDED {name}")
            assert "Provider indextables" in described
            assert path in described
            assert "typemap.message=text" in described
            created = text(spark, f"SHOW CREATE TABLE {name}")
            assert "USING indextables" in created
            assert "'spark.indextables.indexing.typemap.message' = 'text'" in created
            assert f"{path}'" in created
    finally:
        spark.sql("DROP TABLE described")
    again = str(tmp_path / "again")
    statement = text(spark, f"SHOW CREATE TABLE indextables.`{path}`").replace(path, again)
    spark.sql(statement)
    assert it.open(again).schema == it.open(path).schema
    assert it.open(again).search("message:disk").num_rows == 0  # which takes a text column


def test_an_unbound_parameter_is_sparks_own_error(spark, path):
    for sql in ("SELECT :q", f"SELECT 1 FROM indextables.`{path}` WHERE message TEXTSEARCH :q"):
        with pytest.raises(AnalysisException) as caught:
            spark.sql(sql)
        assert caught.value.getCondition() == "UNBOUND_SQL_PARAMETER"
        assert "Found the unbound parameter: q" in str(caught.value)


def test_a_table_without_columns_says_how_to_give_them(spark):
    with pytest.raises(AnalysisException, match=r"names no columns. Name the columns to create one"):
        spark.sql("CREATE TABLE x USING indextables")
    assert not spark.catalog.tableExists("x")


def test_a_location_that_is_not_the_path_in_the_name_is_refused(spark, tmp_path):
    named, elsewhere = tmp_path / "named", tmp_path / "elsewhere"
    with pytest.raises(AnalysisException, match="is not the path in the table's name"):
        spark.sql(f"CREATE TABLE indextables.`{named}` (id INT) USING indextables LOCATION '{elsewhere}'")
    assert not named.exists()
    spark.sql(f"CREATE TABLE indextables.`{named}` (id INT) USING indextables LOCATION '{named}'")
    assert it.open(named).version == 0


def test_a_streaming_write_of_column_groups_is_refused_with_what_works(spark, tmp_path):
    rate = spark.readStream.format("rate").load().writeStream.format("indextables.columns")
    with pytest.raises(AnalysisException, match="foreachBatch"):
        rate.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_a_table_is_rewritten_with_fewer_splits(spark, tmp_path):
    path = str(tmp_path / "many")
    for n in range(3):
        it.write(path, pa.table({"n": [n]}))
    spark.sql(f"INSERT OVERWRITE indextables.`{path}` SELECT /*+ COALESCE(1) */ * FROM indextables.`{path}`")
    table = it.open(path)
    assert (table.files().num_rows, table.count()) == (1, 3)

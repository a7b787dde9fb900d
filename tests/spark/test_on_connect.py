"""What a user does most, on Spark Connect. Details of each are tested on classic; here it is that they arrive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql.functions import expr


def prepare(spark, directory: Path) -> dict[str, Any]:
    path = str(directory)
    rows = spark.range(100).selectExpr(
        "id", "IF(id % 4 = 0, 'disk error on db', 'all is well') AS message", "cast(id % 2 AS string) AS host"
    )
    rows.write.format("indextables").partitionBy("host").option(
        "spark.indextables.indexing.typemap.message", "text"
    ).save(path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("logs")
    return {"path": path, "rows": rows}


def operators_search(spark, world) -> None:
    assert spark.sql("SELECT * FROM logs WHERE message TEXTSEARCH 'disk AND error'").count() == 25
    assert spark.sql("SELECT * FROM logs WHERE message NOT TEXTSEARCH 'disk'").count() == 75
    assert spark.sql("SELECT * FROM logs WHERE * TEXTSEARCH 'well'").count() == 75
    assert spark.table("logs").filter("message TEXTSEARCH 'error' AND id < 10").count() == 3


def parameters_are_queries_too(spark, world) -> None:
    found = spark.sql("SELECT * FROM logs WHERE message TEXTSEARCH :words", args={"words": "disk"})
    assert found.count() == 25


def scores_order(spark, world) -> None:
    best = spark.sql(
        "SELECT id, _score FROM logs WHERE message TEXTSEARCH 'disk' ORDER BY _score DESC LIMIT 3"
    ).collect()
    assert len(best) == 3
    assert all(row["_score"] > 0 for row in best)


def small_queries_are_answered_while_planning(spark, world) -> None:
    explained = "EXPLAIN SELECT id, host FROM {} WHERE message TEXTSEARCH 'disk'"
    assert "LocalTableScan" in spark.sql(explained.format("logs")).head()[0]
    by_tasks = spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0)
    by_tasks.load(world["path"]).createOrReplaceTempView("far")
    assert "BatchScan" in spark.sql(explained.format("far")).head()[0]
    query = "SELECT id, message, host, _score FROM {} WHERE message TEXTSEARCH 'disk' ORDER BY id"
    assert spark.sql(query.format("logs")).collect() == spark.sql(query.format("far")).collect()


def the_four_modes(spark, world) -> None:
    path, rows = world["path"] + "-modes", world["rows"]
    rows.write.format("indextables").save(path)
    with pytest.raises(AnalysisException, match="there is a table at .* already"):
        rows.write.format("indextables").save(path)
    rows.write.format("indextables").mode("ignore").save(path)
    rows.limit(10).write.format("indextables").mode("append").save(path)
    assert spark.read.format("indextables").load(path).count() == 110
    rows.limit(10).write.format("indextables").mode("overwrite").save(path)
    assert spark.read.format("indextables").load(path).count() == 10
    assert spark.read.format("indextables").option("versionAsOf", 1).load(path).count() == 110


def the_catalog_creates_inserts_and_travels(spark, world) -> None:
    table = f"indextables.`{world['path']}-catalog`"
    spark.sql(
        f"CREATE TABLE {table} AS SELECT id, message FROM logs WHERE message TEXTSEARCH 'error'"
    ).collect()
    spark.sql(f"INSERT INTO {table} SELECT id, message FROM logs LIMIT 5").collect()
    assert spark.table(table).count() == 30
    assert spark.sql(f"SELECT * FROM {table} VERSION AS OF 0").count() == 25
    assert spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF current_timestamp()").count() == 30


def rows_are_deleted_and_replaced(spark, world) -> None:
    path, rows = world["path"] + "-changed", world["rows"]
    rows.write.format("indextables").partitionBy("host").option(
        "spark.indextables.indexing.typemap.message", "text"
    ).save(path)
    table = f"indextables.`{path}`"
    spark.sql(f"DELETE FROM {table} WHERE message TEXTSEARCH 'disk' AND id < 50").collect()
    assert spark.table(table).count() == 87
    overwrite = rows.filter("id = 1").write.format("indextables").mode("overwrite")
    overwrite.option("replaceWhere", "host = '1'").save(path)
    assert spark.table(table).count() == 38
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (host = '0') SELECT 2L, 'one'").collect()
    assert spark.table(table).count() == 2
    spark.sql(f"REORG TABLE {table} APPLY (PURGE)").collect()
    spark.sql(f"TRUNCATE TABLE {table}").collect()
    assert spark.table(table).count() == 0


def rows_are_updated_and_merged(spark, world) -> None:
    path, rows = world["path"] + "-updated", world["rows"]
    rows.write.format("indextables").partitionBy("host").option(
        "spark.indextables.indexing.typemap.message", "text"
    ).save(path)
    table = f"indextables.`{path}`"
    disks = spark.sql(f"SELECT * FROM {table} WHERE message TEXTSEARCH 'disk'").count()
    spark.sql(f"UPDATE {table} SET message = 'changed' WHERE message TEXTSEARCH 'disk'").collect()
    assert spark.sql(f"SELECT * FROM {table} WHERE message TEXTSEARCH 'changed'").count() == disks
    spark.sql(f"DELETE FROM {table} WHERE id % 10 = 3 AND length(host) = 1").collect()
    assert spark.table(table).count() == 90
    spark.sql(
        f"""MERGE INTO {table} t USING (SELECT id, 'merged' AS message, host FROM {table} VERSION AS OF 0) s
        ON t.id = s.id WHEN MATCHED AND t.id < 10 THEN UPDATE SET message = s.message
        WHEN NOT MATCHED THEN INSERT *"""
    ).collect()
    assert spark.table(table).count() == 100
    assert spark.sql(f"SELECT * FROM {table} WHERE message TEXTSEARCH 'merged'").count() == 19


def parts_are_overwritten(spark, world) -> None:
    path, rows = world["path"] + "-parts", world["rows"]
    rows.write.format("indextables").partitionBy("host").save(path)
    table = f"indextables.`{path}`"
    overwrite = rows.filter("id = 1").write.format("indextables").mode("overwrite")
    overwrite.option("partitionOverwriteMode", "dynamic").save(path)
    assert spark.table(table).count() == 51
    rows.filter("id = 2").writeTo(table).overwrite(expr("host = '0' AND id < 50"))
    assert spark.table(table).count() == 27
    rows.filter("id IN (3, 5)").writeTo(table).overwritePartitions()
    assert sorted(row.id for row in spark.table(table).filter("host = '1'").collect()) == [3, 5]
    assert spark.table(table).count() == 28


def rows_that_a_merge_does_not_match_are_changed(spark, world) -> None:
    path, rows = world["path"] + "-unmatched", world["rows"]
    rows.write.format("indextables").save(path)
    table = f"indextables.`{path}`"
    rows.filter("id BETWEEN 90 AND 99").withColumn("id", expr("id + 5")).createOrReplaceTempView("source")
    spark.sql(
        f"""MERGE INTO {table} t USING source s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET host = 'both'
        WHEN NOT MATCHED THEN INSERT (id, message) VALUES (s.id, s.message)
        WHEN NOT MATCHED BY SOURCE AND t.id < 50 THEN DELETE
        WHEN NOT MATCHED BY SOURCE AND t.id < 60 THEN UPDATE SET host = 'source'"""
    ).collect()
    counts = {row["host"]: row["count"] for row in spark.table(table).groupBy("host").count().collect()}
    assert counts == {"both": 5, "source": 10, None: 5, "0": 18, "1": 17}


def changes_of_rows_are_refused_with_the_reason(spark, world) -> None:
    path, rows = world["path"] + "-refused", world["rows"]
    rows.write.format("indextables").option("spark.indextables.indexing.typemap.message", "text").save(path)
    table = f"indextables.`{path}`"
    spark.sql("SELECT 3L AS id UNION ALL SELECT 3L").createOrReplaceTempView("twice")
    refused = {
        "MERGE_CARDINALITY_VIOLATION": f"MERGE INTO {table} t USING twice s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET host = 'x'",
        "TEXTSEARCH": f"UPDATE {table} SET host = 'x' WHERE message TEXTSEARCH 'full' OR length(host) = 9",
        "position": f"UPDATE {table} SET host = 'x' WHERE message TEXTSEARCH 'full AND ('",
        "missing": f"UPDATE {table} SET missing = 'x'",
    }
    for reason, statement in refused.items():
        with pytest.raises(PySparkException, match=reason):
            spark.sql(statement).collect()
    (version,) = spark.sql(f"DESCRIBE HISTORY {table}").select("version").collect()
    assert version[0] == 0


def errors_are_plain_and_placed(spark, world) -> None:
    with pytest.raises(AnalysisException, match="there is no table at /nowhere"):
        spark.read.format("indextables").load("/nowhere").collect()
    with pytest.raises(AnalysisException, match="column 'host'"):
        spark.sql("SELECT * FROM logs WHERE host TEXTSEARCH 'x'").collect()
    with pytest.raises(AnalysisException, match=r"TEXTSEARCH of .*message could not be handed to the index"):
        spark.sql("SELECT message TEXTSEARCH 'x' FROM logs").collect()
    with pytest.raises(ParseException, match=r"line 1, pos 56"):
        spark.sql("SELECT * FROM logs WHERE message TEXTSEARCH 'x' AND AND id = 1").collect()


CASES = {
    case.__name__: case
    for case in (
        operators_search,
        parameters_are_queries_too,
        scores_order,
        small_queries_are_answered_while_planning,
        the_four_modes,
        the_catalog_creates_inserts_and_travels,
        rows_are_deleted_and_replaced,
        rows_are_updated_and_merged,
        parts_are_overwritten,
        rows_that_a_merge_does_not_match_are_changed,
        changes_of_rows_are_refused_with_the_reason,
        errors_are_plain_and_placed,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_on_connect(connect_report, case):
    assert connect_report[case] is None, connect_report[case]

"""DELETE FROM and TRUNCATE TABLE: the rows that remain are those of Parquet with the same condition."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import indextables as it
from indextables.errors import InputError
from indextables.spark.sql import Job, finish_job, job_tasks, run_delete, run_job_task

CONDITIONS = (
    "id = 7",
    "id BETWEEN 10 AND 20 AND host = '1'",
    "message LIKE '%disk%' AND id < 40",
    "message IS NULL OR id IN (31, 32, 33)",
    "NOT (id < 90)",
    "host = '0' AND id > 60",
    "day > DATE'2026-01-20'",
)


def write(spark, path: str, *, files: int = 2) -> None:
    rows = spark.range(100).selectExpr(
        "id",
        "CASE id % 5 WHEN 0 THEN 'disk error on db' WHEN 1 THEN NULL ELSE 'all is well' END AS message",
        "cast(id % 2 AS string) AS host",
        "date_add(DATE'2026-01-01', cast(id % 30 AS int)) AS day",
    )
    for part in rows.randomSplit([1.0] * files, seed=1):
        part.coalesce(1).write.format("indextables").mode("append").partitionBy("host").option(
            "spark.indextables.indexing.typemap.message", "text"
        ).save(path)


def ids(frame) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


@pytest.mark.parametrize("named", [False, True])
def test_what_remains_is_what_parquet_has_left(spark, tmp_path: Path, *, named: bool):
    path = str(tmp_path / "t")
    write(spark, path)
    table = f"indextables.`{path}`"
    if named:
        table = "deleted_from"
        spark.sql(f"CREATE TABLE {table} USING indextables LOCATION '{path}'")
    try:
        remaining = spark.read.format("indextables").load(path).localCheckpoint()
        for condition in CONDITIONS:
            spark.sql(f"DELETE FROM {table} WHERE {condition}")
            remaining = remaining.filter(f"NOT coalesce({condition}, false)")
            assert ids(spark.table(table)) == ids(remaining), condition
            assert spark.table(table).count() == len(ids(remaining))
        spark.sql(f"DELETE FROM {table} WHERE message TEXTSEARCH 'disk AND error'")
        remaining = remaining.filter("NOT coalesce(message LIKE '%disk error%', false)")
        assert ids(spark.table(table)) == ids(remaining)
        spark.sql(f"DELETE FROM {table} WHERE false")
        assert ids(spark.table(table)) == ids(remaining)
        spark.sql(f"TRUNCATE TABLE {table}")
        assert spark.table(table).count() == 0
    finally:
        if named:
            spark.sql(f"DROP TABLE {table}")


def test_rows_in_many_splits_are_looked_up_by_tasks(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = str(tmp_path / "t")
    write(spark, path)
    filters = [{"op": "<", "args": [{"col": ["id"]}, {"lit": "50", "type": "bigint"}]}]
    monkeypatch.setattr("indextables.spark.sql.deleting.may_open", lambda *_: False)
    table = it.open(path)
    job = run_delete(table, filters, "UTC", parallelism=2)
    assert isinstance(job, Job)
    file = job.file
    tasks = job_tasks(file)
    assert len(tasks) == 2
    results = [next(run_job_task(task)).column("result")[0].as_py() for task in tasks]
    with pytest.raises(InputError, match="not the result of a delete"):
        finish_job(file, [results[0].replace("delta-", "other-"), results[1]])
    assert finish_job(file, results).column("deleted").to_pylist() == [50]
    assert it.open(path).count() == 50
    with pytest.raises(InputError, match="no job"):
        finish_job(file, results)


def test_a_delete_from_a_table_of_many_splits_runs_as_a_job(spark, tmp_path: Path):
    path = str(tmp_path / "t")
    for n in range(36):
        it.write(
            path, _rows(n), text=["message"], settings={"spark.indextables.mergeOnWrite.enabled": "false"}
        )
    spark.sql(f"DELETE FROM indextables.`{path}` WHERE message TEXTSEARCH 'odd'")
    table = it.open(path)
    assert table.count() == 36
    assert (table.count("even"), table.count("odd")) == (36, 0)
    assert spark.table(f"indextables.`{path}`").count() == 36


def _rows(n: int) -> pa.Table:
    return pa.table({"id": [2 * n, 2 * n + 1], "message": ["even number", "odd number"]})


def test_statements_that_are_not_supported_name_what_is(spark, tmp_path: Path):
    path = str(tmp_path / "t")
    write(spark, path)
    table = f"indextables.`{path}`"
    with pytest.raises(AnalysisException, match=r"cannot decide the condition .*DELETE FROM takes any"):
        spark.table(table).limit(1).writeTo(table).overwrite(F.length("message") > 3)
    with pytest.raises(AnalysisException, match="position"):
        spark.sql(f"DELETE FROM {table} WHERE message TEXTSEARCH 'disk AND ('")
    assert spark.table(table).count() == 100

"""Appends in Spark with other columns than the table's: those that it adds, those that it lacks, what it refuses."""

from __future__ import annotations

import datetime
import decimal
import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import indextables as it

SETTING = "spark.indextables.write.mergeSchema"
ON = {"mergeSchema": "true"}


def prepare(spark, directory: Path) -> Path:
    return directory


def new_table(directory: Path) -> str:
    path = str(directory / uuid.uuid4().hex)
    rows = {"id": pa.array([1], pa.int32()), "day": ["mon"], "note": ["disk full"]}
    it.write(path, pa.table(rows), text=["note"], partition_by=["day"])
    return path


def named(spark, path: str) -> str:
    name = f"appends_{uuid.uuid4().hex}"
    spark.sql(f"CREATE TABLE {name} USING indextables LOCATION '{path}'")
    return name


def written(path: str) -> list[dict]:
    return sorted(it.open(path).to_arrow().to_pylist(), key=lambda row: row["id"])


def merge_schema_adds_columns_in_every_way_to_append(spark, directory: Path) -> None:
    def save(rows, path):
        rows.write.format("indextables").mode("append").options(**ON).save(path)

    def save_with_setting(rows, path):
        rows.write.format("indextables").mode("append").option(SETTING, "true").save(path)

    def by_path(rows, path):
        rows.writeTo(f"indextables.`{path}`").option("mergeSchema", "true").append()

    def by_name(rows, path):
        rows.writeTo(named(spark, path)).option("MergeSchema", "true").append()

    def by_qualified_name(rows, path):
        rows.writeTo(f"indextables.default.{named(spark, path)}").option("mergeSchema", "true").append()

    def save_as_table(rows, path):
        rows.write.format("indextables").mode("append").options(**ON).saveAsTable(named(spark, path))

    def in_the_session(rows, path):
        rows.createOrReplaceTempView("more")
        spark.conf.set(SETTING, "true")
        try:
            spark.sql(f"INSERT INTO indextables.`{path}` BY NAME SELECT * FROM more")
        finally:
            spark.conf.unset(SETTING)

    rows = spark.sql("SELECT 'web1' AS host, 2 AS id, 'tue' AS day, 1.5D AS load")
    ways = (save, save_with_setting, by_path, by_name, by_qualified_name, save_as_table, in_the_session)
    for way in ways:
        path = new_table(directory)
        way(rows, path)
        assert written(path) == [
            {"id": 1, "day": "mon", "note": "disk full", "host": None, "load": None},
            {"id": 2, "day": "tue", "note": None, "host": "web1", "load": 1.5},
        ], way.__name__
        assert it.open(path).version == 1, way.__name__
        assert spark.table(f"indextables.`{path}`").filter("host = 'web1'").count() == 1


def a_new_column_can_be_text(spark, directory: Path) -> None:
    path = new_table(directory)
    rows = spark.sql("SELECT 2 AS id, 'mon' AS day, 'cache miss' AS more")
    append = rows.writeTo(f"indextables.`{path}`").option("mergeSchema", "true")
    append.option("spark.indextables.indexing.typemap.more", "text").append()
    assert it.open(path).count(query="more:miss") == 1


def without_the_option_other_columns_are_refused(spark, directory: Path) -> None:
    path = new_table(directory)
    rows = spark.sql("SELECT 2 AS id, 'mon' AS day, 'x' AS note, 'web1' AS host")
    appends = {
        "save": lambda: rows.write.format("indextables").mode("append").save(path),
        "off": lambda: (
            rows.write.format("indextables").mode("append").option("mergeSchema", "false").save(path)
        ),
        "by path": lambda: rows.writeTo(f"indextables.`{path}`").append(),
        "by name": lambda: rows.writeTo(named(spark, path)).append(),
    }
    for append in appends.values():
        with pytest.raises(AnalysisException, match=r"does not have: 'host' \(string\).*option mergeSchema"):
            append()
    with pytest.raises(AnalysisException, match="too many data columns"):
        spark.sql(f"INSERT INTO indextables.`{path}` VALUES (2, 'mon', 'x', 'web1')")
    with pytest.raises(AnalysisException, match="(?s)[cC]annot safely cast `id`"):
        spark.sql("SELECT 'x' AS id, 'mon' AS day").writeTo(f"indextables.`{path}`").append()
    with pytest.raises(AnalysisException, match="lack the columns 'day'"):
        spark.sql("SELECT 2 AS id").writeTo(f"indextables.`{path}`").append()
    with pytest.raises(AnalysisException, match="lack the columns 'day'"):
        spark.sql("SELECT 2 AS id").write.format("indextables").mode("append").save(path)
    assert it.open(path).version == 0


def wrong_uses_of_the_option_are_named(spark, directory: Path) -> None:
    path = new_table(directory)
    rows = spark.sql("SELECT 2 AS id, 'mon' AS day, 'web1' AS host")
    write = rows.write.format("indextables").options(**ON)
    with pytest.raises(AnalysisException, match="mergeSchema adds columns with an append"):
        write.mode("overwrite").save(path)
    with pytest.raises(AnalysisException, match="option mergeSchema is 'maybe'; it takes true or false"):
        rows.write.format("indextables").option("mergeSchema", "maybe").mode("append").save(path)
    with pytest.raises(AnalysisException, match="have different values"):
        write.option(SETTING, "false").mode("append").save(path)
    with pytest.raises(AnalysisException, match="(?i)unknown setting 'mergeSchema'"):
        spark.read.format("indextables").options(**ON).load(path).collect()
    assert it.open(path).version == 0


def a_name_is_created_without_the_options_of_its_first_write(spark, directory: Path) -> None:
    name = f"appends_{uuid.uuid4().hex}"
    for more in ("1 AS id", "2 AS id, 'x' AS a"):
        spark.sql(f"SELECT {more}").write.format("indextables").mode("append").options(**ON).saveAsTable(name)
    assert sorted(map(tuple, spark.table(name).collect())) == [(1, None), (2, "x")]


DEFAULTS = {
    "n": ("integer", 7),
    "f": ("double", -0.5),
    "s": ("string", "it's \\ 5%"),
    "b": ("boolean", True),
    "d": ("date", datetime.date(2024, 2, 29)),
    "t": ("timestamp", datetime.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=datetime.UTC)),
    "z": ("timestamp_ntz", datetime.datetime(2024, 2, 29, 1, 2, 3)),
    "m": ("decimal(10,2)", decimal.Decimal("12.50")),
}


def columns_that_rows_lack_have_their_default(spark, directory: Path) -> None:
    path = str(directory / uuid.uuid4().hex)
    it.write(path, pa.table({"id": pa.array([1], pa.int32()), "a": ["x"]}))
    taken = {}
    for column, (kind, value) in DEFAULTS.items():
        try:
            it.open(path).alter(add={column: kind}, default={column: value})
        except it.errors.IndexTablesError:
            continue
        taken[column] = value
    assert {"n", "f", "s", "b", "d", "t"} <= set(taken)
    table, name = f"indextables.`{path}`", named(spark, path)
    spark.sql(f"INSERT INTO {table} (id) VALUES (2)")
    spark.sql(f"INSERT INTO {name} (a, id) SELECT 'y', 3")
    spark.sql("SELECT 4 AS id").writeTo(table).append()
    spark.sql("SELECT cast(5 AS tinyint) AS id").write.format("indextables").mode("append").save(path)
    spark.sql(f"INSERT INTO {table} (id, a, n) VALUES (6, DEFAULT, DEFAULT)")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT 7 AS id) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    rows = written(path)
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert [row["a"] for row in rows] == ["x", None, "y", None, None, None, None]
    for row in rows:
        assert {column: row[column] for column in taken} == taken, row["id"]
    columns = ", ".join(column for column in it.open(path).schema.names if column != "n")
    spark.sql(f"UPDATE {table} SET n = 0 WHERE id = 1")
    spark.sql(f"UPDATE {table} SET n = DEFAULT, a = DEFAULT WHERE id = 1")
    first = written(path)[0]
    assert (first["n"], first["a"]) == (7, None)
    # What a default is shows in the table alone: a DataFrame of it has plain columns.
    spark.sql(f"CREATE TABLE {table[:-1]}-copy` AS SELECT {columns} FROM {table}")
    assert not it.open(path + "-copy").count(where="s IS NULL")


CASES = {
    case.__name__: case
    for case in (
        merge_schema_adds_columns_in_every_way_to_append,
        a_new_column_can_be_text,
        without_the_option_other_columns_are_refused,
        wrong_uses_of_the_option_are_named,
        a_name_is_created_without_the_options_of_its_first_write,
        columns_that_rows_lack_have_their_default,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_on_classic(case, spark, tmp_path):
    CASES[case](spark, prepare(spark, tmp_path))


@pytest.mark.parametrize("case", CASES)
def test_on_connect(case, connect_report):
    assert connect_report[case] is None, connect_report[case]

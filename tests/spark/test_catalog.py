"""Tables by path in SQL: indextables.`/path`."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException

import indextables as it


@pytest.fixture
def table(tmp_path) -> str:
    return f"indextables.`{tmp_path / 'table'}`"


def rows(spark, query: str) -> list[tuple]:
    return sorted(tuple(row) for row in spark.sql(query).collect())


def path_of(table: str) -> str:
    return table.split("`")[1]


def test_create_insert_select(spark, table):
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, message STRING, day DATE) PARTITIONED BY (day) "
        "TBLPROPERTIES ('spark.indextables.indexing.typemap.message' = 'text')"
    )
    assert rows(spark, f"SELECT count(*) FROM {table}") == [(0,)]
    spark.sql(
        f"INSERT INTO {table} VALUES (1, 'disk full', DATE'2024-01-01'), (2, 'all well', DATE'2024-01-02')"
    )
    spark.sql(f"INSERT INTO {table} (day, id) VALUES (NULL, 3)")
    assert rows(spark, f"SELECT id FROM {table} WHERE message TEXTSEARCH 'disk'") == [(1,)]
    assert rows(spark, f"SELECT id, message FROM {table} WHERE day IS NULL") == [(3, None)]
    assert it.open(path_of(table)).partition_columns == ["day"]
    assert it.open(path_of(table)).version == 2


def test_insert_overwrite_keeps_partitioning_and_text_columns(spark, table):
    spark.sql(
        f"CREATE TABLE {table} PARTITIONED BY (k) OPTIONS ('spark.indextables.indexing.typemap.m' = 'text') "
        "AS SELECT 1 AS k, 'old words' AS m"
    )
    spark.sql(f"INSERT OVERWRITE {table} SELECT 2, 'new words'")
    assert rows(spark, f"SELECT m, k FROM {table} WHERE m TEXTSEARCH 'words'") == [("new words", 2)]
    assert it.open(path_of(table)).partition_columns == ["k"]


def test_create_table_as_select_is_one_version(spark, table):
    spark.sql(f"CREATE TABLE {table} AS SELECT id, id % 2 AS k FROM range(10)")
    assert rows(spark, f"SELECT k, count(*) FROM {table} GROUP BY k") == [(0, 5), (1, 5)]
    assert it.open(path_of(table)).version == 0


def test_a_failed_create_table_as_select_leaves_no_table(spark, table):
    with pytest.raises(Exception, match="a broken row"):
        spark.sql(
            f"CREATE TABLE {table} AS SELECT raise_error('a broken row') || 'x' AS x FROM range(3)"
        ).collect()
    assert not spark.catalog.tableExists(table)


def test_an_existing_table_is_not_created_again(spark, table):
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS x")
    with pytest.raises(AnalysisException, match="already exists"):
        spark.sql(f"CREATE TABLE {table} AS SELECT 2 AS x")
    with pytest.raises(AnalysisException, match="already exists"):
        spark.sql(f"CREATE TABLE {table} (x INT)")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table} AS SELECT 2 AS x")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]


def test_create_or_replace_is_one_more_version_and_the_old_one_stays(spark, table):
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 1 AS x")
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 'two' AS y")
    assert rows(spark, f"SELECT * FROM {table}") == [("two",)]
    assert rows(spark, f"SELECT * FROM {table} VERSION AS OF 0") == [(1,)]
    spark.sql(f"REPLACE TABLE {table} (z DATE)")
    assert spark.table(table).schema.simpleString() == "struct<z:date>"
    assert it.open(path_of(table)).version == 2


def test_time_travel_by_version_and_time(spark, table):
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS x")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    assert rows(spark, f"SELECT * FROM {table} VERSION AS OF 0") == [(1,)]
    now = spark.sql("SELECT cast(current_timestamp() AS string)").head()[0]
    assert rows(spark, f"SELECT * FROM {table} TIMESTAMP AS OF '{now}'") == [(1,), (2,)]
    with pytest.raises(AnalysisException, match="has no version 9; it can be read from version 0 to 1"):
        spark.sql(f"SELECT * FROM {table} VERSION AS OF 9")
    with pytest.raises(AnalysisException, match="did not exist yet"):
        spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF '2001-01-01'")


@pytest.mark.parametrize(
    "time",
    [
        "current_timestamp()",
        "current_timestamp() + INTERVAL 1 HOUR",
        "date_add(current_date(), 1)",
        "(SELECT max(t) FROM VALUES (current_timestamp()) AS v(t))",
    ],
)
def test_time_travel_to_a_time_that_is_worked_out(spark, table, time):
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS x")
    assert rows(spark, f"SELECT * FROM {table} TIMESTAMP AS OF {time}") == [(1,)]
    assert rows(spark, f"WITH w AS (SELECT * FROM {table} TIMESTAMP AS OF {time}) SELECT * FROM w") == [(1,)]
    with pytest.raises(AnalysisException, match="did not exist yet"):
        spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF {time} - INTERVAL 9 DAYS")


@pytest.mark.parametrize("time", ["array(1)", "cast(null AS timestamp)", "no_such_function()"])
def test_a_time_that_is_none_is_refused(spark, table, time):
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS x")
    with pytest.raises(AnalysisException, match="Cannot be casted|cannot be resolved|Cannot resolve"):
        spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF {time}")


@pytest.mark.parametrize(
    "time", ["current_timestamp() - rand() * INTERVAL 1 DAY", "(SELECT timestamp_seconds(rand()))"]
)
def test_a_time_that_is_another_each_time_is_refused(spark, table, time):
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS x")
    with pytest.raises(AnalysisException, match="Must be deterministic"):
        spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF {time}")


def test_time_travel_by_option(spark, table):
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS x")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    reader = spark.read.format("indextables")
    assert reader.option("versionAsOf", 0).load(path_of(table)).count() == 1
    now = spark.sql("SELECT cast(current_timestamp() AS string)").head()[0]
    assert spark.read.format("indextables").option("timestampAsOf", now).load(path_of(table)).count() == 2
    with pytest.raises(AnalysisException, match="'soon' is not a timestamp"):
        spark.read.format("indextables").option("timestampAsOf", "soon").load(path_of(table))
    with pytest.raises(AnalysisException, match="'last' is not a version"):
        spark.read.format("indextables").option("versionAsOf", "last").load(path_of(table))
    both = {"versionAsOf": "0", "timestampAsOf": "2024-01-01"}
    with pytest.raises(AnalysisException, match="cannot be given together"):
        spark.read.format("indextables").options(**both).load(path_of(table))


def test_a_missing_table_is_said_to_be_missing(spark, table):
    with pytest.raises(AnalysisException, match=f"there is no table at {path_of(table)}"):
        spark.sql(f"SELECT * FROM {table}")
    with pytest.raises(AnalysisException, match=f"there is no table at {path_of(table)}"):
        spark.read.format("indextables").load(path_of(table))
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"INSERT INTO {table} VALUES (1)")
    with pytest.raises(AnalysisException, match="cannot be found"):
        spark.sql("SELECT * FROM indextables.schema.name")
    assert not spark.catalog.tableExists(table)


def test_insert_checks_the_rows_against_the_table(spark, table):
    spark.sql(f"CREATE TABLE {table} (id BIGINT, message STRING)")
    with pytest.raises(AnalysisException, match="not enough data columns"):
        spark.sql(f"INSERT INTO {table} VALUES (1)")
    with pytest.raises(AnalysisException, match="Cannot safely cast `id`"):
        spark.sql(f"INSERT INTO {table} VALUES (DATE'2024-01-01', 'x')")


def test_dataframes_write_to_the_catalog(spark, table):
    spark.range(5).write.saveAsTable(table)
    spark.range(5).writeTo(table).append()
    assert spark.table(table).count() == 10
    spark.range(2).writeTo(table).createOrReplace()
    assert spark.table(table).count() == 2


def test_what_is_not_supported_says_so(spark, table):
    spark.sql(f"CREATE TABLE {table} (id BIGINT, x STRING)")
    with pytest.raises(UnsupportedOperationException, match="DROP TABLE is not supported"):
        spark.sql(f"DROP TABLE {table}")
    with pytest.raises(
        AnalysisException, match=r"PARTITIONED BY takes plain columns; bucket\(4, id\) is not one"
    ):
        spark.sql(f"CREATE TABLE {table[:-1]}2` (id BIGINT, x STRING) PARTITIONED BY (bucket(4, id))")


def test_a_name_in_the_session_catalog_can_stand_for_a_path(spark, table):
    spark.sql(f"CREATE TABLE {table} AS SELECT id, id % 3 AS k FROM range(9)")
    spark.sql(f"CREATE TABLE named USING indextables LOCATION '{path_of(table)}'")
    try:
        assert rows(spark, "SELECT count(*) FROM named WHERE k = 1") == [(3,)]
        spark.sql(f"INSERT INTO {table} VALUES (100, 1)")
        assert rows(spark, "SELECT count(*) FROM named WHERE k = 1") == [(4,)]
    finally:
        spark.sql("DROP TABLE named")


def test_metadata_columns_are_described_and_not_selected(spark, table):
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS id")
    described = {row["col_name"] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    assert {"_score", "_snippet", "_indexall"} <= described
    assert spark.table(table).columns == ["id"]


def test_a_schema_given_to_a_read_must_be_the_tables(spark, table):
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS id")
    assert spark.read.schema("id int").format("indextables").load(path_of(table)).count() == 1
    with pytest.raises(AnalysisException, match="has a schema of its own"):
        spark.read.schema("id string").format("indextables").load(path_of(table))

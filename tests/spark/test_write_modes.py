"""Writing DataFrames: the four modes, partitioning, how rows are fitted to the table, and what a failure leaves."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import indextables as it

TEXT = "spark.indextables.indexing.typemap.message"


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "table")


@pytest.fixture(scope="module")
def rows(spark):
    return spark.range(100).selectExpr(
        "id",
        "concat('message ', id) AS message",
        "cast(id % 3 AS int) AS k",
        "DATE'2024-01-01' + cast(id % 2 AS int) AS day",
    )


def load(spark, path: str, **options: object):
    return spark.read.format("indextables").options(**options).load(path)


def splits(path: str) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in Path(path).rglob("*.split"))


def test_the_default_mode_refuses_an_existing_table(spark, rows, path):
    rows.write.format("indextables").save(path)
    with pytest.raises(AnalysisException, match=f"there is a table at {path} already; choose mode"):
        rows.write.format("indextables").save(path)
    assert load(spark, path).count() == 100


def test_ignore_leaves_an_existing_table_alone(spark, rows, path):
    rows.limit(7).write.format("indextables").mode("ignore").save(path)
    rows.write.format("indextables").mode("ignore").save(path)
    assert load(spark, path).count() == 7
    assert it.open(path).version == 0


def test_append_makes_the_table_and_adds_to_it(spark, rows, path):
    for _ in range(2):
        rows.write.format("indextables").mode("append").save(path)
    assert load(spark, path).count() == 200
    assert it.open(path).version == 1


def test_overwrite_replaces_rows_and_schema_in_one_version(spark, rows, path):
    rows.write.format("indextables").mode("overwrite").save(path)
    spark.range(3).write.format("indextables").mode("overwrite").save(path)
    assert load(spark, path).schema.simpleString() == "struct<id:bigint>"
    assert load(spark, path).count() == 3
    assert load(spark, path, versionAsOf=0).count() == 100
    assert it.open(path).version == 1


def test_a_table_can_be_overwritten_from_itself(spark, rows, path):
    rows.write.format("indextables").save(path)
    load(spark, path).filter("id >= 90").write.format("indextables").mode("overwrite").save(path)
    assert load(spark, path).count() == 10


def test_a_dataframe_without_rows_makes_an_empty_table(spark, rows, path):
    rows.filter("id < 0").write.format("indextables").save(path)
    empty = load(spark, path)
    assert empty.count() == 0
    assert empty.collect() == []
    assert empty.filter("k = 1").count() == 0
    assert empty.schema.simpleString() == rows.schema.simpleString()


def test_partition_by_names_directories_and_prunes_them(spark, rows, path):
    rows.write.format("indextables").partitionBy("day", "k").save(path)
    assert len(splits(path)) == 6
    assert splits(path)[0].startswith("day=2024-01-01/k=0/splits/split-")
    assert it.open(path).partition_columns == ["day", "k"]
    one = load(spark, path).filter("day = '2024-01-02' AND k = 1")
    assert one.count() == 17
    assert sorted(row["id"] for row in one.collect()) == list(range(1, 100, 6))
    assert load(spark, path).columns == rows.columns
    assert load(spark, path).select("k").distinct().count() == 3


def test_an_append_to_a_partitioned_table_needs_no_partition_by(spark, rows, path):
    rows.write.format("indextables").partitionBy("k").save(path)
    rows.write.format("indextables").mode("append").save(path)
    rows.write.format("indextables").mode("append").partitionBy("k").save(path)
    assert load(spark, path).filter("k = 2").count() == 99
    with pytest.raises(AnalysisException, match="the table is partitioned by 'k' and the write by 'day'"):
        rows.write.format("indextables").mode("append").partitionBy("day").save(path)


def test_an_append_is_fitted_to_the_table_by_name(spark, rows, path):
    rows.write.format("indextables").save(path)
    narrow = rows.selectExpr("day", "cast(k AS tinyint) AS k", "message", "cast(id + 1000 AS int) AS id")
    narrow.write.format("indextables").mode("append").save(path)
    assert load(spark, path).filter("id >= 1000").count() == 100
    assert load(spark, path).filter("id = 1005").collect()[0]["message"] == "message 5"


def test_an_append_that_does_not_fit_is_refused(spark, rows, path):
    rows.write.format("indextables").save(path)
    with pytest.raises(AnalysisException, match="(?s)Cannot safely cast `k`"):
        rows.selectExpr("id", "message", "message AS k", "day").write.format("indextables").mode(
            "append"
        ).save(path)
    with pytest.raises(AnalysisException, match=r"does not have: 'more' \(integer\).*mergeSchema"):
        rows.selectExpr("*", "1 AS more").write.format("indextables").mode("append").save(path)
    assert it.open(path).version == 0


def test_a_type_that_a_table_cannot_hold_is_named(spark, rows, path):
    for column in ("INTERVAL '1' YEAR", "INTERVAL '1' DAY"):
        with pytest.raises(AnalysisException, match="never"):
            rows.selectExpr("id", f"{column} AS never").write.format("indextables").save(path)
    assert not Path(path).exists()


def test_the_typemap_makes_a_column_searchable(spark, rows, path):
    rows.write.format("indextables").option(TEXT, "text").save(path)
    assert load(spark, path).filter("message TEXTSEARCH '42'").count() == 1
    rows.write.format("indextables").mode("append").save(path)
    assert load(spark, path).filter("message TEXTSEARCH '42'").count() == 2


def test_option_keys_keep_their_case(spark, path):
    rows = spark.createDataFrame([("Disk full",)], "Message string")
    rows.write.format("indextables").option("spark.indextables.indexing.typemap.Message", "text").save(path)
    assert load(spark, path).filter("Message TEXTSEARCH 'disk'").count() == 1


def test_a_setting_of_the_session_counts_and_an_option_wins(spark, rows, path):
    key = "spark.indextables.write.targetSplitSize"
    spark.conf.set(key, "1")
    try:
        rows.coalesce(1).write.format("indextables").option(key, "1G").save(path)
        assert len(splits(path)) == 1
    finally:
        spark.conf.unset(key)


def test_an_unknown_setting_is_refused_with_the_nearest_one(spark, rows, path):
    with pytest.raises(AnalysisException, match="did you mean 'spark.indextables.write.targetSplitSize'"):
        rows.write.format("indextables").option("spark.indextables.write.targetSpiltSize", "1M").save(path)


def test_no_path_is_an_error(spark, rows):
    with pytest.raises(AnalysisException, match="is a directory, and none is named"):
        rows.write.format("indextables").save()
    with pytest.raises(AnalysisException, match="is a directory, and none is named"):
        spark.read.format("indextables").load()


def test_a_failed_task_commits_nothing(spark, rows, path):
    rows.write.format("indextables").save(path)
    failing = rows.selectExpr("IF(id < 99, id, raise_error('a broken row')) AS id", "message", "k", "day")
    with pytest.raises(Exception, match="a broken row"):
        failing.write.format("indextables").mode("append").save(path)
    assert load(spark, path).count() == 100
    assert it.open(path).version == 0


def test_a_table_that_appears_during_the_write_is_not_overwritten(spark, rows, path):
    def rival(batches):
        it.write(path, pa.table({"id": [1]}), mode="ignore")
        yield from batches

    with pytest.raises(AnalysisException) as caught:
        rows.select("id").coalesce(1).mapInArrow(rival, "id long").write.format("indextables").save(path)
    assert str(caught.value).startswith("there is a table at")
    assert load(spark, path).count() == 1
    assert len(splits(path)) == 1, "the splits of the refused write are deleted"


def test_every_type_comes_back_as_it_was(spark, path):
    row = spark.sql(
        "SELECT cast(1 AS tinyint) AS b, cast(2 AS smallint) AS h, 3 AS i, 4L AS l, cast(1.5 AS float) AS f, "
        "2.5D AS d, true AS bo, 'text' AS s, X'00FF' AS bi, DATE'1969-12-31' AS da, "
        "TIMESTAMP'1969-12-31 23:59:59.999999' AS ts"
    )
    both = row.union(row.selectExpr(*[f"NULL AS {name}" for name in row.columns]))
    both.write.format("indextables").save(path)
    assert sorted(load(spark, path).collect(), key=repr) == sorted(both.collect(), key=repr)
    assert load(spark, path).schema.simpleString() == both.schema.simpleString()


@pytest.mark.parametrize(
    "partitions", [80, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_many_partitions_in_mixed_batches_keep_every_row(spark, path, partitions):
    rows = spark.range(0, 25_000, numPartitions=1).selectExpr(  # more than two of Spark's Arrow batches
        "id", f"cast(id * 7919 % {partitions} AS int) AS p", "concat('row ', id) AS message"
    )
    rows.write.format("indextables").partitionBy("p").save(path)
    assert it.open(path).files().num_rows == partitions
    assert load(spark, path).orderBy("id").collect() == rows.orderBy("id").collect()

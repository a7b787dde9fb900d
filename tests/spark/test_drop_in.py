"""Names and statements of IndexTables for Scala, as its users write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, functions

from support.original import ROWS, original_keys, original_settings

FORMATS = [
    "io.indextables.spark.core.IndexTables4SparkTableProvider",
    "io.indextables.provider.IndexTablesProvider",
    "tantivy4spark",
]
EXTENSIONS = [
    "io.indextables.extensions.IndexTablesSparkExtensions",
    "io.indextables.spark.extensions.IndexTables4SparkExtensions",
]
CATALOGS = {
    "indextables": "io.indextables.catalog.IndexTablesCatalog",
    "other": "io.indextables.spark.catalog.IndexTables4SparkCatalog",
}
TEXT = {"spark.indextables.indexing.typemap.text": "title,content"}
REFUSED = {
    "BUILD {} COMPANION FOR DELTA 's3://bucket/t' AT LOCATION 's3://bucket/i'": "companion indexes of Delta, Parquet",
    "SET {} TABLE ROOT 'us' = 's3://bucket' AT '/t'": "table roots belong to companion indexes",
    "UNSET {} TABLE ROOT 'us' AT '/t'": "table roots belong to companion indexes",
    "DESCRIBE {} TABLE ROOTS AT '/t'": "table roots belong to companion indexes",
    "ENABLE {} PROFILER": "there is no profiler",
    "DISABLE {} PROFILER": "there is no profiler",
    "DESCRIBE {} PROFILER": "there is no profiler",
    "DESCRIBE {} PROFILER CACHE": "there is no profiler",
    "RESET {} PROFILER": "there is no profiler",
    "RESET {} PROFILER CACHE;": "there is no profiler",
    "DESC {} PROFILER": "there is no profiler",
    "WAIT FOR {} PREWARM JOBS '/t' TIMEOUT 9": "there are no prewarm jobs",
    "DESCRIBE {} PREWARM JOBS": "there are no prewarm jobs",
    "INVALIDATE {} DATA SKIPPING CACHE": "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE drops",
    "FLUSH {} DATA SKIPPING STATS": "compare them before and after",
    "PREWARM {} CACHE '/t' ASYNC MODE": "ASYNC MODE is not supported",
}
STATEMENTS = [
    "MERGE SPLITS '{path}' TARGET SIZE 100M MAX DEST SPLITS 2",
    "MERGE SPLITS '{path}' WHERE status = 'open' MAX GROUPS 2;;",
    "PURGE INDEXTABLE '{path}' OLDER THAN 14 DAYS TRANSACTION LOG RETENTION 30 DAYS DRY RUN",
    "DESCRIBE {product} TRANSACTION LOG '{path}' INCLUDE ALL",
    "DESCRIBE {product} STATE '{path}'",
    "INVALIDATE {product} TRANSACTION LOG CACHE",
    "INVALIDATE {product} TRANSACTION LOG CACHE FOR '{path}'",
    "CHECKPOINT {product} '{path}'",
    "COMPACT {product} '{path}'",
    "TRUNCATE {product} TIME TRAVEL '{path}' DRY RUN",
    "REPAIR INDEXFILES TRANSACTION LOG '{path}/_transaction_log' AT LOCATION '{path}-{product}/_transaction_log'",
    "DESCRIBE {product} COMPONENT SIZES '{path}' WHERE status = 'open'",
    "DESCRIBE {product} ENVIRONMENT",
    "DESCRIBE {product} STORAGE STATS",
    "DESCRIBE {product} DISK CACHE",
    "DESCRIBE {product} DATA SKIPPING STATS",
    (
        "PREWARM {product} CACHE '{path}' FOR SEGMENTS (TERM_DICT, FAST_FIELD, POSTINGS, DOC_STORE) ON FIELDS (title) "
        "WITH PERWORKER PARALLELISM OF 2 WHERE status = 'open'"
    ),
    "FLUSH {product} SEARCHER CACHE",
    "FLUSH {product} DISK CACHE",
    "DROP {product} PARTITIONS FROM '{path}' WHERE status = 'closed'",
]


def write(spark: Any, path: str, name: str = FORMATS[0], mode: str = "error") -> None:
    rows = spark.createDataFrame(ROWS.to_pandas())
    rows.coalesce(1).write.format(name).mode(mode).options(**TEXT).partitionBy("status").save(path)


def ids(frame: Any) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


def formats_are_known_by_the_original_names(spark: Any, directory: Path) -> None:
    for number, name in enumerate(FORMATS):
        path = str(directory / f"format-{number}")
        write(spark, path, name)
        with pytest.raises(AnalysisException, match="there is a table at .* already"):
            write(spark, path, name)
        write(spark, path, name, "ignore")
        write(spark, path, name, "append")
        assert spark.read.format(name).load(path).count() == 6
        write(spark, path, name, "overwrite")
        assert ids(spark.read.format(name).load(path).filter("content TEXTSEARCH 'disk OR space'")) == [1, 3]
        assert ids(spark.read.format("indextables").load(path)) == [1, 2, 3]
        view = f"CREATE OR REPLACE TEMPORARY VIEW v USING {name} OPTIONS (path '{path}')"
        spark.sql(view)
        assert ids(spark.sql("SELECT * FROM v WHERE title indexquery 'disk'")) == [1, 3]


def tables_of_the_catalog_may_have_the_original_names(spark: Any, directory: Path) -> None:
    for number, name in enumerate(FORMATS):
        path = str(directory / f"named-{number}")
        write(spark, path)
        spark.sql(f"CREATE TABLE named_{number} USING {name} LOCATION '{path}'")
        try:
            assert ids(spark.sql(f"SELECT * FROM named_{number} WHERE title TEXTSEARCH 'disk'")) == [1, 3]
            spark.sql(f"CHECKPOINT INDEXTABLES named_{number}")
            (row,) = spark.sql(f"DESCRIBE TANTIVY4SPARK STATE named_{number}").collect()
            assert row["num_files"] == 2
        finally:
            spark.sql(f"DROP TABLE named_{number}")


def functions_search_as_the_operators_do(spark: Any, directory: Path) -> None:
    path = str(directory / "functions")
    write(spark, path)
    spark.read.format(FORMATS[1]).load(path).createOrReplaceTempView("t")
    for condition, expected in {
        "tantivy4spark_indexquery(content, 'disk OR space')": [1, 3],
        "tantivy4spark_textsearch(content, 'disk')": [1],
        "tantivy4spark_fieldmatch(client_ip, '10.0.0.2')": [2],
        "NOT tantivy4spark_textsearch(title, 'disk')": [2],
        "tantivy4spark_textsearch(title, 'login') OR id = 3": [2, 3],
        "tantivy4spark_indexqueryall('content:disk OR title:login')": [1, 2],
        "indexqueryall('content:disk')": [1],
        "_indexall indexquery 'title:login'": [2],
        "* indexquery 'title:login'": [2],
        "content indexquery 'disk' AND status = 'open'": [1],
    }.items():
        assert ids(spark.sql(f"SELECT * FROM t WHERE {condition}")) == expected, condition
    called = functions.call_function(
        "tantivy4spark_textsearch", functions.col("title"), functions.lit("disk")
    )
    assert ids(spark.table("t").filter(called)) == [1, 3]
    joined = spark.sql(
        "SELECT a.id FROM t a JOIN t b ON a.id = b.id WHERE tantivy4spark_textsearch(a.title, 'disk') "
        "AND tantivy4spark_textsearch(b.content, 'space')"
    )
    assert ids(joined) == [3]


def functions_of_all_columns_are_those_of_the_star(spark: Any, directory: Path) -> None:
    path = str(directory / "all-columns")
    rows = spark.createDataFrame(
        [(1, "disk failure", "db"), (2, "login", "disk")], "id int, title string, content string"
    )
    rows.write.format(FORMATS[0]).options(**TEXT).save(path)
    spark.read.format(FORMATS[0]).load(path).createOrReplaceTempView("texts")
    for condition, star in {
        "tantivy4spark_textsearchall('disk')": "* TEXTSEARCH 'disk'",
        "tantivy4spark_indexqueryall('disk')": "* INDEXQUERY 'disk'",
        "indexqueryall('failure')": "* INDEXQUERY 'failure'",
    }.items():
        found = ids(spark.sql(f"SELECT id FROM texts WHERE {condition}"))
        assert found == ids(spark.sql(f"SELECT id FROM texts WHERE {star}")) != []
    exact = str(directory / "exact-columns")
    rows.write.format(FORMATS[0]).save(exact)
    spark.read.format(FORMATS[0]).load(exact).createOrReplaceTempView("exact")
    assert ids(spark.sql("SELECT id FROM exact WHERE tantivy4spark_fieldmatchall('disk')")) == [2]


def misused_functions_say_what_they_take(spark: Any, directory: Path) -> None:
    path = str(directory / "misused")
    write(spark, path)
    spark.read.format(FORMATS[0]).load(path).createOrReplaceTempView("m")
    for condition, message in {
        "tantivy4spark_indexquery('x')": "tantivy4spark_indexquery takes a column and a query string",
        "tantivy4spark_indexqueryall(title, 'x')": "tantivy4spark_indexqueryall takes a query string",
        "tantivy4spark_indexqueryall(7)": "tantivy4spark_indexqueryall takes a query string",
        "tantivy4spark_textsearch(title, 7)": "tantivy4spark_textsearch takes a column and a query string",
        "tantivy4spark_textsearch(upper(title), 'x')": "could not be handed to the index",
    }.items():
        with pytest.raises(AnalysisException, match=message):
            spark.sql(f"SELECT * FROM m WHERE {condition}").collect()


def statements_take_both_words_for_the_product(spark: Any, directory: Path) -> None:
    for product in ("INDEXTABLES", "tantivy4spark"):
        path = str(directory / f"statements-{product}")
        for _ in range(3):
            write(spark, path, mode="append")
        assert len(ids(spark.read.format(FORMATS[0]).load(path))) == 9
        for statement in STATEMENTS:
            assert spark.sql(statement.format(path=path, product=product)).count() > 0, statement
        assert ids(spark.read.format(FORMATS[0]).load(path)) == [1, 1, 1, 3, 3, 3]


def statements_that_are_not_supported_say_what_to_do(spark: Any, directory: Path) -> None:
    for product in ("INDEXTABLES", "Tantivy4Spark"):
        for statement, message in REFUSED.items():
            with pytest.raises(AnalysisException) as caught:
                spark.sql(statement.format(product))
            assert message in str(caught.value), statement
    with pytest.raises(AnalysisException, match="expected a table: its path in quotes, or a name"):
        spark.sql("MERGE SPLITS")
    with pytest.raises(AnalysisException, match="Run MERGE SPLITS after the write"):
        spark.sql("MERGE SPLITS '/t' PRECOMMIT")


def sparks_own_statements_stay_its_own(spark: Any, directory: Path) -> None:
    spark.sql("SET indextables.note = 7")
    spark.sql("RESET indextables.note")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW indextables AS SELECT 1 AS environment, 2 AS other")
    try:
        assert spark.sql("DESCRIBE indextables other").count() > 0
        assert spark.sql("DESCRIBE `indextables` environment").count() > 0
    finally:
        spark.catalog.dropTempView("indextables")


CASES = {
    case.__name__: case
    for case in (
        formats_are_known_by_the_original_names,
        functions_search_as_the_operators_do,
        functions_of_all_columns_are_those_of_the_star,
        misused_functions_say_what_they_take,
        statements_take_both_words_for_the_product,
        statements_that_are_not_supported_say_what_to_do,
        sparks_own_statements_stay_its_own,
        tables_of_the_catalog_may_have_the_original_names,
    )
}


def a_session_with_all_settings_writes_and_searches(spark: Any, directory: Path) -> None:
    settings = original_settings(directory)
    assert {key: spark.conf.get(key) for key in settings} == settings
    path = str(directory / "all-settings")
    for _ in range(3):
        write(spark, path, mode="append")
    frame = spark.read.format(FORMATS[0]).load(path)
    assert ids(frame) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert ids(frame.filter("title TEXTSEARCH 'disk' AND status = 'open'")) == [1, 1, 1, 3, 3, 3]
    assert ids(frame.filter("tantivy4spark_indexquery(content, 'logged')")) == [2, 2, 2]
    assert spark.sql(f"MERGE SPLITS '{path}'").count() > 0
    assert ids(spark.read.format(FORMATS[0]).load(path).filter("id = 3")) == [3, 3, 3]
    write(spark, path, mode="overwrite")
    assert spark.read.format(FORMATS[0]).load(path).count() == 3


def the_extensions_are_applied_once(spark: Any, directory: Path) -> None:
    """The jar names one as a service, and the session two more."""
    session = spark._jsparkSession
    assert spark.conf.get("spark.sql.extensions").split(",") == EXTENSIONS
    for rules, rule in {
        session.extensions().buildPlannerStrategies(session).mkString(): "UnpushedSearchCheck",
        session.extensions().buildOptimizerRules(session).mkString(): "StableScoreOrder",
        session.extensions().buildResolutionRules(session).mkString(): "TransparentViews",
    }.items():
        assert rules.count(rule) == 1, rules


def names_in_the_catalogs_are_paths(spark: Any, directory: Path) -> None:
    path = str(directory / "in-the-catalog")
    write(spark, path)
    for catalog, class_name in CATALOGS.items():
        assert spark.conf.get(f"spark.sql.catalog.{catalog}") == class_name
        assert ids(spark.sql(f"SELECT * FROM {catalog}.`{path}` WHERE title TEXTSEARCH 'disk'")) == [1, 3]
        assert ids(spark.sql(f"SELECT * FROM {catalog}.`{path}` VERSION AS OF 0")) == [1, 2, 3]
        for name in (f"{catalog}.unity.sales.orders", f"{catalog}.sales.orders"):
            for at in ("", " VERSION AS OF 0", " TIMESTAMP AS OF current_timestamp()"):
                with pytest.raises(AnalysisException, match=f"{name} names the companion index"):
                    spark.sql(f"SELECT * FROM {name}{at}").collect()


ORIGINAL_CASES = {
    case.__name__: case
    for case in (
        a_session_with_all_settings_writes_and_searches,
        the_extensions_are_applied_once,
        names_in_the_catalogs_are_paths,
        functions_search_as_the_operators_do,
    )
}


def prepare(spark: Any, directory: Path) -> Path:
    return directory


@pytest.mark.parametrize("case", CASES)
def test_on_classic_spark(spark: SparkSession, tmp_path: Path, case: str) -> None:
    CASES[case](spark, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_on_spark_connect(connect_report: dict[str, str | None], case: str) -> None:
    assert connect_report[case] is None, connect_report[case]


@pytest.mark.parametrize("case", ORIGINAL_CASES)
def test_in_a_session_of_the_original(original_report: dict[str, str | None], case: str) -> None:
    assert original_report[case] is None, original_report[case]


def test_a_session_searches_with_each_setting(spark: SparkSession, tmp_path: Path) -> None:
    """Writes and plain Python are tested with each in tests/config."""
    path = str(tmp_path / "t")
    write(spark, path)
    frame = spark.read.format(FORMATS[0])
    settings = original_settings(tmp_path)
    for key in original_keys():
        spark.conf.set(key, settings[key])
        try:
            assert frame.load(path).filter("title TEXTSEARCH 'disk'").count() == 2, key
        finally:
            spark.conf.unset(key)

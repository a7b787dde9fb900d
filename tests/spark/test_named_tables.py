"""Tables by name: what CREATE, INSERT, DROP and the rest do in the session's catalog and in the catalog indextables."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as F  # noqa: N812 - as everyone imports it

import indextables as it

TEXT = "'spark.indextables.indexing.typemap.message' = 'text'"


def rows(spark, query: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=str)


def location(spark, name: str) -> Path:
    described = {row[0]: row[1] for row in spark.sql(f"DESCRIBE EXTENDED {name}").collect()}
    return Path(described["Location"].removeprefix("file:"))


def prepare(spark, directory: Path) -> dict[str, Any]:
    """Make a database of its own, whose tables are in this directory."""
    database = "names_" + directory.name.replace("-", "_")
    spark.sql(f"CREATE DATABASE {database} LOCATION '{directory / 'warehouse'}'").collect()
    spark.sql(f"USE {database}").collect()
    return {"database": database, "path": directory}


def managed_tables_live_in_the_warehouse(spark, world) -> None:
    spark.sql(
        "CREATE TABLE logs (id BIGINT, message STRING, day DATE) USING indextables PARTITIONED BY (day) "
        f"TBLPROPERTIES ({TEXT}, 'team' = 'search') COMMENT 'what happened'"
    ).collect()
    assert location(spark, "logs") == world["path"] / "warehouse" / "logs"
    spark.sql("INSERT INTO logs VALUES (1, 'disk full', DATE'2024-01-01')").collect()
    spark.sql("INSERT INTO logs (day, id) VALUES (NULL, 2)").collect()
    assert rows(spark, "SELECT id FROM logs WHERE message TEXTSEARCH 'full'") == [(1,)]
    assert rows(spark, "SHOW PARTITIONS logs") == [("day=2024-01-01",), ("day=null",)]
    assert rows(spark, "SHOW PARTITIONS logs PARTITION (day = DATE'2024-01-01')") == [("day=2024-01-01",)]
    assert "logs" in {row["tableName"] for row in spark.sql("SHOW TABLES").collect()}
    described = {row[0]: row[1] for row in spark.sql("DESCRIBE EXTENDED logs").collect()}
    assert described["Provider"] == "indextables"
    assert described["Type"] == "MANAGED"
    assert described["Comment"] == "what happened"
    assert "team=search" in described["Table Properties"]
    created = spark.sql("SHOW CREATE TABLE logs").head()[0]
    assert f"CREATE TABLE spark_catalog.{world['database']}.logs" in created
    assert "USING indextables" in created
    assert "PARTITIONED BY (day)" in created
    assert "typemap.message" in created
    assert "LOCATION" not in created
    spark.sql("DROP TABLE logs").collect()
    spark.sql(created).collect()
    assert spark.table("logs").columns == ["id", "message", "day"]
    spark.sql("INSERT INTO logs VALUES (1, 'disk full', DATE'2024-01-01')").collect()
    assert rows(spark, "SELECT id FROM logs WHERE message TEXTSEARCH 'full'") == [(1,)]
    spark.sql("DROP TABLE logs PURGE").collect()


def the_result_of_a_query_becomes_a_table(spark, world) -> None:
    spark.sql(
        f"CREATE TABLE found USING indextables PARTITIONED BY (k) OPTIONS ({TEXT}) "
        "AS SELECT id, id % 2 AS k, 'some words' AS message FROM range(10)"
    ).collect()
    assert it.open(str(location(spark, "found"))).version == 0
    assert rows(spark, "SELECT count(*) FROM found WHERE message TEXTSEARCH 'words' AND k = 1") == [(5,)]
    with pytest.raises(AnalysisException, match="already exists"):
        spark.sql("CREATE TABLE found USING indextables AS SELECT 1 AS x").collect()
    spark.sql("CREATE TABLE IF NOT EXISTS found USING indextables AS SELECT 1 AS x").collect()
    with pytest.raises(Exception, match="a broken row"):
        spark.sql(
            "CREATE TABLE broken USING indextables AS SELECT raise_error('a broken row') || 'x' AS x FROM range(3)"
        ).collect()
    assert not spark.catalog.tableExists("broken")
    assert not (world["path"] / "warehouse" / "broken").exists()
    spark.range(3).write.format("indextables").saveAsTable("saved")
    spark.range(3).write.format("indextables").mode("append").saveAsTable("saved")
    assert spark.table("saved").count() == 6
    spark.range(2).writeTo("saved").append()
    assert spark.table("saved").count() == 8


def a_query_that_fails_leaves_the_table_of_another_session(spark, world) -> None:
    """Sessions that keep names in metastores of their own can share a warehouse directory. One creates the table."""
    path = str(world["path"] / "warehouse" / "contended")

    def create_first(number):
        it.write(path, pa.table({"theirs": [7]}))
        return number

    mine = spark.range(1).coalesce(1).select(F.udf(create_first, "long")("id").alias("mine"))
    with pytest.raises(Exception, match="contended"):
        mine.write.format("indextables").saveAsTable("contended")
    assert not spark.catalog.tableExists("contended")
    assert it.open(path).to_arrow().column("theirs").to_pylist() == [7]


def a_table_is_replaced_by_its_next_version(spark, world) -> None:
    spark.sql(
        "CREATE OR REPLACE TABLE r USING indextables TBLPROPERTIES (a = '1') AS SELECT 1 AS x"
    ).collect()
    spark.sql(
        "CREATE OR REPLACE TABLE r USING indextables TBLPROPERTIES (b = '2') AS SELECT 'two' AS y"
    ).collect()
    assert rows(spark, "SELECT * FROM r") == [("two",)]
    assert rows(spark, "SELECT * FROM r VERSION AS OF 0") == [(1,)]
    properties = dict(rows(spark, "SHOW TBLPROPERTIES r"))
    assert properties.get("b") == "2"
    assert "a" not in properties
    spark.sql("REPLACE TABLE r (z DATE) USING indextables").collect()
    assert spark.table("r").columns == ["z"]
    with pytest.raises(AnalysisException, match="REPLACE TABLE keeps it there"):
        spark.sql(
            f"CREATE OR REPLACE TABLE r USING indextables LOCATION '{world['path']}/other' AS SELECT 1 AS x"
        ).collect()
    with pytest.raises(AnalysisException, match="cannot be found|not found"):
        spark.sql("REPLACE TABLE nowhere (z DATE) USING indextables").collect()
    spark.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS x").collect()
    with pytest.raises(AnalysisException, match="DROP TABLE it first"):
        spark.sql("CREATE OR REPLACE TABLE plain USING indextables AS SELECT 1 AS x").collect()


def a_part_of_a_named_table_is_overwritten(spark, world) -> None:
    create = (
        "CREATE OR REPLACE TABLE parts USING indextables PARTITIONED BY (day) TBLPROPERTIES (team = 'search') "
        "AS SELECT * FROM VALUES (1L, 'a'), (2L, 'b'), (3L, 'a'), (4L, 'c') AS t(id, day)"
    )

    def new(*values: tuple[int, str]):
        return spark.createDataFrame([*values], "id LONG, day STRING")

    def overwrite(data, **options: str):
        return data.write.format("indextables").mode("overwrite").options(**options)

    dynamic = {"partitionOverwriteMode": "dynamic"}
    one, by_id = new((9, "a")), new((9, "z"))
    qualified, replacing = f"{world['database']}.parts", one.writeTo("parts").using("indextables")
    append = one.write.format("indextables").mode("append").option("replaceWhere", "id = 9")
    for write, expected in (
        (lambda: overwrite(one, replaceWhere="day = 'a'").saveAsTable("parts"), [2, 4, 9]),
        (lambda: overwrite(one, replaceWhere="day = 'a'").insertInto("parts"), [2, 4, 9]),
        (lambda: overwrite(by_id, replaceWhere="id >= 3").saveAsTable("parts"), [1, 2, 9]),
        (lambda: overwrite(by_id, replaceWhere="id >= 3").insertInto("parts"), [1, 2, 9]),
        (lambda: overwrite(one, **dynamic).saveAsTable("parts"), [2, 4, 9]),
        (lambda: overwrite(one, **dynamic).partitionBy("day").saveAsTable("parts"), [2, 4, 9]),
        (lambda: overwrite(one, **dynamic).insertInto("parts"), [2, 4, 9]),
        (lambda: overwrite(one, partitionOverwriteMode="static").insertInto("parts"), [9]),
        (lambda: overwrite(one, replaceWhere="day = 'a'").saveAsTable(f"indextables.{qualified}"), [2, 4, 9]),
        (lambda: replacing.option("replaceWhere", "day = 'a'").createOrReplace(), [2, 4, 9]),
        (lambda: replacing.option("replaceWhere", "day = 'a'").replace(), [2, 4, 9]),
        (lambda: one.writeTo("parts").overwrite(F.expr("day = 'a'")), [2, 4, 9]),
        (lambda: one.writeTo("parts").overwritePartitions(), [2, 4, 9]),
        (lambda: spark.sql("INSERT INTO parts REPLACE WHERE day = 'a' SELECT 9L, 'a'").collect(), [2, 4, 9]),
        (lambda: spark.sql("INSERT INTO parts REPLACE WHERE id >= 3 SELECT 9L, 'z'").collect(), [1, 2, 9]),
        (lambda: overwrite(one).saveAsTable("parts"), [9]),
    ):
        spark.sql(create).collect()
        write()
        assert [row[0] for row in rows(spark, "SELECT id FROM parts")] == expected
        if expected != [9]:
            assert rows(spark, "SHOW PARTITIONS parts"), "the table keeps its partitions"
            assert dict(rows(spark, "SHOW TBLPROPERTIES parts"))["team"] == "search"

    spark.sql(create).collect()
    for refused, reason in (
        (lambda: one.writeTo("parts").option("replaceWhere", "day = 'a'").append(), "mode overwrite"),
        (lambda: append.insertInto("parts"), "mode overwrite"),
        (lambda: append.saveAsTable("parts"), "mode overwrite"),
        (
            lambda: one.writeTo("parts").option("replaceWhere", "id = 9").overwrite(F.expr("id = 9")),
            "give one of",
        ),
        (lambda: one.writeTo("parts").options(**dynamic).overwrite(F.expr("id = 9")), "give one of"),
        (lambda: one.writeTo("parts").option("replaceWhere", "id = 9").overwritePartitions(), "give one of"),
        (
            lambda: one.writeTo("parts").option("partitionOverwriteMode", "static").overwritePartitions(),
            "static",
        ),
        (lambda: overwrite(one, replaceWhere="id = 9", **dynamic).saveAsTable("parts"), "give one of"),
        (lambda: overwrite(one, partitionOverwriteMode="dynamik").insertInto("parts"), "dynamik"),
        (lambda: overwrite(one, replaceWhere="day = 'b'").saveAsTable("parts"), "do not satisfy"),
        (lambda: overwrite(one, replaceWhere="day = 'b'").insertInto("parts"), "do not satisfy"),
        (lambda: overwrite(one.drop("day"), replaceWhere="id = 9").saveAsTable("parts"), "day"),
        (lambda: overwrite(one, replaceWhere="nothing = 9").saveAsTable("parts"), "nothing"),
        (
            lambda: spark.sql(
                "CREATE OR REPLACE TABLE parts USING indextables OPTIONS (replaceWhere = 'id = 9') AS SELECT 9L AS id"
            ).collect(),
            "REPLACE WHERE",
        ),
    ):
        with pytest.raises(Exception, match=reason):
            refused()
    assert rows(spark, "SELECT id FROM parts") == [(1,), (2,), (3,), (4,)]
    overwrite(one, replaceWhere="day = 'a'").saveAsTable("parts_new")
    assert rows(spark, "SELECT id FROM parts_new") == [(9,)]


def a_location_makes_a_table_or_names_one(spark, world) -> None:
    path = f"{world['path']}/external"
    with pytest.raises(AnalysisException, match="DEFAULT, GENERATED or IDENTITY"):
        spark.sql("CREATE TABLE defaults (id BIGINT DEFAULT 7) USING indextables").collect()
    with pytest.raises(AnalysisException, match="names no columns"):
        spark.sql(f"CREATE TABLE e USING indextables LOCATION '{path}'").collect()
    spark.sql(
        f"CREATE TABLE e (id BIGINT, message STRING) USING indextables OPTIONS ({TEXT}) LOCATION '{path}'"
    ).collect()
    spark.sql("INSERT INTO e VALUES (1, 'disk full')").collect()
    assert it.open(path).count() == 1
    for wrong, reason in (
        ("(id BIGINT) USING indextables", "has the columns"),
        ("USING indextables OPTIONS ('spark.indextables.indexing.typemap.message' = 'string')", "message"),
    ):
        with pytest.raises(AnalysisException, match=reason):
            spark.sql(f"CREATE TABLE again {wrong} LOCATION '{path}'").collect()
        assert not spark.catalog.tableExists("again")
    spark.sql(f"CREATE TABLE again USING indextables LOCATION '{path}'").collect()
    assert rows(spark, "SELECT id FROM again WHERE message TEXTSEARCH 'disk'") == [(1,)]
    assert f"LOCATION 'file:{path}'" in spark.sql("SHOW CREATE TABLE again").head()[0]
    spark.sql("DROP TABLE again").collect()
    spark.sql("DROP TABLE e PURGE").collect()
    assert it.open(path).count() == 1


def a_name_has_the_columns_of_the_log(spark, world) -> None:
    path = f"{world['path']}/changed"
    it.write(path, pa.table({"id": [1], "day": ["mon"]}), partition_by=["day"])
    spark.sql(f"CREATE TABLE changed USING indextables LOCATION '{path}'").collect()
    it.write(path, pa.table({"id": [2], "day": ["tue"]}))
    assert spark.table("changed").count() == 2
    it.write(path, pa.table({"id": ["x"], "more": [1.5]}), mode="overwrite", partition_by=[])
    assert spark.table("changed").columns == ["id", "more"]
    assert rows(spark, "SELECT * FROM changed") == [("x", 1.5)]
    spark.sql("INSERT INTO changed VALUES ('y', 2.5)").collect()
    assert rows(spark, "SELECT id FROM changed VERSION AS OF 0") == [(1,)]
    assert rows(spark, "SELECT count(*) FROM changed TIMESTAMP AS OF current_timestamp()") == [(2,)]


def dropped_tables_go_to_the_trash(spark, world) -> None:
    trash = world["path"] / "warehouse" / "_indextables_trash"
    spark.sql("EMPTY INDEXTABLES TRASH").collect()
    spark.sql("CREATE TABLE d USING indextables AS SELECT 7 AS x").collect()
    spark.sql("DROP TABLE d").collect()
    spark.sql("DROP TABLE IF EXISTS d").collect()
    with pytest.raises(AnalysisException, match="cannot be found"):
        spark.sql("DROP TABLE d").collect()
    (kept,) = trash.iterdir()
    spark.sql(f"CREATE TABLE back USING indextables LOCATION '{kept}'").collect()
    assert rows(spark, "SELECT * FROM back") == [(7,)]
    assert not spark.sql("EMPTY INDEXTABLES TRASH").head()["deleted"], "a name points to it"
    assert rows(spark, "SELECT * FROM back") == [(7,)]
    spark.sql("DROP TABLE back").collect()
    spark.sql("CREATE TABLE d USING indextables AS SELECT 'again' AS y").collect()
    assert rows(spark, "SELECT * FROM d") == [("again",)]
    assert not spark.sql("EMPTY INDEXTABLES TRASH OLDER THAN 1 HOUR").head()["deleted"]
    assert not spark.sql("EMPTY INDEXTABLES TRASH DRY RUN").head()["deleted"]
    assert spark.sql("EMPTY INDEXTABLES TRASH").head()["deleted"]
    assert not list(trash.iterdir())
    spark.sql("DROP TABLE d PURGE").collect()
    assert not list(trash.iterdir())
    assert not (world["path"] / "warehouse" / "d").exists()


def a_table_that_is_gone_can_be_dropped(spark, world) -> None:
    spark.sql("CREATE TABLE gone USING indextables AS SELECT 7 AS x").collect()
    shutil.rmtree(world["path"] / "warehouse" / "gone")
    for statement in ("SELECT * FROM gone", "INSERT INTO gone VALUES (1)", "DESCRIBE gone"):
        with pytest.raises(AnalysisException, match=r"there is none any more.*DROP TABLE"):
            spark.sql(statement).collect()
    spark.sql("DROP TABLE gone").collect()
    assert not spark.catalog.tableExists("gone")


def tables_are_renamed(spark, world) -> None:
    spark.sql("CREATE TABLE before USING indextables AS SELECT 7 AS x").collect()
    spark.sql("ALTER TABLE before RENAME TO after").collect()
    assert rows(spark, "SELECT * FROM after") == [(7,)]
    spark.sql("INSERT INTO after VALUES (8)").collect()
    assert location(spark, "after").name == "after"
    assert not spark.catalog.tableExists("before")


def versions_are_listed_restored_and_vacuumed(spark, world) -> None:
    spark.sql("CREATE TABLE versioned USING indextables AS SELECT 1 AS x").collect()
    spark.sql("INSERT INTO versioned VALUES (2)").collect()
    history = spark.sql("DESCRIBE HISTORY versioned").collect()
    assert [row["version"] for row in history] == [1, 0]
    assert spark.sql("DESC HISTORY versioned LIMIT 1").head()["version"] == 1
    restored = spark.sql("RESTORE TABLE versioned TO VERSION AS OF 0").head()
    assert (restored["restored_version"], restored["version"]) == (0, 2)
    assert rows(spark, "SELECT * FROM versioned") == [(1,)]
    later = spark.sql("SELECT cast(current_timestamp() + INTERVAL 1 HOUR AS string)").head()[0]
    assert spark.sql(f"RESTORE versioned TO TIMESTAMP AS OF '{later}'").head()["restored_version"] == 2
    with pytest.raises(AnalysisException, match="such as 2026-01-31"):
        spark.sql("RESTORE TABLE versioned TO TIMESTAMP AS OF 'soon'").collect()
    with pytest.raises(AnalysisException, match="has no version 9"):
        spark.sql("RESTORE TABLE versioned TO VERSION AS OF 9").collect()
    metrics = spark.sql("VACUUM versioned RETAIN 168 HOURS DRY RUN").head()["metrics"]
    assert (metrics["status"], metrics["retention_hours"]) == ("DRY_RUN", 168)
    assert spark.sql("VACUUM versioned").head()["metrics"]["status"] == "SUCCESS"
    spark.sql("TRUNCATE TABLE versioned").collect()
    assert spark.table("versioned").count() == 0


def commands_take_names(spark, world) -> None:
    database = world["database"]
    spark.sql("CREATE TABLE c USING indextables AS SELECT 1 AS x").collect()
    spark.sql("INSERT INTO c VALUES (2)").collect()
    for name in ("c", f"{database}.c", f"spark_catalog.{database}.c", f"indextables.{database}.c", "`c`"):
        assert spark.sql(f"DESCRIBE INDEXTABLES STATE {name}").count() == 1
        assert spark.sql(f"DESCRIBE HISTORY {name}").count() >= 2
        spark.sql(f"VACUUM {name} DRY RUN").collect()
    path = location(spark, "c")
    assert spark.sql(f"DESCRIBE HISTORY '{path}'").count() >= 2
    assert spark.sql(f"DESCRIBE HISTORY indextables.`{path}`").count() >= 2
    spark.sql(f"VACUUM '{path}' DRY RUN").collect()
    spark.sql("OPTIMIZE c").collect()
    assert spark.sql("DESCRIBE HISTORY c").head()["files_removed"] == 2
    spark.sql("MERGE SPLITS c").collect()
    spark.sql("REORG TABLE c APPLY (PURGE)").collect()
    spark.sql("CHECKPOINT INDEXTABLES c").collect()
    spark.sql("PURGE INDEXTABLE c DRY RUN").collect()
    spark.sql("DELETE FROM c WHERE x = 1").collect()
    assert rows(spark, "SELECT * FROM c") == [(2,)]


def statements_on_other_tables_are_passed_on(spark, world) -> None:
    spark.sql("CREATE TABLE p (t INT, history INT) USING parquet").collect()
    spark.sql("CREATE TABLE history USING parquet AS SELECT 1 AS t, 2 AS p").collect()
    assert spark.sql("DESCRIBE history p").head()["info_value"] == "p"
    assert spark.sql("DESCRIBE TABLE history").count() == 2
    for statement in ("VACUUM p", "RESTORE TABLE p TO VERSION AS OF 0", "OPTIMIZE p", "VACUUM no_such_table"):
        with pytest.raises(ParseException):
            spark.sql(statement).collect()
    spark.sql("INSERT INTO p VALUES (1, 2)").collect()
    spark.sql("CREATE OR REPLACE TEMP VIEW w AS SELECT * FROM p").collect()
    spark.sql("CREATE VIEW q AS SELECT t FROM p").collect()
    assert rows(spark, "SELECT * FROM q") == [(1,)]
    spark.sql("ALTER TABLE p ADD COLUMN more STRING").collect()
    assert rows(spark, "SELECT * FROM p") == [(1, 2, None)]
    spark.sql("CREATE TABLE part (x INT, y INT) USING parquet PARTITIONED BY (y)").collect()
    spark.sql("INSERT INTO part VALUES (1, 2)").collect()
    assert rows(spark, "SHOW PARTITIONS part") == [("y=2",)]
    spark.sql("DROP VIEW q").collect()
    spark.sql("DROP TABLE p").collect()


def the_catalog_indextables_has_the_same_names(spark, world) -> None:
    table = f"indextables.{world['database']}.named"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, message STRING) TBLPROPERTIES ({TEXT})").collect()
    spark.sql(f"INSERT INTO {table} VALUES (1, 'disk full')").collect()
    assert rows(spark, f"SELECT id FROM {table} WHERE message TEXTSEARCH 'disk'") == [(1,)]
    assert rows(spark, "SELECT id FROM named WHERE message TEXTSEARCH 'disk'") == [(1,)]
    assert rows(spark, f"SELECT count(*) FROM {table} VERSION AS OF 0") == [(0,)]
    shown = {
        row["tableName"] for row in spark.sql(f"SHOW TABLES IN indextables.{world['database']}").collect()
    }
    assert "named" in shown
    assert "history" not in shown
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 5 AS five").collect()
    assert rows(spark, f"SELECT * FROM {table}") == [(5,)]
    spark.sql(f"CREATE TABLE {table}2 AS SELECT 6 AS six").collect()
    assert rows(spark, "SELECT * FROM named2") == [(6,)]
    spark.sql(f"DROP TABLE {table}").collect()
    spark.sql(f"DROP TABLE {table}2 PURGE").collect()
    assert not spark.catalog.tableExists("named")
    with pytest.raises(AnalysisException, match="cannot be found"):
        spark.sql(f"SELECT * FROM {table}").collect()


def what_is_not_supported_says_what_is(spark, world) -> None:
    spark.sql("CREATE TABLE u (x INT, y INT) USING indextables PARTITIONED BY (y)").collect()
    spark.sql("INSERT INTO u VALUES (1, 2)").collect()
    for statement, instead in (
        ("ALTER TABLE u ADD PARTITION (y = 3)", "as soon as a row of it is written"),
        ("ALTER TABLE u DROP PARTITION (y = 2)", "DROP INDEXTABLES PARTITIONS"),
        ("TRUNCATE TABLE u PARTITION (y = 2)", "DELETE FROM"),
    ):
        with pytest.raises(AnalysisException, match=instead):
            spark.sql(statement).collect()
    with pytest.raises(AnalysisException, match="plain columns"):
        spark.sql("CREATE TABLE w (x INT) USING indextables PARTITIONED BY (bucket(4, x))").collect()


CASES = {
    case.__name__: case
    for case in (
        managed_tables_live_in_the_warehouse,
        the_result_of_a_query_becomes_a_table,
        a_query_that_fails_leaves_the_table_of_another_session,
        a_table_is_replaced_by_its_next_version,
        a_part_of_a_named_table_is_overwritten,
        a_location_makes_a_table_or_names_one,
        a_name_has_the_columns_of_the_log,
        dropped_tables_go_to_the_trash,
        a_table_that_is_gone_can_be_dropped,
        tables_are_renamed,
        versions_are_listed_restored_and_vacuumed,
        commands_take_names,
        statements_on_other_tables_are_passed_on,
        the_catalog_indextables_has_the_same_names,
        what_is_not_supported_says_what_is,
    )
}


@pytest.fixture(scope="module")
def world(spark, tmp_path_factory):
    directory = tmp_path_factory.mktemp("classic")
    made = prepare(spark, directory)
    yield made
    spark.sql("USE default")
    spark.sql(f"DROP DATABASE {made['database']} CASCADE")


@pytest.mark.parametrize("case", CASES)
def test_on_classic(spark, world, case):
    CASES[case](spark, world)


@pytest.mark.parametrize("case", CASES)
def test_on_connect(connect_report, case):
    assert connect_report[case] is None, connect_report[case]


def test_a_session_with_a_catalog_of_its_own_keeps_it(spark, tmp_path):
    """`builtin` is how a session names Spark's own catalog; Delta and Iceberg name theirs in the same setting."""
    key = "spark.sql.catalog.spark_catalog"
    other = spark.newSession()
    other.conf.set(key, "builtin")
    other.sql("SELECT 1").collect()
    assert other.conf.get(key) == "builtin"
    assert "IndexTablesSessionCatalog" in spark.newSession().sql(f"SET {key}").head()["value"]
    table = "indextables.default.kept"
    other.sql(f"CREATE TABLE {table} (id BIGINT, message STRING) TBLPROPERTIES ({TEXT})")
    try:
        other.sql(f"INSERT INTO {table} VALUES (1, 'disk full')")
        assert rows(other, f"SELECT id FROM {table} WHERE message TEXTSEARCH 'disk'") == [(1,)]
        assert rows(spark, "SELECT id FROM default.kept WHERE message TEXTSEARCH 'disk'") == [(1,)]
        assert rows(other, f"SELECT * FROM {table} VERSION AS OF 0") == []
        assert other.sql(f"DESCRIBE HISTORY {table}").count() == 2
        other.sql(f"RESTORE TABLE {table} TO VERSION AS OF 0")
        assert other.table(table).count() == 0
        other.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 2 AS two")
        assert rows(other, f"SELECT * FROM {table}") == [(2,)]
    finally:
        other.sql(f"DROP TABLE {table} PURGE")
    assert not spark.catalog.tableExists("default.kept")


def test_two_sessions_share_names_and_one_creates_them(spark):
    sessions = [spark.newSession() for _ in range(4)]

    def create(session) -> str:
        try:
            session.sql("CREATE TABLE default.raced USING indextables AS SELECT 1 AS x")
        except AnalysisException as error:
            return str(error.getCondition())
        return "created"

    try:
        with ThreadPoolExecutor(len(sessions)) as pool:
            outcomes = list(pool.map(create, sessions))
        assert sorted(outcomes) == ["TABLE_OR_VIEW_ALREADY_EXISTS"] * 3 + ["created"]
        assert rows(spark, "SELECT * FROM default.raced") == [(1,)]
        sessions[0].sql("INSERT INTO default.raced VALUES (2)")
        assert sessions[1].table("default.raced").count() == 2
    finally:
        spark.sql("DROP TABLE default.raced PURGE")

"""The SQL commands through plain `spark.sql`, each on classic and on Connect: columns, figures, once only, errors."""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.errors import AnalysisException, ParseException

import indextables as it
from indextables.log import Append, commit, load_snapshot
from indextables.log.snapshots import cache
from indextables.maintenance import LOG_SCHEMA
from indextables.storage import open_store

_numbers = itertools.count()


def prepare(spark, directory: Path) -> dict[str, Any]:
    directory.mkdir(exist_ok=True)
    return {"directory": directory}


def new_table(spark, world, *, versions: int = 3) -> str:
    """A table with a partition a version, `day` 0, 1, 2..., each of ten rows."""
    path = str(world["directory"] / f"it's table {next(_numbers)}")
    for day in range(versions):
        rows = spark.range(10).selectExpr("id", f"{day} AS day", "'some words' AS message")
        rows.write.format("indextables").mode("append").partitionBy("day").save(path)
    return path


def quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def only(frame) -> dict[str, Any]:
    (row,) = frame.collect()
    return row.asDict()


def versions(path: str) -> int:
    cache.forget()
    return it.open(path).version


def columns(frame) -> str:
    return frame.schema.simpleString().removeprefix("struct<").removesuffix(">")


def the_log_is_described_in_47_columns(spark, world) -> None:
    path = new_table(spark, world)
    every = spark.sql(f"DESCRIBE INDEXTABLES TRANSACTION LOG {quoted(path)} INCLUDE ALL")
    assert every.columns == LOG_SCHEMA.names
    assert len(every.columns) == 47
    kinds = every.groupBy("action_type").count().collect()
    assert {row["action_type"]: row["count"] for row in kinds}["add"] == 3
    adds = every.filter("action_type = 'add'").orderBy("version").collect()
    assert [row["version"] for row in adds] == [0, 1, 2]
    assert [row["partition_values"] for row in adds] == [f'{{"day":"{day}"}}' for day in range(3)]
    assert all((row["num_records"], row["is_checkpoint"]) == (10, False) for row in adds)
    modified = (
        it.open(path)
        .describe_log(include_all=True)
        .filter(pc.field("action_type") == "add")
        .column("modification_time")
    )
    found = (
        every.filter("action_type = 'add'").orderBy("version").selectExpr("unix_millis(modification_time)")
    )
    assert [row[0] for row in found.collect()] == modified.cast("int64").to_pylist()


def without_all_the_newest_state_is_described(spark, world) -> None:
    path = new_table(spark, world)
    spark.sql(f"CHECKPOINT INDEXTABLES {quoted(path)}").collect()
    rows = spark.sql(f"DESC TANTIVY4SPARK TRANSACTION LOG indextables.`{path}`").collect()
    assert {row["action_type"] for row in rows} == {"protocol", "metadata", "add"}
    assert all(row["is_checkpoint"] and row["version"] == 2 for row in rows)


def a_log_too_long_for_one_answer_arrives_whole(spark, world) -> None:
    path = new_table(spark, world, versions=1)
    store = open_store(path)
    base = load_snapshot(store)
    file = next(iter(base.files.values()))
    many = tuple(dataclasses.replace(file, path=f"splits/{n}.split") for n in range(3000))
    commit(store, Append(many, base.metadata), base=base)
    found = spark.sql(f"DESCRIBE INDEXTABLES TRANSACTION LOG {quoted(path)} INCLUDE ALL")
    assert found.filter("action_type = 'add'").selectExpr("count(DISTINCT path)").head()[0] == 3001


def a_checkpoint_is_written_and_the_state_described(spark, world) -> None:
    path = new_table(spark, world)
    before = spark.sql(f"DESCRIBE INDEXTABLES STATE {quoted(path)}")
    assert columns(before) == (
        "table_path:string,format:string,version:bigint,num_files:bigint,num_manifests:int,num_tombstones:int,"
        "tombstone_ratio:double,total_bytes:bigint,needs_compaction:boolean,status:string,"
        "created_at:timestamp,protocol_version:int"
    )
    assert only(before)["format"] == "none"
    done = spark.sql(f"checkpoint indextables `{path}` ;")
    assert columns(done) == (
        "table_path:string,status:string,checkpoint_version:bigint,num_actions:bigint,num_files:bigint,"
        "protocol_version:bigint,is_multi_part:boolean"
    )
    assert only(done) == {
        "table_path": path,
        "status": "SUCCESS",
        "checkpoint_version": 2,
        "num_actions": 5,
        "num_files": 3,
        "protocol_version": 4,
        "is_multi_part": False,
    }
    size = sum(it.open(path).files().column("size").to_pylist())
    state = only(spark.sql(f"DESCRIBE INDEXTABLES STATE {quoted(path)}"))
    assert state.pop("created_at") is not None
    assert state == {
        "table_path": path,
        "format": "avro-state",
        "version": 2,
        "num_files": 3,
        "num_manifests": 1,
        "num_tombstones": 0,
        "tombstone_ratio": 0.0,
        "total_bytes": size,
        "needs_compaction": False,
        "status": "OK",
        "protocol_version": 4,
    }


def tombstones_show_in_the_state_until_it_is_compacted(spark, world) -> None:
    path = new_table(spark, world)
    spark.sql(f"COMPACT INDEXTABLES {quoted(path)}").collect()
    loose = {
        "spark.indextables.checkpoint.interval": "1",
        "spark.indextables.state.compaction.tombstoneThreshold": "1",
    }
    it.open(path, settings=loose).drop_partitions("day = 0")
    state = only(spark.sql(f"DESCRIBE INDEXTABLES STATE {quoted(path)}"))
    assert (state["version"], state["num_files"], state["num_tombstones"]) == (3, 2, 1)
    assert (state["tombstone_ratio"], state["needs_compaction"]) == (0.5, True)
    spark.sql(f"COMPACT INDEXTABLES {quoted(path)}").collect()
    state = only(spark.sql(f"DESCRIBE INDEXTABLES STATE {quoted(path)}"))
    assert (state["num_tombstones"], state["needs_compaction"], state["status"]) == (0, False, "OK")


def partitions_are_dropped_once(spark, world) -> None:
    path = new_table(spark, world, versions=5)
    sizes = {row["path"]: row["size"] for row in it.open(path).files(where="day <= 1 OR day = 4").to_pylist()}
    frame = spark.sql(
        f"DROP INDEXTABLES PARTITIONS FROM {quoted(path)} WHERE day BETWEEN 0 AND 1 OR day > 3 -- ; all"
    )
    assert columns(frame) == (
        "table_path:string,status:string,partitions_dropped:bigint,splits_removed:bigint,"
        "total_size_bytes:bigint,message:string"
    )
    first = only(frame)
    assert (first["partitions_dropped"], first["splits_removed"]) == (3, len(sizes))
    assert (first["status"], first["total_size_bytes"]) == ("success", sum(sizes.values()))
    assert only(frame) == first
    assert frame.count() == 1
    assert versions(path) == 5
    assert spark.read.format("indextables").load(path).count() == 20
    again = only(spark.sql(f"DROP INDEXTABLES PARTITIONS FROM {quoted(path)} WHERE day = 0"))
    assert (again["status"], again["splits_removed"]) == ("no_action", 0)


def a_condition_on_other_columns_is_refused_with_its_place(spark, world) -> None:
    path = new_table(spark, world, versions=1)
    sql = f"DROP INDEXTABLES PARTITIONS\nFROM {quoted(path)}\nWHERE id = 1"
    with pytest.raises(
        AnalysisException, match=r"this one has 'id'.*\(line 3, column 7\)\nWHERE id = 1\n      \^"
    ):
        spark.sql(sql).collect()
    with pytest.raises(AnalysisException, match="cannot parse the condition"):
        spark.sql(sql.replace("id = 1", "id = = 1")).collect()
    with pytest.raises(AnalysisException, match="a text search"):
        spark.sql(sql.replace("id = 1", "message TEXTSEARCH 'words'")).collect()
    assert versions(path) == 0


def time_travel_ends_where_it_is_truncated(spark, world) -> None:
    path = new_table(spark, world)
    command = f"TRUNCATE INDEXTABLES TIME TRAVEL {quoted(path)}"
    would = spark.sql(f"{command} DRY RUN")
    assert columns(would) == (
        "table_path:string,status:string,checkpoint_version:bigint,versions_deleted:bigint,"
        "checkpoints_deleted:bigint,files_preserved:bigint,message:string"
    )
    planned = only(would)
    assert (planned["status"], planned["versions_deleted"], planned["files_preserved"]) == ("DRY_RUN", 2, 3)
    table = f"indextables.`{path}`"
    assert spark.sql(f"SELECT * FROM {table} VERSION AS OF 0").count() == 10
    done = only(spark.sql(command))
    assert (done["status"], done["checkpoint_version"], done["versions_deleted"]) == ("SUCCESS", 2, 2)
    assert not (Path(path) / "_transaction_log" / f"{0:020}.json").exists()
    assert spark.table(table).count() == 30
    readable = "it can be read from version 2 to 2"
    with pytest.raises(AnalysisException, match=readable):
        spark.sql(f"SELECT * FROM {table} VERSION AS OF 1").collect()
    with pytest.raises(AnalysisException, match=readable):
        spark.read.format("indextables").option("versionAsOf", 0).load(path).collect()
    with pytest.raises(AnalysisException, match=readable):
        spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF '2001-01-01'").collect()
    with pytest.raises(AnalysisException, match=readable):
        spark.read.format("indextables").option("timestampAsOf", "2001-01-01").load(path).collect()


def the_cache_is_invalidated_with_its_figures(spark, world) -> None:
    """Ask until one Python worker has answered in a row: Spark may keep several, each with a cache of its own."""
    path = new_table(spark, world, versions=1)
    command = f"INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR {quoted(path)}"
    frame = spark.sql(command)
    assert columns(frame) == (
        "table_path:string,result:string,cache_hits_before:bigint,cache_misses_before:bigint,"
        "hit_rate_before:string"
    )
    for _ in range(20):
        for _ in range(3):
            spark.read.format("indextables").load(path).count()
        figures = only(spark.sql(command))
        assert figures["table_path"] == path
        if figures["cache_misses_before"] == 1 and figures["cache_hits_before"] >= 3:
            break
    assert (figures["cache_misses_before"], figures["cache_hits_before"] >= 3) == (1, True)
    looks = figures["cache_hits_before"] + 1
    assert figures["hit_rate_before"] == f"{figures['cache_hits_before'] / looks:.1%}"
    for _ in range(20):
        assert only(spark.sql("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE"))["table_path"] == "GLOBAL"
        again = only(spark.sql("INVALIDATE TANTIVY4SPARK TRANSACTION LOG CACHE"))
        if again["cache_hits_before"] == 0:
            break
    assert (again["cache_hits_before"], again["hit_rate_before"]) == (0, "N/A")


def a_damaged_log_is_repaired(spark, world) -> None:
    path = new_table(spark, world)
    old, new = Path(path) / "_transaction_log", Path(f"{path} repaired") / "_transaction_log"
    (old / f"{1:020}.json").write_bytes(b"not a version")
    with pytest.raises(AnalysisException):
        spark.read.format("indextables").load(path).count()
    command = f"REPAIR INDEXFILES TRANSACTION LOG {quoted(str(old))} AT LOCATION {quoted(str(new))}"
    frame = spark.sql(command)
    assert columns(frame) == (
        "source_path:string,target_path:string,source_version:bigint,total_splits:bigint,"
        "valid_splits:bigint,missing_splits:bigint,status:string"
    )
    done = only(frame)
    assert (done["source_version"], done["total_splits"], done["valid_splits"]) == (2, 2, 2)
    assert done["status"].startswith("SUCCESS, without 1 that could not be read")
    with pytest.raises(AnalysisException, match="is not empty"):
        spark.sql(command).collect()
    shutil.rmtree(old)
    shutil.move(new, old)
    assert spark.read.format("indextables").load(path).count() == 20


def a_lost_log_is_made_from_the_splits(spark, world) -> None:
    path = new_table(spark, world)
    log = Path(path) / "_transaction_log"
    shutil.rmtree(log)
    new = Path(f"{path} rebuilt") / "_transaction_log"
    done = only(
        spark.sql(f"REPAIR INDEXFILES TRANSACTION LOG {quoted(str(log))} AT LOCATION {quoted(str(new))}")
    )
    assert (done["source_version"], done["valid_splits"]) == (-1, 3)
    shutil.move(new, log)
    assert spark.read.format("indextables").load(path).count() == 30


def explaining_runs_nothing(spark, world) -> None:
    path = new_table(spark, world, versions=1)
    for explain in ("EXPLAIN", "explain extended", "EXPLAIN /* how */ FORMATTED"):
        plan = only(spark.sql(f"{explain} DROP INDEXTABLES PARTITIONS FROM {quoted(path)} WHERE day = 0"))[
            "plan"
        ]
        assert "DROP INDEXTABLES PARTITIONS FROM" in plan
    assert versions(path) == 0


def a_name_of_the_session_catalog_stands_for_its_path(spark, world) -> None:
    path = new_table(spark, world, versions=1)
    name = f"named_{next(_numbers)}"
    spark.sql(f"CREATE TABLE {name} USING indextables LOCATION {quoted(path)}").collect()
    spark.sql(f"CREATE TABLE {name}_other USING parquet AS SELECT 1 AS x").collect()
    try:
        for written in (name, f"default.{name}", f"spark_catalog.default.`{name}`"):
            done = only(spark.sql(f"CHECKPOINT INDEXTABLES {written}"))
            assert (done["table_path"], done["num_files"]) == (path, 1)
        spark.sql(f"DROP INDEXTABLES PARTITIONS FROM {name} WHERE day = 0").collect()
        assert versions(path) == 1
        with pytest.raises(AnalysisException, match=f"{name}_other is a table of another format"):
            spark.sql(f"CHECKPOINT INDEXTABLES {name}_other").collect()
        with pytest.raises(AnalysisException, match="there is no table no_such in the session's catalog"):
            spark.sql("CHECKPOINT INDEXTABLES no_such").collect()
        with pytest.raises(AnalysisException, match=r"a\.b\.c is in another"):
            spark.sql("CHECKPOINT INDEXTABLES a.b.c").collect()
    finally:
        spark.sql(f"DROP TABLE {name}").collect()
        spark.sql(f"DROP TABLE {name}_other").collect()


def errors_are_plain_and_placed_in_the_users_text(spark, world) -> None:
    with pytest.raises(AnalysisException, match=r"expected LOG, found 'LOGS' \(line 2, column 34\)"):
        spark.sql("-- first\nDESCRIBE INDEXTABLES TRANSACTION LOGS '/t'").collect()
    with pytest.raises(AnalysisException, match="expected the end of the command, found 'NOW'"):
        spark.sql("TRUNCATE INDEXTABLES TIME TRAVEL '/t' NOW").collect()
    with pytest.raises(AnalysisException, match=r"there is no table at /nowhere"):
        spark.sql("CHECKPOINT INDEXTABLES '/nowhere'").collect()
    with pytest.raises(AnalysisException, match="a string begins here and is not closed"):
        spark.sql("CHECKPOINT INDEXTABLES '/nowhere").collect()
    with pytest.raises(AnalysisException, match=r"there is no procedure other; indextables.run\('...'\)"):
        spark.sql("CALL indextables.other()").collect()
    with pytest.raises(AnalysisException, match="the command to run is NULL"):
        spark.sql("CALL indextables.run(NULL)").collect()


def what_is_sparks_own_stays_sparks(spark, world) -> None:
    view = "indextables"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT 1 AS state, 2 AS transaction").collect()
    try:
        assert spark.sql(f"DESCRIBE {view}").count() == 2
        assert spark.sql(f"DESCRIBE {view} state;").head()["info_value"] == "state"
        assert spark.sql(f"DESC {view} transaction -- log").head()["info_value"] == "transaction"
    finally:
        spark.catalog.dropTempView(view)
    path = new_table(spark, world, versions=1)
    assert spark.sql(f"DESCRIBE indextables.`{path}`").count() >= 3
    assert spark.sql("SELECT 'CHECKPOINT INDEXTABLES' AS x").head()["x"] == "CHECKPOINT INDEXTABLES"
    with pytest.raises(ParseException):
        spark.sql("VACUUM INDEXTABLES '/t'").collect()


def the_session_may_read_strings_without_escapes(spark, world) -> None:
    path = new_table(spark, world, versions=1)
    spark.sql("SET spark.sql.parser.escapedStringLiterals=true").collect()
    try:
        assert only(spark.sql(f"CHECKPOINT INDEXTABLES {quoted(path)}"))["num_files"] == 1
    finally:
        spark.sql("RESET spark.sql.parser.escapedStringLiterals").collect()


def settings_of_the_session_hold_for_commands(spark, world) -> None:
    path = new_table(spark, world, versions=1)
    spark.conf.set("spark.indextables.state.compression", "nonsense")
    try:
        with pytest.raises(AnalysisException, match=r"state\.compression' is 'nonsense'"):
            spark.sql(f"CHECKPOINT INDEXTABLES {quoted(path)}").collect()
    finally:
        spark.conf.unset("spark.indextables.state.compression")


def what_no_version_needs_is_purged(spark, world) -> None:
    path = new_table(spark, world, versions=2)
    splits = Path(path, "day=0/splits")
    for number in range(1200):  # more than the driver deletes by itself
        (splits / f"orphan-{number}.split").write_bytes(b"x")
    old = (time.time() - 8 * 24 * 3600,) * 2
    for file in splits.glob("orphan-*"):
        os.utime(file, old)
    (splits / "young.split").write_bytes(b"x")
    dry = spark.sql(f"PURGE INDEXTABLE {quoted(path)} OLDER THAN 7 DAYS DRY RUN")
    assert columns(dry) == (
        "table_path:string,metrics:struct<status:string,orphaned_files_found:bigint,orphaned_files_deleted:bigint,"
        "size_mb_deleted:double,retention_hours:bigint,tx_log_files_deleted:bigint,expired_states_found:bigint,"
        "expired_states_deleted:bigint,dry_run:boolean,duration_ms:bigint,message:string>"
    )
    told = only(dry)["metrics"].asDict()
    assert (told["status"], told["dry_run"], told["orphaned_files_found"]) == ("DRY_RUN", True, 1201)
    assert len(list(splits.iterdir())) == 1202
    purged = only(spark.sql(f"PURGE INDEXTABLES {quoted(path)}"))
    metrics = purged["metrics"].asDict()
    assert purged["table_path"] == path
    assert (metrics["status"], metrics["orphaned_files_deleted"], metrics["retention_hours"]) == (
        "SUCCESS",
        1200,
        168,
    )
    assert metrics["size_mb_deleted"] == told["size_mb_deleted"] == 1200 / (1 << 20)
    assert len(list(splits.iterdir())) == 2
    assert versions(path) == 2
    assert spark.read.format("indextables").load(path).count() == 20
    with pytest.raises(AnalysisException, match=r"the minimum is 24 hours.*\(line 1, column \d+\)"):
        spark.sql(f"PURGE INDEXTABLE {quoted(path)} OLDER THAN 23 HOURS").collect()


def splits_are_merged(spark, world) -> None:
    path = new_table(spark, world, versions=1)
    spark.sql(f"INSERT INTO indextables.`{path}` SELECT * FROM indextables.`{path}`")
    merged = only(spark.sql(f"MERGE SPLITS {quoted(path)} WHERE day = 0"))
    assert merged["metrics"].status == "success"
    assert merged["metrics"].merge_groups == 1
    assert spark.read.format("indextables").load(path).count() == 20


CASES: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    case.__name__: case
    for case in (
        the_log_is_described_in_47_columns,
        splits_are_merged,
        without_all_the_newest_state_is_described,
        a_log_too_long_for_one_answer_arrives_whole,
        a_checkpoint_is_written_and_the_state_described,
        tombstones_show_in_the_state_until_it_is_compacted,
        partitions_are_dropped_once,
        a_condition_on_other_columns_is_refused_with_its_place,
        time_travel_ends_where_it_is_truncated,
        the_cache_is_invalidated_with_its_figures,
        a_damaged_log_is_repaired,
        a_lost_log_is_made_from_the_splits,
        explaining_runs_nothing,
        a_name_of_the_session_catalog_stands_for_its_path,
        errors_are_plain_and_placed_in_the_users_text,
        what_is_sparks_own_stays_sparks,
        the_session_may_read_strings_without_escapes,
        settings_of_the_session_hold_for_commands,
        what_no_version_needs_is_purged,
    )
}


@pytest.mark.spec("testCheckpointSqlExecution", "testDescribeStateCommand", "testCleanupWithPurgeIntegration")
@pytest.mark.parametrize("case", CASES)
def test_classic(spark, tmp_path, case):
    CASES[case](spark, prepare(spark, tmp_path))


@pytest.mark.spec("testCheckpointSqlExecution")
@pytest.mark.parametrize("case", CASES)
def test_on_connect(connect_report, case):
    assert connect_report[case] is None, connect_report[case]

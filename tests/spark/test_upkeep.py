"""Merges and purges that writes start in Spark: jobs of the driver, on classic and Connect, and no failed write."""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import indextables as it
from indextables.errors import InputError
from indextables.maintenance.upkeep_claims import CLAIM_KEY
from indextables.spark.commands import answer
from indextables.spark.request_json import parse_request
from indextables.spark.sql import run_command
from indextables.storage import open_store

COLUMNS = (
    "job_id:string,table_path:string,status:string,total_groups:bigint,completed_groups:bigint,"
    "total_batches:bigint,completed_batches:bigint,progress_pct:double,duration_ms:bigint,error_message:string"
)
PREFIX = "spark.indextables."
FOUR = {"mergeOnWrite.minSplits": "4"}
SECONDS = 120


def prepare(spark, directory: Path) -> dict[str, Any]:
    return {"path": str(directory)}


def append(spark, path: str, first: int, appends: int, settings: dict[str, str]) -> None:
    options = {f"{PREFIX}{name}": value for name, value in settings.items()}
    for n in range(first, first + appends):
        rows = spark.range(n * 10, n * 10 + 10, 1, 1).selectExpr("id", "concat('row ', id) AS message")
        rows.write.format("indextables").options(**options).mode("append").save(path)


def jobs(spark, path: str) -> list[Any]:
    rows = spark.sql("DESCRIBE INDEXTABLES MERGE JOBS").collect()
    return [row for row in rows if row.table_path == path]


def ended_jobs(spark, path: str, number: int) -> list[Any]:
    """Wait until so many jobs have ended, and return all."""
    end = time.monotonic() + SECONDS
    while True:
        found = jobs(spark, path)
        if sum(job.status != "RUNNING" for job in found) >= number:
            return found
        assert time.monotonic() < end, found
        time.sleep(0.2)


def files(path: str) -> int:
    return it.open(path).files().num_rows


def ids(spark, path: str) -> list[int]:
    return sorted(row.id for row in spark.read.format("indextables").load(path).collect())


def small_splits_are_merged_in_the_background(spark, world) -> None:
    path = world["path"] + "-merged"
    append(spark, path, 0, 4, FOUR)
    (job,) = ended_jobs(spark, path, 1)
    assert (job.status, job.total_groups, job.completed_groups, job.error_message) == (
        "COMPLETED",
        1,
        1,
        None,
    )
    assert (job.total_batches, job.completed_batches, job.progress_pct) == (1, 1, 100.0)
    assert (files(path), ids(spark, path)) == (1, list(range(40)))
    assert spark.sql("DESC TANTIVY4SPARK MERGE JOBS").schema.simpleString() == f"struct<{COLUMNS}>"


def a_setting_turns_it_off(spark, world) -> None:
    path = world["path"] + "-off"
    append(spark, path, 0, 5, FOUR | {"mergeOnWrite.enabled": "false"})
    append(spark, path, 5, 1, {})  # the default is 32 splits
    assert (files(path), jobs(spark, path)) == (6, [])


def a_failure_is_shown_and_the_write_succeeds(spark, world) -> None:
    path = world["path"] + "-failed"
    append(spark, path, 0, 3, FOUR)
    in_the_way = (Path(path) / CLAIM_KEY).parent
    in_the_way.write_text("a file where the directory of claims should be")
    append(spark, path, 3, 1, FOUR)
    (job,) = ended_jobs(spark, path, 1)
    assert job.status == "FAILED"
    assert "merge.claim" in job.error_message
    assert ids(spark, path) == list(range(40))
    in_the_way.unlink()
    append(spark, path, 4, 1, FOUR)
    assert {job.status for job in ended_jobs(spark, path, 2)} == {"FAILED", "COMPLETED"}
    assert (files(path), ids(spark, path)) == (1, list(range(50)))


def a_mistake_in_the_settings_fails_the_write(spark, world) -> None:
    with pytest.raises(AnalysisException, match="minSplits"):
        append(spark, world["path"] + "-mistake", 0, 1, {"mergeOnWrite.minSplits": "1"})


def a_purge_can_follow_a_write(spark, world) -> None:
    path = world["path"] + "-purged"
    append(spark, path, 0, 1, {})
    orphan = "splits/split-00000000-0000-0000-0000-000000000000.split"
    open_store(path).put(orphan, b"left by a writer that was killed")
    two_hours_ago = time.time() - 7200  # older than any job of this session
    os.utime(Path(path) / orphan, (two_hours_ago, two_hours_ago))
    purging = {
        "purgeOnWrite.enabled": "true",
        "purgeOnWrite.triggerAfterWrites": "1",
        "purgeOnWrite.splitRetentionHours": "0",
        "purge.retentionCheckEnabled": "false",
        "mergeOnWrite.async.enabled": "false",
    }
    append(spark, path, 1, 1, purging)
    assert not open_store(path).exists(orphan)
    assert ids(spark, path) == list(range(20))


def a_merge_can_follow_a_delete_and_an_overwrite_of_a_part(spark, world) -> None:
    """No setting is given to a DELETE, so that of the session applies."""
    path = world["path"] + "-changed"
    append(spark, path, 0, 4, {"mergeOnWrite.enabled": "false"})
    spark.conf.set(f"{PREFIX}mergeOnWrite.minSplits", "4")
    spark.conf.set(f"{PREFIX}mergeOnWrite.async.enabled", "false")
    try:
        spark.sql(f"DELETE FROM indextables.`{path}` WHERE id = 99")
        assert files(path) == 4, "nothing was deleted, and nothing is due"
        spark.sql(f"DELETE FROM indextables.`{path}` WHERE id = 7")
        assert (files(path), ids(spark, path)) == (1, [n for n in range(40) if n != 7])
        append(spark, path, 4, 2, {"mergeOnWrite.enabled": "false"})
        rows = spark.range(40, 60, 1, 1).selectExpr("id", "concat('row ', id) AS message")
        rows.write.format("indextables").mode("overwrite").option("replaceWhere", "id = 40 OR id >= 41").save(
            path
        )
        assert ids(spark, path) == [n for n in range(60) if n != 7]
    finally:
        spark.conf.unset(f"{PREFIX}mergeOnWrite.minSplits")
        spark.conf.unset(f"{PREFIX}mergeOnWrite.async.enabled")


def a_purge_that_waits_for_a_merge_is_not_replaced_by_a_later_merge(spark, world) -> None:
    """Deletes of whole partitions need no task, so that they commit while tasks of another query have all cores."""
    path = world["path"] + "-waiting"
    rows = spark.range(0, 10, 1, 1).selectExpr("id", "CAST(id % 4 AS STRING) AS day")
    off = {f"{PREFIX}mergeOnWrite.enabled": "false"}
    for _ in range(5):
        rows.write.format("indextables").mode("append").options(**off).partitionBy("day").save(path)
    orphan = "splits/split-00000000-0000-0000-0000-000000000000.split"
    open_store(path).put(orphan, b"left by a writer that was killed")
    ten_days_ago = time.time() - 240 * 3600
    os.utime(Path(path) / orphan, (ten_days_ago, ten_days_ago))
    begun, go_on = Path(f"{path}-begun"), Path(f"{path}-go-on")
    begun.mkdir()

    def occupy(batches):
        (Path(begun) / str(uuid.uuid4())).touch()
        while not go_on.exists():
            time.sleep(0.05)
        yield from batches

    def delete(day: int, **settings: str) -> None:
        for name, value in settings.items():
            spark.conf.set(PREFIX + name.replace("_", "."), value)
        try:
            spark.sql(f"DELETE FROM indextables.`{path}` WHERE day = '{day}'").collect()
        finally:
            for name in settings:
                spark.conf.unset(PREFIX + name.replace("_", "."))

    busy = spark.range(0, 2, 1, 2).mapInArrow(occupy, "id long")
    occupying = threading.Thread(target=busy.collect)
    occupying.start()
    try:
        wait_until(lambda: len(list(begun.iterdir())) == 2)
        delete(0, mergeOnWrite_minSplits="4")
        wait_until(lambda: [job.status for job in jobs(spark, path)] == ["RUNNING"])
        delete(
            1, mergeOnWrite_enabled="false", purgeOnWrite_enabled="true", purgeOnWrite_triggerAfterWrites="1"
        )
        delete(2, mergeOnWrite_minSplits="4")
        assert open_store(path).exists(orphan)
        assert [job.status for job in jobs(spark, path)] == ["RUNNING"]
    finally:
        go_on.touch()
        occupying.join()
    wait_until(lambda: not open_store(path).exists(orphan))
    assert ids(spark, path) == sorted([3, 7] * 5)


def wait_until(is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.1)


def merging_before_the_write_returns(spark, world) -> None:
    path = world["path"] + "-at-once"
    append(spark, path, 0, 4, FOUR | {"mergeOnWrite.async.enabled": "false"})
    assert (files(path), ids(spark, path)) == (1, list(range(40)))
    assert not open_store(path).exists(CLAIM_KEY)


CASES = {
    case.__name__: case
    for case in (
        small_splits_are_merged_in_the_background,
        a_setting_turns_it_off,
        a_failure_is_shown_and_the_write_succeeds,
        a_mistake_in_the_settings_fails_the_write,
        a_purge_can_follow_a_write,
        a_merge_can_follow_a_delete_and_an_overwrite_of_a_part,
        a_purge_that_waits_for_a_merge_is_not_replaced_by_a_later_merge,
        merging_before_the_write_returns,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_on_classic(spark, tmp_path, case):
    CASES[case](spark, prepare(spark, tmp_path / "table"))


@pytest.mark.parametrize("case", CASES)
def test_on_connect(connect_report, case):
    assert connect_report[case] is None, connect_report[case]


# --- requests ---------------------------------------------------------------------------------------------------------


def ask(path: str, **fields: object) -> dict[str, Any]:
    request = {"command": "upkeep", "path": path, "claim": "a claim", **fields}
    answered = answer(parse_request(json.dumps(request)))
    answered.pop("counts", None)  # what the process has counted, which is not part of what it was asked
    return answered


def test_a_claim_of_another_process_is_respected(spark, tmp_path):
    path = str(tmp_path / "table")
    append(spark, path, 0, 4, {})
    options = {f"{PREFIX}mergeOnWrite.minSplits": "4"}
    first = ask(path, step="merge", options=options)
    assert (first["groups"], first["batch"]) == (1, 16)
    assert ask(path, step="merge", options=options, claim="another") == {"job": None}
    assert ask(path, step="release") == {"job": None}
    assert ask(path, step="merge", options=options, claim="another")["groups"] == 1
    assert ask(path, step="release", claim="another") == {"job": None}


def test_other_requests_are_refused(tmp_path):
    for fields in (
        {"step": "delete"},
        {},
        {"step": "purge", "running_since": -1},
        {"step": "merge", "claim": 1},
    ):
        with pytest.raises(InputError, match="not a request of the Spark jar"):
            ask(str(tmp_path), **fields)
    with pytest.raises(InputError, match="takes no field"):
        ask(str(tmp_path), step="merge", column_groups={})
    for job in ("", "{}", "[]", '{"job_id": 1}'):
        with pytest.raises(InputError, match="not a merge job of the Spark jar"):
            run_command("DESCRIBE INDEXTABLES MERGE JOBS", {}, merge_jobs=[job])

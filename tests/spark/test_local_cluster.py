"""Every command on executors that are processes of their own, and merges and streams whose executor is killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import keys
from indextables.log.snapshots import cache
from indextables.storage import open_store
from support.invariants import check_table
from support.scan_figures import figures_of
from support.statements import ROWS, STATEMENTS, run_statement, write_table

SOAK_KILLS = 10
STREAM_KILLS = 20
STREAM_ROWS = 200
GROUPS = 6
SPLITS_A_GROUP = 4
ROWS_A_SPLIT = 3000
MANY_TRIES = 20


def executors() -> dict[str, int]:
    """Return the processes of the executors by their ids. All descend from this process."""
    parents, found = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().decode("latin-1").split("\0")
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
                found[words[words.index("--executor-id") + 1]] = int(entry.name)
    return {name: pid for name, pid in found.items() if _descends(pid, parents)}


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()


def wait_for_two_executors() -> dict[str, int]:
    for _ in range(600):
        if len(running := executors()) == 2:
            return running
        time.sleep(0.1)
    pytest.fail("Spark has not started two executors in a minute")


def statements_run_on_a_cluster(spark: Any, directory: Path) -> None:
    table = directory / "statements"
    write_table(table)
    wait_for_two_executors()
    for statement in STATEMENTS:
        try:
            run_statement(spark, table, statement)
        except Exception as failure:
            failure.add_note(statement)
            raise


def a_write_starts_a_merge_that_executors_run(spark: Any, directory: Path) -> None:
    path = directory / "merged-on-write"
    wait_for_two_executors()

    def append(n: int) -> None:
        rows = spark.range(10 * n, 10 * n + 10, 1, 1).selectExpr("id", "concat('disk ', id) AS message")
        settings = {keys.MERGE_ON_WRITE_SPLITS.key: "4"}
        rows.write.format("indextables").mode("append").options(**settings).save(str(path))

    for n in range(4):
        append(n)
    for _ in range(1200):
        jobs = spark.sql("DESCRIBE INDEXTABLES MERGE JOBS").collect()
        (job,) = [job for job in jobs if job.table_path == str(path)] or [None]
        if job is not None and job.status != "RUNNING":
            break
        time.sleep(0.1)
    assert (job.status, job.completed_groups, job.error_message) == ("COMPLETED", 1, None)
    cache.forget()
    assert it.open(path).files().num_rows == 1
    assert sorted(it.open(path).to_arrow(columns=["id"]).column("id").to_pylist()) == list(range(40))
    check_table(open_store(path))
    merge = f"MERGE SPLITS {path}: new splits 1 to 1 of 1"
    assert descriptions_of_jobs(spark).count(merge) == 1, "it was not a job of Spark"


def descriptions_of_jobs(spark: Any) -> list[str]:
    jobs = spark._jsc.sc().statusStore().jobsList(spark._jvm.java.util.ArrayList())
    described = [jobs.apply(n).description() for n in range(jobs.size())]
    return [each.get() for each in described if each.isDefined()]


def every_executor_answers(spark: Any, directory: Path) -> None:
    running = set(wait_for_two_executors())
    for statement in ("STORAGE STATS", "DISK CACHE"):
        rows = spark.sql(f"DESCRIBE INDEXTABLES {statement}").collect()
        assert {row.executor_id for row in rows} == {"driver", *running}, statement
        assert all(row[2] is not None for row in rows), rows
    stats = spark.sql("DESCRIBE INDEXTABLES STORAGE STATS").collect()
    assert sum(row.requests for row in stats if row.executor_id != "driver") > 0
    roles = {(row.host, row.role) for row in spark.sql("DESCRIBE INDEXTABLES ENVIRONMENT").collect()}
    assert {role for _, role in roles} == {"driver", "worker"}
    flushed = spark.sql("FLUSH INDEXTABLES DISK CACHE").collect()
    assert {row.executor_id for row in flushed} == {"driver", *running}
    assert {row.status for row in flushed} == {"success"}


def splits_are_searched_where_they_were_prewarmed(spark: Any, directory: Path) -> None:
    table = directory / "prewarmed"
    write_table(table)
    (row,) = spark.sql(f"PREWARM INDEXTABLES CACHE '{table}'").collect()
    assert (row.splits_prewarmed, row.locality_hits, row.locality_misses) == (6, 6, 0)
    assert row.host == row.assigned_host
    by_tasks = spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0)
    searched = figures_of(by_tasks.load(str(table)).filter("message TEXTSEARCH 'disk'"))
    assert (searched["rows"], searched["splitsSearched"]) == (ROWS // 2, 6)
    assert (searched["cacheHits"], searched["cacheMisses"]) == (6, 0)


def an_executor_is_killed_in_the_middle_of_a_merge(spark: Any, directory: Path) -> None:
    kill_executors(spark, directory, 1)


def ten_executors_are_killed_in_the_middle_of_merges(spark: Any, directory: Path) -> None:
    kill_executors(spark, directory, SOAK_KILLS)


def kill_executors(spark: Any, directory: Path, wanted: int) -> None:
    original = directory / "killed"
    write_groups(original)
    rng = random.Random(int(os.environ.get("INDEXTABLES_SEED", "7")))
    kills = 0
    tries = MANY_TRIES + 2 * wanted
    for attempt in range(tries):
        path = directory / f"killed-{attempt}"
        shutil.copytree(original, path)
        kills += merge_and_kill(spark, path, rng.random())
        if kills == wanted:
            return
    pytest.fail(f"only {kills} of {tries} merges had a task when their executor was killed")


def a_task_of_an_update_that_fails_runs_again(spark: Any, directory: Path) -> None:
    """The rows of the attempt that failed are not in the table, and no row is there twice."""
    path, failed = directory / "updated", directory / "failed"
    it.write(path, pa.table({"id": range(4000), "message": ["old"] * 4000}), text=["message"])

    def fail_once(number: int) -> str:
        if number == 3999 and not failed.exists():
            failed.touch()
            raise RuntimeError("the first attempt fails")
        return f"new {number}"

    spark.udf.register("fail_once", fail_once)
    spark.sql(f"UPDATE indextables.`{path}` SET message = fail_once(id) WHERE id % 2 = 1")
    assert failed.exists()
    cache.forget()
    rows = it.open(path).to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(4000))
    assert all(row["message"] == (f"new {row['id']}" if row["id"] % 2 else "old") for row in rows)
    check_table(open_store(path))


def an_executor_is_killed_under_a_stream(spark: Any, directory: Path) -> None:
    kill_under_a_stream(spark, directory / "streamed", 1)


def twenty_executors_are_killed_under_a_stream(spark: Any, directory: Path) -> None:
    kill_under_a_stream(spark, directory / "streamed", STREAM_KILLS)


def kill_under_a_stream(spark: Any, directory: Path, kills: int) -> None:
    """Kill the executor of a task of each batch but the last, after the task has passed its rows on."""
    marks = directory / "marks"
    for each in (marks, directory / "in"):
        each.mkdir(parents=True)
    for number in range(kills + 1):
        ids = range(number * STREAM_ROWS, (number + 1) * STREAM_ROWS)
        rows = [json.dumps({"id": n, "day": "mon" if n % 2 else "tue"}) for n in ids]
        (directory / "in" / f"{number:03d}.json").write_text("\n".join(rows))

    def wait_to_be_killed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            number = batch.column("id")[0].as_py() // STREAM_ROWS
        running = marks / f"running-{number}"
        if number < kills and not running.exists():
            (marks / "partial").write_text(str(os.getpid()))
            (marks / "partial").rename(running)
            while not (marks / f"killed-{number}").exists():
                time.sleep(0.02)

    source = spark.readStream.schema("id long, day string").option("maxFilesPerTrigger", 1)
    rows = source.json(str(directory / "in")).mapInArrow(wait_to_be_killed, "id long, day string")
    writer = rows.writeStream.format("indextables").partitionBy("day").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(directory / "checkpoint")).start(str(directory / "table"))
    try:
        for done in range(kills):
            task = _wait_for_task(marks, done, query)
            worker = int(task.read_text())
            (executor,) = [pid for pid in executors().values() if _is_ancestor(pid, worker)]
            os.kill(executor, signal.SIGKILL)
            _killed(task).touch()
        assert query.awaitTermination(240), "the query does not end"
    finally:
        query.stop()
    cache.forget()
    found = sorted(it.open(directory / "table").to_arrow(columns=["id"]).column("id").to_pylist())
    assert found == list(range((kills + 1) * STREAM_ROWS))
    check_table(open_store(directory / "table"))


def _wait_for_task(marks: Path, done: int, query: Any) -> Path:
    """Return the mark of the task that waits to be killed. Spark takes files of the same time in any order."""
    for _ in range(1200):
        running = [mark for mark in marks.glob("running-*") if not _killed(mark).exists()]
        if running:
            return running[0]
        assert query.exception() is None, query.exception()
        time.sleep(0.1)
    pytest.fail(f"no task waits to be killed in two minutes, after {done} were")


def _killed(mark: Path) -> Path:
    return mark.with_name(mark.name.replace("running", "killed"))


def _is_ancestor(process: int, other: int) -> bool:
    while other > 1 and other != process:
        other = int((Path("/proc") / str(other) / "stat").read_text().rpartition(")")[2].split()[1])
    return other == process


def write_groups(path: Path) -> None:
    for n in range(SPLITS_A_GROUP):
        first = n * GROUPS * ROWS_A_SPLIT
        ids = range(first, first + GROUPS * ROWS_A_SPLIT)
        rows = pa.table(
            {"id": ids, "day": [i % GROUPS for i in ids], "message": [f"word{i} of disk" for i in ids]}
        )
        it.write(path, rows, partition_by=["day"], text=["message"])


def merge_and_kill(spark: Any, path: Path, moment: float) -> bool:
    """Merge, and kill an executor once it runs a task. Return True if that task had to run again."""
    running = wait_for_two_executors()
    rows = []

    def merge() -> None:
        rows.extend(spark.sql(f"MERGE SPLITS '{path}'").collect())

    merging = threading.Thread(target=merge)
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getActiveStageIds())
    merging.start()
    stage = _running_stage(tracker, before, merging)
    if stage is not None:
        time.sleep(moment * 0.3)
        os.kill(running[min(running)], signal.SIGKILL)
    merging.join(240)
    assert not merging.is_alive(), "the merge does not end"
    (row,) = rows
    assert (row.metrics.status, row.metrics.merge_groups) == ("success", GROUPS), row
    info = None if stage is None else spark._jsc.sc().statusTracker().getStageInfo(stage)
    cache.forget()
    table = it.open(path)
    assert table.files().num_rows == GROUPS
    ids = sorted(table.to_arrow(columns=["id"]).column("id").to_pylist())
    assert ids == list(range(SPLITS_A_GROUP * GROUPS * ROWS_A_SPLIT))
    assert table.count("disk") == len(ids)
    check_table(open_store(path))
    unlocked = {"spark.indextables.purge.retentionCheckEnabled": "false"}
    store = open_store(path)
    versions = table.history().column("version").to_pylist()
    named = {key for version in versions for key in it.open(path, version=version).snapshot.files}
    assert len(named) == (SPLITS_A_GROUP + 1) * GROUPS
    for _ in range(300):  # a Python worker of the executor may go on for a moment, and store its split
        it.open(path, settings=unlocked).purge(older_than="0 hours")
        stored = {info.key for info in store.list_from("") if info.key.endswith(".split")}
        if stored == named:
            break
        time.sleep(0.1)
    assert stored == named
    assert it.open(path).merge_splits().status == "no_action"
    return info is not None and info.isDefined() and info.get().numFailedTasks() > 0


def _running_stage(tracker: Any, before: set[int], merging: threading.Thread) -> int | None:
    """Return the stage of the merge once a task of it runs; None if the merge was faster."""
    while merging.is_alive():
        for stage in set(tracker.getActiveStageIds()) - before:
            info = tracker.getStageInfo(stage)
            if info is not None and info.numActiveTasks > 0:
                return int(stage)
        time.sleep(0.01)
    return None


CASES = {
    case.__name__: case
    for case in (
        statements_run_on_a_cluster,
        every_executor_answers,
        splits_are_searched_where_they_were_prewarmed,
        a_write_starts_a_merge_that_executors_run,
        a_task_of_an_update_that_fails_runs_again,
        an_executor_is_killed_in_the_middle_of_a_merge,
        an_executor_is_killed_under_a_stream,
    )
}


SOAK_CASES = {
    case.__name__: case
    for case in (
        ten_executors_are_killed_in_the_middle_of_merges,
        twenty_executors_are_killed_under_a_stream,
    )
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_on_a_local_cluster(cluster_report, case):
    assert cluster_report[case] is None, cluster_report[case]


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("case", SOAK_CASES)
def test_on_a_local_cluster_in_the_long_run(long_cluster_report, case):
    assert long_cluster_report[case] is None, long_cluster_report[case]

"""MERGE SPLITS and OPTIMIZE through `spark.sql`: groups on executors, a commit for each batch, and errors in place."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import InheritableThread
from pyspark.errors import AnalysisException, ParseException

import indextables as it
from indextables.errors import CommandError, InputError, StorageError
from indextables.log.snapshots import cache
from indextables.spark.sql import Job, finish_job, job_tasks, run_command, run_job_task
from indextables.spark.sql.jobs import merge_job
from indextables.storage import open_store
from support.invariants import check_table

COLUMNS = (
    "table_path:string,"
    "metrics:struct<status:string,merged_files:bigint,merge_groups:bigint,original_size_bytes:bigint,"
    "merged_size_bytes:bigint,message:string>,"
    "temp_directory_path:string,heap_size_bytes:bigint"
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Four versions of a table with three partitions."""
    path = str(tmp_path / "it's a table")
    for n in range(4):
        rows = pa.table({"n": range(n * 30, n * 30 + 30), "day": [d for d in range(3) for _ in range(10)]})
        it.write(path, rows, partition_by=["day"])
    return path


def quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def files(path: str) -> int:
    cache.forget()
    return it.open(path).files().num_rows


def numbers(path: str) -> list[int]:
    return sorted(it.open(path).to_arrow(columns=["n"]).column("n").to_pylist())


def waiting_jobs(path: str) -> list[Path]:
    """Return the files of jobs of this table. Other processes may have jobs, too."""
    found = []
    for file in Path(tempfile.gettempdir()).glob("indextables-*.job"):
        with contextlib.suppress(OSError):
            found += [file] if path.encode() in file.read_bytes() else []
    return found


def test_splits_are_merged_on_executors_and_committed_in_batches(spark, path):
    spark.conf.set("spark.indextables.merge.batchSize", "2")
    try:
        merged = spark.sql(f"MERGE SPLITS {quoted(path)} TARGET SIZE 100M")
    finally:
        spark.conf.unset("spark.indextables.merge.batchSize")
    assert merged.schema.simpleString() == f"struct<{COLUMNS}>"
    (row,) = merged.collect()
    assert row.table_path == it.open(path).uri
    assert (row.metrics.status, row.metrics.merged_files, row.metrics.merge_groups) == ("success", 12, 3)
    assert row.metrics.message == "merged 12 splits into 3"
    assert 0 < row.metrics.merged_size_bytes < row.metrics.original_size_bytes
    assert row.temp_directory_path
    assert row.heap_size_bytes > 0
    assert (files(path), it.open(path).version) == (3, 5)
    assert numbers(path) == list(range(120))
    assert spark.read.format("indextables").load(path).count() == 120
    again = spark.sql(f"MERGE SPLITS {quoted(path)}").head()
    assert (again.metrics.status, again.metrics.merge_groups) == ("no_action", 0)


def test_optimize_merges_the_partitions_of_a_condition(spark, path):
    row = spark.sql(f"OPTIMIZE indextables.`{path}` WHERE day < 2").head()
    assert (row.metrics.merge_groups, files(path)) == (2, 6)
    spark.sql(f"optimize `indextables`.`{path}`")
    assert files(path) == 3


def test_optimize_takes_a_path_in_quotes(spark, path):
    row = spark.sql(f"OPTIMIZE {quoted(path)} WHERE day < 2").head()
    assert (row.metrics.merge_groups, files(path)) == (2, 6)
    spark.sql(f"EXPLAIN OPTIMIZE {quoted(path)}")
    assert files(path) == 6
    spark.sql(f'/* all */ optimize "{path}";')
    assert files(path) == 3
    with pytest.raises(AnalysisException, match="expected the end of the command, found 'ZORDER'"):
        spark.sql(f"OPTIMIZE {quoted(path)} ZORDER BY (n)")


def test_optimize_of_other_tables_is_not_taken(spark):
    for sql in ("OPTIMIZE events", "OPTIMIZE delta.`/t`", "OPTIMIZE 7", "OPTIMIZE indextables"):
        with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
            spark.sql(sql)


@pytest.mark.parametrize("by", ["job group", "session"])
def test_a_cancelled_merge_leaves_the_rows_and_the_next_one_goes_on(spark, path, by):
    """Groups whose batch was committed before stay merged. A job that is cancelled commits nothing."""
    outcome: list[object] = []
    name = f"cancelled by {by}"

    def merge() -> None:
        spark.sparkContext.setJobGroup(name, "merging")
        try:
            outcome.extend(spark.sql(f"MERGE SPLITS {quoted(path)}").collect())
        except Exception as reason:
            outcome.append(reason)

    spark.conf.set("spark.indextables.merge.batchSize", "1")
    try:
        merging = InheritableThread(merge)
        merging.start()
        while merging.is_alive():
            if by == "session":
                spark.interruptAll()
            else:
                spark.sparkContext.cancelJobGroup(name)
            merging.join(0.02)
    finally:
        spark.conf.unset("spark.indextables.merge.batchSize")
    (failure,) = outcome
    assert isinstance(failure, Exception), "the merge was done before it could be cancelled"
    assert "cancel" in str(failure).lower()
    merged = it.open(path).version - 3
    assert merged < 3
    assert (files(path), numbers(path)) == (12 - 3 * merged, list(range(120)))
    assert waiting_jobs(path) == []
    row = spark.sql(f"MERGE SPLITS {quoted(path)}").head()
    assert (row.metrics.status, row.metrics.merge_groups) == ("success", 3 - merged)
    assert (files(path), numbers(path)) == (3, list(range(120)))
    check_table(open_store(path))


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("WHERE n = 1", "condition on partition columns only, and this one has 'n'"),
        ("TARGET SIZE 1K", "the minimum is 1048576"),
        ("MAX SOURCE SPLITS PER MERGE 1", "the minimum is 2"),
        ("MAX DEST SPLITS 0", "the minimum is 1"),
        ("PRECOMMIT", "PRECOMMIT is not supported"),
    ],
)
def test_mistakes_are_shown_in_place(spark, path, clause, message):
    with pytest.raises(AnalysisException, match=message) as caught:
        spark.sql(f"MERGE SPLITS {quoted(path)} {clause}")
    assert "(line 1, column" in str(caught.value)
    assert files(path) == 12


class TestJobs:
    @pytest.fixture
    def job(self, path) -> Job:
        job = run_command(f"MERGE SPLITS {quoted(path)} MAX DEST SPLITS 1", {}, with_jobs=True)
        assert isinstance(job, Job)
        return job

    def test_a_batch_is_committed_once(self, job, path):
        results = [next(run_job_task(task)).column("result")[0].as_py() for task in job_tasks(job.file)]
        assert finish_job(job.file, results).column("metrics")[0].as_py()["merged_files"] == 4
        with pytest.raises(InputError, match="may have been finished already"):
            finish_job(job.file, results)
        assert numbers(path) == list(range(120))

    def test_a_group_that_fails_is_reported_and_the_others_are_committed(self, path, monkeypatch):
        job = run_command(f"MERGE SPLITS {quoted(path)}", {}, with_jobs=True)
        assert isinstance(job, Job)
        merge = merge_job.run_merge_task

        def fail_once(task):
            if task.partition_values["day"] == "1":
                raise StorageError("the disk is full")
            return merge(task)

        monkeypatch.setattr(merge_job, "run_merge_task", fail_once)
        results = [next(run_job_task(task)).column("result")[0].as_py() for task in job_tasks(job.file)]
        metrics = finish_job(job.file, results).column("metrics")[0].as_py()
        assert (metrics["status"], metrics["merge_groups"]) == ("partial_success", 2)
        assert "a group failed: StorageError: the disk is full" in metrics["message"]
        assert (files(path), numbers(path)) == (6, list(range(120)))

    def test_a_merge_of_which_every_group_fails_is_an_error(self, job, path, monkeypatch):
        def fail(task):
            raise StorageError("the disk is full")

        monkeypatch.setattr(merge_job, "run_merge_task", fail)
        results = [next(run_job_task(task)).column("result")[0].as_py() for task in job_tasks(job.file)]
        with pytest.raises(CommandError, match="nothing was merged: .*the disk is full"):
            finish_job(job.file, results)
        assert files(path) == 12

    @pytest.mark.parametrize("change", ["number", "path", "rows", "source", "text"])
    def test_a_result_that_no_task_of_the_job_made_is_refused(self, job, path, change):
        (task,) = job_tasks(job.file)
        result = next(run_job_task(task)).column("result")[0].as_py()
        key = task.task.sources[0].key
        live = next(p for p in it.open(path).files(where="day = 2").column("path").to_pylist() if p != key)
        new = result.partition('"path":"')[2].partition('"')[0]
        forged = {
            "number": result.replace('"number":0', '"number":1'),
            "path": result.replace(new, live),
            "rows": result.replace('"numRecords":40', '"numRecords":41'),
            "source": result.replace(key, live),
            "text": "{}",
        }[change]
        assert forged != result
        with pytest.raises(InputError, match="the result of a task"):
            finish_job(job.file, [forged])
        assert (files(path), it.open(path).version) == (12, 3)
        Path(job.file).unlink(missing_ok=True)

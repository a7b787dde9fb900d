"""Every command through `spark.sql`, on classic Spark and on Connect (on a cluster: see `test_local_cluster`)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from indextables import flush_caches
from indextables.config import keys
from indextables.errors import CommandError, InputError
from indextables.spark.sql import (
    Cluster,
    Executor,
    Job,
    Place,
    finish_job,
    job_tasks,
    parse_command,
    run_command,
    run_job_task,
)
from indextables.spark.sql import statements as known
from support.statements import STATEMENTS, run_statement, write_table


def prepare(spark: Any, directory: Path) -> Path:
    write_table(directory / "table")
    return directory / "table"


def _case(statement: str) -> Callable[[Any, Path], None]:
    return lambda spark, table: run_statement(spark, table, statement)


CASES = {statement: _case(statement) for statement in STATEMENTS}


def test_every_kind_of_command_is_among_them():
    kinds = {type(parse_command(sql.format(table="'/t'", path="/t"))) for sql in STATEMENTS}
    others = {known.EmptyTrash}  # of no table: see test_named_tables.py
    assert kinds == set(get_args(known.Statement)) - others
    subjects = {
        parsed.subject
        for sql in STATEMENTS
        if isinstance(parsed := parse_command(sql.format(table="'/t'", path="/t")), known.Gather)
    }
    assert subjects == set(get_args(known.Subject))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(None, tmp_path_factory.mktemp("statements"))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_classic(spark, table, statement):
    CASES[statement](spark, table)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_on_connect(connect_report, statement):
    assert connect_report[statement] is None, connect_report[statement]


TWO = tuple(Executor(str(number), f"host{number}") for number in (1, 2))
CLUSTER = Cluster(TWO, parallelism=40, driver=Place(Executor("driver", "host0"), {"storage.get.requests": 3}))


def run(sql: str, table: Path, settings: dict[str, str] | None = None) -> Job:
    job = run_command(sql.format(f"'{table}'"), settings or {}, with_jobs=True, cluster=CLUSTER)
    assert isinstance(job, Job)
    return job


def place(executor: Executor, **counts: int) -> str:
    return json.dumps({"executor_id": executor.executor_id, "host": executor.host, "counts": counts})


def results(job: Job) -> list[str]:
    return [next(run_job_task(task)).column("result")[0].as_py() for task in job_tasks(job.file)]


class TestACluster:
    """What the jar does, step by step, with two executors on other hosts."""

    def test_figures_are_those_of_each_executor(self, table):
        job = run("DESCRIBE INDEXTABLES STORAGE STATS", table)
        assert job.locations == ("executor_host1_1", "executor_host2_2")
        places = [place(TWO[1]), place(TWO[0], **{"storage.get.requests": 7, "storage.get.fetched": 512})]
        rows = finish_job(job.file, results(job), places).to_pylist()
        found = {row["executor_id"]: row for row in rows if row["operation"] == "get"}
        assert {name: row["requests"] for name, row in found.items()} == {"driver": 3, "1": 7, "2": 0}
        assert (found["1"]["host"], found["1"]["bytes_fetched"]) == ("host1", 512)

    def test_an_executor_that_was_busy_is_named(self, table):
        both = [place(TWO[0])] * 2
        flush = run("FLUSH INDEXTABLES DISK CACHE", table)
        rows = finish_job(flush.file, results(flush), both).to_pylist()
        assert [(row["executor_id"], row["status"]) for row in rows] == [
            ("driver", "success"),
            ("1", "success"),
            ("1", "success"),
            ("2", "partial_success"),
        ]
        assert rows[-1]["message"] == "executor 2 on host2 was busy and not reached; run the command again"
        described = run("DESCRIBE INDEXTABLES DISK CACHE", table)
        rows = finish_job(described.file, results(described), both).to_pylist()
        assert [(row["executor_id"], row["enabled"]) for row in rows] == [
            ("driver", True),
            ("1", True),
            ("2", None),
        ]
        told = run("DESCRIBE INDEXTABLES ENVIRONMENT", table)
        rows = finish_job(told.file, results(told), both).to_pylist()
        assert {(row["host"], row["role"]) for row in rows[:-1]} == {("host0", "driver"), ("host1", "worker")}
        assert rows[-1]["property_value"] == "was busy and not reached"

    def test_every_core_of_every_executor_closes_its_indexes(self, table):
        job = run("FLUSH INDEXTABLES SEARCHER CACHE", table)
        assert job.locations == ("executor_host1_1",) * 20 + ("executor_host2_2",) * 20
        (row,) = finish_job(job.file, results(job), [place(TWO[0])] * 40).to_pylist()
        assert (row["cache_type"], row["status"]) == ("searcher", "partial_success")

    def test_secrets_stay_with_the_driver(self, table):
        secret = {"spark.indextables.aws.secretKey": "hunter2", "spark.indextables.write.rowGroupRows": "9"}
        job = run("DESCRIBE INDEXTABLES ENVIRONMENT", table, secret)
        assert "hunter2" not in Path(job.file).read_text()
        assert "hunter2" not in str(job_tasks(job.file)) + str(results(job))
        rows = finish_job(job.file, results(job), [place(TWO[0]), place(TWO[1])]).to_pylist()
        hidden = [row["property_value"] for row in rows if row["property_name"].endswith("secretKey")]
        assert hidden == ["***REDACTED***"]

    def test_splits_are_prewarmed_where_they_will_be_searched(self, table):
        job = run("PREWARM INDEXTABLES CACHE {} ON FIELDS (MESSAGE)", table)
        assert set(job.locations) <= {"host1", "host2"}
        tasks = job_tasks(job.file)
        assert [task.host for task in tasks] == list(job.locations)
        own = {executor.host: executor for executor in TWO}
        away = {executor.host: other for executor, other in zip(TWO, reversed(TWO), strict=True)}
        for hosts, hits, misses in ((own, 6, 0), (away, 0, 6)):
            again = run("PREWARM INDEXTABLES CACHE {} ON FIELDS (MESSAGE)", table)
            places = [place(hosts[host]) for host in again.locations]
            rows = finish_job(again.file, results(again), places).to_pylist()
            assert sum(row["locality_hits"] for row in rows) == hits
            assert sum(row["locality_misses"] for row in rows) == misses
            assert sum(row["splits_prewarmed"] for row in rows) == 6
            assert {(row["fields"], row["status"]) for row in rows} == {("message", "success")}
        Path(job.file).unlink()

    def test_a_split_that_cannot_be_prewarmed_is_named(self, table, tmp_path):
        broken = tmp_path / "broken"
        shutil.copytree(table, broken)
        split = next(broken.rglob("*.split"))
        split.write_bytes(b"x" * split.stat().st_size)
        flush_caches(broken)
        job = run("PREWARM INDEXTABLES CACHE {}", broken)
        rows = finish_job(job.file, results(job), [place(TWO[0])] * len(job.locations)).to_pylist()
        assert sum(row["splits_prewarmed"] for row in rows) == 5
        assert [split.name in (row["failed_splits_by_host"] or "") for row in rows].count(True) == 1

    def test_a_condition_without_splits_prewarms_nothing(self, table):
        sql = f"PREWARM INDEXTABLES CACHE '{table}' WHERE day = 7"
        (row,) = run_command(sql, {}, with_jobs=True, cluster=CLUSTER).to_pylist()
        assert (row["splits_prewarmed"], row["status"]) == (0, "no_splits")

    @pytest.mark.parametrize(
        ("sql", "message"),
        [
            ("PREWARM INDEXTABLES CACHE {} ON FIELDS (id, nothing)", "no column 'nothing'.*column"),
            ("PREWARM INDEXTABLES CACHE {} WHERE nothing = 1", "no column 'nothing'.*column"),
            ("DESCRIBE INDEXTABLES COMPONENT SIZES {} WHERE id =", "cannot parse the condition.*column"),
        ],
    )
    def test_an_error_in_a_command_is_placed_in_it(self, table, sql, message):
        with pytest.raises(CommandError, match=message):
            run_command(sql.format(f"'{table}'"), {}, with_jobs=True, cluster=CLUSTER)

    def test_a_batch_of_a_merge_has_a_task_for_each_core(self, table):
        for settings, batch in (({}, 40), ({keys.MERGE_BATCH_SIZE.key: "1"}, 1)):
            job = run("MERGE SPLITS {}", table, settings)
            assert json.loads(Path(job.file).read_bytes())["batch"] == batch
            last = min(batch, 2)
            assert job.description == f"MERGE SPLITS {table}: new splits 1 to {last} of 2"
            Path(job.file).unlink()

    def test_places_and_results_are_checked(self, table):
        job = run("DESCRIBE INDEXTABLES DISK CACHE", table)
        rows = results(job)
        for places in ([place(TWO[0])], ["{}", "{}"], ["x", "y"], [place(TWO[0], n="many"), place(TWO[1])]):
            with pytest.raises(InputError):
                finish_job(job.file, rows, places)
        with pytest.raises(InputError, match="does not say where it ran"):
            finish_job(job.file, rows)
        for subject in ("DISK CACHE", "ENVIRONMENT"):
            for forged in ("", "7", "[1]", '[{"total_bytes": "x", "property_name": 1}]', "{}"):
                again = run(f"DESCRIBE INDEXTABLES {subject}", table)
                with pytest.raises(InputError, match="is not that of a command about processes"):
                    finish_job(again.file, [forged] * 2, [place(TWO[0])] * 2)
                Path(again.file).unlink(missing_ok=True)
        for forged in (
            "",
            "7",
            "[1]",
            "[null, 1e400, 1, []]",
            f'["h", {1 << 31}, 1, []]',
            '["h", 1, 1, [1]]',
            '["h", "1", 1, []]',
            '["h", 1, true, []]',
            "[7, 1, 1, []]",
            '["h", 1, 1, [["a.split", 1]]]',
        ):
            again = run("PREWARM INDEXTABLES CACHE {}", table)
            with pytest.raises(InputError, match="is not the result of a prewarming"):
                finish_job(again.file, [forged])
            Path(again.file).unlink()  # a result that is refused does not end the job
        for location in ("host1", "executor_", "executor_host1", "executor__1"):
            with pytest.raises(InputError, match="not the location of an executor"):
                Executor.at(location)

    @pytest.mark.parametrize(
        ("sql", "change"),
        [
            ("DESCRIBE INDEXTABLES DISK CACHE", {"subject": "SECRETS"}),
            ("DESCRIBE INDEXTABLES DISK CACHE", {"subject": []}),
            ("DESCRIBE INDEXTABLES DISK CACHE", {"options": {"spark.indextables.cache.diskMaxBytes": 1}}),
            ("DESCRIBE INDEXTABLES DISK CACHE", {"options": {"spark.indextables.aws.secretKey": None}}),
            ("DESCRIBE INDEXTABLES DISK CACHE", {"executors": [7]}),
            ("DESCRIBE INDEXTABLES DISK CACHE", {"executors": "executor_host1_1"}),
            ("DESCRIBE INDEXTABLES DISK CACHE", {"own": [1]}),
            ("PREWARM INDEXTABLES CACHE {}", {"version": True}),
            ("PREWARM INDEXTABLES CACHE {}", {"where": 1}),
            ("PREWARM INDEXTABLES CACHE {}", {"hosts": "host1"}),
            ("PREWARM INDEXTABLES CACHE {}", {"options": {"a": 1}}),
            ("MERGE SPLITS {}", {"result": {}}),
            ("MERGE SPLITS {}", {"result": {"rows": "many"}}),
            ("MERGE SPLITS {}", {"metadata": []}),
            ("MERGE SPLITS {}", {"groups": []}),
            ("MERGE SPLITS {}", {"groups": [[{}, {}, [["a.txt", 1, 1, 0, None]]]]}),
            ("MERGE SPLITS {}", {"batch": 0}),
            ("MERGE SPLITS {}", {"kind": "unheard-of"}),
            ("MERGE SPLITS {}", {"kind": ["merge"]}),
        ],
    )
    def test_the_file_of_a_job_is_checked(self, table, sql, change):
        job = run(sql, table)
        file = Path(job.file)
        document = json.loads(file.read_bytes())
        more = {"result": document["result"] | change["result"]} if change.get("result") else {}
        file.write_text(json.dumps(document | change | more))
        with pytest.raises(InputError, match="is not a job of this session"):
            job_tasks(job.file)
        file.unlink()

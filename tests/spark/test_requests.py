"""The Python end of the jar's calls, without a JVM: requests in, answers, readers and writers out."""

from __future__ import annotations

import base64
import gc
import itertools
import json
import os
import re
import shlex
import weakref
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

import indextables as it
from indextables.config import keys
from indextables.runtime import current
from indextables.spark import _configure, gc_freeze, jar, redaction
from indextables.spark.formats import plan_json
from indextables.spark.source import ANSWER, IndexTablesDataSource
from indextables.table.scans.locality import assign_hosts

SCHEMA = StructType([StructField("id", LongType()), StructField("message", StringType())])


@pytest.fixture
def path(tmp_path) -> str:
    where = str(tmp_path / "table")
    for start in (0, 10):
        rows = pa.table(
            {"id": range(start, start + 10), "message": [f"words {i}" for i in range(start, start + 10)]}
        )
        it.write(where, rows, text=["message"])
    return where


def source(command: str, path: str, **arguments: Any) -> IndexTablesDataSource:
    fields = {"command": command, "path": path, "options": {}} | arguments
    return IndexTablesDataSource({"__request": json.dumps(fields)})


def ask(command: str, path: str, **arguments: Any) -> dict[str, Any]:
    reply = source(command, path, **arguments).schema()
    return json.loads(reply[ANSWER].metadata[ANSWER])


def more_than_15() -> dict[str, Any]:
    return {"op": ">", "args": [{"col": ["id"]}, {"lit": "15", "type": "bigint"}]}


def scan(path: str, **arguments: Any) -> dict[str, Any]:
    return {"version": 1, "columns": ["id"], "filters": [], "parallelism": 2} | arguments


def ids(reader) -> list[int]:
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    return sorted(value for batch in batches for value in batch.column(0).to_pylist())


def test_describe_pins_a_version(path):
    answer = ask("describe", path)
    assert answer["version"] == 1
    assert StructType.fromJson(json.loads(answer["schema"])) == SCHEMA
    assert ask("describe", path, version=0)["version"] == 0


def test_an_error_is_an_answer(path, tmp_path):
    assert ask("describe", str(tmp_path / "none"))["error"]["kind"] == "TABLE_NOT_FOUND"
    assert ask("describe", path, version=9)["error"]["kind"] == "VERSION_NOT_FOUND"
    assert ask("describe", path, options={"spark.indextables.nonsense": "1"})["error"]["kind"] == "CONFIG"


def test_unknown_settings_of_the_session_are_warnings(path):
    session = {"spark.indextables.nonsense": "1", "spark.indextables.mergeOnWrite.minDiskSpaceGB": "20"}
    answer = ask("describe", path, session=session)
    assert answer["version"] == 1
    assert [text.partition(";")[0] for text in answer["warnings"]] == [
        "unknown setting 'spark.indextables.nonsense' in the session",
        (
            "setting 'spark.indextables.mergeOnWrite.minDiskSpaceGB' has no effect in this release: "
            "a merge has bounded memory, and checks the disk before it begins."
        ),
    ]
    assert ask("describe", path, session=session, options=session)["error"]["kind"] == "CONFIG"
    assert "warnings" not in ask("describe", path)


def test_pushdown_takes_what_it_understands_wholly(path):
    opaque = {"opaque": "Cast"}
    half = {"op": "AND", "args": [more_than_15(), {"op": "=", "args": [opaque, {"lit": "1", "type": "int"}]}]}
    assert ask("pushdown", path, filters=[opaque, more_than_15(), half])["accepted"] == [1]


def test_pushdown_refuses_a_search_that_does_not_fit(path):
    search = {"udf": "textsearch", "args": [{"col": ["id"]}, {"lit": "x", "type": "string"}]}
    assert ask("pushdown", path, filters=[search])["error"]["kind"] == "QUERY"


def test_a_plan_has_the_host_of_each_of_its_tasks(path):
    asked = scan(path, filters=[{"op": ">=", "args": [{"col": ["id"]}, {"lit": "0", "type": "bigint"}]}])
    hosts = ["one", "two", "three", "four"]
    plan = ask("plan", path, **asked, hosts=hosts)
    tasks = source("scan", path, **asked, plan=plan["plan"]).reader(SCHEMA).partitions()
    splits = [[ref.path for ref in task.value.splits] for task in tasks]
    assert sum(map(len, splits)) == 2
    assert [assign_hosts(paths, hosts) for paths in splits] == [
        [host] * len(paths) for host, paths in zip(plan["hosts"], splits, strict=True)
    ]
    assert set(ask("plan", path, **asked)["hosts"]) == {None}


def test_a_plan_too_large_to_carry_is_made_again(path, monkeypatch):
    asked = scan(path, filters=[more_than_15()])
    plan = ask("plan", path, **asked)
    assert (plan["splits_total"], plan["splits_read"]) == (2, 1)
    first = source("scan", path, **asked, plan=plan["plan"]).reader(SCHEMA)
    monkeypatch.setattr(plan_json, "MAX_PLAN_BYTES", 10)
    without = ask("plan", path, **asked, hosts=["one", "two"])
    assert (without["plan"], list(without["hosts"])) == (None, [])
    again = source("scan", path, **asked, plan=None).reader(SCHEMA)
    assert ids(first) == ids(again) == [16, 17, 18, 19]


def test_a_small_search_is_answered_instead_of_planned(path):
    search = {"udf": "textsearch", "args": [{"col": ["message"]}, {"lit": "12 OR 3", "type": "string"}]}
    plan = ask("plan", path, **scan(path, filters=[search]))
    assert (plan["rows"], "plan" in plan) == (2, False)
    rows = pa.ipc.open_stream(base64.b64decode(plan["answer"])).read_all()
    assert rows.schema == pa.schema({"id": pa.int64()})
    assert sorted(rows.column("id").to_pylist()) == [3, 12]
    off = {"spark.indextables.read.answerOnDriver.maxRows": "0"}
    assert "plan" in ask("plan", path, **scan(path, filters=[search]), options=off)


def test_a_worker_that_has_answered_collects_nothing_that_stays(path, monkeypatch):
    monkeypatch.setattr(current(), "gc_freezes", 0)
    gc.unfreeze()
    try:
        ask("describe", path)
        assert len(gc.get_objects()) < gc_freeze.MIN_OBJECTS < gc.get_freeze_count()
        cached = [[i] for i in range(2 * gc_freeze.MIN_OBJECTS)]  # as much as a module that is imported later
        ask("describe", path)
        assert len(gc.get_objects()) < gc_freeze.MIN_OBJECTS
        assert len(cached) < gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_garbage_is_never_kept_for_good(monkeypatch):
    class Knot:
        pass

    monkeypatch.setattr(current(), "gc_freezes", 0)
    gc.unfreeze()
    gc.disable()
    try:
        knot = Knot()
        knot.itself = knot
        seen = weakref.ref(knot)
        del knot
        gc_freeze.freeze_objects()
        assert seen() is None
    finally:
        gc.enable()
        gc.unfreeze()


def test_a_count_of_nothing_is_one_row_of_zero(path):
    never = {"op": "=", "args": [{"col": ["id"]}, {"lit": "-1", "type": "bigint"}]}
    counting = {"groups": [], "measures": [{"op": "COUNT_STAR", "args": []}]}
    reader = source("scan", path, **scan(path, filters=[never], aggregate=counting, columns=[])).reader(
        SCHEMA
    )
    assert ids(reader) == [0]


def test_a_scan_of_no_columns_still_counts_its_rows(path):
    reader = source("scan", path, **scan(path, columns=[])).reader(StructType([]))
    assert sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part)) == 20


@pytest.mark.parametrize("limit", [10, 1 << 20])
def test_a_write_is_planned_once_or_again_and_never_dropped(path, monkeypatch, limit):
    monkeypatch.setattr(plan_json, "MAX_PLAN_BYTES", limit)
    asked = {"mode": "append", "schema": SCHEMA.json(), "partition_by": None}
    plan = ask("plan_write", path, **asked)
    assert plan["skip"] is False
    assert (plan["plan"] is None) == (limit == 10)
    writer = source("write", path, **asked, plan=plan["plan"], skip=False).writer(SCHEMA, overwrite=False)
    message = writer.write(iter([pa.record_batch({"id": [99], "message": ["words"]})]))
    writer.commit([message])
    assert it.open(path).count() == 21


def test_ignore_on_an_existing_table_writes_nothing(path):
    asked = {"mode": "ignore", "schema": SCHEMA.json(), "partition_by": None}
    assert ask("prepare_write", path, mode="ignore")["skip"] is True
    plan = ask("plan_write", path, **asked)
    writer = source("write", path, **asked, plan=plan["plan"], skip=plan["skip"]).writer(
        SCHEMA, overwrite=False
    )
    writer.commit([writer.write(iter([pa.record_batch({"id": [99], "message": ["words"]})]))])
    assert it.open(path).version == 1


def test_abort_deletes_only_when_no_commit_can_have_been_tried(path, tmp_path):
    asked = {"mode": "append", "schema": SCHEMA.json(), "partition_by": None}
    plan = ask("plan_write", path, **asked)["plan"]
    writer = source("write", path, **asked, plan=plan, skip=False).writer(SCHEMA, overwrite=False)
    message = writer.write(iter([pa.record_batch({"id": [99], "message": ["words"]})]))
    stored = len(list(tmp_path.rglob("*.split")))
    writer.abort([message])
    assert len(list(tmp_path.rglob("*.split"))) == stored
    writer.abort([message, None])
    assert len(list(tmp_path.rglob("*.split"))) == stored - 1


class FakeBuilder:
    """What `configure` needs of Spark's builder."""

    def __init__(self, **options: str) -> None:
        self._options = {key.replace("_", "."): value for key, value in options.items()}

    def config(self, key: str, value: str) -> FakeBuilder:
        self._options[key] = value
        return self


@pytest.fixture
def environment(monkeypatch):
    for name in ("PYSPARK_PYTHON", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_API_MODE", "MASTER"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


def test_configure_adds_to_the_jars_that_are_there(environment):
    options = _configure.configure(FakeBuilder(spark_jars="/other.jar"))._options
    assert options["spark.jars"] == f"/other.jar,{jar.BUNDLED}"
    assert options["spark.sql.catalog.indextables"] == _configure.CATALOG
    assert options["spark.sql.execution.arrow.maxRecordsPerBatch"] == "65536"


def test_configure_keeps_what_the_user_chose(environment):
    builder = FakeBuilder()
    builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    twice = _configure.configure(_configure.configure(builder))._options
    assert twice["spark.sql.execution.arrow.maxRecordsPerBatch"] == "100"
    assert twice["spark.jars"] == str(jar.BUNDLED)


def test_a_local_connect_server_is_started_with_the_jar(environment):
    options = _configure.configure(FakeBuilder(spark_remote="local[2]"))._options
    assert "spark.jars" not in options
    arguments = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
    assert arguments[arguments.index("--jars") + 1] == str(jar.BUNDLED)
    assert arguments[-1] == "pyspark-shell"
    redacted = redaction.redactions({})
    assert [f"{key}={value}" for key, value in redacted.items()] == [
        value for flag, value in itertools.pairwise(arguments) if flag == "--conf"
    ]
    before = os.environ["PYSPARK_SUBMIT_ARGS"]
    _configure.configure(FakeBuilder(spark_remote="local[2]"))
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == before


def test_configure_adds_our_secrets_to_what_is_redacted(environment, tmp_path):
    environment.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    environment.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.redaction.regex no\nspark.redaction.regex=(?i)pin\nspark.sql.redaction.options.regex weak\n"
    )
    environment.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.redaction.options.regex='a b' pyspark-shell")
    once = _configure.configure(FakeBuilder())
    found = dict(once._options)
    assert found["spark.redaction.regex"] == f"(?:(?i)pin)|{redaction.PATTERN}"
    assert found["spark.sql.redaction.options.regex"] == f"(?:a b)|{redaction.PATTERN}"
    assert _configure.configure(once)._options == found
    builder = FakeBuilder().config("spark.redaction.regex", "mine")
    assert _configure.configure(builder)._options["spark.redaction.regex"] == f"(?:mine)|{redaction.PATTERN}"


def test_every_secret_key_is_redacted_and_nothing_else():
    for family in keys.FAMILIES:
        for name in family.members or ():
            for key in (
                f"{family.prefix}{name}",
                f"{family.prefix}{name}".removeprefix("spark.indextables."),
            ):
                assert bool(re.search(redaction.PATTERN, key)) != family.may_show(name), key
    assert re.search(redaction.PATTERN, "__request")


def test_a_server_elsewhere_needs_no_jar(environment, tmp_path):
    environment.setattr(_configure, "find_jar", lambda: pytest.fail("asked for"))
    assert _configure.configure(FakeBuilder(spark_remote="sc://elsewhere")) is not None

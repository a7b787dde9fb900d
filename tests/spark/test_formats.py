"""What every format does alike, on search tables and on datasets of column groups: one list of rules, without a JVM."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.types import LongType, StringType, StructField, StructType

import indextables as it
from indextables import columns
from indextables.errors import InputError
from indextables.runtime import current
from indextables.spark import gc_freeze
from indextables.spark.commands import format_of
from indextables.spark.formats import DATASETS, TABLES
from indextables.spark.request_json import parse_request
from indextables.spark.source import ANSWER, IndexTablesDataSource

SCHEMA = StructType([StructField("id", LongType()), StructField("message", StringType())])
SECRET = {"spark.indextables.aws.secretKey": "canary"}
BY_TASKS = {"spark.indextables.read.answerOnDriver.maxRows": "0"}


@dataclass(frozen=True)
class Kind:
    """How a format is asked for, and how plain Python makes and reads it."""

    noun: str
    fields: dict[str, Any]  # of a request
    append: Callable[[str, pa.Table], Any]
    versions: tuple[int, int]  # after the first append, and after the second
    count: Callable[[str], int]


KINDS = {
    "tables": Kind("table", {}, it.write, (0, 1), lambda path: it.open(path).count()),
    "datasets": Kind(
        "dataset",
        {"column_groups": {}},
        lambda path, rows: columns.write(path, rows, mode="append"),
        (1, 2),
        lambda path: columns.open(path).num_rows,
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def path(kind: Kind, tmp_path: Path) -> str:
    where = str(tmp_path / "stored")
    for start in (0, 10):
        ids = range(start, start + 10)
        kind.append(where, pa.table({"id": ids, "message": [f"words {i}" for i in ids]}))
    return where


def source(kind: Kind, command: str, path: str, **arguments: Any) -> IndexTablesDataSource:
    fields = {"command": command, "path": path, "options": {}} | kind.fields | arguments
    return IndexTablesDataSource({"__request": json.dumps(fields)})


def ask(kind: Kind, command: str, path: str, **arguments: Any) -> dict[str, Any]:
    reply = source(kind, command, path, **arguments).schema()
    answered = json.loads(reply[ANSWER].metadata[ANSWER])
    answered.pop("counts", None)  # what the process has counted, which is not part of what it was asked
    return answered


def scan(**arguments: Any) -> dict[str, Any]:
    return {"columns": ["id"], "filters": [], "parallelism": 2, "options": BY_TASKS} | arguments


def write(**arguments: Any) -> dict[str, Any]:
    return {"mode": "append", "schema": SCHEMA.json(), "partition_by": None} | arguments


def compare(op: str, number: int) -> dict[str, Any]:
    return {"op": op, "args": [{"col": ["id"]}, {"lit": str(number), "type": "bigint"}]}


def first_column(reader) -> list[Any]:
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    return sorted(value for batch in batches for value in batch.column(0).to_pylist())


def batch(*ids: int) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(ids, pa.int64()), "message": [f"words {i}" for i in ids]})


def files(path: str) -> set[Path]:
    return {file for file in Path(path).rglob("*") if file.is_file()}


def test_a_request_names_its_format(kind, path):
    request = parse_request(json.dumps({"command": "describe", "path": path} | kind.fields))
    assert format_of(request) is (DATASETS if kind.noun == "dataset" else TABLES)


def test_describe_pins_a_version(kind, path):
    first, newest = kind.versions
    answer = ask(kind, "describe", path)
    assert answer["version"] == newest
    assert answer["partition_columns"] == []
    assert StructType.fromJson(json.loads(answer["schema"])) == SCHEMA
    assert ask(kind, "describe", path, version=first)["version"] == first


@pytest.mark.parametrize("command", ["describe", "pushdown", "plan"])
def test_an_error_is_an_answer(kind, path, tmp_path, command):
    arguments = {} if command == "describe" else scan(options={})
    assert ask(kind, command, str(tmp_path / "none"), **arguments)["error"]["kind"] == "TABLE_NOT_FOUND"
    assert ask(kind, command, path, **arguments, version=99)["error"]["kind"] == "VERSION_NOT_FOUND"


@pytest.mark.parametrize("command", ["describe", "pushdown", "plan", "prepare_write", "plan_write"])
def test_an_unknown_option_is_an_error_of_every_command(kind, path, command):
    arguments = {} if command == "describe" else scan() | write()
    options = {"spark.indextables.nonsense": "1"}
    answer = ask(kind, command, path, **(arguments | {"options": options}))
    assert answer["error"]["kind"] == "CONFIG"
    assert "unknown setting 'spark.indextables.nonsense'" in answer["error"]["message"]


def test_an_unknown_setting_of_the_session_is_a_warning(kind, path):
    answer = ask(kind, "describe", path, session={"spark.indextables.nonsense": "1"})
    assert "error" not in answer
    (warning,) = answer["warnings"]
    assert "unknown setting 'spark.indextables.nonsense' in the session" in warning
    assert "warnings" not in ask(kind, "describe", path)


def test_a_command_that_has_no_answer_is_refused(kind, path):
    answer = ask(kind, "scan", path, **scan())
    assert answer["error"] == {
        "kind": "INPUT",
        "message": "not a request of the Spark jar: command 'scan' has no answer",
    }
    with pytest.raises(InputError, match="command 'plan' does not read rows"):
        source(kind, "plan", path, **scan()).reader(SCHEMA)
    with pytest.raises(InputError, match="command 'scan' does not write rows"):
        source(kind, "scan", path, **scan()).writer(SCHEMA, overwrite=False)


@pytest.mark.parametrize("command", ["describe", "pushdown", "plan", "prepare_write", "plan_write"])
def test_an_answer_freezes_what_is_loaded(kind, path, monkeypatch, command):
    monkeypatch.setattr(current(), "gc_freezes", 0)
    gc.unfreeze()
    arguments = {} if command == "describe" else scan() | write()
    try:
        ask(kind, command, path, **arguments)
        assert len(gc.get_objects()) < gc_freeze.MIN_OBJECTS < gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_a_task_freezes_what_is_loaded(kind, path, monkeypatch):
    reader = source(kind, "scan", path, **scan()).reader(SCHEMA)
    monkeypatch.setattr(current(), "gc_freezes", 0)
    gc.unfreeze()
    try:
        rows = reader.read(reader.partitions()[0])
        assert gc.get_freeze_count() > gc_freeze.MIN_OBJECTS
        assert sum(batch.num_rows for batch in rows) > 0
    finally:
        gc.unfreeze()


def test_pushdown_takes_what_it_understands_wholly(kind, path):
    opaque = {"opaque": "Cast"}
    half = {
        "op": "AND",
        "args": [compare(">", 15), {"op": "=", "args": [opaque, {"lit": "1", "type": "int"}]}],
    }
    assert ask(kind, "pushdown", path, filters=[opaque, compare(">", 15), half])["accepted"] == [1]


def test_a_filter_that_was_not_accepted_is_refused_by_the_scan(kind, path):
    with pytest.raises(InputError, match="a filter that was not accepted reached the scan"):
        source(kind, "scan", path, **scan(filters=[{"opaque": "Cast"}])).reader(SCHEMA)


def test_a_plan_has_the_figures_of_the_scan(kind, path):
    whole = ask(kind, "plan", path, **scan())
    assert whole["rows"] == 20
    assert whole["bytes"] > 0
    assert (whole["splits_total"], whole["splits_read"]) == (2, 2)


@pytest.mark.parametrize("sends_plan", [True, False])
def test_the_tasks_read_the_rows_of_the_filters(kind, path, sends_plan):
    asked = scan(filters=[compare(">", 15), compare("<", 18)])
    plan = ask(kind, "plan", path, **asked)["plan"] if sends_plan else None
    assert first_column(source(kind, "scan", path, **asked, plan=plan).reader(SCHEMA)) == [16, 17]


def test_a_scan_stays_at_its_version(kind, path):
    reader = source(kind, "scan", path, **scan(version=kind.versions[0])).reader(SCHEMA)
    assert first_column(reader) == list(range(10))


def test_a_limit_holds_for_each_task(kind, path):
    reader = source(kind, "scan", path, **scan(limit=3)).reader(SCHEMA)
    for partition in reader.partitions():
        assert sum(batch.num_rows for batch in reader.read(partition)) <= 3


@pytest.mark.parametrize(("filters", "count"), [([], 20), ([compare(">", 15)], 4), ([compare("=", -1)], 0)])
def test_a_count_is_the_sum_of_the_tasks(kind, path, filters, count):
    counting = {"groups": [], "measures": [{"op": "COUNT_STAR"}]}
    asked = scan(filters=filters, aggregate=counting, columns=[])
    assert sum(first_column(source(kind, "scan", path, **asked).reader(SCHEMA))) == count


def test_a_scan_of_no_columns_still_counts_its_rows(kind, path):
    reader = source(kind, "scan", path, **scan(columns=[])).reader(StructType([]))
    assert sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part)) == 20


def test_a_reader_is_sent_without_its_tasks(kind, path):
    reader = source(kind, "scan", path, **scan()).reader(SCHEMA)
    (partition, *_) = reader.partitions()
    copy = cloudpickle.loads(cloudpickle.dumps(reader))
    assert copy.partitions() == []
    sent = cloudpickle.loads(cloudpickle.dumps(partition))
    assert [b.to_pydict() for b in copy.read(sent)] == [b.to_pydict() for b in reader.read(partition)]


def test_the_modes_of_a_write(kind, path, tmp_path):
    for mode in ("append", "overwrite"):
        assert ask(kind, "prepare_write", path, mode=mode) == {"skip": False}
    assert ask(kind, "prepare_write", path, mode="ignore") == {"skip": True}
    for mode in ("error", "ignore"):
        assert ask(kind, "prepare_write", str(tmp_path / "new"), mode=mode) == {"skip": False}
    for command, arguments in (("prepare_write", {"mode": "error"}), ("plan_write", write(mode="error"))):
        error = ask(kind, command, path, **arguments)["error"]
        assert error["kind"] == "TABLE_EXISTS"
        assert f"there is a {kind.noun} at {path} already" in error["message"]
    assert ask(kind, "prepare_write", path, mode="sideways")["error"]["kind"] == "INPUT"


@pytest.mark.parametrize(("mode", "rows"), [("append", 22), ("overwrite", 2), ("ignore", 20)])
def test_tasks_store_rows_and_one_commit_shows_them(kind, path, mode, rows):
    plan = ask(kind, "plan_write", path, **write(mode=mode))
    assert plan["skip"] is (mode == "ignore")
    assert list(plan["cluster_by"]) == []
    asked = write(mode=mode, plan=plan["plan"], skip=plan["skip"])
    writer = source(kind, "write", path, **asked).writer(SCHEMA, overwrite=False)
    in_task = cloudpickle.loads(cloudpickle.dumps(writer))
    messages = [in_task.write(iter([batch(98)])), in_task.write(iter([batch(99)]))]
    assert kind.count(path) == 20
    writer.commit(messages)
    assert kind.count(path) == rows


def test_abort_deletes_only_when_no_commit_can_have_been_tried(kind, path):
    before = files(path)
    writer = source(kind, "write", path, **write(skip=False)).writer(SCHEMA, overwrite=False)
    message = writer.write(iter([batch(99)]))
    stored = files(path)
    assert stored > before
    writer.abort([message])
    assert files(path) == stored
    writer.abort([message, None])
    assert files(path) == before
    assert kind.count(path) == 20


def test_secrets_are_in_no_representation_of_a_plan(kind, path):
    reader = source(kind, "scan", path, **scan(options=SECRET)).reader(SCHEMA)
    writer = source(kind, "write", path, **write(options=SECRET, skip=False)).writer(SCHEMA, overwrite=False)
    shown = [repr(part.value) for part in reader.partitions()] + [repr(vars(reader)), repr(vars(writer))]
    assert shown
    assert "canary" not in "".join(shown)
    text = json.dumps([ask(kind, "plan", path, **scan(options=SECRET | BY_TASKS))])
    assert "canary" not in text


@pytest.mark.parametrize("command", ["create_table", "sql"])
def test_datasets_have_no_catalog_and_no_sql(tmp_path, command):
    arguments = write() if command == "create_table" else {"sql": "CHECKPOINT INDEXTABLES '/t'"}
    with pytest.raises(InputError, match=f"command '{command}' takes no field 'column_groups'"):
        ask(KINDS["datasets"], command, str(tmp_path / "t"), **arguments)

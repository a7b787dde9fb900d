"""What SQL puts into `__request`, into a plan or into a job file: plain values, or an IndexTablesError; never code."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import os
import pickle
import re
import tempfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.sql.types import LongType, StructField, StructType

import indextables as it
from indextables.config import Settings
from indextables.errors import IndexTablesError, InputError
from indextables.log.cleanup import StateRetention
from indextables.maintenance import PreparedPurge
from indextables.predicates import from_spark
from indextables.predicates.spark import MAX_DEPTH
from indextables.schema import Field, TableSchema
from indextables.spark.formats.plan_json import DecodedScan, decode_write, encode_scan, encode_write
from indextables.spark.formats.table_scan import scan_plan
from indextables.spark.request_json import parse_request
from indextables.spark.source import IndexTablesDataSource
from indextables.spark.sql import Job, finish_job, job_tasks, run_command, run_job_task
from indextables.spark.sql.jobs import WaitingPurge, read_job
from indextables.storage import ObjectInfo
from indextables.table import plan_write

SCHEMA = StructType([StructField("id", LongType())])
SOURCES = Path(__file__).parent.parent.parent / "src"


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._marker),)


@pytest.fixture
def marker(tmp_path):
    """Where the payload would leave its trace."""
    path = tmp_path / "code-ran"
    yield path
    assert not path.exists(), "code from a request was run"


def source(request: object) -> IndexTablesDataSource:
    return IndexTablesDataSource({"__request": request if isinstance(request, str) else json.dumps(request)})


def scan(path: str, **more: Any) -> dict[str, Any]:
    plain = {
        "command": "scan",
        "path": path,
        "options": {},
        "columns": ["id"],
        "filters": [],
        "parallelism": 1,
    }
    return plain | more


def write(path: str, **more: Any) -> dict[str, Any]:
    plain = {"command": "write", "path": path, "options": {}, "mode": "append", "schema": SCHEMA.json()}
    return plain | {"partition_by": None, "skip": False} | more


@pytest.mark.parametrize("kind", ["table", "columns"])
def test_a_pickle_in_a_plan_is_not_loaded(tmp_path, marker, kind):
    plan = base64.b64encode(pickle.dumps(Payload(marker))).decode()
    groups = {"column_groups": {}} if kind == "columns" else {}
    with pytest.raises(IndexTablesError):
        source(scan(str(tmp_path / "t"), plan=plan) | groups).reader(SCHEMA)
    with contextlib.suppress(
        IndexTablesError
    ):  # column groups are planned from the request, whatever the plan
        source(write(str(tmp_path / "t"), plan=plan) | groups).writer(SCHEMA, overwrite=False)


def test_a_pickle_in_a_job_file_is_not_loaded(tmp_path, marker):
    handle, name = tempfile.mkstemp(prefix="indextables-", suffix=".job")
    try:
        with os.fdopen(handle, "wb") as file:
            pickle.dump(Payload(marker), file)
        with pytest.raises(InputError, match="is not a job of this session"):
            source({"command": "job", "options": {}, "job": name}).reader(SCHEMA)
        with pytest.raises(InputError):
            finish_job(name, [])
    finally:
        Path(name).unlink()


def test_nothing_in_the_package_unpickles():
    """Spark pickles what it sends to its workers; the package itself has no need to."""
    found = [
        path
        for path in SOURCES.rglob("*.py")
        if re.search(r"^\s*(import|from) pickle", path.read_text(), re.MULTILINE)
    ]
    assert found == []


class TestJobFiles:
    @pytest.fixture
    def waiting(self, tmp_path):
        """The file of a purge that waits for its tasks."""
        splits = tuple(ObjectInfo(f"splits/orphan-{number}.split", 1, 0) for number in range(3))
        prepared = PreparedPurge(
            started_ms=5,
            hours=168,
            dry_run=False,
            retention=StateRetention(1, 2, 3),
            versions=(0, 1),
            versions_deleted=2,
            states=(1,),
            states_deleted=1,
            named=frozenset({"manifests/a"}),
            unnamed=(),
            splits=splits,
            spared=4,
            failures=("why",),
        )
        purge = WaitingPurge(str(tmp_path), {"spark.indextables.purge.parallelism": "3"}, prepared)
        file = purge.save()
        assert file is not None
        assert read_job(file) == purge
        yield file
        Path(file).unlink(missing_ok=True)

    def test_a_purge_is_finished_once(self, tmp_path):
        path = str(tmp_path / "table")
        it.write(path, pa.table({"n": [1]}))
        for number in range(1001):
            orphan = tmp_path / "table" / "splits" / f"orphan-{number}.split"
            orphan.write_bytes(b"x")
            os.utime(orphan, (0, 0))
        job = run_command(f"PURGE INDEXTABLE '{path}'", {}, with_jobs=True)
        assert isinstance(job, Job)
        tasks = job_tasks(job.file)
        assert [len(task.files) for task in tasks] == [1000, 1]
        results = [next(run_job_task(task)).column("result")[0].as_py() for task in tasks]
        assert finish_job(job.file, results).column("metrics")[0].as_py()["orphaned_files_deleted"] == 1001
        with pytest.raises(InputError, match="may have been finished already"):
            job_tasks(job.file)

    def test_only_job_files_are_read_or_deleted(self, waiting, tmp_path):
        elsewhere = tmp_path / Path(waiting).name
        elsewhere.write_bytes(Path(waiting).read_bytes())
        link = Path(waiting).with_name(f"indextables-link{os.getpid()}.job")
        link.symlink_to(waiting)
        pipe = Path(waiting).with_name(f"indextables-pipe{os.getpid()}.job")
        os.mkfifo(pipe, 0o600)
        shared = Path(waiting).with_name(f"indextables-shared{os.getpid()}.job")
        shared.write_bytes(Path(waiting).read_bytes())
        shared.chmod(0o644)
        try:
            for name in (elsewhere, link, pipe, shared, "/etc/passwd", f"{waiting}/../x", "", "\0"):
                with pytest.raises(InputError):
                    finish_job(str(name), [])
            assert elsewhere.exists()
        finally:
            for name in (link, pipe, shared):
                name.unlink()

    @pytest.mark.parametrize(
        "change",
        [
            {"splits": [["_transaction_log/00000000000000000000.json", 1, 1]]},
            {"splits": [["../other/splits/a.split", 1, 1]]},
            {"splits": [["a.split", "1", 1]]},
            {"splits": 7},
            {"uri": None},
            {"options": [1]},
            {"retention": [1, 2, 3, 4]},
            {"versions": ["0"]},
        ],
    )
    def test_a_job_file_deletes_splits_and_nothing_else(self, waiting, change):
        document = json.loads(Path(waiting).read_bytes()) | change
        Path(waiting).write_text(json.dumps(document))
        with pytest.raises(InputError):
            job_tasks(waiting)

    @pytest.mark.parametrize("result", ["", "1", "[1]", "[1,2,3]", '["a",1,[]]', "[1,1,[2]]"])
    def test_results_are_those_of_a_purge(self, waiting, result):
        with pytest.raises(InputError, match="is not the result of a purge"):
            finish_job(waiting, [result])


GARBAGE = [
    "",
    "{",
    "[]",
    "null",
    "1",
    '"\\ud800"',
    "[" * 5000,
    {},
    {"command": "describe"},
    {"command": "describe", "options": {}},
    {"command": "describe", "path": ["x"], "options": {}},
    {"command": "describe", "path": "/t", "options": {"a": 1}},
    {"command": "describe", "path": "/t", "options": {}, "version": True},
    {"command": "describe", "path": "/t", "options": {}, "version": -1},
    {"command": "describe", "path": "/t", "options": {}, "timestamp": 1 << 62},
    {"command": "describe", "path": "/t", "options": {}, "unheard_of": 1},
    {"command": "__class__", "path": "/t", "options": {}},
    {"command": "sql", "options": {}, "sql": "x", "results": []},
    {"command": "scan", "path": "/t", "options": {}},
    scan("/t", columns="id"),
    scan("/t", filters=[1]),
    scan("/t", filters=[{"op": "AND", "args": [[]]}]),
    scan("/t", filters=[{"lit": "x"}]),
    scan("/t", limit=-1),
    scan("/t", aggregate="sum"),
    scan("/t", aggregate={"groups": []}),
    scan("/t", aggregate={"groups": [], "measures": [{"op": 1}]}),
    scan("/t", aggregate={"groups": {}, "measures": []}),
    scan("/t", plan={}),
    scan("/t", plan="[]"),
    scan("/t", plan="x" * ((1 << 20) + 1)),
    scan("/t", plan='{"schema":1,"mapping":[],"partitions":[],"now":null,"corpus":null,"tasks":[[]]}'),
    scan("/t", plan='{"schema":"{}","mapping":[],"partitions":[],"now":null,"corpus":null,"tasks":[[]]}'),
    write("/t", plan="{}"),
    write(
        "/t",
        plan='{"base_version":"1","metadata":{},"replaces":null,"split_bytes":1,"replaces_part":false,"evolves":null}',
    ),
    write(
        "/t",
        plan='{"base_version":1,"metadata":{"protocol":{}},"replaces":null,"split_bytes":1,"replaces_part":false,"evolves":null}',
    ),
    write(
        "/t",
        plan='{"base_version":1,"metadata":{"metaData":{"id":1}},"replaces":null,"split_bytes":1,"replaces_part":false,"evolves":null}',
    ),
    write(
        "/t",
        plan='{"base_version":1,"metadata":{"metaData":{"id":"a"}},"replaces":null,"split_bytes":0,"replaces_part":false,"evolves":null}',
    ),
    {"command": "alter_table", "path": "/t", "changes": "x"},
    {"command": "alter_table", "path": "/t", "changes": [{"change": "add", "column": [1]}]},
    {"command": "alter_table", "path": "/t", "changes": [{"change": "set", "name": {}}]},
    write("/t", plan="null"),
    write("/t", mode="destroy"),
    write("/t", schema="x"),
]


@pytest.mark.parametrize("request_", GARBAGE, ids=lambda value: str(value)[:60])
def test_garbage_is_an_error_of_ours(request_):
    given_source = source(request_)
    for use in (
        given_source.schema,
        lambda: given_source.reader(SCHEMA),
        lambda: given_source.writer(SCHEMA, overwrite=False),
    ):
        try:
            reply = use()
        except IndexTablesError:
            continue
        assert isinstance(reply, StructType)
        assert "error" in reply[0].metadata["__it"]


def test_a_request_is_bounded(monkeypatch):
    monkeypatch.setattr("indextables.spark.request_json.MAX_REQUEST_BYTES", 10)
    with pytest.raises(InputError, match="it has 100 characters; the maximum is 10"):
        source(scan("/t")).reader(SCHEMA)


PARTITIONED = TableSchema(
    (
        Field("id", "long"),
        Field("day", "date"),
        Field("at", "timestamp"),
        Field("host", "string"),
        Field("hot", "boolean"),
        Field("n", "short"),
    )
)
NODES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("id"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["op", "args", "col", "lit", "type", "udf", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
OPS = ("AND", "NOT", "IN", "=", "IS_NULL", "CONTAINS", "textsearch", "nonsense")
FILTERS = st.recursive(
    st.builds(dict, col=st.lists(st.sampled_from(["id", "host", "x"]), max_size=2))
    | st.builds(
        dict, lit=st.none() | st.text(max_size=3), type=st.sampled_from(["bigint", "string", "date", "x"])
    ),
    lambda inner: (
        st.builds(dict, op=st.sampled_from(OPS), args=st.lists(inner, max_size=3))
        | st.builds(dict, udf=st.sampled_from(OPS), args=st.lists(inner, max_size=3))
    ),
    max_leaves=10,
)


@settings(max_examples=100, deadline=None)
@given(NODES)
def test_any_json_for_filters_is_refused_or_understood(node):
    try:
        request = parse_request(json.dumps(scan("/t", filters=[node])))
    except InputError:
        return
    for accepted in request.arguments["filters"]:
        from_spark(accepted, PARTITIONED)


@settings(max_examples=100, deadline=None)
@given(FILTERS)
def test_any_tree_of_filters_is_left_to_spark_or_understood(node):
    request = parse_request(json.dumps(scan("/t", filters=[node])))
    from_spark(request.arguments["filters"][0], PARTITIONED)


@pytest.mark.parametrize("op", ["NOT", "OR"])
def test_a_filter_nested_too_deeply_is_left_to_spark(op):
    """The deepest that is taken can be pickled, as Spark does with tasks."""
    for depth, is_taken in ((MAX_DEPTH - 1, True), (MAX_DEPTH, False), (400, False)):
        text = f'{{"op":"{op}","args":[' * depth + '{"col":["hot"]}' + "]}" * depth
        request = parse_request(json.dumps(scan("/t")).replace('"filters": []', f'"filters": [{text}]'))
        predicate = from_spark(request.arguments["filters"][0], PARTITIONED)
        assert (predicate is not None) == is_taken
        assert pickle.loads(cloudpickle.dumps(predicate)) == predicate


def test_a_scan_comes_back_as_it_was_sent(tmp_path):
    path = str(tmp_path / "table")
    rows = pa.table(
        {
            "id": [1, 2, 3, 4],
            "day": [date(2024, 5, 1), None, date(1970, 1, 1), date(9999, 12, 31)],
            "at": pa.array(
                [datetime(2024, 5, 1, 12, 0, 0, 5, tzinfo=UTC), None] * 2, pa.timestamp("us", "UTC")
            ),
            "host": ["a/b", None, "", "ö"],
            "hot": [True, False, None, True],
            "n": pa.array([-5, 0, None, 7], pa.int16()),
        }
    )
    it.write(path, rows, partition_by=["day", "at", "host", "hot", "n"])
    search = {"op": ">", "args": [{"col": ["id"]}, {"lit": "0", "type": "bigint"}]}
    request = parse_request(
        json.dumps(scan(path, version=0, parallelism=3, limit=5, filters=[search], command="scan"))
    )
    tasks = scan_plan(request).tasks
    assert len(tasks) == 3
    text = encode_scan(tasks)
    assert text is not None
    assert DecodedScan(text).tasks(path, Settings(), tasks[0].request) == tasks


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_comes_back_as_it_was_sent(tmp_path, mode):
    path = str(tmp_path / "table")
    options = {"spark.indextables.stats.bloom.columns": "m", "spark.indextables.aws.secretKey": "canary"}
    it.write(path, pa.table({"id": [1], "m": ["x"]}), text=["m"], settings=options)
    chosen = Settings(options | {"spark.indextables.write.rowGroupRows": "7"})
    schema = TableSchema.from_arrow(pa.schema({"id": pa.int64(), "m": pa.string()}))
    plan = plan_write(path, schema, mode=mode, partition_by=None, settings=chosen)
    text = encode_write(plan)
    assert text is not None
    assert "canary" not in text
    assert decode_write(text, path, mode, chosen) == dataclasses.replace(plan, base_files=0)


PLAN = {
    "schema": TableSchema((Field("id", "long"),)).to_json(),
    "mapping": [["id", "long", "i64", "words2", "position"]],
    "partitions": [{}],
    "now": None,
    "corpus": None,
    "tasks": [[["a.split"], [1], [None], [0], [None]]],
}


def test_a_split_of_a_plan_is_inside_its_table(tmp_path):
    plan = PLAN | {"tasks": [[["../elsewhere/a.split"], [5000], [None], [0], [None]]]}
    reader = source(scan(str(tmp_path), plan=json.dumps(plan))).reader(SCHEMA)
    with pytest.raises(IndexTablesError, match="not a key below"):
        list(reader.read(reader.partitions()[0]))


@pytest.mark.parametrize(
    "change",
    [
        {"tasks": []},
        {"tasks": [[]]},
        {"tasks": [[["a"], [1], [None], [1], [None]]]},
        {"tasks": [[["a"], [1], [None], [-1], [None]]]},
        {"tasks": [[["a"], [-1], [None], [0], [None]]]},
        {"tasks": [[["a"], [True], [None], [0], [None]]]},
        {"tasks": [[["a"], [1, 2], [None], [0], [None]]]},
        {"tasks": [[[None], [1], [None], [0], [None]]]},
        {"tasks": [[["a"], [1], ["1"], [0], [None]]]},
        {"tasks": [[["a"], [1], [None], [0]]]},
        {"tasks": [[["a"], [1], [None], [0], ["b"]]]},
        {"tasks": [[["a"], [1], [None], [0], [["b", -1]]]]},
        {"tasks": [[["a"], [1], [None], [0], [["b", True]]]]},
        {"partitions": [{"unheard_of": "1"}]},
        {"partitions": [{"id": "x"}]},
        {"partitions": [{"id": 1}]},
        {"mapping": [["id", "long", "nonsense", "words2", "position"]]},
        {"mapping": [["id", "long", "i64"]]},
        {"now": "today"},
        {"corpus": "big"},
        {"corpus": [1, {"s": 2}, [["s", "disk", 2]]]},
        {"corpus": [1, {}, [["s", "disk", 1]]]},
        {"corpus": [-1, {}, []]},
        {"mapping": [["id"]]},
        {"schema": "{}"},
    ],
)
def test_a_plan_with_anything_else_in_it_is_refused(tmp_path, change):
    assert len(source(scan(str(tmp_path), plan=json.dumps(PLAN))).reader(SCHEMA).partitions()) == 1
    with pytest.raises(IndexTablesError):
        source(scan(str(tmp_path), plan=json.dumps(PLAN | change))).reader(SCHEMA)

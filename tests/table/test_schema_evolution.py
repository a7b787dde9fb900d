"""Changing the columns of a table: what old rows read, what is refused, and who may read the table after it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import InputError, SchemaError
from indextables.table import (
    Aggregate,
    Measure,
    ScanRequest,
    answer_on_driver,
    plan_scan,
    sums_as_doubles,
)
from indextables.table.writes import write_rows
from support.earlier import TABLES

DATA = Path(__file__).parents[1] / "data"
MERGE_SCHEMA = {"spark.indextables.write.mergeSchema": "true"}


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "t")
    rows = {
        "id": pa.array([1, 2, 3], pa.int32()),
        "day": ["mon", "mon", "tue"],
        "a": ["disk full", "login ok", None],
        "price": pa.array([Decimal("1.50"), None, Decimal("3.25")], pa.decimal128(9, 2)),
    }
    it.write(path, pa.table(rows), text=["a"], partition_by=["day"])
    return path


def ids(table: pa.Table) -> list[int]:
    return sorted(table.column("id").to_pylist())


def test_a_name_that_is_given_to_a_new_column_never_reads_the_old_one(path: str):
    it.open(path).alter(rename={"a": "b"})
    it.open(path).alter(add={"a": "string"}, text=["a"])
    table = it.open(path)
    assert table.to_arrow().column("a").null_count == 3
    assert (table.count("a:disk"), table.count("b:disk"), table.count("disk")) == (0, 1, 1)
    assert table.count(where="a IS NULL") == 3
    assert table.count(where="NOT (a TEXTSEARCH 'disk')") == 0
    it.open(path).merge_splits()
    assert it.open(path).to_arrow().sort_by("id").column("b").to_pylist() == ["disk full", "login ok", None]
    assert it.open(path, version=0).schema.names == ["id", "day", "a", "price"]


def numbers(directory: Path) -> str:
    path = str(directory / "numbers")
    rows = {
        "id": [1, 2, 3],
        "a": [1, 2, 3],
        "b": [100, 200, 300],
        "c": pa.array([0.1, 0.7, 0.3], pa.float32()),
    }
    it.write(path, pa.table(rows))
    return path


def least_and_greatest(path: str, column: str) -> tuple[Any, ...]:
    """Return the minimum, maximum and number of values of a column as Spark is answered."""
    measures = [
        (Measure("min", column), Measure("max", column)),
        (Measure("count", column),),
    ]
    table, figures = it.open(path), []
    for asked in measures:
        request = ScanRequest((column,), aggregate=Aggregate((), asked))
        answer = answer_on_driver(plan_scan(table.uri, table.snapshot, request, table.settings))
        assert answer is not None
        figures += answer.to_pylist()[0].values()
    return tuple(figures)


def test_totals_of_the_log_are_those_of_the_column_and_not_of_its_name(tmp_path: Path):
    path = numbers(tmp_path)
    it.open(path).alter(rename={"a": "b", "b": "a"})
    assert least_and_greatest(path, "a") == (100, 300, 3)
    assert least_and_greatest(path, "b") == (1, 3, 3)
    it.open(path).alter(drop=["a"], add={"a": "bigint"})
    assert least_and_greatest(path, "a") == (None, None, 0)
    it.open(path).alter(drop=["a"], rename={"b": "a"})
    assert least_and_greatest(path, "a") == (1, 3, 3)
    it.open(path).alter(add={"b": "bigint"}, default={"b": 7}, widen={"c": "double"})
    assert least_and_greatest(path, "b") == (7, 7, 3)
    bounds = [pa.scalar(value, pa.float32()).as_py() for value in (0.1, 0.7)]
    assert least_and_greatest(path, "c") == (*bounds, 3)
    assert it.open(path).count(where="c > 0.6999") == 1


def test_an_average_is_of_doubles_only_if_the_column_itself_is_small(tmp_path: Path):
    path = str(tmp_path / "t")
    it.write(path, pa.table({"a": [1, 2], "b": [2**62, 2**62]}))
    it.open(path).alter(rename={"a": "b", "b": "a"})
    table = it.open(path)
    plan = plan_scan(table.uri, table.snapshot, ScanRequest(("a", "b")), table.settings)
    assert (sums_as_doubles(plan, "a"), sums_as_doubles(plan, "b")) == (False, True)


def test_snippets_scores_and_files_have_the_names_of_the_table(path: str):
    it.open(path).alter(rename={"a": "b", "id": "key"}, add={"a": "string"}, text=["a"])
    new = {
        "key": pa.array([4], pa.int32()),
        "day": ["mon"],
        "a": ["disk one"],
        "b": ["two"],
        "price": [Decimal("1.00")],
    }
    it.write(path, pa.table(new | {"price": pa.array(new["price"], pa.decimal128(9, 2))}))
    table = it.open(path)
    found = table.search("a:disk OR b:disk", snippet="b").sort_by("key")
    assert found.column("key").to_pylist() == [1, 4]
    assert found.column("_snippet").to_pylist() == ["<b>disk</b> full", None]
    assert all(score > 0 for score in found.column("_score").to_pylist())
    assert {name for bounds in table.files().column("min_values").to_pylist() for name, _ in bounds} == {
        "key",
        "price",
    }
    assert table.files(where="key = 4").num_rows == 1


def test_new_columns_have_their_default_in_old_rows_and_in_rows_without_them(path: str):
    it.open(path).alter(add={"level": "string", "n": "int"}, default={"level": "INFO", "n": 7})
    it.write(path, pa.table({"id": pa.array([4], pa.int32()), "day": ["mon"]}))
    it.write(
        path,
        pa.table(
            {
                "id": pa.array([5], pa.int8()),
                "day": ["mon"],
                "level": ["WARN"],
                "n": pa.array([None], pa.int32()),
            }
        ),
    )
    table = it.open(path)
    assert ids(table.to_arrow(where="level = 'INFO'")) == [1, 2, 3, 4]
    assert ids(table.to_arrow(where="n > 6")) == [1, 2, 3, 4]
    assert ids(table.to_arrow(where="n IS NULL")) == [5]
    assert ids(table.to_arrow(where="level FIELDMATCH 'INFO'")) == [1, 2, 3, 4]
    assert ids(table.to_arrow(where="NOT (level FIELDMATCH 'INFO')")) == [5]
    assert table.count("level:INF*") == 4
    assert table.count("n:[5 TO 9]") == 4
    assert table.top_values("level").to_pylist() == [
        {"value": "INFO", "count": 4},
        {"value": "WARN", "count": 1},
    ]
    histogram = table.histogram("n", every=5).to_pylist()
    assert {row["bucket"]: row["count"] for row in histogram} == {5: 4, None: 1}


def test_wide_values_do_not_match_narrow_splits(path: str):
    it.open(path).alter(widen={"id": "long", "price": "decimal(30,2)"})
    wide = pa.array([Decimal("1e25")], pa.decimal128(30, 2))
    it.write(path, pa.table({"id": pa.array([2**40]), "day": ["mon"], "a": ["x"], "price": wide}))
    table = it.open(path)
    assert ids(table.to_arrow(where=f"id >= {2**33}")) == [2**40]
    assert ids(table.to_arrow(where=f"id < {2**33}")) == [1, 2, 3]
    assert ids(table.to_arrow(where="price > -10000000000000000000000000")) == [1, 3, 2**40]
    assert ids(table.to_arrow(where="price INDEXQUERY '[-10000000000000000000000000 TO 2]'")) == [1]
    assert table.schema.field("price").type == pa.decimal128(30, 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"drop": ["day"]}, "partition column"),
        ({"rename": {"day": "date"}}, "partition column"),
        ({"rename": {"nope": "x"}}, "no column 'nope'"),
        ({"rename": {"a": "ID"}}, "two columns would have the name"),
        ({"rename": {"a": "_score"}}, "name that is reserved"),
        ({"widen": {"id": "double"}}, "integers can become wider integers"),
        ({"widen": {"a": "long"}}, "cannot become long"),
        ({"widen": {"price": "decimal(12,3)"}}, "digits before the point"),
        ({"add": {"A": "string"}}, "has a column 'A' already"),
        ({"add": {"x": "interval day"}}, "it takes a type of Arrow"),
        ({"add": {"x": "int"}, "default": {"x": "many"}}, "is no integer"),
        ({"add": {"x": "int"}, "default": {"y": 1}}, "not in add"),
        ({"add": {"x": "string"}, "default": {"x": "y"}, "text": ["x"]}, "such a column has no default"),
        ({"add": {"x": "int"}, "text": ["x"]}, "only strings"),
        ({"add": {"x": "string"}, "text": ["price"]}, "only strings"),
        ({"drop": ["id", "a", "price"]}, "is the last one"),
        ({"properties": {"spark.indextables.read.threads": "3"}}, "property|unknown setting"),
        ({"rename": ["a"]}, "takes a dictionary"),
    ],
)
def test_what_cannot_be_changed_is_refused(path: str, change: dict[str, Any], reason: str):
    with pytest.raises(it.IndexTablesError, match=reason):
        it.open(path).alter(**change)
    assert it.open(path).version == 0


def test_an_append_says_what_does_not_fit_and_what_to_do(path: str):
    with pytest.raises(SchemaError, match=r"'more' \(long\).*Table.alter.*mergeSchema"):
        it.write(path, pa.table({"id": [1], "day": ["mon"], "more": [1]}))
    with pytest.raises(SchemaError, match="lack the columns 'day'"):
        it.write(path, pa.table({"id": pa.array([1], pa.int32())}))
    with pytest.raises(SchemaError, match="widen the column .* to long"):
        it.write(path, pa.table({"id": [1], "day": ["mon"]}))
    with pytest.raises(SchemaError, match="lack the columns 'a', 'price'"):
        it.open(path).upsert(pa.table({"id": pa.array([1], pa.int32()), "day": ["mon"]}), on=["id"])
    assert it.open(path).version == 0


def test_an_append_adds_columns_if_it_is_asked_to(path: str):
    rows = pa.table({"id": pa.array([4], pa.int16()), "day": ["mon"], "note": ["disk noted"], "k": ["v"]})
    it.write(path, rows, settings=MERGE_SCHEMA, text=["note"])
    table = it.open(path)
    assert table.schema.names == ["id", "day", "a", "price", "note", "k"]
    assert (table.count("note:noted"), table.count(where="k = 'v'"), table.count(where="note IS NULL")) == (
        1,
        1,
        3,
    )
    with pytest.raises(InputError, match="adds columns with an append"):
        it.write(
            path,
            table.to_arrow(limit=1).append_column("z", [[1]]),
            mode="overwrite",
            replace_where="day = 'mon'",
            settings=MERGE_SCHEMA,
        )


def test_two_appends_that_add_the_same_column_do_not_mix_it(path: str, monkeypatch: pytest.MonkeyPatch):
    stored = write_rows
    rows = pa.table({"id": pa.array([4], pa.int32()), "day": ["mon"], "note": ["one"]})

    def overtaken(*arguments: Any) -> Any:
        result = stored(*arguments)
        monkeypatch.setattr("indextables.table.api.write_rows", stored)
        it.write(path, rows, settings=MERGE_SCHEMA)
        return result

    monkeypatch.setattr("indextables.table.api.write_rows", overtaken)
    with pytest.raises(SchemaError, match="has changed"):
        it.write(path, rows, settings=MERGE_SCHEMA)
    assert it.open(path).count(where="note = 'one'") == 1


def test_properties_follow_the_names_of_columns(path: str):
    bloom, stats = "spark.indextables.stats.bloom.columns", "spark.indextables.dataSkippingStatsColumns"
    it.open(path).alter(properties={bloom: "id, price", stats: "price"})
    it.open(path).alter(rename={"id": "key"}, drop=["price"])
    configuration = it.open(path).metadata.configuration
    assert configuration[bloom] == "key"
    assert stats not in configuration
    it.write(path, pa.table({"key": pa.array([9], pa.int32()), "day": ["tue"]}))
    assert it.open(path).count(where="key = 9") == 1
    it.open(path).alter(properties={bloom: None})
    assert bloom not in it.open(path).metadata.configuration


def test_changes_restores_and_states_know_the_columns_of_their_version(path: str):
    it.open(path).alter(rename={"a": "b"}, add={"n": "long"}, default={"n": 1})
    it.open(path).delete("b TEXTSEARCH 'disk'")
    it.open(path).checkpoint()
    it.open(path).invalidate_cache()
    table = it.open(path)
    feed = table.changes(since=0).to_arrow(feed=True)
    assert [(r["id"], r["b"], r["n"], r["_change_type"]) for r in feed.to_pylist()] == [
        (1, "disk full", 1, "delete")
    ]
    assert table.restore(0) == 3
    assert it.open(path).schema.names == ["id", "day", "a", "price"]
    assert it.open(path).count("a:disk") == 1
    assert it.open(path, version=2).count(where="n = 1") == 2


def test_a_schema_that_is_read_and_written_elsewhere_has_no_identities(path: str, tmp_path: Path):
    it.open(path).alter(rename={"a": "b"})
    it.write(tmp_path / "other", it.open(path).to_arrow(), text=["b"])
    assert "storedName" not in it.open(tmp_path / "other").metadata.schema_string
    assert it.open(tmp_path / "other").count("b:disk") == 1


def test_an_overwrite_keeps_the_identities_of_columns(path: str):
    it.open(path).alter(rename={"a": "b"}, add={"c": "long"}, default={"c": 7})
    rows = it.open(path).to_arrow()
    it.write(path, rows, mode="overwrite", text=["b"])
    before, after = it.open(path, version=1), it.open(path)
    assert after.metadata.schema_string == before.metadata.schema_string
    assert [it.open(path, version=version).count("b:disk") for version in (1, 2)] == [1, 1]
    it.write(path, rows.append_column("a", rows.column("b")), mode="overwrite", text=["a", "b"])
    schema = it.open(path).snapshot.schema
    assert [schema.field(name).stored_name for name in ("b", "c")] == [
        before.snapshot.schema.field(name).stored_name for name in ("b", "c")
    ]
    assert schema.field("a").stored_name != "a"
    assert schema.field("c").default == "7"
    assert it.open(path).count("a:disk AND b:disk") == 1


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_an_earlier_release_is_changed(tmp_path: Path, name: str):
    with zipfile.ZipFile(DATA / "earlier.zip") as archive:
        archive.extractall(tmp_path)
    path = str(tmp_path / name)
    before = it.open(path)
    expected = ids(before.search("timeout", limit=10_000))
    it.open(path).alter(rename={"message": "text"}, add={"message": "string"}, text=["message"])
    assert ids(it.open(path).search("text:timeout", limit=10_000)) == expected
    assert it.open(path).count("message:timeout") == 0
    it.write(
        path,
        pa.table(
            {"id": [10**6]}
            | {c: [before.to_arrow(limit=1).column(c)[0].as_py()] for c in before.partition_columns}
        ),
    )
    it.open(path).merge_splits()
    assert ids(it.open(path).search("text:timeout", limit=10_000)) == expected
    assert it.open(path).count() == before.count() + 1


@pytest.mark.parametrize(
    "change",
    [{"rename": {"a": "b"}}, {"drop": ["a"]}, {"widen": {"id": "long"}}, {"add": {"x": "string"}}],
    ids=["renamed", "dropped", "widened", "added"],
)
def test_an_older_reader_refuses_a_table_whose_columns_were_changed(tmp_path: Path, change: dict[str, Any]):
    path = str(tmp_path / "t")
    it.write(path, pa.table({"id": pa.array([1], pa.int32()), "a": ["x"]}))
    it.open(path).alter(**change)
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import indextables as it
try:
    print(it.open(sys.argv[2]).count())
except it.ProtocolError as error:
    print(error)
"""
    command = [sys.executable, "-c", script, str(DATA / "older_reader.zip"), path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "requires the feature storedNames" in done.stdout


def test_scores_count_the_rows_of_splits_that_lack_the_column(tmp_path: Path):
    path = str(tmp_path / "t")
    it.write(path, pa.table({"id": [1, 2, 3], "a": ["disk full", "login ok", None]}), text=["a"])
    it.open(path).alter(rename={"a": "b"}, add={"a": "string"}, text=["a"])
    new = {"id": [4, 5, 6], "a": ["disk new disk", "x", None], "b": ["old disk", "disk b c d", None]}
    it.write(path, pa.table(new))

    def scores() -> list[list[tuple[int, float]]]:
        queries = (
            "a:disk",
            "disk",
            "a:disk^2 OR b:(disk AND full)",
            "+b:disk -a:disk",
            'b:"disk full" OR a:new',
        )
        found = [it.open(path).search(query, columns=["id"]).to_pylist() for query in queries]
        return [sorted((row["id"], round(row["_score"], 9)) for row in rows) for rows in found]

    before = scores()
    it.open(path).merge_splits()
    assert scores() == before
    assert it.open(path).files().num_rows == 1


def test_columns_that_are_kept_in_memory_are_those_of_the_version(tmp_path: Path):
    path = str(tmp_path / "t")
    it.write(path, pa.table({"id": [1, 2], "a": ["x", "x"], "b": ["y", "y"]}))

    def values(name: str) -> list[object]:
        return [row["value"] for row in it.open(path).top_values(name).to_pylist()]

    assert (values("a"), values("b")) == (["x"], ["y"])
    it.open(path).alter(rename={"a": "b", "b": "a"})
    assert (values("a"), values("b")) == (["y"], ["x"])
    it.open(path).alter(drop=["a"], add={"a": "string"}, default={"a": "z"})
    assert (values("a"), values("b")) == (["z"], ["x"])
    it.open(path).alter(drop=["a"], add={"a": "string"})
    assert values("a") == [None]
    assert [row["value"] for row in it.open(path, version=0).top_values("a").to_pylist()] == ["x"]

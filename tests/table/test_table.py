"""The table as plain Python sees it: write, open, read, search, without Spark."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigError,
    InputError,
    PredicateError,
    QueryError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
    VersionNotFoundError,
)

EVERY_TYPE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "message": pa.array(["disk full on db1", None, "login ok for ann", "disk ok"], pa.string()),
        "host": pa.array(["db1", "web1", None, "db2"], pa.string()),
        "byte": pa.array([-128, 127, None, 0], pa.int8()),
        "short": pa.array([-32768, 32767, None, 0], pa.int16()),
        "int": pa.array([-(2**31), 2**31 - 1, None, 0], pa.int32()),
        "float": pa.array([1.5, math.inf, None, -0.0], pa.float32()),
        "double": pa.array([math.pi, -math.inf, None, 1e-300], pa.float64()),
        "flag": pa.array([True, False, None, True]),
        "day": pa.array([date(2024, 1, 1), date(1969, 12, 31), None, date(9999, 12, 31)]),
        "at": pa.array(
            [
                datetime(2024, 1, 1, 12, 0, 0, 1, tzinfo=UTC),
                datetime(1960, 2, 29, 23, 59, 59, 999999, tzinfo=UTC),
                None,
                datetime(1970, 1, 1, tzinfo=UTC),
            ],
            pa.timestamp("us", tz="UTC"),
        ),
        "blob": pa.array([b"\x00\xff", b"", None, b"x"], pa.binary()),
    }
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def rows(table: pa.Table, by: str = "id") -> list[dict]:
    return sorted(table.to_pylist(), key=lambda row: row[by])


def test_every_type_and_every_null_comes_back(path: str) -> None:
    it.write(path, EVERY_TYPE, text=["message"])
    assert rows(it.open(path).to_arrow()) == EVERY_TYPE.to_pylist()
    assert it.open(path).schema == EVERY_TYPE.schema


@pytest.mark.parametrize("column", ["host", "byte", "short", "int", "id", "flag", "day", "at"])
def test_every_partition_type_comes_back_typed(path: str, column: str) -> None:
    it.write(path, EVERY_TYPE, partition_by=[column])
    table = it.open(path)
    assert table.partition_columns == [column]
    assert rows(table.to_arrow()) == EVERY_TYPE.to_pylist()
    assert table.to_arrow(where=f"{column} IS NULL").num_rows == EVERY_TYPE.column(column).null_count
    assert table.count(where=f"{column} IS NOT NULL") == 4 - EVERY_TYPE.column(column).null_count


@pytest.mark.parametrize("column", ["float", "double", "blob"])
def test_a_type_that_cannot_partition_is_refused(path: str, column: str) -> None:
    with pytest.raises(SchemaError, match="cannot partition"):
        it.write(path, EVERY_TYPE, partition_by=[column])


def test_partition_values_with_odd_characters(path: str) -> None:
    odd = ["a/b", "a=b", "100%", "é😀", "", "__x", "a b", "..", None]
    data = pa.table({"id": list(range(len(odd))), "p": pa.array(odd, pa.string())})
    it.write(path, data, partition_by=["p"])
    assert rows(it.open(path).to_arrow()) == data.to_pylist()
    for value in odd[:-1]:
        quoted = value.replace("'", "''")
        assert it.open(path).to_arrow(where=f"p = '{quoted}'").column("p").to_pylist() == [value]


def test_partitions_in_any_order_make_one_split_each(path: str) -> None:
    data = pa.table({"id": list(range(1000)), "p": [i % 7 for i in range(1000)]})
    it.write(path, data.to_reader(max_chunksize=10), partition_by=["p"])
    table = it.open(path)
    assert table.files().num_rows == 7
    assert rows(table.to_arrow()) == data.to_pylist()


def test_modes(path: str) -> None:
    one, two = pa.table({"id": [1]}), pa.table({"id": [2]})
    assert it.write(path, one, mode="error") == 0
    with pytest.raises(TableExistsError, match="append or overwrite"):
        it.write(path, two, mode="error")
    assert it.write(path, two, mode="ignore") == 0
    assert it.write(path, two, mode="append") == 1
    assert rows(it.open(path).to_arrow()) == [{"id": 1}, {"id": 2}]
    assert it.write(path, two, mode="overwrite") == 2
    assert rows(it.open(path).to_arrow()) == [{"id": 2}]
    with pytest.raises(InputError, match="append, overwrite, error, ignore"):
        it.write(path, one, mode="upsert")


def test_an_overwrite_may_change_the_schema_and_keeps_the_index_choices(path: str) -> None:
    it.write(
        path,
        pa.table({"id": [1], "message": ["disk full"], "day": ["mon"]}),
        text=["message"],
        partition_by=["day"],
    )
    it.write(path, pa.table({"message": ["disk ok"], "day": ["tue"], "n": [1.5]}), mode="overwrite")
    table = it.open(path)
    assert table.schema.names == ["message", "day", "n"]
    assert table.partition_columns == ["day"]
    assert table.count("message:disk") == 1


def test_versions_stay_readable(path: str) -> None:
    for i in range(3):
        it.write(path, pa.table({"id": [i]}))
    assert [it.open(path, version=v).count() for v in range(3)] == [1, 2, 3]
    with pytest.raises(VersionNotFoundError, match="2"):
        it.open(path, version=9)
    with pytest.raises(InputError, match="exclude each other"):
        it.open(path, version=1, as_of="2024-01-01")
    assert it.open(path, as_of=datetime.now(UTC)).version == 2
    with pytest.raises(VersionNotFoundError):
        it.open(path, as_of="2001-01-01T00:00:00Z")


def test_a_missing_table_says_so(path: str) -> None:
    with pytest.raises(TableNotFoundError, match="table"):
        it.open(path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            pa.table({"id": [1], "message": ["x"], "more": [1]}),
            r"does not have: 'more' \(long\).*mergeSchema",
        ),
        (pa.table({"id": ["1"], "message": ["x"]}), "'id' is long in the table and string in the rows"),
    ],
)
def test_an_append_must_fit_the_table(path: str, data: pa.Table, reason: str) -> None:
    it.write(path, pa.table({"id": [1], "message": ["x"]}))
    with pytest.raises(SchemaError, match=reason):
        it.write(path, data)
    assert it.open(path).version == 0


def test_an_append_may_reorder_and_narrow_its_columns(path: str) -> None:
    it.write(path, pa.table({"id": [1], "message": ["x"]}))
    it.write(path, pa.table({"MESSAGE": pa.array(["y"], pa.large_string()), "id": pa.array([2], pa.int16())}))
    assert rows(it.open(path).to_arrow()) == [{"id": 1, "message": "x"}, {"id": 2, "message": "y"}]


def test_an_append_cannot_change_how_a_column_is_indexed(path: str) -> None:
    it.write(path, pa.table({"id": [1], "message": ["x"]}))
    with pytest.raises(ConfigError, match="indexed as string"):
        it.write(path, pa.table({"id": [1], "message": ["x"]}), text=["message"])
    with pytest.raises(SchemaError, match="partitioned by nothing"):
        it.write(path, pa.table({"id": [1], "message": ["x"]}), partition_by=["id"])


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (pa.table({"a": pa.array([[1]], pa.list_(pa.time64("us")))}), SchemaError, "list<"),
        (pa.table({"a": pa.array([1], pa.duration("us"))}), SchemaError, "cast it"),
        (pa.table({"a": [1], "A": [2]}), SchemaError, "differ only in case"),
        (pa.table({"_score": [1.0]}), SchemaError, "reserved"),
        ("a", InputError, "cannot write a str"),
        ([{1: 2}], InputError, "the name of a column is text, not 1"),
        ({b"a": [1]}, InputError, "the name of a column is text, not b'a'"),
        ({None: [1]}, InputError, "the name of a column is text, not None"),
        ([{"\ud800": 2}], InputError, "surrogates not allowed"),
    ],
)
def test_rows_that_no_table_can_hold(path: str, data: object, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        it.write(path, data)


@pytest.mark.parametrize(
    ("text", "reason"),
    [(["nope"], "unknown column 'nope'"), (["id"], "only strings"), ("id", "list of column names")],
)
def test_text_columns_are_checked(path: str, text: list[str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        it.write(path, pa.table({"id": [1]}), text=text)


def test_an_unknown_setting_is_an_error(path: str) -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        it.write(path, pa.table({"id": [1]}), settings={"spark.indextables.write.targetSplitSiz": "1M"})


def test_search_ranks_scores_and_highlights(path: str) -> None:
    it.write(path, EVERY_TYPE, text=["message"])
    found = it.open(path).search("message:disk", columns=["id", "host"], snippet="message")
    assert found.column_names == ["id", "host", "_score", "_snippet"]
    assert found.column("id").to_pylist() == [4, 1]  # the shorter message scores higher
    assert found.column("_score").to_pylist() == sorted(found.column("_score").to_pylist(), reverse=True)
    assert found.column("_snippet").to_pylist()[0] == "<b>disk</b> ok"


def test_search_and_where_together(path: str) -> None:
    it.write(path, EVERY_TYPE, text=["message"], partition_by=["flag"])
    table = it.open(path)
    assert table.search("disk", where="host = 'db1'", columns=["id"]).column("id").to_pylist() == [1]
    assert table.count("disk", where="flag") == 2
    assert table.count("disk OR login") == 3
    assert table.to_arrow(
        ["id"], where="message TEXTSEARCH 'ok' AND NOT message TEXTSEARCH 'disk'"
    ).to_pylist() == [{"id": 3}]


def test_search_over_several_splits_keeps_the_best(path: str) -> None:
    for i in range(5):
        it.write(
            path,
            pa.table({"id": [i], "message": ["error " * (i + 1) + "x " * 5]}),
            text=["message"] if i == 0 else [],
        )
    found = it.open(path).search("error", limit=2, columns=["id"])
    assert found.num_rows == 2
    assert it.open(path).search("error", limit=None, columns=["id"]).num_rows == 5
    assert it.open(path).search("error", limit=0, columns=["id"]).num_rows == 0


def test_a_query_that_cannot_be_answered_says_where(path: str) -> None:
    it.write(path, EVERY_TYPE, text=["message"])
    table = it.open(path)
    with pytest.raises(QueryError) as unclosed:
        table.search('message:"disk full')
    assert unclosed.value.position is not None
    with pytest.raises(QueryError, match="host"):
        table.to_arrow(where="host TEXTSEARCH 'db1'")
    with pytest.raises(QueryError, match="nope"):
        table.search("nope:x")


def test_limits_are_exact(path: str) -> None:
    for i in range(4):
        it.write(path, pa.table({"id": [i * 10 + j for j in range(10)]}))
    table = it.open(path)
    for limit in (0, 1, 9, 10, 11, 39, 40, 99):
        assert table.to_arrow(limit=limit).num_rows == min(limit, 40)
        assert table.to_arrow(where="id >= 5", limit=limit).num_rows == min(limit, 35)


def test_files_lists_what_can_match(path: str) -> None:
    it.write(path, pa.table({"id": [1, 2], "day": ["mon", "tue"]}), partition_by=["day"])
    table = it.open(path)
    files = table.files()
    assert files.num_rows == 2
    assert set(files.column_names) >= {"path", "partition_values", "size", "num_records"}
    assert table.files(where="day = 'mon'").num_rows == 1
    assert table.files(where="id = 2").column("path").to_pylist()[0].startswith("day=tue/splits/split-")
    assert table.files(where="id > 5").num_rows == 0


def test_history_is_newest_first(path: str) -> None:
    it.write(path, pa.table({"id": [1, 2]}))
    it.write(path, pa.table({"id": [3]}))
    it.write(path, pa.table({"id": [4]}), mode="overwrite")
    history = it.open(path).history()
    assert history.column("version").to_pylist() == [2, 1, 0]
    assert history.column("operation").to_pylist() == ["WRITE"] * 3
    assert [dict(p)["mode"] for p in history.column("parameters").to_pylist()] == [
        "overwrite",
        "append",
        "append",
    ]
    assert history.column("rows_added").to_pylist() == [1, 1, 2]
    assert history.column("files_removed").to_pylist() == [2, 0, 0]
    assert it.open(path, version=1).history().column("version").to_pylist() == [1, 0]


def test_partitions_can_be_dropped(path: str) -> None:
    it.write(path, pa.table({"id": [1, 2, 3], "day": ["mon", "tue", None]}), partition_by=["day"])
    table = it.open(path)
    with pytest.raises(PredicateError, match="partition columns only"):
        table.drop_partitions("id = 1")
    assert table.drop_partitions("day = 'mon' OR day IS NULL") == 1
    assert rows(table.refresh().to_arrow()) == [{"id": 2, "day": "tue"}]
    assert table.count() == 3  # a Table is one version


def test_an_empty_write_makes_a_table_with_a_schema(path: str) -> None:
    it.write(path, EVERY_TYPE.slice(0, 0), text=["message"])
    table = it.open(path)
    assert table.schema == EVERY_TYPE.schema
    assert table.count() == 0
    assert table.count("message:x") == 0
    assert table.search("message:x").num_rows == 0
    assert it.write(path, EVERY_TYPE.slice(0, 0)) == 0  # nothing to commit
    assert it.write(path, EVERY_TYPE) == 1


def test_splits_roll_at_the_target_size(path: str) -> None:
    data = pa.table({"id": list(range(5000)), "message": [f"message number {i} " * 10 for i in range(5000)]})
    it.write(
        path, data.to_reader(max_chunksize=100), settings={"spark.indextables.write.targetSplitSize": "200K"}
    )
    table = it.open(path)
    assert 3 <= table.files().num_rows <= 10
    assert rows(table.to_arrow()) == data.to_pylist()


def test_a_failed_write_leaves_nothing_behind(path: str, tmp_path: Path) -> None:
    it.write(path, pa.table({"id": [1]}))
    before = sorted(p.name for p in tmp_path.rglob("*.split"))

    def broken():
        yield pa.record_batch({"id": [2]})
        raise OSError("the source went away")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64()}), broken())
    with pytest.raises(OSError, match="the source went away"):
        it.write(path, reader, settings={"spark.indextables.write.targetSplitSize": "1"})
    assert sorted(p.name for p in tmp_path.rglob("*.split")) == before
    assert it.open(path).version == 0


@pytest.mark.parametrize(
    ("error", "left"),
    [(CommitConflictError("lost"), 1), (CommitUnknownError("no answer"), 2), (KeyError("a bug"), 2)],
)
def test_splits_are_deleted_only_when_the_commit_certainly_failed(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, left: int
) -> None:
    it.write(path, pa.table({"id": [1]}))

    def fail(*_args: object, **_more: object) -> None:
        raise error

    monkeypatch.setattr("indextables.table.writes.write.commit", fail)
    with pytest.raises(type(error)):
        it.write(path, pa.table({"id": [2]}))
    assert len(list(tmp_path.rglob("*.split"))) == left


def test_other_arrow_speakers_can_be_written(path: str) -> None:
    class Frame:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"id": [1, 2]}).__arrow_c_stream__(requested_schema)

    it.write(path, Frame())
    it.write(path, pa.record_batch({"id": [3]}))
    assert it.open(path).count() == 3


def test_a_table_without_text_is_searched_by_its_columns():
    uri = "memory://no-text"
    it.write(uri, pa.table({"n": [1, 2, 3], "d": [1.0, 2.0, 3.0]}))
    table = it.open(uri)
    assert table.search("n:>1 AND NOT d:3").column("n").to_pylist() == [2]
    assert table.count("*:*") == 3
    for query in ("word", "/a+/", "wor*", "word~1"):
        with pytest.raises(QueryError, match="no text or string column.*name the column"):
            table.search(query)

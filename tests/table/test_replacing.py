"""Replacing a part of a table: by a condition, and by the partitions of the new rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import CommitConflictError, InputError, QueryError, SchemaError
from indextables.log import load_snapshot
from indextables.storage import open_store
from indextables.table.writes import replacements


def rows(ids: list[int], message: str = "disk full") -> pa.Table:
    days = [("mon", "tue", "wed")[n % 3] for n in ids]
    return pa.table({"id": pa.array(ids, pa.int64()), "day": days, "message": [message] * len(ids)})


def ids(path: str, where: str | None = None) -> list[int]:
    it.open(path).invalidate_cache()
    return sorted(it.open(path).to_arrow(where=where).column("id").to_pylist())


@pytest.fixture(params=[[], ["day"]], ids=["plain", "partitioned"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    place = str(tmp_path / "t")
    for start in (0, 30):
        it.write(
            place, rows([*range(start, start + 30)]), partition_by=request.param or None, text=["message"]
        )
    return place


@pytest.mark.parametrize(
    ("where", "new"),
    [
        ("day = 'mon'", [0, 300, 303]),
        ("id >= 10 AND id < 20", [11, 12, 13]),
        ("day = 'tue' AND id < 15", [1]),
        ("message TEXTSEARCH 'disk'", [1, 2, 1000]),
        ("id < 5 OR message TEXTSEARCH 'absent'", []),
    ],
)
def test_the_rows_that_satisfy_the_condition_are_replaced(path: str, where: str, new: list[int]):
    stay = sorted(set(ids(path)) - set(ids(path, where)))
    data = rows(new, "disk replaced") if new else rows([1]).slice(0, 0)
    version = it.write(path, data, mode="overwrite", replace_where=where)
    assert (version, ids(path)) == (2, sorted([*stay, *new]))
    assert it.open(path).count("replaced") == len(new)
    assert dict(it.open(path).history().column("parameters")[0].as_py())["replaceWhere"]
    assert it.write(path, data, mode="overwrite", replace_where=where) == (3 if new else 2)
    assert ids(path) == sorted([*stay, *new])
    assert len(ids(path)) == it.open(path).count()


def test_a_condition_on_partitions_removes_files_and_deletes_no_positions(tmp_path: Path):
    path = str(tmp_path / "t")
    it.write(path, rows([*range(30)]), partition_by=["day"])
    it.write(path, rows([0, 3]), mode="overwrite", replace_where="day = 'mon'")
    assert it.open(path).protocol.reader_features is None
    assert it.open(path).files().num_rows == 3


@pytest.mark.parametrize("where", ["day = 'mon'", "id < 10", "message TEXTSEARCH 'replaced'"])
def test_rows_that_do_not_satisfy_the_condition_are_refused(path: str, where: str):
    stored = set(Path(path).rglob("*.split"))
    with pytest.raises(InputError, match="do not satisfy"):
        it.write(path, rows([0, 11]), mode="overwrite", replace_where=where)
    assert (it.open(path).version, set(Path(path).rglob("*.split"))) == (1, stored)


def test_only_the_partitions_of_the_new_rows_are_replaced(path: str):
    data = rows([2, 200])
    it.write(path, data, mode="overwrite", replace_partitions=True)
    is_partitioned = bool(it.open(path).partition_columns)
    others = [n for n in range(60) if n % 3 != 2] if is_partitioned else []
    assert ids(path) == sorted([*others, 2, 200])
    if is_partitioned:
        nothing = it.write(path, data.slice(0, 0), mode="overwrite", replace_partitions=True)
        assert (nothing, ids(path)) == (2, sorted([*others, 2, 200]))


def test_replacing_creates_a_table_where_there_is_none(tmp_path: Path):
    path = str(tmp_path / "t")
    assert it.write(path, rows([0, 3]), mode="overwrite", replace_where="day = 'mon'") == 0
    with pytest.raises(InputError, match="do not satisfy"):
        it.write(str(tmp_path / "u"), rows([0, 1]), mode="overwrite", replace_where="day = 'mon'")


def test_what_cannot_be_replaced_is_refused(path: str):
    with pytest.raises(InputError, match="mode overwrite"):
        it.write(path, rows([0]), replace_where="day = 'mon'")
    with pytest.raises(InputError, match="exclude each other"):
        it.write(path, rows([0]), mode="overwrite", replace_where="id = 0", replace_partitions=True)
    with pytest.raises(SchemaError):
        it.write(path, pa.table({"id": [1]}), mode="overwrite", replace_where="id = 1")
    with pytest.raises(QueryError):
        it.write(path, rows([0]), mode="overwrite", replace_where="message TEXTSEARCH 'a AND ('")
    assert it.open(path).version == 1


def overtaken(monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]) -> None:
    """Run another change after a replacement has looked its rows up, and before its commit."""
    commit = replacements.commit_deletes

    def commit_late(*arguments: object, **named: object) -> object:
        monkeypatch.setattr(replacements, "commit_deletes", commit)
        other()
        return commit(*arguments, **named)

    monkeypatch.setattr(replacements, "commit_deletes", commit_late)


def test_a_replacement_conflicts_with_a_restore_of_rows_that_it_replaces(
    path: str, monkeypatch: pytest.MonkeyPatch
):
    it.open(path).delete("id = 3")
    overtaken(monkeypatch, lambda: it.open(path).restore(1))
    with pytest.raises(CommitConflictError, match="restored an older version"):
        it.write(path, rows([3], "mine"), mode="overwrite", replace_where="id = 3")
    assert ids(path, "id = 3") == [3]
    assert it.open(path).count("mine") == 0


@pytest.mark.parametrize("place", [{"replace_where": "id >= 0"}, {"replace_partitions": True}])
def test_a_replacement_whose_twin_was_committed_first_leaves_no_splits(
    path: str, monkeypatch: pytest.MonkeyPatch, place: dict[str, Any]
):
    """The twin is committed after this write has found that its batch is not there."""

    def twin() -> int:
        return it.write(path, rows([0, 1, 2]), mode="overwrite", txn=("loader", 1), **place)

    load, calls = replacements.load_snapshot, []

    def load_late(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            twin()
        return load(*arguments, **named)

    monkeypatch.setattr(replacements, "load_snapshot", load_late)
    assert twin() == 2
    assert it.open(path).version == 2
    live = {Path(path) / key for key in load_snapshot(open_store(path)).files}
    before = {Path(path) / key for key in load_snapshot(open_store(path), 1).files}
    assert set(Path(path).rglob("*.split")) == live | before


def test_a_replacement_with_a_number_of_its_application_is_made_once(path: str):
    for _ in range(2):
        it.write(path, rows([0]), mode="overwrite", replace_where="id = 0", txn=("loader", 1))
    assert load_snapshot(open_store(path)).version == 2

"""Upserts: rows by key are replaced or added in one commit, and concurrent changes of the same keys conflict."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import CommitConflictError, InputError, SchemaError
from indextables.storage import open_store
from indextables.table.writes import upserts


def table(ids: list[int | None], value: str = "old", day: str = "mon") -> pa.Table:
    return pa.table(
        {"id": pa.array(ids, pa.int64()), "day": [day] * len(ids), "value": [f"{value} {n}" for n in ids]}
    )


def rows(path: str) -> list[tuple[int | None, str, str]]:
    it.open(path).invalidate_cache()
    found = it.open(path).to_arrow().select(["id", "day", "value"]).to_pylist()
    return sorted((tuple(row.values()) for row in found), key=lambda row: (row[0] is None, row))


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = str(tmp_path / "t")
    it.write(place, table([*range(10), None]), text=["value"])
    it.write(place, table([*range(10, 20)]), text=["value"])
    return place


def test_rows_with_the_keys_are_replaced_and_others_added(path: str):
    before = rows(path)
    change = it.open(path).upsert(table([3, 13, 30], "new"), on=["id"])
    assert (change.version, change.rows_deleted, change.rows_added) == (2, 2, 3)
    expected = [row for row in before if row[0] not in (3, 13)] + [
        (n, "mon", f"new {n}") for n in (3, 13, 30)
    ]
    assert rows(path) == sorted(expected, key=lambda row: (row[0] is None, row))
    assert it.open(path).count("new") == 3
    assert it.open(path).history().column("operation")[0].as_py() == "UPSERT"
    assert it.open(path).changes(since=1).to_arrow().num_rows == 3


def test_a_key_of_several_columns_may_have_partition_columns(tmp_path: Path):
    path = str(tmp_path / "t")
    for day in ("mon", "tue"):
        it.write(path, table([1, 2, 3], day=day), partition_by=["day"])
    it.open(path).upsert(table([2, 9], "new", day="tue"), on=["day", "ID"])
    assert rows(path) == [
        (1, "mon", "old 1"),
        (1, "tue", "old 1"),
        (2, "mon", "old 2"),
        (2, "tue", "new 2"),
        (3, "mon", "old 3"),
        (3, "tue", "old 3"),
        (9, "tue", "new 9"),
    ]
    assert it.open(path).upsert(table([5], "only", day="mon"), on=["day"]).rows_deleted == 3
    assert [row[2] for row in rows(path) if row[1] == "mon"] == ["only 5"]


def test_many_keys_and_other_types_are_found(tmp_path: Path):
    path = str(tmp_path / "t")
    days = [date(2026, 1, 1 + n % 28) for n in range(3000)]
    data = pa.table(
        {"n": range(3000), "name": [f"n{n}" for n in range(3000)], "d": days, "ok": [True] * 3000}
    )
    it.write(path, data)
    new = data.slice(500, 2000).set_column(3, "ok", pa.array([False] * 2000))
    assert it.open(path).upsert(new, on=["name", "d"]).rows_deleted == 2000
    assert (it.open(path).count(), it.open(path).count(where="ok")) == (3000, 1000)
    assert it.open(path).upsert(new, on=["n"]).rows_deleted == 2000


@pytest.mark.parametrize(
    ("data", "on", "message"),
    [
        (table([1, 1]), ["id"], "in more than one of the rows"),
        (table([1, None]), ["id"], "null in 1 rows"),
        (table([1]), [], "on is empty"),
        (table([1]), ["other"], "other"),
    ],
)
def test_keys_that_do_not_name_one_row_are_refused(path: str, data: pa.Table, on: list[str], message: str):
    with pytest.raises((InputError, SchemaError), match=message):
        it.open(path).upsert(data, on=on)
    assert it.open(path).version == 1


def test_floating_point_keys_are_refused(tmp_path: Path):
    it.write(str(tmp_path / "t"), pa.table({"f": [1.5]}))
    with pytest.raises(InputError, match="floating-point"):
        it.open(str(tmp_path / "t")).upsert(pa.table({"f": [1.5]}), on=["f"])


@pytest.mark.parametrize(
    ("value", "kind"),
    [({"x": 1}, "struct<x:long>"), ([1], "array<long>")],
)
def test_keys_of_several_parts_are_refused(tmp_path: Path, value: object, kind: str):
    it.write(tmp_path, [{"k": value, "n": 1}])
    for rows in ([{"k": value, "n": 2}], pa.table({"k": [value], "n": [2]}).slice(0, 0)):
        with pytest.raises(InputError, match=f"column 'k' is {kind}; values of several parts are no keys"):
            it.open(tmp_path).upsert(rows, on=["k"])


def test_an_upsert_of_no_rows_commits_nothing(path: str):
    assert it.open(path).upsert(table([1]).slice(0, 0), on=["id"]).version == 1


def overtaken(path: str, monkeypatch: pytest.MonkeyPatch, other: object) -> None:
    """Run another change after an upsert has looked its rows up, and before its commit."""
    commit = upserts.commit_deletes

    def commit_late(*arguments: object, **named: object) -> object:
        monkeypatch.setattr(upserts, "commit_deletes", commit)
        other()
        return commit(*arguments, **named)

    monkeypatch.setattr(upserts, "commit_deletes", commit_late)


@pytest.mark.parametrize(
    "other",
    [
        lambda path: it.open(path).upsert(table([3], "theirs"), on=["id"]),
        lambda path: it.open(path).delete("id = 3"),
        lambda path: it.open(path).delete("id < 10 OR id IS NULL"),
        lambda path: it.write(path, table([30], "theirs")),
        lambda path: it.open(path).upsert(table([30], "theirs"), on=["id"]),
    ],
    ids=["upsert", "delete", "delete of the file", "append of a new key", "upsert of a new key"],
)
def test_changes_of_the_same_keys_conflict(path: str, monkeypatch: pytest.MonkeyPatch, other):
    overtaken(path, monkeypatch, lambda: other(path))
    with pytest.raises(CommitConflictError):
        it.open(path).upsert(table([3, 30], "mine"), on=["id"])
    assert not [row for row in rows(path) if row[2].startswith("mine")]
    snapshot = it.open(path).snapshot
    named = {*snapshot.files, *(file.delta_log for file in snapshot.files.values())}
    stored = {info.key for info in open_store(path).list_from("splits/")}
    assert {key for key in stored if "delta-" in key} <= named


def test_an_upsert_sees_rows_that_a_restore_brings_back(path: str, monkeypatch: pytest.MonkeyPatch):
    """A restore adds a split again as of its first version: the key is in no file that is newer than the look-up."""
    it.open(path).delete("id = 3")
    overtaken(path, monkeypatch, lambda: it.open(path).restore(1))
    with pytest.raises(CommitConflictError, match="restored an older version"):
        it.open(path).upsert(table([3], "mine"), on=["id"])
    assert [row[2] for row in rows(path) if row[0] == 3] == ["old 3"]
    it.open(path).upsert(table([3], "mine"), on=["id"])
    assert [row[2] for row in rows(path) if row[0] == 3] == ["mine 3"]


@pytest.mark.parametrize(
    "other",
    [
        lambda path: it.open(path).upsert(table([4, 40], "theirs"), on=["id"]),
        lambda path: it.open(path).delete("id = 4"),
        lambda path: it.write(path, table([40], "theirs")),
        lambda path: it.open(path).merge_splits(),
    ],
    ids=["upsert", "delete", "append", "merge"],
)
def test_changes_of_other_keys_do_not(path: str, monkeypatch: pytest.MonkeyPatch, other):
    overtaken(path, monkeypatch, lambda: other(path))
    it.open(path).upsert(table([3, 30], "mine"), on=["id"])
    found = rows(path)
    assert [row[2] for row in found if row[0] in (3, 30)] == ["mine 3", "mine 30"]
    assert len({row[0] for row in found}) == len(found)

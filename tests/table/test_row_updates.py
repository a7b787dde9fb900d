"""Rows that a statement has found are deleted and replaced in one commit, or not at all."""

from __future__ import annotations

import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.config import Settings
from indextables.errors import CommitConflictError, CorruptTableError, InputError
from indextables.log.changes import UPDATED_ROWS
from indextables.storage import open_store
from indextables.table import RowUpdatePlan, UpdatedRows, commit_row_updates, plan_write, run_update_task
from indextables.table.writes import row_images
from indextables.table.writes.row_images import are_updates, pack_rows, unpack_rows

DELETED, UPDATED, INSERTED = range(3)
Change = tuple[int, str | None, int | None, int | None]
"""The kind, the split and the number of the old row, and the new value."""


class Statement:
    """One statement on a table with a column `n`."""

    def __init__(self, path: str, statement: str = "MERGE") -> None:
        table = it.open(path)
        write = plan_write(
            table.uri, table.snapshot.schema, mode="append", partition_by=None, settings=Settings({})
        )
        assert write is not None
        self.plan = RowUpdatePlan(write, table.version, statement)
        self.keys = list(table.snapshot.files)

    def task(self, *changes: Change) -> UpdatedRows:
        kinds, keys, numbers, values = zip(*changes, strict=True) if changes else ((), (), (), ())
        row = pa.struct({"n": pa.int64()})
        batch = pa.record_batch(
            {
                "kind": pa.array(kinds, pa.int32()),
                "split": pa.array(keys, pa.string()),
                "number": pa.array(numbers, pa.int64()),
                "row": pa.array([None if value is None else {"n": value} for value in values], row),
            }
        )
        return run_update_task(self.plan, [batch])

    def run(self, *changes: Change) -> None:
        commit_row_updates(self.plan, [self.task(*changes)])


@pytest.fixture
def path() -> str:
    """Return a table of two splits with the rows 0 to 9."""
    path = f"memory://{uuid.uuid4()}"
    for start in (0, 5):
        it.write(path, pa.table({"n": range(start, start + 5)}))
    return path


def numbers(path: str) -> list[int]:
    return sorted(it.open(path).to_arrow().column("n").to_pylist())


def test_one_commit_deletes_updates_and_inserts(path: str):
    statement = Statement(path)
    first, second = statement.keys
    statement.run(
        (INSERTED, None, None, 100),
        (UPDATED, first, 1, 101),
        (DELETED, first, 2, None),
        (UPDATED, second, 4, 109),
    )
    assert numbers(path) == [0, 3, 4, 5, 6, 7, 8, 100, 101, 109]
    table = it.open(path)
    assert table.version == 2
    assert table.history().to_pylist()[0]["operation"] == "MERGE"


def feed(path: str, version: int) -> list[tuple[str, int]]:
    """Return what a version changed."""
    rows = it.open(path, version=version).changes(since=version - 1).to_arrow(feed=True).to_pylist()
    assert {row["_commit_version"] for row in rows} <= {version}
    return sorted((row["_change_type"], row["n"]) for row in rows)


def test_the_feed_tells_updates_from_deletes_and_inserts(path: str):
    statement = Statement(path)
    first, second = statement.keys
    statement.run(
        (INSERTED, None, None, 100),
        (UPDATED, first, 1, 101),
        (DELETED, first, 2, None),
        (UPDATED, second, 4, 109),
        (INSERTED, None, None, 200),
    )
    changed = [
        ("delete", 2),
        ("insert", 100),
        ("insert", 200),
        *(("update_postimage", n) for n in (101, 109)),
        *(("update_preimage", n) for n in (1, 9)),
    ]
    assert feed(path, 2) == changed
    it.open(path).merge_splits()
    it.open(path).delete("n = 101")
    assert feed(path, 2) == changed
    assert feed(path, 4) == [("delete", 101)]
    it.open(path).restore(3)
    assert feed(path, 5) == [("insert", 101)]


def test_the_feed_tells_which_rows_an_upsert_updates(path: str):
    partitioned = path + "-parts"
    it.write(partitioned, pa.table({"n": [1, 2, 3], "p": ["a", "b", "b"]}), partition_by=["p"])
    it.open(partitioned).upsert(pa.table({"n": [7, 3, 1], "p": ["b", "a", "a"]}), on=["n"])
    expected = [
        ("insert", 7),
        ("update_postimage", 1),
        ("update_postimage", 3),
        ("update_preimage", 1),
        ("update_preimage", 3),
    ]
    assert feed(partitioned, 1) == expected
    it.open(path).upsert(pa.table({"n": [50, 51]}), on=["n"])
    assert feed(path, 2) == [("insert", 50), ("insert", 51)]


def test_updates_of_more_rows_than_the_log_can_name_are_deletes_and_inserts(
    path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(row_images, "_MAX_TEXT", 3)
    statement = Statement(path)
    first = statement.keys[0]
    statement.run((UPDATED, first, 1, 101), (DELETED, first, 2, None))
    assert feed(path, 2) == [("delete", 1), ("delete", 2), ("insert", 101)]


def test_a_split_without_rows_left_is_removed(path: str):
    statement = Statement(path, "DELETE")
    statement.run(*((DELETED, statement.keys[0], number, None) for number in range(5)))
    assert [file["path"] for file in it.open(path).files().to_pylist()] == statement.keys[1:]


def test_a_statement_without_rows_commits_nothing(path: str):
    Statement(path).run()
    assert it.open(path).version == 1


def test_tasks_that_update_the_same_row_are_refused_and_leave_no_split(path: str):
    statement = Statement(path)
    key = statement.keys[0]
    results = [statement.task((UPDATED, key, 0, 100)), statement.task((UPDATED, key, 0, 200))]
    with pytest.raises(InputError, match="more than once"):
        commit_row_updates(statement.plan, results)
    assert numbers(path) == list(range(10))
    assert not any(open_store(path).exists(add.path) for result in results for add in result.adds)


def test_a_row_that_two_tasks_delete_is_deleted_once(path: str):
    statement = Statement(path, "DELETE")
    key = statement.keys[0]
    commit_row_updates(statement.plan, [statement.task((DELETED, key, 0, None))] * 2)
    assert numbers(path) == list(range(1, 10))


@pytest.mark.parametrize("number", [-1, 5])
def test_rows_that_the_version_does_not_have_are_refused(path: str, number: int):
    statement = Statement(path)
    with pytest.raises(InputError, match="does not have these rows"):
        statement.run((DELETED, statement.keys[0], number, None))
    with pytest.raises(InputError, match="has no file"):
        statement.run((DELETED, "splits/other.split", 0, None))


def test_changes_of_other_rows_of_a_split_do_not_conflict(path: str):
    mine, theirs = Statement(path), Statement(path)
    key = mine.keys[0]
    theirs.run((UPDATED, key, 1, 101))
    it.write(path, pa.table({"n": [50]}))
    mine.run((UPDATED, key, 2, 102), (INSERTED, None, None, 60))
    assert numbers(path) == [0, 3, 4, 5, 6, 7, 8, 9, 50, 60, 101, 102]


@pytest.mark.parametrize("statement", ["MERGE", "UPDATE", "DELETE"])
def test_changes_of_the_same_row_conflict_and_leave_no_file(path: str, statement: str):
    mine, theirs = Statement(path, statement), Statement(path, "UPDATE")
    key = mine.keys[0]
    theirs.run((UPDATED, key, 1, 101))
    before = {file.key for file in open_store(path).list_from("splits/")}
    result = mine.task((DELETED if statement == "DELETE" else UPDATED, key, 1, 999))
    with pytest.raises(CommitConflictError, match="changed the same rows"):
        commit_row_updates(mine.plan, [result])
    assert numbers(path) == [0, 2, 3, 4, 5, 6, 7, 8, 9, 101]
    assert {file.key for file in open_store(path).list_from("splits/")} == before


def test_two_deletes_of_the_same_row_do_not_conflict(path: str):
    mine, theirs = Statement(path, "DELETE"), Statement(path, "DELETE")
    theirs.run((DELETED, mine.keys[0], 1, None))
    mine.run((DELETED, mine.keys[0], 1, None), (DELETED, mine.keys[0], 2, None))
    assert numbers(path) == [0, 3, 4, 5, 6, 7, 8, 9]


@given(st.lists(st.integers(0, 1 << 40), max_size=300))
def test_packed_rows_are_the_rows(rows: list[int]):
    assert unpack_rows(pack_rows(np.array(rows, np.int64))).tolist() == sorted(rows)


@given(st.text(max_size=40), st.booleans())
def test_a_tag_of_another_writer_is_understood_or_refused(text: str, is_new: bool):
    rows = np.arange(4)
    try:
        found = are_updates({UPDATED_ROWS: text}, rows, "a", is_new=is_new)
    except CorruptTableError:
        return
    assert len(found) == len(rows)

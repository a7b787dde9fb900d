"""A statement changes the rows that it has found, wherever merges have moved them; changed rows are a conflict."""

from __future__ import annotations

import dataclasses
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import CommitConflictError
from indextables.log.changes import file_changes
from indextables.storage import open_store
from support.row_statements import RowStatement

Row = dict[str, Any]
Other = Callable[[str], object]

TABLE = [n for n in range(15) if n != 6]


@pytest.fixture
def path() -> str:
    """Return a table of three splits with the rows 0 to 14, in which the row 6 is deleted."""
    path = f"memory://{uuid.uuid4()}"
    for start in (0, 5, 10):
        it.write(path, pa.table({"n": range(start, start + 5)}))
    it.open(path).delete("n = 6")
    return path


def numbers(path: str) -> list[int]:
    return sorted(it.open(path).to_arrow().column("n").to_pylist())


def plus_100(row: Row) -> Row:
    return {"n": row["n"] + 100}


def merge(path: str) -> None:
    assert it.open(path).merge_splits().merge_groups


def merge_deleted(path: str) -> None:
    assert it.open(path).merge_splits(only_deleted=True).merge_groups


def append(path: str) -> None:
    it.write(path, pa.table({"n": [50]}))


def delete(where: str) -> Other:
    return lambda path: it.open(path).delete(where)


def update(where: str) -> Other:
    return lambda path: RowStatement(path, "UPDATE", where).run(lambda row: {"n": -row["n"]})


@pytest.mark.parametrize(
    ("others", "gone", "new"),
    [
        ([merge], [], []),
        ([append, merge], [], [50]),
        ([merge, append, merge], [], [50]),
        ([delete("n IN (0, 5, 8)"), merge], [0, 5, 8], []),
        ([merge, delete("n IN (0, 8)"), merge_deleted], [0, 8], []),
        ([update("n = 8 OR n = 11"), merge, update("n = 12"), merge], [8, 11, 12], [-8, -11, -12]),
        ([merge, delete("n < 5")], range(5), []),
        ([delete("n < 5"), merge], range(5), []),
    ],
)
@pytest.mark.parametrize("kind", ["UPDATE", "MERGE", "DELETE"])
def test_rows_that_merges_have_moved_are_changed_where_they_are(
    path: str, kind: str, others: list[Other], gone: list[int], new: list[int]
):
    statement = RowStatement(path, kind, "n IN (7, 9, 10, 14)")
    for other in others:
        other(path)
    before = it.open(path).version
    inserted = [{"n": 200}] if kind == "MERGE" else []
    statement.run(lambda row: None if kind == "DELETE" or row["n"] == 7 else plus_100(row), inserted)
    left = [n for n in TABLE if n not in gone and n not in (7, 9, 10, 14)]
    changed = [] if kind == "DELETE" else [109, 110, 114]
    assert numbers(path) == sorted([*left, *new, *changed, *(row["n"] for row in inserted)])
    feed = it.open(path).changes(since=before).to_arrow(feed=True).to_pylist()
    assert sorted((row["_change_type"], row["n"]) for row in feed) == sorted(
        [
            ("delete", 7),
            *((("delete" if kind == "DELETE" else "update_preimage"), n) for n in (9, 10, 14)),
            *(("update_postimage", n) for n in changed),
            *(("insert", row["n"]) for row in inserted),
        ]
    )


@pytest.mark.parametrize(
    "others",
    [
        [update("n = 9"), merge],
        [merge, update("n = 9")],
        [merge, append, merge, update("n = 9"), merge],
        [delete("n = 9"), merge],
        [delete("n = 9"), merge, delete("n < 3")],
        [lambda path: it.open(path).upsert(pa.table({"n": [9]}), on=["n"]), merge],
        [merge, lambda path: it.write(path, pa.table({"n": [1]}), mode="overwrite")],
        [merge, lambda path: it.open(path).restore(2)],
    ],
)
@pytest.mark.parametrize("kind", ["UPDATE", "MERGE"])
def test_rows_that_others_have_changed_are_a_conflict_after_a_merge_too(
    path: str, kind: str, others: list[Other]
):
    statement = RowStatement(path, kind, "n = 9 OR n = 12")
    for other in others:
        other(path)
    before, stored = numbers(path), {file.key for file in open_store(path).list_from("splits/")}
    with pytest.raises(CommitConflictError, match=f"read the table again and repeat the {kind}"):
        statement.run(plus_100)
    assert numbers(path) == before
    assert {file.key for file in open_store(path).list_from("splits/")} == stored


@pytest.mark.parametrize(
    "others", [[merge, delete("n = 9")], [delete("n = 9"), merge], [delete("n > 4"), append]]
)
def test_rows_that_two_deletes_delete_are_gone(path: str, others: list[Other]):
    statement = RowStatement(path, "DELETE", "n = 3 OR n = 9")
    for other in others:
        other(path)
    left = [n for n in numbers(path) if n != 3]
    statement.run(lambda _: None)
    assert numbers(path) == left


def test_a_merge_that_does_not_say_where_rows_are_is_a_conflict(path: str, monkeypatch: pytest.MonkeyPatch):
    """Earlier releases and other programs do not record it."""
    without_tags = file_changes.remove_files
    monkeypatch.setattr(
        file_changes,
        "_source_removes",
        lambda group, now: without_tags([now.files[key] for key in group.sources], data_change=False),
    )
    statement = RowStatement(path, "UPDATE", "n = 9")
    merge(path)
    with pytest.raises(CommitConflictError, match="has removed"):
        statement.run(plus_100)


def test_a_merge_with_other_numbers_of_rows_is_a_conflict(path: str, monkeypatch: pytest.MonkeyPatch):
    merged = file_changes._source_removes

    def lying(group: Any, now: Any) -> Any:
        return [
            dataclasses.replace(remove, num_deleted=None, delta_log=None) for remove in merged(group, now)
        ]

    monkeypatch.setattr(file_changes, "_source_removes", lying)
    statement = RowStatement(path, "UPDATE", "n = 9")
    merge(path)
    with pytest.raises(CommitConflictError, match="the log does not tell where they are"):
        statement.run(plus_100)


def test_statements_and_merges_at_the_same_time_never_conflict(tmp_path: Path):
    """Each writer changes its own rows, while the table is merged all the time."""
    path, writers, steps = str(tmp_path / "t"), 3, 6
    for start in range(0, 60, 10):
        it.write(path, pa.table({"n": range(start, start + 10), "value": [0] * 10}))
    failures: list[BaseException] = []

    def change(number: int) -> None:
        try:
            for _ in range(steps):
                statement = RowStatement(path, "UPDATE", f"n IN ({number}, {number + 30}, {59 - number})")
                statement.run(lambda row: row | {"value": row["value"] + 1})
                it.write(path, pa.table({"n": [1000], "value": [0]}))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        it.open(path).merge_splits()
        threads[0].join(0.02)
    for failure in failures:
        raise failure
    rows = it.open(path).to_arrow().to_pylist()
    assert sum(row["n"] == 1000 for row in rows) == writers * steps
    own = {n for number in range(writers) for n in (number, number + 30, 59 - number)}
    values = {row["n"]: row["value"] for row in rows if row["n"] != 1000}
    assert values == {n: steps if n in own else 0 for n in range(60)}

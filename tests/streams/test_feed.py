"""The feed of changes as a stream: every change once, in whole versions, whenever a batch is planned."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import ConfigError, InputError, SchemaError
from indextables.streams import (
    Limits,
    Offset,
    StreamOptions,
    StreamSource,
    batch_tasks,
    feed_columns,
    last_table,
    range_tasks,
)
from indextables.table import FeedTask, run_feed_task

Row = dict[str, Any]


def source(path: Path, **options: str) -> StreamSource:
    return StreamSource(str(path), Settings(), StreamOptions.parse({"readChangeFeed": "true", **options}))


def rows_of(tasks: tuple[FeedTask, ...]) -> list[Row]:
    return [row for task in tasks for batch in run_feed_task(task) for row in batch.to_pylist()]


def batches(stream: StreamSource, limits: Limits) -> list[list[Row]]:
    """Read what is there now, each batch planned from its offsets as text."""
    columns, found = feed_columns(stream.newest()), []
    start = stream.initial_offset()
    while True:
        end = stream.latest_offset(Offset.parse(start.to_json()), limits)
        if end == start:
            return found
        found.append(rows_of(batch_tasks(stream, start, Offset.parse(end.to_json()), columns, 2)))
        start = end


def changed_table(path: Path, steps: int, seed: int) -> None:
    rng = random.Random(seed)
    it.write(path, pa.table({"n": [0, 1], "p": ["a", "b"]}), partition_by=["p"])
    for step in range(1, steps):
        ids = [step * 10, step * 10 + 1]
        match rng.choice(["append", "append", "delete", "upsert", "merge"]):
            case "append":
                it.write(path, pa.table({"n": ids, "p": [rng.choice("ab") for _ in ids]}))
            case "delete":
                it.open(path).delete(where=f"n <= {rng.randint(0, step * 10)} AND p = 'a'")
            case "upsert":
                it.open(path).upsert(pa.table({"n": [0, step * 10], "p": ["a", "b"]}), on=["n", "p"])
            case _:
                it.open(path).merge_splits()


def in_order(rows: list[Row]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.parametrize(
    "limits", [Limits(), Limits(max_files=1), Limits(max_files=3), Limits(max_bytes=9000)]
)
def test_a_stream_has_the_rows_of_the_feed_in_whole_versions(tmp_path: Path, limits: Limits):
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    changed_table(tmp_path, 12, seed)
    found = batches(source(tmp_path, startingVersion="0"), limits)
    expected = it.open(tmp_path).changes(since=-1).to_arrow(feed=True).to_pylist()
    assert in_order([row for batch in found for row in batch]) == in_order(expected)
    versions = [{row["_commit_version"] for row in batch} for batch in found]
    assert sum(map(len, versions)) == len(set().union(*versions)), "a version is in one batch"


def test_a_range_has_the_rows_of_the_feed(tmp_path: Path):
    changed_table(tmp_path, 6, 7)
    newest = it.open(tmp_path).version
    for first in range(newest + 1):
        for last in range(first, newest + 1):
            stream = source(tmp_path, startingVersion=str(first), endingVersion=str(last))
            table = last_table(stream)
            found = rows_of(range_tasks(stream, table.version, feed_columns(table), 2))
            expected = (
                it.open(tmp_path, version=last).changes(since=first - 1).to_arrow(feed=True).to_pylist()
            )
            assert in_order(found) == in_order(expected)


def test_a_stream_begins_with_the_rows_that_are_there(tmp_path: Path):
    it.write(tmp_path, pa.table({"n": [1, 2, 3], "p": ["a", "b", "a"]}), partition_by=["p"])
    it.open(tmp_path).delete(where="n = 1")
    (first, second) = batches(source(tmp_path), Limits(max_files=1))
    assert sorted(row["n"] for row in first + second) == [2, 3]
    assert {(row["_change_type"], row["_commit_version"]) for row in first + second} == {("insert", 1)}


def test_other_columns_stop_a_read(tmp_path: Path):
    it.write(tmp_path, pa.table({"n": [1], "m": [1]}))
    stream = source(tmp_path, startingVersion="0")
    before = feed_columns(stream.newest())
    it.open(tmp_path).alter(drop=["m"])
    with pytest.raises(SchemaError, match="the columns of .* have changed .*'m'"):
        batch_tasks(stream, stream.initial_offset(), stream.initial_offset(), before, 1)


def test_a_column_of_the_name_of_a_change_is_refused(tmp_path: Path):
    it.write(tmp_path, pa.table({"_commit_version": [1]}))
    with pytest.raises(InputError, match="has a column '_commit_version' of its own"):
        feed_columns(source(tmp_path).newest())


def test_the_two_names_of_the_option_agree():
    assert StreamOptions.parse({"READCHANGEDATA": "true"}).read_change_feed
    assert not StreamOptions.parse({"readChangeFeed": "false"}).read_change_feed
    assert StreamOptions.parse({"readChangeFeed": "false"}).identity == ()
    with pytest.raises(ConfigError, match="are the same option and have different values"):
        StreamOptions.parse({"readChangeFeed": "true", "readChangeData": "false"})

"""Pages of a search: equal scores have one order within a version, however many rows are asked for at a time."""

from __future__ import annotations

import dataclasses
import random

import pyarrow as pa
import pytest

import indextables as it
from indextables.log import Snapshot
from indextables.split.search.index_search import IndexSearch

ROWS, SPLITS = 12, 5


@pytest.fixture
def path(tmp_path) -> str:
    where = str(tmp_path / "ties")
    for split in range(SPLITS):
        ids = range(split * ROWS, (split + 1) * ROWS)
        it.write(where, pa.table({"id": ids, "message": ["disk full"] * ROWS}), text=["message"])
    return where


def ids(table: pa.Table) -> list[int]:
    return table.column("id").to_pylist()


def by_path_and_row(table: it.Table) -> list[int]:
    """The ids by the path of their split and their row in it, which the ids follow."""
    paths = {path.as_py(): n for n, path in enumerate(table.files().column("path"))}
    return [split * ROWS + row for _, split in sorted(paths.items()) for row in range(ROWS)]


@pytest.mark.parametrize("limit", [1, 7, 10, 60])
def test_pages_neither_repeat_nor_miss_a_row(path, limit):
    table = it.open(path)
    pages = [ids(table.search("disk", limit=limit, offset=n)) for n in range(0, SPLITS * ROWS, limit)]
    assert [i for page in pages for i in page] == by_path_and_row(table)


def test_ties_are_ordered_by_path_then_row_in_whatever_order_the_log_has_the_files(path, monkeypatch):
    table = it.open(path)
    expected = by_path_and_row(table)
    assert ids(table.search("disk", limit=None)) == expected
    assert ids(table.search("disk", limit=None, offset=50)) == expected[50:]
    prune = Snapshot.prune

    def shuffled(self, predicate):
        pruned = prune(self, predicate)
        order = list(range(pruned.entries.num_rows))
        random.Random(3).shuffle(order)
        return dataclasses.replace(pruned, entries=pruned.entries.take(pa.array(order)))

    monkeypatch.setattr(Snapshot, "prune", shuffled)
    assert ids(table.search("disk", limit=None)) == expected
    assert ids(table.search("disk", limit=25)) == expected[:25]


def test_better_scores_come_first_across_splits(path):
    it.write(path, pa.table({"id": [100, 101], "message": ["disk disk disk", "disk full"]}), text=["message"])
    table = it.open(path)
    assert ids(table.search("disk", limit=1)) == [100]
    everything = ids(table.search("disk", limit=None))
    assert sorted(everything) == [*range(SPLITS * ROWS), 100, 101]
    assert [i for n in range(0, 62, 9) for i in ids(table.search("disk", limit=9, offset=n))] == everything


def test_a_condition_that_the_index_does_not_decide_keeps_the_order(path):
    table = it.open(path)
    where = "message LIKE '%full%'"
    pages = [ids(table.search("disk", limit=8, offset=n, where=where)) for n in range(0, 60, 8)]
    assert [i for page in pages for i in page] == by_path_and_row(table)


def test_pages_hold_where_segments_are_not_in_the_order_of_rows(path, monkeypatch):
    """Tantivy cuts ties by position in the index, which several segments, or merged ones, take out of row order."""
    rows_at = IndexSearch._rows_at
    monkeypatch.setattr(IndexSearch, "_rows_at", lambda self, at: ROWS - 1 - rows_at(self, at))
    table = it.open(path)
    pages = [ids(table.search("disk", limit=7, offset=n)) for n in range(0, 60, 7)]
    assert sorted(i for page in pages for i in page) == list(range(60))
    assert [i for page in pages for i in page] == ids(table.search("disk", limit=None))


def test_an_offset_past_the_end_is_empty_and_a_negative_one_an_error(path):
    table = it.open(path)
    assert table.search("disk", offset=60).num_rows == 0
    assert table.search("disk", limit=0, offset=3).num_rows == 0
    assert table.search("nowhere", offset=3).column_names == ["id", "message", "_score"]
    with pytest.raises(it.errors.InputError, match="offset is -1"):
        table.search("disk", offset=-1)

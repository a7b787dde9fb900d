"""A search reads the scores of all splits first, and then only the rows of the answer."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables as it
from indextables.runtime import Runtime, use
from indextables.split import SplitReader
from indextables.table.scans import open_readers as readers
from indextables.table.scans import scan

SPLITS, ROWS = 6, 30


@pytest.fixture
def path(tmp_path) -> str:
    where = str(tmp_path / "logs")
    for split in range(SPLITS):
        ids = range(split * ROWS, (split + 1) * ROWS)
        texts = ["disk " * (1 + i % 7) + "full" for i in ids]
        it.write(where, pa.table({"id": ids, "message": texts}), text=["message"])
    return where


def test_only_the_rows_of_the_answer_are_read(path):
    with use(Runtime()) as runtime:
        assert it.open(path).search("disk", limit=4, offset=3, snippet="message").num_rows == 4
    assert runtime.counters.values()[scan.ROWS_FETCHED] == 4


def test_a_second_search_opens_no_split(path, monkeypatch):
    opened = []
    init = SplitReader.__init__

    def counted(self, contents, *rest):
        opened.append(contents)
        init(self, contents, *rest)

    monkeypatch.setattr(SplitReader, "__init__", counted)
    readers.reader_cache().clear()
    table = it.open(path)
    first = table.search("disk", limit=5)
    assert len(opened) == SPLITS
    assert table.search("disk", limit=5).equals(first)
    assert len(opened) == SPLITS


@pytest.mark.parametrize("most", [1, 2, 100])
def test_the_answer_does_not_depend_on_how_many_splits_stay_open(path, most):
    expected = it.open(path).search("disk OR full", limit=50)
    readers.reader_cache().clear()
    settings = {"spark.indextables.read.maxOpenSplits": str(most)}
    assert it.open(path, settings=settings).search("disk OR full", limit=50).equals(expected)
    assert len(readers.reader_cache()) <= most


def test_all_rows_have_the_order_of_the_first_ones(path):
    table = it.open(path)
    everything = table.search("disk OR full", limit=None)
    assert everything.num_rows == SPLITS * ROWS
    assert table.search("disk OR full", limit=11).equals(everything.slice(0, 11))


def test_partition_columns_and_conditions_reach_the_second_phase(tmp_path):
    rows = pa.table({"day": ["mon", "tue"] * 3, "id": range(6), "message": ["disk"] * 6})
    it.write(tmp_path / "days", rows, text=["message"], partition_by=["day"])
    found = it.open(tmp_path / "days").search("disk", where="day = 'tue' AND id > 1", columns=["id", "day"])
    assert sorted(found.column("id").to_pylist()) == [3, 5]
    assert set(found.column("day").to_pylist()) == {"tue"}

"""The rows around a row are those of a sort of all rows by time, split and number."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import indextables as it
from indextables.schema import ROW_NUMBER, SPLIT_PATH
from indextables.table import RowPlace, newest_rows, rows_around

START = datetime(2026, 1, 1, tzinfo=UTC)


def written(path, zone: str | None, partition: list[str]) -> it.Table:
    """Write rows in several splits: many of the same time, gaps of days, rows without a time, deleted rows."""
    rng = random.Random(11)
    schema = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", zone), "day": pa.string()})
    for first in (0, 300, 400):
        rows = []
        for number in range(first, first + (300 if not first else 100)):
            at = START + timedelta(days=rng.choice([0, 0, 0, 3]), seconds=rng.choice([0, 0, 1, 40, 4000]))
            at = at + timedelta(microseconds=rng.randrange(3))
            at = at if zone else at.replace(tzinfo=None)
            rows.append(
                {"id": number, "at": None if rng.random() < 0.1 else at, "day": rng.choice(["a", "b"])}
            )
        it.write(path, pa.Table.from_pylist(rows, schema), partition_by=partition if not first else None)
    it.open(path).delete("id < 40")
    return it.open(path)


@pytest.mark.parametrize(
    ("zone", "partition"),
    [("UTC", []), ("UTC", ["day"]), (None, ["day"]), ("UTC", ["at"])],
    ids=["plain", "days", "ntz", "times"],
)
def test_the_rows_around_are_those_of_a_sort(tmp_path, zone, partition):
    table = written(tmp_path / "t", zone, partition)
    rows = newest_rows(
        table, "at", query=None, where="at IS NOT NULL", start=0, stop=1000, places=True
    ).to_pylist()
    order = sorted(rows, key=lambda row: (row["at"], row[SPLIT_PATH].encode(), row[ROW_NUMBER]))
    assert len(order) == table.count(where="at IS NOT NULL")
    for at in [*range(6), *range(6, len(order) - 6, 29), *range(len(order) - 6, len(order))]:
        place = RowPlace(order[at][SPLIT_PATH], order[at][ROW_NUMBER])
        found = rows_around(table, "AT", place, count=5).to_pylist()
        assert found == order[max(0, at - 5) : at + 6]


def test_more_rows_of_one_time_than_fit_on_either_side(tmp_path):
    rows = {"n": range(3000), "at": [START + timedelta(microseconds=10 * n) for n in range(3000)]}
    rows["at"][1000:2500] = [rows["at"][1000]] * 1500
    it.write(tmp_path / "t", pa.table(rows))
    table = it.open(tmp_path / "t")
    (split,) = table.files().column("path").to_pylist()
    for middle in (1000, 1700, 2499):
        found = rows_around(table, "at", RowPlace(split, middle), count=3)
        assert found.column("n").to_pylist() == list(range(middle - 3, middle + 4))


def test_times_that_python_does_not_have(tmp_path):
    late = pa.array([10**18, 10**18 + 1, 10**18 + 2], pa.int64()).cast(pa.timestamp("us", "UTC"))
    it.write(tmp_path / "t", pa.table({"n": [0, 1, 2], "at": late}))
    table = it.open(tmp_path / "t")
    (split,) = table.files().column("path").to_pylist()
    found = rows_around(table, "at", RowPlace(split, 1), count=1)
    assert found.column("n").to_pylist() == [0, 1, 2]


def test_a_row_that_the_version_does_not_have(tmp_path):
    table = written(tmp_path / "t", "UTC", [])
    untimed = newest_rows(
        table, "at", query=None, where="at IS NULL", start=0, stop=1, places=True
    ).to_pylist()[0]
    for place in (RowPlace("absent", 0), RowPlace(untimed[SPLIT_PATH], 5000)):
        with pytest.raises(it.InputError, match="has no row"):
            rows_around(table, "at", place, count=5)
    deleted = it.open(tmp_path / "t", version=0).files().column("path").to_pylist()[0]
    with pytest.raises(it.InputError, match="has no row 3"):
        rows_around(table, "at", RowPlace(deleted, 3), count=5)
    with pytest.raises(it.InputError, match="no time"):
        rows_around(table, "at", RowPlace(untimed[SPLIT_PATH], untimed[ROW_NUMBER]), count=5)
    with pytest.raises(it.InputError, match="need a time"):
        rows_around(table, "id", RowPlace("absent", 0), count=5)


def test_the_check_may_end_the_search(tmp_path):
    def leave() -> None:
        raise TimeoutError

    it.write(tmp_path / "t", pa.table({"at": [START, START + timedelta(days=9)]}))
    table = it.open(tmp_path / "t")
    (split,) = table.files().column("path").to_pylist()
    with pytest.raises(TimeoutError):
        rows_around(table, "at", RowPlace(split, 0), count=1, check=leave)

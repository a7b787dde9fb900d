"""The newest rows are those that a sort of all rows gives."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import indextables as it
from indextables.table import newest_rows

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "day": pa.string(), "message": pa.string()}
)


@pytest.fixture(scope="module", params=[[], ["day"]], ids=["plain", "partitioned"])
def table(request, tmp_path_factory) -> it.Table:
    """Rows in several splits, with equal times, rows without a time, and deleted rows."""
    rng = random.Random(4)
    path = tmp_path_factory.mktemp("newest") / "table"
    for first in (0, 300, 400):
        rows = [
            {
                "id": number,
                "at": None if rng.random() < 0.1 else START + timedelta(minutes=rng.randrange(60)),
                "day": rng.choice(["a", "b"]),
                "message": rng.choice(["disk full", "disk slow", "login ok"]),
            }
            for number in range(first, first + (300 if not first else 100))
        ]
        it.write(
            path,
            pa.Table.from_pylist(rows, SCHEMA),
            text=["message"],
            partition_by=request.param if not first else None,
        )
    it.open(path).delete("id < 40")
    return it.open(path)


def times_of(found: pa.Table) -> list[object]:
    return found.column("at").to_pylist()


@pytest.mark.parametrize(
    ("query", "where"),
    [(None, None), ("disk", None), (None, "day = 'a'"), ("disk", "day = 'a' AND id > 100"), ("absent", None)],
)
def test_pages_are_those_of_a_sort(table, query, where):
    everything = (
        table.to_arrow(where=where) if query is None else table.search(query, limit=None, where=where)
    ).to_pylist()
    expected = sorted(everything, key=lambda row: (row["at"] is not None, row["at"] or START), reverse=True)
    pages = [
        newest_rows(table, "AT", query=query, where=where, start=start, stop=start + 70)
        for start in range(0, len(expected) + 70, 70)
    ]
    rows = pa.concat_tables(pages)
    assert times_of(rows) == [row["at"] for row in expected]
    assert sorted(rows.column("id").to_pylist()) == sorted(row["id"] for row in expected)
    assert rows.column_names == SCHEMA.names


def test_snippets_are_those_of_the_rows(table):
    found = newest_rows(table, "at", query="slow", where=None, start=0, stop=5, snippet="message")
    assert found.column("_snippet").to_pylist() == ["disk <b>slow</b>"] * 5


def test_the_check_may_end_the_search(table):
    def leave() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        newest_rows(table, "at", query=None, where=None, start=0, stop=5, check=leave)

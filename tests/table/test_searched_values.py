"""What a value in a search denotes: whole days of local times, also in maps; and what is said of another type."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import QueryError
from indextables.runtime import Runtime, use

NOW: Final = datetime(2024, 5, 2, 12, 30, tzinfo=UTC)
TIMES: Final = [
    datetime(2024, 4, 30, 23, 59),
    datetime(2024, 5, 1),
    datetime(2024, 5, 1, 17),
    datetime(2024, 5, 2, 12),
    datetime(2024, 5, 3),
    None,
]


@pytest.fixture(scope="module")
def table() -> it.Table:
    zoned = [None if time is None else time.replace(tzinfo=UTC) for time in TIMES]
    rows = pa.table(
        {
            "id": range(len(TIMES)),
            "local": pa.array(TIMES, pa.timestamp("us")),
            "seen": pa.array(
                [[("first", time)] for time in zoned], pa.map_(pa.string(), pa.timestamp("us", "UTC"))
            ),
            "locals": pa.array([[time] for time in TIMES], pa.list_(pa.timestamp("us"))),
            "user": pa.array([{"name": "ada"}] * len(TIMES), pa.struct({"name": pa.string()})),
            "n": range(len(TIMES)),
        }
    )
    it.write("memory://searched-values", rows)
    return it.open("memory://searched-values")


@pytest.mark.parametrize("column", ["local", "seen.first", "locals"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-01", [1, 2]),
        ("[2024-05-01 TO 2024-05-02]", [1, 2, 3]),
        ("{2024-05-01 TO *]", [3, 4]),
        ("<2024-05-01", [0]),
        ("<=2024-05-01", [0, 1, 2]),
        ("2024-05", [1, 2, 3, 4]),
        ("2024", [0, 1, 2, 3, 4]),
        (" IN [2024-04-30 2024-05-03]", [0, 4]),
        ("[now-1h TO now]", [3]),
        ("now/d", [3]),
        ("2024-04-30||+1d/d", [1, 2]),
        ('"2024-05-01T17:00:00"', [2]),
    ],
)
def test_a_day_of_a_time_is_the_whole_day(
    table: it.Table, column: str, value: str, expected: list[int]
) -> None:
    with use(Runtime(clock=lambda: int(NOW.timestamp() * 1000))):
        rows = table.search(f"{column}:{value}", limit=None, columns=["id"])
    assert sorted(rows.column("id").to_pylist()) == expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("user:ada", "column 'user' is struct<name:string>: name a part of it, as in user.field:value"),
        ("n:5.5", "'5.5' is not a whole number of at most 64 bits"),
        ("n:99999999999999999999", "is not a whole number of at most 64 bits"),
        ('local:"2024-05-01T12:00:00Z"', "has an offset"),
    ],
)
def test_a_value_of_another_type_is_refused(table: it.Table, query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        table.count(query=query)
    assert message in str(caught.value)
    assert "at position 0: " in str(caught.value)

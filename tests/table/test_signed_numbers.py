"""Negative numbers in queries: what they mean, and what is refused because it would mean all other rows."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import QueryError

ROWS = pa.table(
    {
        "id": range(4),
        "n": [-5, 5, 7, None],
        "f": [-1e5, -0.5, 7.0, -5e-3],
        "price": pa.array([Decimal("-5.25"), Decimal(5), None, Decimal(7)], pa.decimal128(9, 2)),
        "nums": pa.array([[-5, 1], [5], [], [7]], pa.list_(pa.int32())),
        "attrs": pa.array([{"k": -5}, {"k": 5}, {"k": 7}, None], pa.map_(pa.string(), pa.int64())),
        "day": pa.array([19800, 19801, 19802, None], pa.date32()),
        "host": ["-5-prod", "5", "-5abc", "x"],
    }
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> it.Table:
    path = tmp_path_factory.mktemp("signed-numbers") / "t"
    it.write(path, ROWS)
    return it.open(path)


def ids(table: it.Table, query: str) -> list[int]:
    return sorted(table.search(query, columns=["id"], limit=None).column("id").to_pylist())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("n:-5", [0]),
        ('n:("-5" OR 7)', [0, 2]),
        ("n: IN [-5 7]", [0, 2]),
        ("f:-1e5", [0]),
        ("f:-1E+5", [0]),
        ("f:-5e-3", [3]),
        ("f:-.5", [1]),
        ("f: IN [-1e5 7]", [0, 2]),
        ("f:>=-1e2", [1, 2, 3]),
        ("price:-5.25", [0]),
        ("n:(5 NOT 7)", [1]),
        ("n:(* NOT 5)", [0, 2]),
        ("n:5 -n:7", [1]),
        ('host:"-5-prod"', [0]),
        ('host: IN ["-5abc" x]', [2, 3]),
        ("host:(-5)", [0, 2, 3]),
        ("day:(* -2024)", []),
    ],
)
def test_what_a_negative_number_means(table: it.Table, query: str, found: list[int]) -> None:
    assert ids(table, query) == found


@pytest.mark.parametrize(
    "query",
    [
        "n:(-5)",
        "n:(-5 OR 7)",
        "n:(5 -7)",
        "n:(-5)^2",
        "n:((-5) OR 7)",
        "n:(NOT (-5))",
        "f:(-1e5 OR 7)",
        "f:(-.5 7)",
        "price:(-5.25)",
        "nums:(-5 1)",
        "attrs.k:(-5 7)",
    ],
)
def test_a_signed_number_in_a_group_is_refused(table: it.Table, query: str) -> None:
    with pytest.raises(QueryError, match='quote the number, "-') as error:
        ids(table, query)
    assert error.value.position is not None


def test_a_signed_number_of_a_search_in_one_column_is_refused(table: it.Table) -> None:
    with pytest.raises(QueryError, match="or write NOT 5 to exclude it"):
        table.count(where="n INDEXQUERY '-5'")
    assert table.count(where="n INDEXQUERY '\"-5\"'") == 1
    assert table.count(where="n INDEXQUERY 'NOT 5'") == 2


@pytest.mark.parametrize(
    "query", ["host:-5abc", "host:-5-prod", "host: IN [-5abc]", "f:-1e5x", "n:-5~1", "n:--5"]
)
def test_what_only_begins_as_a_number_is_refused(table: it.Table, query: str) -> None:
    with pytest.raises(QueryError, match="quote it"):
        ids(table, query)

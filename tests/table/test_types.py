"""Random rows of random columns come back as they were written, and conditions on them answer as a plain model does."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import indextables as it
from indextables.predicates import parse_where, to_sql
from support.typed_rows import column_types, conditions, same, tables

SETTINGS = {"spark.indextables.indexWriter.heapSize": "15M"}


def _write(rows: pa.Table, splits: int) -> it.Table:
    uri = f"memory://types-{uuid.uuid4()}"
    step = -(-rows.num_rows // splits) or 1
    for start in range(0, max(1, rows.num_rows), step):
        it.write(uri, rows.slice(start, step), settings=SETTINGS)
    return it.open(uri)


def _plain(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=lambda row: row["id"])


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return same(left, right)


def check_rows_and_conditions(rows: pa.Table, expected: pa.Table, splits: int, data: st.DataObject) -> None:
    table = _write(rows, splits)
    assert table.schema.equals(expected.schema), table.schema
    asked = [data.draw(conditions(expected), label="condition") for _ in range(4)]
    for _ in ("as written", "merged"):
        assert _equal(_plain(table.to_arrow()), _plain(expected))
        for condition in asked:
            where = to_sql(condition.predicate)
            ids = [row["id"] for row in expected.to_pylist() if condition.answer(row)]
            assert sorted(table.to_arrow(where=where).column("id").to_pylist()) == ids, where
            assert table.count(where=where) == len(ids), where
        table.merge_splits()
        table = table.refresh()


_common = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@given(rows=tables(), splits=st.integers(1, 3), data=st.data())
@settings(_common, max_examples=40)
def test_random_rows_of_random_types(
    rows: tuple[pa.Table, pa.Table], splits: int, data: st.DataObject
) -> None:
    check_rows_and_conditions(*rows, splits, data)


@pytest.mark.soak
@given(rows=tables(column_types), splits=st.integers(1, 3), data=st.data())
@settings(_common, max_examples=3000)
def test_many_random_rows_of_random_types(
    rows: tuple[pa.Table, pa.Table], splits: int, data: st.DataObject
) -> None:
    check_rows_and_conditions(*rows, splits, data)


@given(rows=tables(), data=st.data())
@settings(_common, max_examples=100)
def test_conditions_are_the_same_after_a_trip_through_sql(
    rows: tuple[pa.Table, pa.Table], data: st.DataObject
) -> None:
    schema = it.schema.TableSchema.from_arrow(rows[1].schema)
    predicate = data.draw(conditions(rows[1])).predicate
    assert to_sql(parse_where(to_sql(predicate), schema)) == to_sql(predicate)

"""Random rows of random columns come back as they were written, and conditions on them answer as a plain model does."""

from __future__ import annotations

import math
import uuid
from collections import Counter
from contextlib import nullcontext
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import indextables as it
from indextables.errors import SchemaError
from indextables.predicates import parse_where, to_sql
from indextables.schema import Field
from indextables.split.merge import index_linking
from support.typed_rows import column_types, conditions, same, tables

SETTINGS = {"spark.indextables.indexWriter.heapSize": "15M"}


def _write(rows: pa.Table, splits: int) -> it.Table:
    uri = f"memory://types-{uuid.uuid4()}"
    options = SETTINGS | ({"spark.indextables.columns.groups": "c0"} if splits > 1 else {})
    step = -(-rows.num_rows // splits) or 1
    for start in range(0, max(1, rows.num_rows), step):
        it.write(uri, rows.slice(start, step), settings=options)
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
    is_rebuilt = data.draw(st.booleans(), label="indexed again")
    asked = [data.draw(conditions(expected), label="condition") for _ in range(4)]
    for _ in ("as written", "merged"):
        assert _equal(_plain(table.to_arrow()), _plain(expected))
        for condition in asked:
            where = to_sql(condition.predicate)
            ids = [row["id"] for row in expected.to_pylist() if condition.answer(row)]
            assert sorted(table.to_arrow(where=where).column("id").to_pylist()) == ids, where
            assert table.count(where=where) == len(ids), where
        with (
            patch.object(index_linking, "_no_deletes", lambda _: b"damaged") if is_rebuilt else nullcontext()
        ):
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
@pytest.mark.timeout(7200)
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


@given(
    values=st.lists(
        st.none() | st.integers(-(10**12), 10**12).map(lambda n: Decimal(n).scaleb(-3)), min_size=1
    ),
    step=st.integers(1, 10**12).map(lambda n: Decimal(n).scaleb(-2)),
)
@settings(_common, max_examples=30)
def test_aggregates_of_decimals_are_exact(values: list[Decimal | None], step: Decimal) -> None:
    table = _write(pa.table({"id": range(len(values)), "d": pa.array(values, pa.decimal128(18, 3))}), 1)
    present = [value for value in values if value is not None]
    stats = table.stats("d")
    assert (stats.count, stats.nulls) == (len(present), len(values) - len(present))
    assert stats.sum == (sum(present) if present else None)
    assert (stats.min, stats.max) == ((min(present), max(present)) if present else (None, None))
    counted = {row["value"]: row["count"] for row in table.top_values("d", n=None).to_pylist()}
    assert counted == Counter(values)
    buckets = {row["bucket"]: row["count"] for row in table.histogram("d", every=step).to_pylist()}
    assert buckets == Counter(
        None if v is None else math.floor(Fraction(v) / Fraction(step)) * step for v in values
    )


def test_decimals_and_local_times_partition_a_table() -> None:
    prices = [None, Decimal("-1.50"), Decimal("0.00"), Decimal("10.25"), Decimal("9.00")]
    times = [
        datetime(2024, 3, 31, 2, 30),
        datetime(1, 1, 1),
        None,
        datetime(9999, 12, 31, 23, 59, 59, 999999),
    ]
    rows = pa.table(
        {
            "id": range(20),
            "price": pa.array(prices * 4, pa.decimal128(9, 2)),
            "local": pa.array(times * 5, pa.timestamp("us")),
        }
    )
    it.write("memory://typed-partitions", rows, partition_by=["price", "local"])
    table = it.open("memory://typed-partitions")
    assert table.schema.equals(rows.schema)
    assert _plain(table.to_arrow()) == rows.to_pylist()
    for where, keep in (
        ("price > 9", lambda row: row["price"] is not None and row["price"] > 9),
        ("price = 0", lambda row: row["price"] == 0),
        ("price < 9.005", lambda row: row["price"] is not None and row["price"] < Decimal("9.005")),
        ("price IS NULL", lambda row: row["price"] is None),
        ("local < '2024-03-31 02:30:01'", lambda row: row["local"] in times[:2]),
    ):
        assert _plain(table.to_arrow(where=where)) == list(filter(keep, rows.to_pylist())), where


def test_a_variant_is_refused_with_what_to_do(tmp_path):
    """Arrow has a variant of Spark as two binaries, of which one is marked."""
    parts = [pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={"variant": "true"})]
    values = pa.array([{"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}], pa.struct(parts))
    with pytest.raises(SchemaError, match=r"'v' has type variant.*to_json\(v\).*variant_get\(v, "):
        it.write(tmp_path / "t", pa.table({"v": values}))
    with pytest.raises(SchemaError, match=r"'v' has type variant.*to_json\(v\)"):
        _ = Field("v", "variant").arrow_type

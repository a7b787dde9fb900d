"""Groups are counted as Arrow counts them, whatever the form of the columns."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.table.grouping.group_counts import GroupCounts

INTEGERS = st.one_of(
    st.none(), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**63 - 1, -(2**63)])
)
ROWS = st.lists(
    st.tuples(INTEGERS, st.sampled_from([None, "", "a", "é"]), st.sampled_from([None, True, False])),
    min_size=1,
    max_size=30,
)


def counts_of(batches, names, types, *, coded: bool) -> Counter:
    counts = GroupCounts(pa.schema(list(zip(names, types, strict=True))), max_bytes=1 << 24, subject="it")
    for batch in batches:
        columns = [
            pa.array(values, kind) for values, kind in zip(zip(*batch, strict=True), types, strict=True)
        ]
        counts.add([column.dictionary_encode() if coded else column for column in columns], 2)
    return Counter({tuple(row[name] for name in names): row["count"] for row in counts.result().to_pylist()})


@given(batches=st.lists(ROWS, min_size=1, max_size=4), coded=st.booleans(), width=st.integers(1, 3))
def test_counts_are_those_of_a_plain_counter(batches, coded, width):
    names, types = ["n", "word", "flag"][:width], [pa.int64(), pa.string(), pa.bool_()][:width]
    cut = [[row[:width] for row in batch] for batch in batches]
    found = counts_of(cut, names, types, coded=coded)
    assert found == Counter([row for batch in cut for row in batch for _ in range(2)])


def test_nulls_of_no_type_are_one_group():
    counts = GroupCounts(
        pa.schema({"bucket": pa.int64(), "value": pa.null()}), max_bytes=1 << 20, subject="it"
    )
    counts.add([pa.array([1, 1, None]), pa.nulls(3)])
    found = counts.result().sort_by("bucket").to_pylist()
    assert [(row["bucket"], row["count"]) for row in found] == [(1, 2), (None, 1)]


@pytest.mark.parametrize("size", ["0", "1K", "256M"])
def test_aggregates_do_not_depend_on_the_cache_of_columns(tmp_path, size):
    rows = pa.table(
        {
            "n": range(5000),
            "level": [("INFO", "WARN", None)[n % 3] for n in range(5000)],
            "name": [f"name {n}" for n in range(5000)],
            "message": ["disk full" if n % 7 else "login ok" for n in range(5000)],
        }
    )
    it.write(tmp_path / "t", rows, text=["message"])
    it.open(tmp_path / "t").delete("n < 100")
    table = it.open(tmp_path / "t", settings={"spark.indextables.aggregation.columnCache": size})
    for query in (None, "disk", "login"):
        numbers = [n for n in range(100, 5000) if query is None or (query == "disk") == bool(n % 7)]
        levels = Counter(("INFO", "WARN", None)[n % 3] for n in numbers)
        for _ in range(2):  # the second time from the cache
            found = table.top_values("level", query=query).to_pylist()
            assert {row["value"]: row["count"] for row in found} == levels
            assert table.top_values("name", n=None, query=query).num_rows == len(numbers)
            bars = table.histogram("n", every=1000, query=query).to_pylist()
            assert {row["bucket"]: row["count"] for row in bars} == Counter(n // 1000 * 1000 for n in numbers)

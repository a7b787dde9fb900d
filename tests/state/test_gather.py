"""Rows of a table in many chunks are those that Arrow takes, however they lie."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables.state.gather import Gatherer, drop_rows


def table_of(sizes: list[int]) -> pa.Table:
    schema = pa.schema({"n": pa.int64(), "text": pa.string(), "map": pa.map_(pa.string(), pa.string())})
    tables, start = [schema.empty_table()], 0
    for size in sizes:
        numbers = range(start, start + size)
        columns = [
            list(numbers),
            [str(n) if n % 3 else None for n in numbers],
            [[("k", str(n))] for n in numbers],
        ]
        tables.append(pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema))
        start += size
    return pa.concat_tables(tables)


@given(st.data())
def test_the_rows_are_those_that_arrow_takes(data: st.DataObject) -> None:
    table = table_of(data.draw(st.lists(st.integers(0, 9), max_size=6)))
    places = np.array(data.draw(st.permutations(range(table.num_rows))), np.int64)
    places = places[: data.draw(st.integers(0, len(places)))]
    found = Gatherer(table).rows(places)
    assert found.equals(table.take(pa.array(places)))
    assert found.column("n").num_chunks <= 1


@given(st.lists(st.integers(0, 400), max_size=5), st.integers(0, 300), st.integers(0, 300))
def test_long_runs_are_cut_out_whatever_chunks_they_lie_in(sizes: list[int], first: int, second: int) -> None:
    table = table_of(sizes)
    everything = np.arange(table.num_rows)
    places = np.concatenate([everything[first + second :], everything[:first]])
    assert Gatherer(table).rows(places).equals(table.take(pa.array(places)))


@given(st.lists(st.integers(0, 99), max_size=5), st.data())
def test_a_table_without_some_rows_is_the_filtered_one(sizes: list[int], data: st.DataObject) -> None:
    table = table_of(sizes)
    share = data.draw(st.sampled_from([0.0, 0.02, 0.5, 1.0]))
    gone = np.random.default_rng(data.draw(st.integers(0, 99))).random(table.num_rows) < share
    assert drop_rows(table, gone).equals(table.filter(pa.array(~gone)))

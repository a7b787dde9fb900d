"""Of a file that is named twice the last entry counts, whatever its name looks like."""

from __future__ import annotations

import uuid

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.state import keep_last

long_names = st.integers(0, 5).map(
    lambda n: f"day=2024-01-0{n}/splits/split-{uuid.UUID(int=n << 90 | n)}.split"
)
same_tails = st.sampled_from(["a", "b", "ü"]).map(lambda head: head + "x" * 40)
names = long_names | same_tails | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(deadline=None)  # the first call loads all of pyarrow.compute
@given(st.lists(st.lists(names, max_size=8), max_size=4), st.integers(0, 3))
def test_the_last_entry_of_each_name_is_left_in_its_place(chunks: list[list[str]], skipped: int):
    every = [name for chunk in chunks for name in chunk]
    column = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())
    table = pa.table({"key": column, "row": pa.array(range(len(every)))}).slice(skipped)
    last = {name: row for row, name in enumerate(every) if row >= skipped}
    assert keep_last(table, "key").column("row").to_pylist() == sorted(last.values())


def test_names_that_differ_only_before_their_end_are_different():
    table = pa.table({"key": [f"{n}{'x' * 40}" for n in range(10)]})
    assert keep_last(table, "key").num_rows == 10

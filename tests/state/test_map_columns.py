"""Columns out of maps: the same values whether all maps are alike or none is like another."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.state import map_column

KEYS = st.sampled_from(["a", "b", "c"])
TEXTS = pa.map_(pa.string(), pa.string())
anything = st.lists(st.none() | st.dictionaries(KEYS, st.text(max_size=3), max_size=3), max_size=8)
alike = st.lists(KEYS, max_size=3, unique=True).flatmap(
    lambda keys: st.lists(st.fixed_dictionaries({key: st.text(max_size=3) for key in keys}), max_size=8)
)


@settings(deadline=None)  # the first call loads all of pyarrow.compute
@given(anything | alike, st.integers(0, 3), st.integers(1, 4), KEYS)
def test_each_map_gives_its_own_value(maps: list[dict[str, str] | None], start: int, cut: int, key: str):
    whole = pa.array([None if one is None else list(one.items()) for one in maps], TEXTS)
    expected = [None if one is None else one.get(key) for one in maps]
    assert map_column(whole.slice(start), key).to_pylist() == expected[start:]
    chunks = pa.chunked_array([whole.slice(0, cut), whole.slice(cut)], TEXTS)
    assert map_column(chunks, key).to_pylist() == expected


def test_maps_of_one_size_with_other_keys_are_not_taken_for_alike():
    maps = pa.array([[("a", "1"), ("b", "2")], [("b", "3"), ("a", "4")], [("a", "5"), ("c", "6")]], TEXTS)
    assert map_column(maps, "a").to_pylist() == ["1", "4", "5"]
    assert map_column(maps, "b").to_pylist() == ["2", "3", None]

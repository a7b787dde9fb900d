"""Bounds of many files at once: of blocks, of manifests, and what a range of a column makes of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.avro import read_header
from indextables.log.actions import Added, AddFile, to_entries
from indextables.predicates import Compare, parse_where
from indextables.schema import Field, TableSchema
from indextables.state import (
    Condition,
    Delta,
    ManifestInfo,
    Measured,
    StateContext,
    StateOptions,
    TableState,
    decode_state,
    encode_state,
    prune,
    read_state,
    state_key,
    statistics,
    write_state,
)
from indextables.state.blocks import INDEX_KEY
from indextables.state.manifest import StatBounds
from indextables.state.statistics import MAX_COLUMNS, bounds_by_column, over_all
from support.faults import FaultyStore, MemoryStore

SCHEMA = TableSchema(
    (Field("day", "integer"), Field("at", "long"), Field("name", "string"), Field("gone", "boolean"))
)
COLUMNS = list(SCHEMA)[1:]


def entries(*sides: tuple[dict[str, str] | None, dict[str, str] | None], ref: str = "ours") -> pa.Table:
    files = [
        AddFile(str(n), {}, 1, min_values=low, max_values=high, doc_mapping_ref=ref)
        for n, (low, high) in enumerate(sides)
    ]
    return to_entries((file.path, Added(file, 0, 0)) for file in files)


def bounds(table: pa.Table, *counts: int, columns: Any = COLUMNS) -> dict[str, list[StatBounds]]:
    return bounds_by_column(table, Measured(columns, {"ours"}), counts or [table.num_rows])


def test_numbers_are_bounded_as_numbers_and_each_block_by_its_own():
    table = entries(({"at": "9"}, {"at": "10"}), ({"at": "-3"}, {"at": "2"}), ({"at": "70"}, {"at": "100"}))
    found = bounds(table, 2, 1)
    assert found == {"at": [StatBounds("long", "-3", "10"), StatBounds("long", "70", "100")]}
    assert over_all(found) == {"at": StatBounds("long", "-3", "100")}


@pytest.mark.parametrize("low", [None, {}, {"at": "soon"}, {"name": "a"}])
def test_a_file_without_a_bound_takes_it_from_all(low: dict[str, str] | None):
    table = entries(({"at": "1"}, {"at": "2"}), (low, {"at": "9"}))
    assert bounds(table) == {"at": [StatBounds("long", None, "9")]}
    assert over_all(bounds(table, 1, 1))["at"] == StatBounds("long", None, "9")


def test_files_of_other_writers_have_no_bounds_here():
    sides = ({"at": "1"}, {"at": "2"})
    assert bounds(entries(sides, ref="theirs")) == {}
    mixed = pa.concat_tables([entries(sides), entries(sides, ref="theirs")])
    assert bounds(mixed, 1, 1) == {"at": [StatBounds("long", "1", "2"), StatBounds("long", None, None)]}


def test_long_texts_are_cut_so_that_the_largest_bounds_the_others():
    shorter, longer = "x" * 32, "x" * 32 + "a" * 8
    (found,) = bounds(entries(({"name": longer}, {"name": shorter}), ({"name": longer}, {"name": longer})))[
        "name"
    ]
    assert found == StatBounds("string", "x" * 32, "x" * 32)
    condition = Condition(Compare("=", "name", "x" * 32 + "zz"), SCHEMA, ())
    assert condition.may_hold_within({}, {"name": found}), (
        "the maximum of 32 characters may be the beginning of this"
    )
    assert not dataclasses.replace(condition, predicate=Compare("=", "name", "y")).may_hold_within(
        {}, {"name": found}
    )


_TEXTS = {
    "long": st.one_of(
        st.integers(-(10**19), 10**19).map(str), st.sampled_from(["", "007", "-0", "+1", "soon", "1.5"])
    ),
    "double": st.one_of(
        st.floats(allow_nan=True, allow_infinity=True).map(repr), st.sampled_from(["1", "-0.0", "1e5", ""])
    ),
    "date": st.one_of(st.dates().map(str), st.sampled_from(["2024-1-1", "20240101", "9999-99-99"])),
    "string": st.one_of(st.text(max_size=40), st.text("aé\U0001f600\n", min_size=28, max_size=36)),
}


@given(st.data(), st.sampled_from(sorted(_TEXTS)))
@settings(max_examples=400)
def test_a_few_files_have_the_bounds_that_they_would_have_among_many(data: st.DataObject, kind: str):
    values = st.dictionaries(st.sampled_from(["c", "other"]), _TEXTS[kind], max_size=2)
    alike = st.fixed_dictionaries({"other": st.text(max_size=3), "c": _TEXTS[kind]})
    sides = st.tuples(values, values) | st.tuples(alike, alike) | st.tuples(st.none(), values)
    table = entries(*data.draw(st.lists(sides, min_size=1, max_size=6)))
    measured = Measured([Field("c", kind)], {"ours"})
    few = bounds_by_column(table, measured, [table.num_rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_FEW", 0)
        many = bounds_by_column(table, measured, [table.num_rows])
    # Of two zeros that differ in their sign alone either is the smaller one.
    assert repr(few).replace("'-0.0'", "'0.0'") == repr(many).replace("'-0.0'", "'0.0'")


def test_types_without_an_order_and_columns_beyond_the_limit_are_left_out():
    assert bounds(entries(({"gone": "false"}, {"gone": "true"}))) == {}
    names = [f"c{n}" for n in range(MAX_COLUMNS + 3)]
    sides = dict.fromkeys(names, "1")
    found = bounds(entries((sides, sides)), columns=[Field(name, "long") for name in names])
    assert list(found) == names[:MAX_COLUMNS]


def test_bounds_of_a_column_that_has_another_type_now_say_nothing():
    old = {"at": StatBounds("string", "10", "9")}
    assert Condition(Compare("=", "at", 100), SCHEMA, ()).may_hold_within({}, old)
    assert not Condition(Compare("=", "at", 100), SCHEMA, ()).may_hold_within(
        {}, {"at": StatBounds("long", "9", "10")}
    )


def fleet() -> MemoryStore:
    """A thousand files, forty a day; `at` goes with the day, and no condition names the day."""
    files = [
        AddFile(
            f"{n:04}",
            {"day": str(n // 40)},
            1,
            min_values={"at": str(n * 10), "name": f"n{n % 7}"},
            max_values={"at": str(n * 10 + 9), "name": f"n{n % 7}"},
            doc_mapping_ref="ours",
        )
        for n in range(1000)
    ]
    store = MemoryStore()
    context = StateContext(1, 0, [SCHEMA.field("day")], None, measured=Measured(COLUMNS, {"ours"}))
    table = to_entries((file.path, Added(file, 0, 0)) for file in files)
    write_state(store, None, Delta(table), context, StateOptions(entries_per_manifest=10))
    return store


def test_a_range_that_follows_the_partitions_reads_only_the_manifests_in_it():
    watched = FaultyStore(fleet())
    state = TableState(watched, read_state(watched, 1), str)
    assert len(state.manifest.manifests) == 100
    found = prune(
        state, Condition(parse_where("at BETWEEN 5000 AND 5015", SCHEMA), SCHEMA, ("day",), {"ours"})
    ).entries
    assert found.column("path").to_pylist() == ["0500", "0501"]
    assert len({key for _, key in watched.calls if "manifests/" in key}) == 1


def test_a_state_of_an_earlier_release_has_none_and_is_read():
    store = fleet()
    written = read_state(store, 1)
    bare = dataclasses.replace(
        written, manifests=tuple(dataclasses.replace(info, statistics={}) for info in written.manifests)
    )
    store.put(state_key(1), encode_state(bare))
    state = TableState(store, read_state(store, 1), str)
    found = prune(state, Condition(parse_where("at = 5000", SCHEMA), SCHEMA, ("day",), {"ours"})).entries
    assert found.column("path").to_pylist() == ["0500"]


def test_statistics_come_back_from_a_state():
    info = ManifestInfo("manifests/a.avro", 1, 0, 0)
    state = read_state(fleet(), 1)
    assert decode_state(encode_state(state), "s") == state
    assert state.manifests[0].statistics["at"] == StatBounds("long", "0", "99")
    assert info.statistics == {}


def test_other_readers_see_the_index_as_text():
    store = fleet()
    (key, *_) = [key for key in store.objects if "manifests/" in key]
    header = read_header(store.get(key), key)
    assert header.metadata[INDEX_KEY].isascii()
    assert orjson.loads(header.schema)["name"] == "FileEntry"

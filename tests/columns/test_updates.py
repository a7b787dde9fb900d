"""The rules by which the updates of a transaction become the next manifest, by values alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.columns.updates import Updates, apply
from indextables.errors import InputError, SchemaError
from support.column_groups import add, append, group

TWO = Manifest((group("a b", ("f1", 10)), group("c", ("g1", 10))))


# Columns that are dropped


def test_a_dropped_column_leaves_its_group_and_its_files_stay():
    after = apply(TWO, Updates(dropped_columns=("a",)))
    assert after.column_groups == (group("b", ("f1", 10)), TWO.column_groups[1])


def test_a_group_without_columns_goes():
    assert apply(TWO, Updates(dropped_columns=("c",))).column_groups == TWO.column_groups[:1]


def test_dropping_an_unknown_column_changes_nothing():
    assert apply(TWO, Updates(dropped_columns=("x",))) == TWO


def test_the_indexes_of_a_dropped_column_go_and_others_stay():
    base = Manifest(TWO.column_groups, indexes=(Index("a", "hnsw", "i1"), Index("b", "hnsw", "i2")))
    assert [i.path for i in apply(base, Updates(dropped_columns=("a",))).indexes] == ["i2"]


def test_a_column_can_be_replaced_in_one_transaction():
    new = group("c", ("g2", 10))
    after = apply(TWO, Updates(dropped_columns=("c",), added_column_groups=(new,)))
    assert after.column_groups == (TWO.column_groups[0], new)


# Column groups that are added


def test_a_group_for_the_rows_that_there_are_comes_last():
    new = group("d", ("h1", 4), ("h2", 6))
    assert apply(TWO, add(new)).column_groups == (*TWO.column_groups, new)


@pytest.mark.parametrize(
    ("base", "added", "message"),
    [
        (TWO, [group("d a", ("h", 10))], "column 'a' exists already"),
        (TWO, [group("d d", ("h", 10))], "column 'd' appears in 2 column groups"),
        (TWO, [group("d", ("h", 10)), group("d", ("i", 10))], "column 'd' exists already"),
        (TWO, [group("", ("h", 10))], "has no columns"),
        (TWO, [group("d", ("h", 9))], "has 9 rows and the dataset has 10"),
        (Manifest(), [group("a", ("h", 9)), group("b", ("i", 8))], "has 8 rows and the dataset has 9"),
    ],
    ids=["in base", "twice inside", "twice among", "no columns", "rows", "rows without base"],
)
def test_a_group_that_readers_could_not_put_beside_the_others_is_refused(
    base: Manifest, added: list[ColumnGroup], message: str
):
    with pytest.raises(InputError, match=message):
        apply(base, add(*added))


def test_an_added_group_covers_the_rows_that_the_same_transaction_appends():
    updates = Updates(
        appended_files=((group("a b", ("f2", 5)), group("c", ("g2", 5))),),
        added_column_groups=(group("d", ("h", 15)),),
    )
    assert {g.num_rows for g in apply(TWO, updates).column_groups} == {15}
    with pytest.raises(InputError, match="has 10 rows and the dataset has 15"):
        apply(
            TWO,
            Updates(appended_files=updates.appended_files, added_column_groups=(group("d", ("h", 10)),)),
        )


# Files that are appended


def test_appended_files_come_after_those_of_their_group_whatever_the_order_of_its_columns():
    after = apply(TWO, append(group("b a", ("f2", 5)), group("c", ("g2", 5))))
    assert [[f.path for f in g.files] for g in after.column_groups] == [["f1", "f2"], ["g1", "g2"]]
    assert after.column_groups[0].columns == ("a", "b")


def test_the_first_files_say_what_groups_there_are_and_the_next_have_to_fit():
    first, second = (group("a", ("f1", 3)),), (group("a", ("f2", 4)),)
    after = apply(Manifest(), Updates(appended_files=(first, second)))
    assert after.column_groups == (group("a", ("f1", 3), ("f2", 4)),)
    with pytest.raises(SchemaError, match=r"has columns \(a\); the files to append have \(b\)"):
        apply(Manifest(), Updates(appended_files=(first, (group("b", ("f2", 4)),))))


@pytest.mark.parametrize(
    ("appended", "message"),
    [
        ([group("a b", ("f", 5))], r"for 1 column groups, and the dataset has 2: \(a, b\), \(c\)"),
        ([group("c", ("f", 5)), group("a b", ("g", 5))], r"group 0 has columns \(a, b\)"),
        ([group("a b", ("f", 5)), group("c d", ("g", 5))], r"group 1 has columns \(c\)"),
        ([group("a b", ("f", 5)), group("c", ("g", 5), kind="vortex")], "parquet files; .* are vortex"),
        ([group("a b", ("f", 5)), group("c", ("g", 4))], r"\(a, b\) has 5, \(c\) has 4"),
        ([group("a b", ("f", 5)), group("c a", ("g", 5))], "column 'a' appears in 2 column groups"),
    ],
    ids=["count", "order", "columns", "format", "rows", "twice"],
)
def test_files_that_do_not_fit_the_groups_are_refused(appended: list[ColumnGroup], message: str):
    with pytest.raises(InputError, match=message):
        apply(TWO, append(*appended))


@pytest.mark.parametrize("groups", [[group("a a", ("f", 5))], [group("a", ("f", 5)), group("b", ("g", 4))]])
def test_the_first_files_of_a_dataset_are_checked_too(groups: list[ColumnGroup]):
    with pytest.raises(InputError):
        apply(Manifest(), append(*groups))


# Indexes


def with_indexes(*indexes: Index) -> Manifest:
    return Manifest(TWO.column_groups, indexes=indexes)


def test_appended_files_end_the_indexes_of_their_columns():
    base = with_indexes(Index("a", "hnsw", "i1", index_id=1), Index("c", "hnsw", "i2", index_id=2))
    appended = append(group("a b", ("f2", 0)), group("c"))
    assert [i.path for i in apply(base, appended).indexes] == ["i2"], "group 1 got no file"


def test_an_index_of_one_id_replaces_the_older_build():
    base = with_indexes(Index("a", "hnsw", "i1", index_id=1), Index("a", "hnsw", "i2", index_id=2))
    after = apply(base, Updates(added_indexes=(Index("b", "ivf", "i3", index_id=1),)))
    assert [i.path for i in after.indexes] == ["i2", "i3"]


def test_an_index_without_id_replaces_one_of_its_column_and_type_without_id():
    base = with_indexes(
        Index("a", "hnsw", "i1"), Index("a", "ivf", "i2"), Index("a", "hnsw", "i3", index_id=3)
    )
    after = apply(base, Updates(added_indexes=(Index("a", "hnsw", "i4"),)))
    assert [i.path for i in after.indexes] == ["i2", "i3", "i4"]


def test_an_index_is_dropped_by_its_id_and_an_unknown_id_changes_nothing():
    base = with_indexes(Index("a", "hnsw", "i1", index_id=1), Index("a", "hnsw", "i2", index_id=2))
    assert [i.path for i in apply(base, Updates(dropped_indexes=(1, 9))).indexes] == ["i2"]


def test_an_index_that_comes_with_the_files_it_covers_stays():
    base = with_indexes(Index("a", "hnsw", "old", index_id=1))
    updates = Updates(
        appended_files=((group("a b", ("f2", 5)), group("c", ("g2", 5))),),
        added_indexes=(Index("a", "hnsw", "new", index_id=1),),
    )
    assert [i.path for i in apply(base, updates).indexes] == ["new"]


# Delta logs, statistics, large values


def test_delta_logs_and_large_values_come_after_those_there_are():
    base = Manifest(delta_logs=(DeltaLog("d1", 1),), lob_files=(LobFile("l1", 1, 1, 1, 1),))
    updates = Updates(
        added_delta_logs=(
            DeltaLog("d2", 2, DeltaLogType.POSITIONAL),
            DeltaLog("d3", 3, DeltaLogType.EQUALITY),
        ),
        added_lob_files=(LobFile("l2", 1, 1, 1, 1),),
    )
    after = apply(base, updates)
    assert [(log.path, log.type) for log in after.delta_logs] == [("d1", 0), ("d2", 1), ("d3", 2)]
    assert [lob.path for lob in after.lob_files] == ["l1", "l2"]


def test_a_statistic_is_replaced_by_its_key_and_others_stay():
    base = Manifest(stats={"bm25": Statistics(("s1",), {"k": "v"}), "pk.delete": Statistics(("s2",))})
    after = apply(base, Updates(updated_stats={"bm25": Statistics(("s3",)), "bloomfilter": Statistics(())}))
    assert after.stats == {
        "bm25": Statistics(("s3",)),
        "pk.delete": Statistics(("s2",)),
        "bloomfilter": Statistics(()),
    }


# Against a plain model: a dataset as a dict from columns to (place, rows)

names = st.sampled_from("abcd")
paths = st.text("xyz", min_size=1, max_size=3)
some_files = st.lists(st.tuples(paths, st.integers(0, 2)), max_size=2)
some_groups = st.builds(
    lambda columns, files: group(" ".join(columns), *files),
    st.lists(names, min_size=1, max_size=2, unique=True),
    some_files,
)
alike = st.builds(  # often of one shape, so that many fit
    lambda shape, files: tuple(group(columns, *files) for columns in shape),
    st.sampled_from([("a b",), ("a b",), ("a", "b"), ("b", "a")]),
    some_files,
)
some_appends = st.one_of(alike, alike, alike, st.lists(some_groups, min_size=1, max_size=2).map(tuple))
some_updates = st.builds(
    Updates,
    st.lists(names, max_size=2).map(tuple),
    st.lists(some_appends, max_size=2).map(tuple),
    st.lists(some_groups, max_size=2).map(tuple),
    st.lists(st.builds(DeltaLog, paths, st.integers(0, 5)), max_size=2).map(tuple),
    st.dictionaries(paths, st.builds(Statistics, st.tuples(paths)), max_size=2),
    st.lists(st.integers(0, 2), max_size=1).map(tuple),
    st.lists(
        st.builds(Index, names, st.sampled_from(["hnsw", "ivf"]), paths, index_id=st.integers(0, 2)),
        max_size=2,
    ).map(tuple),
)

Model = dict[str, Any]


def modelled(manifest: Manifest) -> Model:
    """Each column with its files, which is what a reader needs to know."""
    return {
        "columns": {name: list(g.files) for g in manifest.column_groups for name in g.columns},
        "logs": [log.path for log in manifest.delta_logs],
        "stats": dict(manifest.stats),
        "indexes": {(i.index_id or (i.column_name, i.index_type)): i for i in manifest.indexes},
    }


def expected(before: Model, updates: Updates) -> Model:
    columns = {
        name: files for name, files in before["columns"].items() if name not in updates.dropped_columns
    }
    touched: set[str] = set(updates.dropped_columns)
    for appended in updates.appended_files:
        for name, files in per_column(appended):
            columns[name] = [*columns.get(name, []), *files]
            touched.update([name] if files else [])
    columns.update(per_column(updates.added_column_groups))
    indexes = {
        key: index
        for key, index in before["indexes"].items()
        if index.column_name not in touched and index.index_id not in updates.dropped_indexes
    }
    for index in updates.added_indexes:
        indexes[index.index_id or (index.column_name, index.index_type)] = index
    return {
        "columns": columns,
        "logs": [*before["logs"], *(log.path for log in updates.added_delta_logs)],
        "stats": before["stats"] | dict(updates.updated_stats),
        "indexes": indexes,
    }


def per_column(groups: Sequence[ColumnGroup]) -> list[tuple[str, list[ColumnGroupFile]]]:
    return [(name, list(g.files)) for g in groups for name in g.columns]


@settings(deadline=None, max_examples=300)
@given(st.lists(some_updates, min_size=1, max_size=4))
def test_any_updates_are_refused_or_give_what_a_plain_model_gives(several: list[Updates]):
    manifest = Manifest()
    for updates in several:
        try:
            after = apply(manifest, updates)
        except InputError:
            continue
        assert modelled(after) == expected(modelled(manifest), updates)
        columns = [name for g in after.column_groups for name in g.columns]
        assert len(columns) == len(set(columns)), "no column is in two groups"
        assert len({g.num_rows for g in after.column_groups}) <= 1, "groups have as many rows"
        manifest = after

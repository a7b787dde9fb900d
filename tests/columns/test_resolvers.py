"""What becomes of updates when others have committed since: fail, merge and overwrite, by values alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from indextables.columns import ColumnGroup, DeltaLog, DeltaLogType, Index, LobFile, Manifest, Statistics
from indextables.columns.resolvers import fail, merge, overwrite
from indextables.columns.updates import Updates, apply
from indextables.errors import CommitConflictError, InputError, SchemaError
from support.column_groups import add, append, group

READ = Manifest((group("a b", ("f1", 10)), group("c", ("g1", 10))))
MINE = append(group("a b", ("f2", 5)), group("c", ("g2", 5)))
THEIRS = append(group("a b", ("f3", 7)), group("c", ("g3", 7)))
LOG = Updates(added_delta_logs=(DeltaLog("mine", 1),))


def paths(manifest: Manifest) -> list[list[str]]:
    return [[file.path for file in group.files] for group in manifest.column_groups]


# Fail


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_fail_applies_to_the_newest():
    assert fail(READ, READ, MINE) == apply(READ, MINE)


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_fail_refuses_whatever_came_between():
    with pytest.raises(CommitConflictError, match="another writer has committed"):
        fail(READ, apply(READ, LOG), MINE)


# Overwrite


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_overwrite_goes_on_from_what_was_read_and_loses_the_rest():
    assert overwrite(READ, apply(READ, THEIRS), MINE) == apply(READ, MINE)


# Merge: what goes together


@pytest.mark.spec(
    "Transaction resolver system (MergeResolver, FailResolver)",
    "Transaction commit with delta logs and stats",
)
def test_merge_keeps_what_others_added():
    others = Updates(
        added_delta_logs=(DeltaLog("theirs", 2),),
        updated_stats={"theirs": Statistics(("s",))},
        added_indexes=(Index("c", "hnsw", "theirs", index_id=1),),
        added_lob_files=(LobFile("theirs", 1, 1, 1, 1),),
        added_column_groups=(group("theirs", ("h", 10)),),
    )
    mine = Updates(
        added_delta_logs=(DeltaLog("mine", 2),),
        updated_stats={"mine": Statistics(("s",))},
        added_indexes=(Index("a", "hnsw", "mine", index_id=2),),
        added_lob_files=(LobFile("mine", 1, 1, 1, 1),),
        added_column_groups=(group("mine", ("i", 10)),),
    )
    after = merge(READ, apply(READ, others), mine)
    assert [log.path for log in after.delta_logs] == ["theirs", "mine"]
    assert set(after.stats) == {"theirs", "mine"}
    assert [index.path for index in after.indexes] == ["theirs", "mine"]
    assert [lob.path for lob in after.lob_files] == ["theirs", "mine"]
    assert [g.columns for g in after.column_groups] == [("a", "b"), ("c",), ("theirs",), ("mine",)]


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_appends_of_both_are_there_in_the_order_of_their_commits():
    assert paths(merge(READ, apply(READ, THEIRS), MINE)) == [["f1", "f3", "f2"], ["g1", "g3", "g2"]]


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_two_first_appends_of_one_shape_go_together():
    mine, theirs = append(group("a", ("f1", 1))), append(group("a", ("f2", 2)))
    assert paths(merge(Manifest(), apply(Manifest(), theirs), mine)) == [["f2", "f1"]]


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_both_may_drop_one_column():
    drop = Updates(dropped_columns=("c",))
    assert merge(READ, apply(READ, drop), drop) == apply(READ, drop)


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_an_append_ends_an_index_that_another_built_meanwhile_without_it():
    others = Updates(added_indexes=(Index("a", "hnsw", "i", index_id=1),))
    assert merge(READ, apply(READ, others), MINE).indexes == ()


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_others_may_append_while_a_log_or_a_statistic_is_added():
    seen = apply(READ, THEIRS)
    assert merge(READ, seen, LOG) == apply(seen, LOG)


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_what_another_took_away_can_be_put_back():
    mine = Updates(
        updated_stats={"bm25": Statistics(("mine",))},
        added_indexes=(Index("a", "hnsw", "mine", index_id=1),),
    )
    read = apply(
        READ,
        Updates(
            updated_stats={"bm25": Statistics(("old",))},
            added_indexes=(Index("a", "hnsw", "old", index_id=1),),
        ),
    )
    assert merge(read, READ, mine) == apply(READ, mine)


POSITIONS = Updates(added_delta_logs=(DeltaLog("p", 1, DeltaLogType.POSITIONAL),))


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
@pytest.mark.parametrize(
    "others",
    [
        THEIRS,
        Updates(dropped_columns=("a", "b")),
        Updates(dropped_columns=("c",), added_column_groups=(group("c", ("re-written", 10)),)),
        LOG,
    ],
    ids=["append", "drop", "replace a column", "log"],
)
def test_rows_that_are_where_they_were_can_be_deleted_by_position(others: Updates):
    seen = apply(READ, others)
    assert merge(READ, seen, POSITIONS) == apply(seen, POSITIONS)


# Merge: what exists already is not added again

EVERYTHING = Updates(
    dropped_columns=("c",),
    appended_files=((group("a b", ("f2", 5)),), (group("a b", ("f3", 5)),)),
    added_column_groups=(group("c", ("new", 20)), group("d", ("h1", 12), ("h2", 8))),
    added_delta_logs=(DeltaLog("d1", 1), DeltaLog("d2", 2)),
    updated_stats={"bm25": Statistics(("s",))},
    dropped_indexes=(7,),
    added_indexes=(Index("a", "hnsw", "i", index_id=1),),
    added_lob_files=(LobFile("l", 1, 1, 1, 1),),
)


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
@pytest.mark.parametrize("read", [READ, apply(READ, EVERYTHING)], ids=["read before", "read after"])
def test_a_commit_that_nobody_knew_of_can_be_repeated(read: Manifest):
    once = apply(READ, EVERYTHING)
    seen = read if read == once else once
    assert merge(read, seen, EVERYTHING) == once


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_it_can_be_repeated_after_others_went_on():
    seen = apply(
        apply(READ, EVERYTHING),
        Updates(
            appended_files=((group("a b", ("f9", 1)), group("c", ("g9", 1)), group("d", ("h9", 1))),),
            added_delta_logs=(DeltaLog("theirs", 1),),
        ),
    )
    assert merge(seen, seen, replace(EVERYTHING, added_indexes=())) == seen


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_half_of_an_append_that_is_there_is_no_append():
    seen = apply(READ, append(group("a b", ("f2", 5)), group("c", ("other", 5))))
    with pytest.raises(CommitConflictError, match="different numbers of rows"):
        merge(READ, seen, MINE)


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_the_same_rows_of_a_file_are_one_file_and_other_rows_are_another():
    first = append(group("a b", ("f2", 5)), group("c", ("g2", 5)))
    longer = append(group("a b", ("f2", 6)), group("c", ("g2", 6)))
    assert paths(merge(READ, apply(READ, first), longer)) == [["f1", "f2", "f2"], ["g1", "g2", "g2"]]
    assert paths(merge(READ, apply(READ, first), first)) == [["f1", "f2"], ["g1", "g2"]]


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
@pytest.mark.parametrize(
    "twice",
    [
        Updates(appended_files=MINE.appended_files * 2),
        Updates(added_delta_logs=LOG.added_delta_logs * 2),
    ],
    ids=["files", "delta logs"],
)
def test_what_one_transaction_adds_twice_is_there_once(twice: Updates):
    assert merge(READ, READ, twice) in (apply(READ, MINE), apply(READ, LOG))


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_an_append_that_is_there_already_ends_no_index():
    seen = replace(apply(READ, MINE), indexes=(Index("a", "hnsw", "i"),))
    assert merge(READ, seen, MINE) == seen


# Merge: what does not go together


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
@pytest.mark.parametrize(
    ("others", "mine", "message"),
    [
        (add(group("d", ("h", 10))), add(group("d e", ("i", 10))), "column 'd' exists already"),
        (THEIRS, add(group("d", ("h", 10))), "has 10 rows and the dataset has 17"),
        (Updates(dropped_columns=("b",)), MINE, r"group 0 has columns \(a\)"),
        (add(group("d", ("h", 10))), MINE, "for 2 column groups, and the dataset has 3"),
        (
            THEIRS,
            Updates(dropped_columns=("c",)),
            "drops column 'c', and another writer has added",
        ),
        (add(group("d", ("h", 10))), Updates(dropped_columns=("d",)), "drops column 'd'"),
        (
            Updates(updated_stats={"bm25": Statistics(("theirs",))}),
            Updates(updated_stats={"bm25": Statistics(("mine",))}),
            "another writer has updated statistic 'bm25'",
        ),
        (
            THEIRS,
            Updates(added_indexes=(Index("a", "hnsw", "i"),)),
            "the files of column 'a' have changed since its hnsw index was built",
        ),
        (
            Updates(dropped_columns=("a",)),
            Updates(added_indexes=(Index("a", "hnsw", "i"),)),
            "the files of column 'a' have changed",
        ),
        (
            Updates(added_indexes=(Index("a", "hnsw", "theirs", index_id=1),)),
            Updates(added_indexes=(Index("a", "hnsw", "mine", index_id=1),)),
            "another writer has built the hnsw index of column 'a'",
        ),
        (
            Updates(added_indexes=(Index("a", "hnsw", "theirs", index_id=1),)),
            Updates(dropped_indexes=(1,)),
            "drops index 1, and another writer has built it",
        ),
        (Updates(added_delta_logs=(DeltaLog("mine", 9),)), LOG, "'mine' exists as DeltaLog"),
    ],
)
def test_what_would_undo_the_work_of_another_is_a_conflict(others: Updates, mine: Updates, message: str):
    apply(READ, mine)
    with pytest.raises(CommitConflictError, match=message):
        merge(READ, apply(READ, others), mine)


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_positions_that_now_are_those_of_other_rows_are_a_conflict():
    others = Manifest((group("a b", ("x", 10)), group("c", ("y", 10))))
    with pytest.raises(CommitConflictError, match="another writer has replaced the rows at these positions"):
        merge(READ, others, POSITIONS)
    with pytest.raises(CommitConflictError, match="appended rows before the appended ones"):
        merge(READ, apply(READ, THEIRS), replace(MINE, added_delta_logs=POSITIONS.added_delta_logs))


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_two_first_appends_of_different_shapes_are_a_conflict():
    seen = apply(Manifest(), append(group("a b", ("f", 1))))
    with pytest.raises(CommitConflictError, match=r"has columns \(a, b\)"):
        merge(Manifest(), seen, append(group("a", ("g", 1))))


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
@pytest.mark.parametrize("seen", [READ, apply(READ, LOG)], ids=["alone", "next to others"])
def test_what_did_not_fit_what_was_read_either_is_a_mistake_and_no_conflict(seen: Manifest):
    with pytest.raises(SchemaError, match="column 'a' exists already"):
        merge(READ, seen, add(group("a", ("h", 10))))
    again = Updates(added_delta_logs=(DeltaLog("d", 1), DeltaLog("d", 2)))
    with pytest.raises(InputError, match="'d' exists as DeltaLog"):
        merge(READ, seen, again)


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_a_group_without_files_is_not_taken_for_one_with_files():
    seen = apply(READ, add(group("d", ("h", 10))))
    with pytest.raises(InputError):
        merge(READ, seen, add(ColumnGroup(("d",))))

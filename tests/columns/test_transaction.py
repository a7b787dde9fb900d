"""Transactions on a dataset, in memory and on a disk: what they read, what they write, how they end."""

from __future__ import annotations

import random
import shutil
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.servers import Server

from indextables.columns import (
    LATEST,
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
    Transaction,
    Updates,
    latest_version,
    read_manifest,
    versions,
)
from indextables.columns.layout import manifest_path, relative
from indextables.config import keys
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    InputError,
    StorageDeniedError,
    StorageError,
    UnsafeStoreError,
    VersionNotFoundError,
)
from indextables.storage import Backoff, Store, open_store
from support.column_groups import group
from support.faults import (
    Delayed,
    Fault,
    FaultyStore,
    MemoryStore,
    after,
    claims_it_exists,
    fails,
    loses_the_answer,
    repeats_itself,
)

AT_ONCE = Backoff(0, 0, random.Random(0), lambda _: None)


@pytest.fixture(params=["memory", "disk"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "ds") if request.param == "disk" else f"memory://{uuid.uuid4().hex}"


def begin(base: Any, resolver: Any = "fail", **options: Any) -> Transaction:
    return Transaction.open(base, resolver=resolver, backoff=AT_ONCE, **options)


def log(base: Any, path: str = "d", resolver: Any = "merge") -> int:
    return begin(base, resolver).add_delta_log(path, 1).commit()


def stored(base: Any) -> Manifest:
    """The newest version, paths as they are stored."""
    uri = base if isinstance(base, str) else base.uri
    return relative(read_manifest(base), uri)


def logs(base: Any) -> list[str]:
    return [log.path for log in stored(base).delta_logs]


# Reading


def test_a_dataset_that_is_not_there_reads_as_version_0_which_is_empty(base: str):
    with Transaction.open(base) as tx:
        assert (tx.read_version, tx.get_manifest()) == (0, Manifest())
    assert Transaction.open(base, version=0).get_manifest() == Manifest()
    assert (versions(base), latest_version(base), read_manifest(base)) == ((), 0, Manifest())
    assert not Path(base).exists(), "reading makes nothing"


def test_versions_are_counted_from_1_and_each_can_be_read(base: str):
    assert [log(base, f"d{n}") for n in (1, 2, 3)] == [1, 2, 3]
    assert (versions(base), latest_version(base)) == ((1, 2, 3), 3)
    assert [len(read_manifest(base, version).delta_logs) for version in (0, 1, 2, 3, LATEST)] == [
        0,
        1,
        2,
        3,
        3,
    ]
    assert Transaction.open(base, version=2).read_version == 2


def test_ten_comes_after_nine(base: str):
    for n in range(11):
        log(base, f"d{n}")
    assert versions(base) == tuple(range(1, 12))
    assert Transaction.open(base).read_version == 11


def test_a_version_that_is_not_there_is_an_error_that_names_those_that_are(base: str):
    with pytest.raises(VersionNotFoundError, match="no version 4; there are none"):
        Transaction.open(base, version=4)
    store = open_store(base)
    for n in range(6):
        log(base, f"d{n}")
    store.delete(manifest_path(2))
    with pytest.raises(VersionNotFoundError, match="no version 7; there are 1, 3 to 6$"):
        Transaction.open(base, version=7)
    with pytest.raises(VersionNotFoundError, match="no version 2; there are 1, 3 to 6$"):
        read_manifest(base, 2)
    with pytest.raises(InputError, match="there is no version -2"):
        Transaction.open(base, version=-2)


def test_files_that_are_no_manifest_are_no_version(base: str):
    log(base)
    store = open_store(base)
    for name in ("manifest-9.json", "manifest-x.avro", "manifest-.avro", "other", "sub/manifest-7.avro"):
        store.put(f"_metadata/{name}", b"")
    assert versions(base) == (1,)


def test_a_damaged_manifest_is_an_error_that_names_the_file(base: str):
    open_store(base).put(manifest_path(1), b"Obj\x01 and nothing more")
    with pytest.raises(CorruptTableError, match="_metadata/manifest-1.avro: "):
        Transaction.open(base)


def test_the_manifest_is_the_one_that_was_read_and_then_the_one_that_was_committed(base: str):
    log(base, "d1")
    with begin(base) as tx:
        before = tx.get_manifest()
        tx.add_delta_log("d2", 1)
        assert (tx.get_manifest(), before.delta_logs_size()) == (before, 1)
        tx.commit()
        assert (tx.get_manifest(), tx.read_version) == (read_manifest(base), 1)
        assert tx.get_manifest().delta_logs_size() == 2


# Writing


@pytest.mark.spec(
    "Transaction fluent builder API (AddColumnGroup, AppendFiles, AddDeltaLog, UpdateStat)",
    "Transaction commit with delta logs and stats",
    "Python bindings for Transaction and Manifest delta logs/stats",
)
def test_everything_that_a_transaction_is_told_is_in_the_version(base: str):
    version = (
        begin(base)
        .append_files([group("a b", ("f1", 10)), group("c", ("g1", 10))])
        .add_column_group(group("d", ("h1", 10)))
        .add_delta_log("pk", 1)
        .add_delta_log("pos", 2, DeltaLogType.POSITIONAL)
        .add_delta_log("eq", 3, type=DeltaLogType.EQUALITY)
        .update_stat("bm25", ["s1", "s2"], {"k1": "1.2"})
        .update_stat("pk.delete", ["p"])
        .update_stat("bloomfilter", [])
        .add_index(Index("a", "hnsw", "i", index_id=4))
        .add_lob_file(LobFile("l", 1, 2, 3, 4))
        .commit()
    )
    assert version == 1
    assert stored(base) == Manifest(
        (group("a b", ("f1", 10)), group("c", ("g1", 10)), group("d", ("h1", 10))),
        (
            DeltaLog("pk", 1),
            DeltaLog("pos", 2, DeltaLogType.POSITIONAL),
            DeltaLog("eq", 3, DeltaLogType.EQUALITY),
        ),
        {
            "bm25": Statistics(("s1", "s2"), {"k1": "1.2"}),
            "pk.delete": Statistics(("p",)),
            "bloomfilter": Statistics(()),
        },
        (Index("a", "hnsw", "i", index_id=4),),
        (LobFile("l", 1, 2, 3, 4),),
    )
    begin(base).drop_column("d").drop_index(4).commit()
    assert [g.columns for g in stored(base).column_groups] == [("a", "b"), ("c",)]
    assert stored(base).indexes == ()


def test_the_version_is_a_container_of_the_format_and_ends_with_the_id_of_its_writer(base: str):
    tx = begin(base).add_delta_log("d", 1)
    tx.commit()
    raw = open_store(base).get("_metadata/manifest-1.avro")
    assert raw.startswith(b"Obj\x01")
    assert raw == Manifest(delta_logs=(DeltaLog("d", 1),)).to_bytes(version=6, sync=raw[-16:])
    log(base, "e")
    assert open_store(base).get("_metadata/manifest-2.avro")[-16:] != raw[-16:]


def test_paths_are_stored_relative_and_read_where_the_dataset_lies(tmp_path: Path):
    base = str(tmp_path / "ds")
    begin(base).append_files([group("a", (f"{base}/_data/f", 1))]).add_delta_log("d", 1).add_delta_log(
        "/elsewhere/d", 1
    ).update_stat("k", ["s3://bucket/s", f"{base}/_stats/s"]).commit()
    shutil.move(base, tmp_path / "moved")
    found = read_manifest(tmp_path / "moved")
    assert found.column_groups[0].files[0].path == f"{tmp_path}/moved/_data/f"
    assert [log.path for log in found.delta_logs] == [f"{tmp_path}/moved/_delta/d", "/elsewhere/d"]
    assert found.stats["k"].paths == ("s3://bucket/s", f"{tmp_path}/moved/_stats/s")


def test_what_was_read_can_be_written_again_as_it_was(base: str):
    begin(base).append_files([group("a", ("f", 1))]).commit()
    found = read_manifest(base)
    begin(base, "merge").append_files(found.column_groups).commit()
    assert stored(base).column_groups == (group("a", ("f", 1)),), "by its place it is known as the same file"


@pytest.mark.parametrize("version", range(1, 7))
def test_a_transaction_goes_on_from_a_manifest_of_any_version(base: str, version: int):
    before = Manifest((group("a", ("f", 1)),), (DeltaLog("d", 1),), {"k": Statistics(("s",))})
    open_store(base).put(manifest_path(1), before.to_bytes(version=version))
    assert log(base, "new") == 2
    assert stored(base) == replace(before, delta_logs=(*before.delta_logs, DeltaLog("new", 1)))


# Its life


def test_a_commit_of_nothing_is_refused(base: str):
    with pytest.raises(InputError, match="nothing to commit"):
        begin(base).commit()
    assert versions(base) == ()


def test_leaving_the_block_commits_nothing(base: str):
    with begin(base) as tx:
        tx.add_delta_log("d", 1)
    assert (tx.is_closed, tx.is_committed, versions(base)) == (True, False, ())


USES: list[Callable[[Transaction], Any]] = [
    lambda tx: tx.commit(),
    lambda tx: tx.append_files([group("a")]),
    lambda tx: tx.add_column_group(group("a")),
    lambda tx: tx.add_delta_log("d", 1),
    lambda tx: tx.update_stat("k", []),
    lambda tx: tx.drop_column("a"),
    lambda tx: tx.add_index(Index("a", "t", "p")),
    lambda tx: tx.drop_index(1),
    lambda tx: tx.add_lob_file(LobFile("l", 1, 1, 1, 1)),
]


@pytest.mark.parametrize("use", USES)
def test_a_transaction_is_over_after_its_commit_and_after_its_close(use: Callable[[Transaction], Any]):
    base = f"memory://{uuid.uuid4().hex}"
    tx = begin(base).add_delta_log("d", 1)
    tx.commit()
    with pytest.raises(InputError, match="is committed; open another"):
        use(tx)
    tx.close()
    tx.close()
    with pytest.raises(InputError, match="is closed; open another"):
        use(tx)
    with pytest.raises(InputError, match="is closed"):
        tx.get_manifest()
    assert versions(base) == (1,)


def test_it_says_what_it_is(base: str):
    tx = begin(base).add_delta_log("d", 1)
    assert repr(tx).endswith("read_version=0, open)")
    tx.commit()
    assert repr(tx).endswith("read_version=0, committed)")
    tx.close()
    assert repr(tx).endswith("read_version=0, closed)")


@pytest.mark.parametrize(
    ("tell", "message"),
    [
        (lambda tx: tx.add_delta_log("d", -1), "has -1 entries"),
        (lambda tx: tx.add_delta_log("d", 1, 7), "type 7; there are PRIMARY_KEY"),
        (lambda tx: tx.add_delta_log("../../d", 1), "outside its dataset"),
        (lambda tx: tx.add_delta_log("", 1), "needs a path"),
        (lambda tx: tx.update_stat("", ["s"]), "needs a key"),
        (lambda tx: tx.update_stat("bm25", ["s", ""]), "has no path"),
        (lambda tx: tx.update_stat("bm25", "s"), r"\['s'\]"),
        (lambda tx: tx.append_files([]), "no column groups to append"),
        (lambda tx: tx.append_files([group("a", ("", 1))]), "has no path"),
        (
            lambda tx: tx.add_column_group(ColumnGroup(("a",), files=(ColumnGroupFile("f", 5, 4),))),
            "which ends before it begins",
        ),
    ],
)
def test_what_can_be_seen_to_be_wrong_is_refused_at_once(tell: Callable[[Transaction], Any], message: str):
    tx = begin(MemoryStore())
    with pytest.raises(InputError, match=message):
        tell(tx)
    with pytest.raises(InputError, match="nothing to commit"):
        tx.commit()


def test_a_resolver_or_a_limit_that_is_none_is_refused(base: str):
    with pytest.raises(InputError, match="no resolver is named 'mrege'; there are fail, merge, overwrite"):
        begin(base, "mrege")
    with pytest.raises(InputError, match="retry_limit is -1"):
        begin(base, "merge", retry_limit=-1)


def test_what_does_not_fit_is_refused_and_nothing_is_written(base: str):
    begin(base).append_files([group("a", ("f", 1))]).commit()
    with pytest.raises(InputError, match="column 'a' exists already"):
        begin(base).add_column_group(group("a", ("g", 1))).commit()
    assert versions(base) == (1,)


# Others commit in between


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
def test_fail_tells_who_came_second_and_which_version_is_there(base: str):
    first, second = begin(base).add_delta_log("d1", 1), begin(base).add_delta_log("d2", 1)
    assert first.commit() == 1
    with pytest.raises(CommitConflictError, match="is at version 1 and this transaction has read version 0"):
        second.commit()
    assert (logs(base), second.is_committed) == (["d1"], False)


def test_fail_refuses_to_go_on_from_an_older_version_and_goes_on_from_the_newest(base: str):
    log(base, "d1")
    log(base, "d2")
    with pytest.raises(CommitConflictError, match="is at version 2 and this transaction has read version 1"):
        begin(base, version=1).add_delta_log("d3", 1).commit()
    assert begin(base, version=2).add_delta_log("d3", 1).commit() == 3


@pytest.mark.spec("Transaction resolver system (MergeResolver, FailResolver)")
@pytest.mark.parametrize("version", [LATEST, 1])
def test_merge_goes_on_from_whatever_is_the_newest(base: str, version: int):
    log(base, "d1")
    tx = begin(base, "merge", version=version).add_delta_log("mine", 1)
    for n in range(2, 12):
        log(base, f"d{n}")
    assert tx.commit() == 12
    assert logs(base) == [*(f"d{n}" for n in range(1, 12)), "mine"]


def test_merge_tells_of_a_real_conflict(base: str):
    begin(base).append_files([group("a", ("f", 1))]).commit()
    tx = begin(base, "merge").add_column_group(group("b", ("mine", 1)))
    begin(base).add_column_group(group("b", ("theirs", 1))).commit()
    with pytest.raises(CommitConflictError, match=r"is at version 2 .* column 'b' exists already.*redo"):
        tx.commit()
    assert versions(base) == (1, 2)


def test_overwrite_takes_the_next_number_and_loses_what_came_between(base: str):
    log(base, "d1")
    tx = begin(base, "overwrite").add_delta_log("mine", 1)
    log(base, "d2")
    log(base, "d3")
    assert tx.commit() == 4
    assert logs(base) == ["d1", "mine"]
    assert begin(base, "overwrite", version=2).add_delta_log("back", 1).commit() == 5
    assert logs(base) == ["d1", "d2", "back"]


def test_a_resolver_of_ones_own_gets_all_it_needs(base: str):
    log(base, "d1")
    given: list[Any] = []

    def newest_only(read: Manifest, seen: Manifest, updates: Updates) -> Manifest:
        given.append((read, seen, updates))
        return Manifest(delta_logs=(seen.delta_logs[-1], *updates.added_delta_logs))

    tx = begin(base, newest_only).add_delta_log("mine", 1)
    log(base, "d2")
    assert tx.commit() == 3
    assert logs(base) == ["d2", "mine"]
    (first, second) = given
    assert first[0] is first[1], "no other commit was seen in between"
    assert [len(m.delta_logs) for m in second[:2]] == [1, 2]
    assert second[2] == Updates(added_delta_logs=(DeltaLog("mine", 1),))


def someone_faster(store: Store, times: int) -> FaultyStore:
    """A store on which another writer is faster by a moment, so many times."""

    return FaultyStore(
        store,
        Fault("create", after(lambda: log(store, f"theirs-{uuid.uuid4().hex}")), "_metadata", times=times),
    )


def test_lost_races_are_tried_again_as_often_as_the_limit_says():
    store = MemoryStore()
    assert begin(someone_faster(store, 3), "merge", retry_limit=3).add_delta_log("d", 1).commit() == 4
    with pytest.raises(CommitConflictError, match="were faster 4 times in a row"):
        begin(someone_faster(store, 4), "merge", retry_limit=3).add_delta_log("e", 1).commit()
    assert logs(store).count("e") == 0
    limited = {keys.RETRY_MAX_ATTEMPTS.key: "2"}
    with pytest.raises(CommitConflictError, match="were faster 2 times in a row"):
        begin(someone_faster(store, 4), "merge", options=limited).add_delta_log("e", 1).commit()
    assert begin(someone_faster(store, 99), "merge").add_delta_log("e", 1).commit()


def test_several_appends_to_an_empty_dataset_are_not_doubled_by_a_retry():
    store = MemoryStore()
    tx = begin(someone_faster(store, 2), "merge")
    tx.append_files([group("a", ("f1", 1))]).append_files([group("a", ("f2", 1))])
    assert tx.commit() == 3
    assert stored(store).column_groups == (group("a", ("f1", 1), ("f2", 1)),)


def test_fail_does_not_try_again():
    store = MemoryStore()
    faster = someone_faster(store, 1)
    with pytest.raises(CommitConflictError, match="is at version 1 .* another writer was faster"):
        begin(faster, retry_limit=5).add_delta_log("d", 1).commit()
    assert [operation for operation, _ in faster.calls].count("create") == 1


# The store fails


@pytest.mark.parametrize("resolver", ["fail", "merge", "overwrite"])
@pytest.mark.parametrize("strike", [loses_the_answer, repeats_itself, claims_it_exists, fails])
def test_a_commit_is_known_as_ones_own_whatever_the_store_answered(resolver: str, strike: Any):
    store = FaultyStore(MemoryStore(), Fault("create", strike, "_metadata"))
    assert begin(store, resolver).add_delta_log("d", 1).commit() == 1
    assert (versions(store), logs(store)) == ((1,), ["d"])


def test_the_version_is_read_back_even_from_a_store_that_fails_to_show_it():
    faults = (Fault("create", loses_the_answer, "_metadata"), Fault("get", fails, "_metadata", times=4))
    store = FaultyStore(MemoryStore(), *faults)
    assert begin(store, "merge").add_delta_log("d", 1).commit() == 1


def test_a_commit_in_doubt_is_asked_about_again_and_made_once():
    inner = MemoryStore()
    store = FaultyStore(
        inner, Fault("create", loses_the_answer, "_metadata"), Fault("get", fails, "_metadata", times=5)
    )
    tx = begin(store).add_delta_log("d", 1)
    with pytest.raises(CommitUnknownError, match=r"call commit\(\) of this transaction again"):
        tx.commit()
    with pytest.raises(InputError, match="the outcome of the commit to .* is unknown"):
        tx.add_delta_log("e", 1)
    log(inner, "theirs")
    assert tx.commit() == 1
    assert logs(inner) == ["d", "theirs"]


def test_a_commit_stays_in_doubt_until_the_store_has_said_how_it_ended():
    inner = MemoryStore()
    log(inner, "d1")
    begun = FaultyStore(inner)
    tx = begin(begun, "merge").add_delta_log("mine", 1)
    log(inner, "d2")
    # Version 2 is another's. Version 3 is written, and the answer is lost, as are all further ones for a while.
    begun.faults = [
        Fault("create", loses_the_answer, "manifest-3"),
        Fault("get", fails, "manifest-3", times=5),
        Fault("get", fails, "manifest-2", spare=2),
    ]
    with pytest.raises(CommitUnknownError, match="could not be read back in 5 attempts"):
        tx.commit()
    with pytest.raises(CommitUnknownError, match=r"still unknown; call commit\(\) again: .* refused"):
        tx.commit()
    assert tx.commit() == 3
    assert logs(inner) == ["d1", "d2", "mine"]


def test_a_request_that_lands_late_is_the_same_commit():
    inner, late = MemoryStore(), Delayed()
    store = FaultyStore(inner, Fault("create", late.strike, "_metadata"))
    assert begin(store, "merge").add_delta_log("d", 1).commit() == 1
    late.deliver()
    assert (versions(inner), logs(inner)) == ((1,), ["d"])


def test_a_commit_that_never_arrived_can_be_redone_by_another_transaction_without_doubling():
    inner, late = MemoryStore(), Delayed()
    store = FaultyStore(inner, Fault("create", late.strike, "_metadata", times=10))
    first = begin(store, "merge").append_files([group("a", ("f", 1))]).add_delta_log("d", 1)
    with pytest.raises(CommitUnknownError):
        first.commit()
    late.deliver()
    again = begin(store, "merge").append_files([group("a", ("f", 1))]).add_delta_log("d", 1)
    assert again.commit() == 2
    assert stored(inner) == Manifest((group("a", ("f", 1)),), (DeltaLog("d", 1),))


def test_a_store_that_refuses_leaves_a_transaction_that_can_be_tried_again():
    def refuses(call: Any) -> Any:
        raise StorageDeniedError("no")

    store = FaultyStore(MemoryStore(), Fault("create", refuses, "_metadata"))
    tx = begin(store).add_delta_log("d", 1)
    with pytest.raises(StorageDeniedError):
        tx.commit()
    assert tx.add_delta_log("e", 1).commit() == 1


def test_a_newest_version_that_cannot_be_read_leaves_nothing_behind():
    inner = MemoryStore()
    store = FaultyStore(inner, Fault("get", fails, "_metadata", spare=1))
    log(inner, "d1")
    tx = begin(store, "merge").add_delta_log("mine", 1)
    log(inner, "d2")
    store.faults[0].spare = 1  # the read-back passes, the read of the winner's manifest does not
    with pytest.raises(StorageError, match="refused"):
        tx.commit()
    assert logs(inner) == ["d1", "d2"]
    assert tx.commit() == 3, "and it can be tried again"


@pytest.mark.servers
def test_a_store_that_ignores_preconditions_is_refused(rclone: Server):
    base = rclone.uri(uuid.uuid4().hex)
    with pytest.raises(UnsafeStoreError, match="ignores conditional creates"):
        begin(base, options=rclone.settings).add_delta_log("d", 1).commit()
    assert versions(base, rclone.settings) == ()

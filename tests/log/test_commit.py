"""Commits: what a faulty store can do to one, and what a concurrent writer can."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from indextables.config import Settings, keys
from indextables.errors import (
    CommitConflictError,
    CommitUnknownError,
    PredicateError,
    SchemaError,
    StorageDeniedError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnsafeStoreError,
)
from indextables.log import (
    AddFile,
    Append,
    Change,
    CommitInfo,
    Committed,
    DropPartitions,
    MergeGroup,
    MergeSplits,
    Metadata,
    Overwrite,
    Protocol,
    RemoveFile,
    SkipFile,
    Snapshot,
    Txn,
    commit,
    load_snapshot,
    read_version,
    version_key,
)
from indextables.log.versions import record_key
from indextables.predicates import Compare, IsNull, TextQuery
from indextables.schema import REGISTRY_PREFIX
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
from support.invariants import check_removes, check_versions
from support.logs import COLUMNS, add, live, mapping_ref, metadata, put_version

TABLE = metadata()
OTHER_COLUMNS = metadata({**COLUMNS, "id": "string"})


class Pauses(list[float]):
    """Instead of sleeping."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def run(store: Any, change: Change, base: Snapshot | None = None, **more: Any) -> Committed:
    more.setdefault("sleep", Pauses())
    return commit(store, change, base=base, rng=random.Random(0), **more)


def append(*paths: str, table: Metadata = TABLE, **more: Any) -> Append:
    return Append(tuple(add(path, doc_mapping_ref=mapping_ref(table)) for path in paths), table, **more)


def overwrite(*paths: str, table: Metadata = TABLE, **more: Any) -> Overwrite:
    return Overwrite(tuple(add(path, doc_mapping_ref=mapping_ref(table)) for path in paths), table, **more)


def merge(*groups: tuple[str, str], table: Metadata = TABLE) -> MergeSplits:
    """Each group: the sources' letters, and the name of what they become."""
    return MergeSplits(tuple(MergeGroup(tuple(sources), (add(into),)) for sources, into in groups), table)


@pytest.fixture
def base(store: MemoryStore) -> Snapshot:
    """Files a and b of monday, c of tuesday."""
    first = Append((add("a"), add("b"), add("c", "tue")), TABLE, create="only")
    return run(store, first).snapshot


def the_create_of(version: int, strike: Callable[..., Any], **more: Any) -> Fault:
    return Fault("create", strike, key=version_key(version), **more)


# A new table


def test_a_table_is_made_by_one_version_that_holds_everything(store: MemoryStore):
    made = run(store, append("a"), clock=lambda: 1000)
    actions = read_version(store, 0)
    assert [type(action) for action in actions] == [CommitInfo, Protocol, Metadata, AddFile]
    assert actions[1] == Protocol(4, 4)
    assert actions[2] == replace(TABLE, created_time=1000)
    assert (made.version, made.skipped) == (0, False)
    assert made.snapshot == load_snapshot(store)
    check_versions(store)


def test_the_commit_info_says_who_what_when_and_from_where(store: MemoryStore, base: Snapshot):
    run(store, overwrite("d"), base, clock=lambda: 10**14)
    info, *_ = read_version(store, 1)
    assert len(info.txn_id) == 36
    assert info.engine.startswith("indextables/")
    assert (info.operation, info.parameters, info.timestamp, info.read_version) == (
        "WRITE",
        {"mode": "overwrite"},
        10**14,
        0,
    )
    assert info.metrics == {
        "filesAdded": 1,
        "filesRemoved": 3,
        "rowsAdded": 1,
        "bytesAdded": 10,
        "bytesRemoved": 30,
    }


def test_an_existing_table_is_not_made_again(store: MemoryStore, base: Snapshot):
    for seen in (base, None):
        with pytest.raises(TableExistsError, match=f"{store.uri}"):
            run(store, append("d", create="only"), seen)
    assert load_snapshot(store).version == 0


@pytest.mark.parametrize(
    "change",
    [append("a", create="never"), DropPartitions(IsNull("day")), merge(("a", "d"))],
    ids=lambda c: c.operation,
)
def test_what_needs_a_table_makes_none(store: MemoryStore, change: Change):
    with pytest.raises(TableNotFoundError, match=f"{store.uri}"):
        run(store, change)
    assert store.objects == {}


def test_of_two_creators_the_loser_appends(store: MemoryStore):
    rival = FaultyStore(store, the_create_of(0, after(lambda: run(store, append("theirs")))))
    mine = run(rival, append("mine", table=metadata(id="another")))
    assert (mine.version, live(mine.snapshot)) == (1, ["theirs", "mine"])
    assert mine.snapshot.metadata.id == "table"
    assert check_versions(store) == 1


def test_of_two_creators_with_different_schemas_the_loser_is_told(store: MemoryStore):
    rival = FaultyStore(
        store, the_create_of(0, after(lambda: run(store, append("theirs", table=OTHER_COLUMNS))))
    )
    with pytest.raises(SchemaError, match="column id is not what it was"):
        run(rival, append("mine"))
    assert live(load_snapshot(store)) == ["theirs"]


def test_of_two_creators_that_insist_on_a_new_table_the_loser_is_told(store: MemoryStore):
    rival = FaultyStore(store, the_create_of(0, after(lambda: run(store, append("theirs")))))
    with pytest.raises(TableExistsError):
        run(rival, append("mine", create="only"))


# The store misbehaves


@pytest.mark.parametrize("strike", [loses_the_answer, repeats_itself])
def test_ones_own_commit_is_known_again(store: MemoryStore, base: Snapshot, strike: Callable[..., Any]):
    done = run(FaultyStore(store, the_create_of(1, strike)), append("d"), base)
    assert done.version == 1
    assert done.snapshot == load_snapshot(store)
    assert live(done.snapshot) == ["a", "b", "c", "d"]
    assert check_versions(store) == 1


def test_ones_own_first_version_is_known_again(store: MemoryStore):
    assert (
        run(FaultyStore(store, the_create_of(0, loses_the_answer)), append("a", create="only")).version == 0
    )


@pytest.mark.parametrize("strike", [fails, claims_it_exists])
def test_an_absent_version_is_tried_again_under_the_same_number(
    store: MemoryStore, base: Snapshot, strike: Callable[..., Any]
):
    faulty = FaultyStore(store, the_create_of(1, strike, times=3))
    pauses = Pauses()
    assert run(faulty, append("d"), base, sleep=pauses).version == 1
    assert [key for operation, key in faulty.calls if operation == "create"] == [version_key(1)] * 4
    assert len(pauses) == 3
    assert check_versions(store) == 1


def test_a_conflict_with_another_writer_is_seen_through_a_lost_answer(store: MemoryStore, base: Snapshot):
    def they_win_and_the_answer_is_lost(call: Callable[[], Any]) -> Any:
        run(store, append("theirs"), base)
        raise StorageError("the connection was reset")

    faulty = FaultyStore(store, the_create_of(1, they_win_and_the_answer_is_lost))
    assert run(faulty, append("mine"), base).version == 2
    assert live(load_snapshot(store)) == ["a", "b", "c", "theirs", "mine"]
    assert check_versions(store) == 2


def test_a_request_that_arrives_late_is_not_committed_twice(store: MemoryStore, base: Snapshot):
    late = Delayed()
    delivery = Fault("create", after(late.deliver), key=version_key(1), spare=0)
    faulty = FaultyStore(store, the_create_of(1, late.strike), delivery)
    assert run(faulty, append("d"), base).version == 1
    assert live(load_snapshot(store)) == ["a", "b", "c", "d"]
    assert check_versions(store) == 1


@pytest.mark.spec("testCommitStateUnknown")
def test_a_store_that_never_answers_leaves_the_outcome_unknown(store: MemoryStore, base: Snapshot):
    faulty = FaultyStore(store, the_create_of(1, fails, times=1000))
    with pytest.raises(
        CommitUnknownError,
        match="each of the 10 times it was sent version 1, which may still be created.*transaction id",
    ):
        run(faulty, append("d"), base)


@pytest.mark.spec("testCommitStateUnknown")
def test_a_commit_that_cannot_be_read_back_is_unknown(store: MemoryStore, base: Snapshot):
    faulty = FaultyStore(
        store,
        the_create_of(1, loses_the_answer),
        Fault("get", fails, key=version_key(1), times=1000, spare=1),
    )
    with pytest.raises(CommitUnknownError) as caught:
        run(faulty, append("d"), base)
    info, *_ = read_version(store, 1)
    assert info.txn_id in str(caught.value), "the user can look for it"


def test_a_read_back_is_repeated(store: MemoryStore, base: Snapshot):
    faulty = FaultyStore(
        store, the_create_of(1, loses_the_answer), Fault("get", fails, key=version_key(1), times=3, spare=1)
    )
    assert run(faulty, append("d"), base).version == 1


def test_a_store_that_says_exists_and_shows_nothing_is_given_up(store: MemoryStore, base: Snapshot):
    faulty = FaultyStore(store, the_create_of(1, claims_it_exists, times=1000))
    with pytest.raises(
        CommitConflictError,
        match="refused to create version 1 because it exists, and then had no such object, 10 times",
    ):
        run(faulty, append("d"), base)
    assert load_snapshot(store).version == 0


@pytest.mark.parametrize("kind", [StorageDeniedError, UnsafeStoreError])
def test_a_refusal_is_passed_on_at_once(store: MemoryStore, base: Snapshot, kind: type[StorageError]):
    def refuse(call: Callable[[], Any]) -> Any:
        raise kind("no")

    faulty = FaultyStore(store, the_create_of(1, refuse, times=1000))
    with pytest.raises(kind, match="no"):
        run(faulty, append("d"), base)
    assert [operation for operation, _ in faulty.calls].count("create") == 1


def test_a_refusal_after_a_lost_answer_is_not_believed(store: MemoryStore, base: Snapshot):
    def refuse(call: Callable[[], Any]) -> Any:
        raise StorageDeniedError("the credentials have expired")

    late = Delayed()
    faulty = FaultyStore(store, the_create_of(1, late.strike), the_create_of(1, refuse, times=1000))
    with pytest.raises(CommitUnknownError):
        run(faulty, append("d"), base)


def test_an_unexpected_exception_of_the_store_is_not_believed_either(store: MemoryStore, base: Snapshot):
    def breaks(call: Callable[[], Any]) -> Any:
        call()
        raise RuntimeError("a bug in some client")

    assert run(FaultyStore(store, the_create_of(1, breaks)), append("d"), base).version == 1


def test_a_failure_before_anything_was_sent_is_no_mystery(store: MemoryStore, base: Snapshot):
    with pytest.raises(StorageError, match="refused") as caught:
        run(FaultyStore(store, Fault("get", fails)), append("d"), base)
    assert type(caught.value) is StorageError
    assert load_snapshot(store).version == 0


# Other writers: the conflict table, cell by cell. Theirs is committed after my base, before my commit.


def appended(store: MemoryStore, base: Snapshot) -> None:
    run(store, append("x"), base)


def overwritten(store: MemoryStore, base: Snapshot) -> None:
    run(store, overwrite("x"), base)


def dropped_monday(store: MemoryStore, base: Snapshot) -> None:
    run(store, DropPartitions(Compare("=", "day", "mon")), base)


def merged_ab(store: MemoryStore, base: Snapshot) -> None:
    run(store, merge(("ab", "x")), base)


def changed_metadata(store: MemoryStore, base: Snapshot) -> None:
    """Nothing that matters to files: a description."""
    put_version(
        store, 1, [CommitInfo("t", timestamp=base.timestamp_ms + 1), replace(TABLE, description="new")]
    )


def changed_mapping(store: MemoryStore, base: Snapshot) -> None:
    info = CommitInfo("t", timestamp=base.timestamp_ms + 1)
    put_version(store, 1, [info, metadata(text=("message",))])


def changed_schema(store: MemoryStore, base: Snapshot) -> None:
    run(store, overwrite("x", table=OTHER_COLUMNS), base)


def raised_protocol(store: MemoryStore, base: Snapshot) -> None:
    put_version(store, 1, [CommitInfo("t", timestamp=base.timestamp_ms + 1), Protocol(4, 99)])


DROP_MONDAY = DropPartitions(Compare("=", "day", "mon"))


@pytest.mark.parametrize(
    ("mine", "theirs", "left"),
    [
        (append("m"), appended, ["a", "b", "c", "x", "m"]),
        (append("m"), overwritten, ["x", "m"]),
        (append("m"), dropped_monday, ["c", "m"]),
        (append("m"), merged_ab, ["c", "x", "m"]),
        (append("m"), changed_metadata, ["a", "b", "c", "m"]),
        (append("m"), changed_schema, SchemaError),
        (append("m"), changed_mapping, SchemaError),
        (append("m"), raised_protocol, "requires protocol version 99"),
        (overwrite("m"), appended, ["m"]),
        (overwrite("m"), overwritten, ["m"]),
        (overwrite("m"), dropped_monday, ["m"]),
        (overwrite("m"), merged_ab, ["m"]),
        (overwrite("m"), changed_metadata, ["m"]),
        (overwrite("m", replaces=TABLE), changed_schema, SchemaError),
        (overwrite("m", table=OTHER_COLUMNS, replaces=TABLE), changed_schema, ["m"]),
        (overwrite("m", table=OTHER_COLUMNS, replaces=TABLE), changed_mapping, SchemaError),
        (overwrite("m"), changed_schema, ["m"]),
        (overwrite("m"), raised_protocol, "requires protocol version 99"),
        (DROP_MONDAY, appended, ["c"]),
        (DROP_MONDAY, overwritten, []),
        (DROP_MONDAY, dropped_monday, ["c"]),
        (DROP_MONDAY, merged_ab, ["c"]),
        (DROP_MONDAY, changed_metadata, ["c"]),
        (DROP_MONDAY, raised_protocol, "requires protocol version 99"),
        (merge(("ab", "m")), appended, ["c", "x", "m"]),
        (merge(("ab", "m")), overwritten, CommitConflictError),
        (merge(("ab", "m")), dropped_monday, CommitConflictError),
        (merge(("ab", "m"), ("c", "n")), dropped_monday, ["n"]),
        (merge(("ab", "m")), merged_ab, CommitConflictError),
        (merge(("ab", "m"), ("c", "n")), merged_ab, ["x", "n"]),
        (merge(("bc", "m"), ("a", "n")), merged_ab, CommitConflictError),
        (merge(("ab", "m")), changed_metadata, ["c", "m"]),
        (merge(("ab", "m")), changed_mapping, SchemaError),
        (merge(("ab", "m")), raised_protocol, "requires protocol version 99"),
    ],
    ids=lambda value: getattr(value, "operation", None) or getattr(value, "__name__", None),
)
def test_the_conflict_table(
    store: MemoryStore,
    base: Snapshot,
    mine: Change,
    theirs: Callable[[MemoryStore, Snapshot], None],
    left: list[str] | str | type[Exception],
):
    rival = FaultyStore(store, Fault("create", after(lambda: theirs(store, base))))
    skipped = isinstance(mine, DropPartitions) and theirs is dropped_monday
    if isinstance(left, list):
        done = run(rival, mine, base)
        assert (live(done.snapshot), done.version, done.skipped) == (left, 1 if skipped else 2, skipped)
        assert done.snapshot == load_snapshot(store)
    else:
        kind, words = (left, None) if isinstance(left, type) else (Exception, left)
        with pytest.raises(kind, match=words):
            run(rival, mine, base)
        assert load_snapshot(store).version == 1, "a change that no longer applies leaves no trace"
    check_removes(store, check_versions(store))


def test_a_base_that_is_out_of_date_is_the_same_conflict(store: MemoryStore, base: Snapshot):
    overwritten(store, base)
    with pytest.raises(CommitConflictError, match="nothing left to merge"):
        run(store, merge(("ab", "m")), base)
    assert live(run(store, append("m"), base).snapshot) == ["x", "m"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (metadata({"id": "long", "message": "string", "day": "string", "more": "long"}), "column more"),
        (metadata({"id": "long", "day": "string"}), "column message"),
        (metadata({**COLUMNS, "id": "integer"}), "column id"),
        (metadata(partition_columns=()), "now partitioned by day"),
        (metadata(text=("message",)), "column message is now indexed in another way"),
    ],
)
def test_files_written_for_another_table_are_refused(
    store: MemoryStore, base: Snapshot, table: Metadata, words: str
):
    for change in (append("d", table=table), merge(("ab", "d"), table=table)):
        with pytest.raises(SchemaError, match=f"{store.uri} has changed.*{words}"):
            run(store, change, base)


def test_columns_in_another_order_are_the_same_columns(store: MemoryStore, base: Snapshot):
    table = metadata({name: COLUMNS[name] for name in ("day", "message", "id")})
    assert (
        run(store, append("d", table=table), base).snapshot.metadata.schema_string
        == base.metadata.schema_string
    )


def test_a_mapping_that_the_registry_lacks_is_registered(store: MemoryStore, base: Snapshot):
    """Written by another release: same columns, other words for them."""
    key = f"{REGISTRY_PREFIX}0123456789abcdef"
    table = replace(TABLE, configuration={**TABLE.configuration, key: "[]"})
    new = Append((add("d", doc_mapping_ref="0123456789abcdef"),), table)
    after_append = run(store, new, base).snapshot
    assert after_append.metadata == replace(
        base.metadata, configuration={**base.metadata.configuration, key: "[]"}
    )
    again = run(store, new, after_append)
    assert not [action for action in read_version(store, again.version) if isinstance(action, Metadata)]


def test_an_overwrite_may_change_the_schema_and_keeps_the_identity(store: MemoryStore, base: Snapshot):
    changed = replace(OTHER_COLUMNS, id="another table's")
    snapshot = run(store, overwrite("d", table=changed, replaces=base.metadata), base).snapshot
    assert snapshot.schema.field("id").type == "string"
    assert (snapshot.metadata.id, snapshot.metadata.created_time) == ("table", base.metadata.created_time)


def test_removes_say_what_they_remove(store: MemoryStore, base: Snapshot):
    done = run(store, DropPartitions(Compare("=", "day", "tue")), base)
    assert read_version(store, 1)[1:] == [
        RemoveFile("c", done.snapshot.timestamp_ms, partition_values={"day": "tue"}, size=10)
    ]
    done = run(store, merge(("ab", "m")), done.snapshot)
    assert [action.data_change for action in read_version(store, 2)[1:]] == [False, False, False]


@pytest.mark.parametrize("predicate", [Compare("=", "id", 1), TextQuery("TEXTSEARCH", "message", "x")])
def test_partitions_are_dropped_by_partition_columns_only(store: MemoryStore, base: Snapshot, predicate: Any):
    with pytest.raises(PredicateError, match=r"partition columns only \(day\)"):
        run(store, DropPartitions(predicate), base)


def test_null_partitions_can_be_dropped_and_never_are_by_a_comparison(store: MemoryStore, base: Snapshot):
    run(store, Append((add("n", None), add("h", "__HIVE_DEFAULT_PARTITION__")), TABLE), base)
    run(store, DropPartitions(Compare("<>", "day", "tue")), base)
    assert live(load_snapshot(store)) == ["c", "n", "h"]
    run(store, DropPartitions(IsNull("day")), base)
    assert live(load_snapshot(store)) == ["c"]


def test_a_change_with_nothing_to_do_writes_no_version(store: MemoryStore, base: Snapshot):
    done = run(store, DropPartitions(Compare("=", "day", "never")), base)
    assert (done.version, done.skipped, done.snapshot) == (0, True, base)
    assert check_versions(store) == 0


def test_a_streaming_batch_is_committed_once(store: MemoryStore, base: Snapshot):
    first = run(store, append("d", txn=Txn("app", 7)), base)
    assert first.snapshot.txns == {"app": 7}
    for txn in (Txn("app", 7), Txn("app", 6)):
        for change in (append("again", txn=txn), overwrite("again", txn=txn)):
            again = run(store, change, base)
            assert (again.version, again.skipped) == (1, True)
    assert run(store, append("e", txn=Txn("other", 7)), base).version == 2
    assert run(store, append("f", txn=Txn("app", 8)), base).version == 3
    assert live(load_snapshot(store)) == ["a", "b", "c", "d", "e", "f"]


def test_a_streaming_batch_that_a_twin_commits_first_is_skipped(store: MemoryStore, base: Snapshot):
    twin = Fault("create", after(lambda: run(store, append("d", txn=Txn("app", 7)), base)))
    done = run(FaultyStore(store, twin), append("d-again", txn=Txn("app", 7)), base)
    assert (done.version, done.skipped, live(done.snapshot)) == (1, True, ["a", "b", "c", "d"])


# Time and patience


def test_times_never_go_backwards(store: MemoryStore):
    clock = iter([5000, 3000, 5001, 5001, 9000]).__next__
    snapshot = None
    for n in range(5):
        snapshot = run(store, append(str(n)), snapshot, clock=clock).snapshot
    infos = [read_version(store, version)[0] for version in range(5)]
    assert [info.timestamp for info in infos] == [5000, 5001, 5002, 5003, 9000]
    check_versions(store)


def test_a_lost_race_is_retried_after_growing_pauses_up_to_the_limit(store: MemoryStore, base: Snapshot):
    others = iter(range(1000))
    rival = Fault("create", after(lambda: run(store, append(f"x{next(others)}"))), times=1000)
    settings = Settings({keys.RETRY_MAX_ATTEMPTS.key: "8", keys.RETRY_MAX_DELAY_MS.key: "100"})
    pauses = Pauses()
    with pytest.raises(CommitConflictError, match="created the next version first 8 times in a row"):
        run(FaultyStore(store, rival), append("mine"), base, settings=settings, sleep=pauses)
    assert len(pauses) == 8
    for n, pause in enumerate(pauses):
        assert 0 <= pause <= min(10 * 2**n, 100) / 1000
    assert "mine" not in live(load_snapshot(store))


def test_a_commit_costs_three_requests(store: MemoryStore, base: Snapshot):
    """Is there a newer version, create the next, and has clean-up passed it?"""
    newer = run(store, append("d"), base).snapshot
    watched = FaultyStore(store)
    run(watched, append("e"), newer)
    assert watched.calls == [("get", version_key(2)), ("create", version_key(2)), ("get", record_key(0))]


def test_version_files_can_be_left_uncompressed(store: MemoryStore):
    run(store, append("a"), settings=Settings({keys.COMPRESS_VERSION_FILES.key: "false"}))
    assert store.get(version_key(0)).startswith(b'{"commitInfo"')
    run(store, append("b"))
    assert store.get(version_key(1)).startswith(b"\x1f\x8b")


def test_threads_that_commit_at_once_all_get_through(store: MemoryStore):
    lock = threading.Lock()

    class Guarded(MemoryStore):
        def create(self, key: str, data: bytes) -> None:
            with lock:
                super().create(key, data)

        def list_from(self, prefix: str, start_after: str | None = None) -> Any:
            with lock:
                return iter(list(super().list_from(prefix, start_after)))

    shared = Guarded()

    def write(me: int) -> None:
        snapshot = None
        for n in range(25):
            snapshot = commit(shared, append(f"{me}-{n}"), base=snapshot).snapshot

    threads = [threading.Thread(target=write, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(live(load_snapshot(shared))) == sorted(f"{me}-{n}" for me in range(4) for n in range(25))
    check_removes(shared, check_versions(shared))


# Files that a merge could not read


def skip(key: str, *, at: int = 5) -> SkipFile:
    return SkipFile(key, skip_timestamp=at, reason="damaged", operation="merge", retry_after=at + 10)


def test_a_merge_records_the_files_that_it_could_not_read(store: MemoryStore, base: Snapshot):
    change = replace(merge(("ab", "m")), skips=(skip("c"),))
    done = run(store, change, base)
    expected = replace(skip("c"), partition_values={"day": "tue"}, size=10, skip_count=1)
    assert done.snapshot.extras.skips == {"c": expected}
    again = run(store, MergeSplits((), TABLE, skips=(skip("c", at=7),)), done.snapshot)
    assert again.snapshot.extras.skips["c"] == replace(
        expected, skip_timestamp=7, retry_after=17, skip_count=2
    )
    assert load_snapshot(store).extras.skips == again.snapshot.extras.skips


def test_skips_are_recorded_where_concurrent_commits_removed_every_source(store: MemoryStore, base: Snapshot):
    run(store, DROP_MONDAY, base)
    done = run(store, replace(merge(("ab", "m")), skips=(skip("c"), skip("a"))), base)
    assert (set(done.snapshot.files), set(done.snapshot.extras.skips)) == ({"c"}, {"c"})


def test_a_skip_of_a_file_that_is_gone_is_no_commit(store: MemoryStore, base: Snapshot):
    later = run(store, overwrite("d"), base)
    done = run(store, MergeSplits((), TABLE, skips=(skip("a"),)), base)
    assert (done.skipped, done.version) == (True, later.version)


def test_a_merge_whose_file_is_removed_later_forgets_the_skip(store: MemoryStore, base: Snapshot):
    done = run(store, MergeSplits((), TABLE, skips=(skip("c"),)), base)
    after = run(store, overwrite("d"), done.snapshot)
    assert not after.snapshot.extras.skips

"""Garbage collection of states and manifests: by count and age, never what is needed, never on a guess.

Each test of section 13 of the state's test plan says so by its plan name.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, StorageError, VersionNotFoundError
from indextables.log import Append, DropPartitions, Overwrite, checkpoint, commit, load_snapshot, version_key
from indextables.log.actions import checkpoint_key
from indextables.log.changes import NextVersion
from indextables.log.cleanup import (
    Base,
    Collected,
    StateRetention,
    collect,
    collect_if_due,
    collect_manifests,
    delete_states,
    expired_bases,
    orphaned_manifests,
    read_log_files,
)
from indextables.log.cleanup.state_retention import is_manifest
from indextables.log.snapshots import VersionSelector, cache, read_snapshot, write_snapshot_state
from indextables.maintenance import MergeOptions, clean_versions, plan_newest, purge, truncate_time_travel
from indextables.predicates import Compare
from indextables.runtime import Runtime, now_ms, use
from indextables.state import (
    LOG_DIRECTORY,
    decode_state,
    encode_state,
    manifest_key,
    read_pointer,
    read_state,
    state_directory,
    state_key,
    state_of,
    write_pointer,
)
from indextables.state.pins import pin
from indextables.storage import ObjectInfo, Store, open_store
from support.faults import Fault, FaultyStore, fails
from support.logs import add, live, metadata
from support.states import damaged

HOUR = 3_600_000
QUIET = Settings({keys.CHECKPOINT_ENABLED.key: "false"})
AT_ONCE = StateRetention(versions=1, age_ms=0, manifest_age_ms=0)


@pytest.fixture
def store(any_store: Store) -> Store:
    return any_store


def write(store: Any, name: str, *, overwrite: bool = True, settings: Settings = QUIET) -> int:
    path = f"splits/{name}.split"
    store.put(path, b"0123456789")
    base = load_snapshot(store) if states(store) or manifests(store) or versions(store) else None
    change = (Overwrite if overwrite else Append)((add(path),), metadata())
    return commit(store, change, base=base, settings=settings).version


def grown(store: Any, count: int, created: Callable[[int], int] | None = None) -> None:
    """So many versions, each another split in the place of the last, each with a state of its own."""
    for number in range(count):
        write(store, f"split{number}")
        checkpoint(store, QUIET, (lambda n=number: created(n)) if created else now_ms)


def states(store: Any) -> list[int]:
    found = (state_of(info.key) for info in store.list_from(LOG_DIRECTORY))
    return sorted(version for version in found if version is not None)


def manifests(store: Any) -> set[str]:
    return {info.key for info in store.list_from(LOG_DIRECTORY) if is_manifest(info.key)}


def versions(store: Any) -> list[str]:
    return [info.key for info in store.list_from(LOG_DIRECTORY) if info.key.endswith("0.json")]


def later(hours: float) -> int:
    return now_ms() + int(hours * HOUR)


# Which states go


def expired(bases: Sequence[tuple[int, int]], files: Sequence[int] = (), **more: Any) -> list[int]:
    rules = StateRetention(more.pop("keep", 1), more.pop("age", 10))
    found = [Base(*base) for base in bases]
    return expired_bases(found, set(files), named=more.pop("named", None), retention=rules, now_ms=100)


@pytest.mark.spec("testRetentionByVersionCount")
def test_the_newest_states_stay_whatever_their_age():
    """testRetentionByVersionCount"""
    bases = [(version, 0) for version in range(10, 60, 10)]
    assert expired(bases, keep=2) == [10, 20, 30]
    assert expired(bases, keep=5) == []
    assert expired(bases, keep=99) == []


@pytest.mark.spec("testRetentionByAge")
def test_young_states_stay_however_many_there_are():
    """testRetentionByAge"""
    bases = [(10, 0), (20, 89), (30, 90), (40, 91), (50, 100)]
    assert expired(bases) == [10, 20, 30]


def test_the_state_of_a_version_that_no_other_leads_to_stays():
    """The version file is retained, so the version must be readable."""
    assert expired([(10, 0), (11, 0), (12, 0)], files=[10, 11, 12]) == [11]
    assert expired([(10, 0), (11, 0), (12, 0)], files=[11, 12]) == [10]
    assert expired([(10, 0), (11, 0), (12, 0)], files=[12]) == [10, 11]


def test_some_states_stay_for_the_version_files_that_follow_them():
    """Otherwise the oldest retained version could be read from the first version file only, and none could go."""
    rules = StateRetention(versions=1, age_ms=16 * HOUR)
    bases = [Base(10 * n, n * HOUR) for n in range(40)]

    def remaining(first: int) -> list[int]:
        gone = expired_bases(bases, range(first, 400), named=None, retention=rules, now_ms=40 * HOUR)
        return [base.version for base in bases if base.version not in gone]

    young = list(range(250, 400, 10))
    assert remaining(0) == [*range(0, 250, 20), *young]
    assert remaining(121) == [*range(120, 250, 20), *young]
    for first in range(0, 240, 20):
        assert [b for b in remaining(first + 1) if b <= first + 25], "a retained version has a base"


def test_the_state_that_the_hint_names_stays():
    assert expired([(10, 0), (20, 0), (30, 0)], named=10) == [20]


def test_a_state_that_later_versions_are_read_from_stays_while_they_are_there():
    bases = [(10, 0), (20, 0), (30, 0)]
    assert expired(bases, range(21, 40)) == [10]
    assert expired(bases, range(40)) == [10, 20]
    assert expired(bases, range(11, 40)) == [20]


@given(
    st.lists(st.integers(0, 30), unique=True).map(sorted),
    st.sets(st.integers(0, 30)),
    st.integers(1, 4),
    st.none() | st.integers(0, 30),
)
def test_no_version_becomes_unreadable_but_those_of_the_states_that_go(
    found: list[int], files: set[int], keep: int, named: int | None
):
    gone = expired([(version, 0) for version in found], sorted(files), keep=keep, named=named)
    left = [version for version in found if version not in gone]
    assert left[-keep:] == found[-keep:]
    assert named not in gone

    def readable(bases: list[int], version: int) -> bool:
        start = max((base for base in bases if base <= version), default=-1)
        return all(number in files for number in range(start + 1, version + 1))

    for version in range(31):
        if version not in found:
            assert readable(left, version) == readable(found, version)


# Collecting them


@pytest.mark.spec("testCleanupOldStateDirs")
def test_states_past_retention_go(store: Store):
    """testCleanupOldStateDirs"""
    grown(store, 4)
    assert collect(store, StateRetention(2), later(167)) == Collected()
    done = collect(store, StateRetention(2), later(169))
    assert (done.states, done.states_deleted, done.failures) == ((0, 1), 2, ())
    assert states(store) == [2, 3]
    left = {info.key for info in store.list_from(f"{LOG_DIRECTORY}/{state_directory(0)}")}
    assert left == set()
    for version in range(4):
        assert live(read_snapshot(store, VersionSelector(version))) == [f"splits/split{version}.split"]


@pytest.mark.spec("testCleanupPreservesCurrentState")
def test_the_current_state_never_goes(store: Store):
    """testCleanupPreservesCurrentState"""
    grown(store, 3)
    clean_versions(store, QUIET, hours=0, clock=lambda: later(1))
    collect(store, AT_ONCE, later(10_000))
    assert states(store) == [2]
    assert live(read_snapshot(store)) == ["splits/split2.split"]
    pointer = read_pointer(store)
    assert pointer is not None
    assert pointer.version == 2


@pytest.mark.spec("testCleanupPreservesCurrentState")
def test_a_state_that_a_stale_hint_names_stays(store: Store):
    grown(store, 3)
    pointer = read_pointer(store)
    assert pointer is not None
    store.delete(f"{LOG_DIRECTORY}/_last_checkpoint")
    write_pointer(store, dataclasses.replace(pointer, version=1, state_dir=state_directory(1)))
    assert collect(store, AT_ONCE, later(1)).states == (0,)
    assert states(store) == [1, 2]


@pytest.mark.spec("testCleanupOrphanedManifests")
def test_manifests_that_no_state_names_go_after_the_window(store: Store):
    """testCleanupOrphanedManifests"""
    grown(store, 3)
    (kept,) = read_state(store, 2).manifests
    first = collect(store, StateRetention(1, 0), later(99))
    assert (first.states, first.manifests) == ((0, 1), ())
    second = collect(store, StateRetention(1, 0, manifest_age_ms=0), later(99))
    assert (second.states, second.manifests_deleted) == ((), 2)
    assert manifests(store) == {manifest_key(kept.path, 2)}
    assert live(read_snapshot(store)) == ["splits/split2.split"]


def test_manifests_are_as_old_as_the_store_says():
    """The newest file of the log is of now, whatever the clock of the collector shows."""
    infos = [
        ObjectInfo(f"{LOG_DIRECTORY}/manifests/manifest-{name}.avro", 1, modified)
        for name, modified in (("a", 0), ("b", HOUR), ("c", HOUR + 1), ("d", 2 * HOUR))
    ]
    found = orphaned_manifests(infos, (), min_age_ms=HOUR)
    assert [key.rpartition("-")[2] for key in found] == ["a.avro", "b.avro"]
    assert orphaned_manifests([], (), min_age_ms=0) == []


def test_manifests_on_disk_go_when_they_are_old(tmp_path: Path):
    store = open_store(tmp_path)
    grown(store, 3)
    kept = {manifest_key(info.path, 2) for info in read_state(store, 2).manifests}
    (first,) = read_state(store, 0).manifests
    moment = now_ms() / 1000 - 3700
    os.utime(tmp_path / manifest_key(first.path, 0), (moment, moment))
    purge(store, QUIET, log_hours=0)
    assert states(store) == [1, 2]
    kept |= {manifest_key(info.path, 1) for info in read_state(store, 1).manifests}
    assert manifests(store) == kept


@pytest.mark.spec("testCleanupOrphanedManifests")
def test_a_manifest_that_two_states_share_goes_with_the_last(store: Store):
    write(store, "first", overwrite=False)
    checkpoint(store, QUIET)
    for number in range(1, 13):
        write(store, f"split{number}", overwrite=False, settings=Settings())
    shared = {info.path for info in read_state(store, 0).manifests}
    assert shared < {info.path for info in read_state(store, 10).manifests}
    collect(store, AT_ONCE, later(2))
    assert states(store) == [10]
    assert {manifest_key(path, 0) for path in shared} <= manifests(store)
    checkpoint(store, QUIET)
    collect(store, AT_ONCE, later(2))
    assert states(store) == [12]
    assert len(manifests(store)) == 1
    assert len(live(read_snapshot(store))) == 13


def test_manifests_beside_their_state_stay_while_another_state_names_them(store: Store):
    """As older writers lay them out: the later state names a file in the directory of the earlier."""
    grown(store, 2)
    old = read_state(store, 0)
    legacy = f"{LOG_DIRECTORY}/{state_directory(0)}/manifest-abc.avro"
    store.put(legacy, store.get(manifest_key(old.manifests[0].path, 0)))
    newer = read_state(store, 1)
    borrowed = dataclasses.replace(
        old.manifests[0], path=f"{state_directory(0)}/manifest-abc.avro", place=None
    )
    store.put(state_key(1), encode_state(dataclasses.replace(newer, manifests=(borrowed,))))
    collect(store, AT_ONCE, later(2))
    assert states(store) == [1]
    assert legacy in manifests(store)
    store.put(state_key(1), encode_state(newer))
    with pytest.raises(CorruptTableError):  # its own manifest went, since it did not name it any more
        collect(store, AT_ONCE, later(2))


def test_a_state_whose_metadata_a_later_one_borrows_stays(store: Store):
    """As older writers leave it out of ordinary states."""
    grown(store, 5)
    for version in (2, 3, 4):
        bare = dataclasses.replace(read_state(store, version), metadata=None, extras={})
        store.put(state_key(version), encode_state(bare))
    assert collect(store, AT_ONCE, later(2)).states == (0, 2, 3)
    assert states(store) == [1, 4]
    assert live(read_snapshot(store)) == ["splits/split4.split"]


def test_files_in_the_log_that_are_not_ours_stay(store: Store):
    grown(store, 2)
    names = [f"{LOG_DIRECTORY}/manifests/notes.txt", f"{LOG_DIRECTORY}/{state_directory(0)}/notes.txt"]
    for name in names:
        store.put(name, b"")
    collect(store, AT_ONCE, later(99))
    assert [store.head(name).key for name in names] == names


def test_json_checkpoints_go_by_the_same_rules(store: Store):
    settings = Settings({keys.STATE_FORMAT.key: "json", keys.CHECKPOINT_ENABLED.key: "false"})
    for number in range(3):
        write(store, f"split{number}", settings=settings)
        checkpoint(store, settings)
    done = collect(store, StateRetention(2), later(169))
    assert done.states == (0,)
    names = {info.key for info in store.list_from(LOG_DIRECTORY)}
    assert checkpoint_key(0) not in names
    assert {checkpoint_key(1), checkpoint_key(2)} <= names


# What cannot be read


def test_an_unreadable_state_ends_a_collection_before_anything_is_deleted(store: Store):
    grown(store, 4)
    store.put(state_key(2), b"not a state")
    before = {info.key for info in store.list_from("")}
    with pytest.raises(
        CorruptTableError, match=r"state of version 2 .* nothing was deleted.*_manifest\.avro"
    ):
        collect(store, AT_ONCE, later(999))
    assert {info.key for info in store.list_from("")} == before


def test_any_damage_to_a_state_that_is_left_ends_it():
    store = open_store(f"memory://{uuid.uuid4()}")
    grown(store, 3)
    (info,) = read_state(store, 2).manifests
    before = {found.key for found in store.list_from("")}
    for key in (state_key(2), manifest_key(info.path, 2)):
        whole = store.get(key)
        for at, data in damaged(whole, step=max(len(whole) // 40, 1)):
            store.put(key, data)
            try:
                if key == state_key(2) and decode_state(data, "") == read_state(store, 2):
                    pass  # not every byte matters: what is read is what is judged
                collect(store, StateRetention(3, 0, 0), later(999))
            except CorruptTableError:
                pass
            assert {found.key for found in store.list_from("")} >= before - {manifest_key(info.path, 2)}, at
        store.put(key, whole)
    assert {found.key for found in store.list_from("")} == before


def test_a_missing_manifest_ends_it(store: Store):
    grown(store, 3)
    (info,) = read_state(store, 2).manifests
    store.delete(manifest_key(info.path, 2))
    with pytest.raises(CorruptTableError, match="is missing"):
        collect(store, AT_ONCE, later(999))
    assert states(store) == [0, 1, 2]


# Next to others


@pytest.mark.spec("testConcurrentCleanup")
def test_collections_at_once_do_no_harm(store: Store):
    """testConcurrentCleanup"""
    grown(store, 12)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            collect(store, AT_ONCE, later(2))
        except BaseException as reason:
            failures.append(reason)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert states(store) == [11]
    assert len(manifests(store)) == 1
    assert live(read_snapshot(store)) == ["splits/split11.split"]


def test_a_state_that_another_collection_takes_meanwhile_is_no_damage(store: Store):
    grown(store, 4)

    def take(call: Callable[[], Any]) -> Any:
        collect(store, AT_ONCE, later(2))
        return call()

    watched = FaultyStore(store, Fault("get", take, key=state_key(1)))
    assert collect(watched, AT_ONCE, later(2)).failures == ()
    assert states(store) == [3]


def test_a_state_whose_base_is_collected_before_it_is_there_is_written_whole(store: Store):
    """A writer that is held up between reading its base and naming the manifests of it."""
    write(store, "first", overwrite=False)
    checkpoint(store, QUIET)
    base = load_snapshot(store)

    def overtake(call: Callable[[], Any]) -> Any:
        write(store, "other", overwrite=False)
        checkpoint(store, QUIET)
        collect(store, AT_ONCE, later(2))
        return call()

    settings = Settings({keys.CHECKPOINT_INTERVAL.key: "1"})
    store.put("splits/second.split", b"0123456789")
    held_up = FaultyStore(store, Fault("create", overtake, key=state_key(1)))
    change = Append((add("splits/second.split"),), metadata())
    assert commit(held_up, change, base=base, settings=settings).version == 1
    assert states(store) == [1, 2]
    assert len(live(read_snapshot(store, VersionSelector(1)))) == 2
    assert collect(store, StateRetention(9, 0, 0), later(2)).failures == ()


def test_a_state_that_appears_after_the_listing_of_a_collection_shares_nothing_with_what_goes(store: Store):
    """A writer has a base that the collection has deleted, and publishes before the manifests of the base go."""
    write(store, "first", overwrite=False)
    checkpoint(store, QUIET)
    base = load_snapshot(store)
    write(store, "other", overwrite=False)
    checkpoint(store, QUIET)
    store.put("splits/second.split", b"0123456789")
    change = Append((add("splits/second.split"),), metadata())
    committed = commit(store, change, base=base, settings=QUIET).snapshot
    assert committed.files.base_version == 0

    def publish(call: Callable[[], Any]) -> Any:
        write_snapshot_state(store, committed, QUIET, now_ms())
        return call()

    overtaken = Fault("delete", publish, key="manifests/")
    collect(FaultyStore(store, overtaken), AT_ONCE, later(2))
    assert overtaken.struck == 1
    assert states(store) == [1, 2]
    assert len(live(read_snapshot(store, VersionSelector(2)))) == 3
    assert collect(store, StateRetention(9, 0, 0), later(2)).failures == ()


def test_a_new_manifest_with_the_entries_of_one_that_goes_stays(store: Store):
    """Two versions with the same files: a collection is about to delete the manifest of the first."""
    write(store, "first")
    checkpoint(store, QUIET)
    commit(store, NextVersion(), base=load_snapshot(store), settings=QUIET)

    def publish(call: Callable[[], Any]) -> Any:
        checkpoint(store, QUIET)
        return call()

    files = read_log_files(store)
    delete_states(store, files, [0])
    overtaken = Fault("delete", publish, key="manifests/")
    collect_manifests(FaultyStore(store, overtaken), frozenset(), AT_ONCE)
    assert overtaken.struck == 1
    assert live(read_snapshot(store)) == ["splits/first.split"]
    assert collect(store, AT_ONCE, later(2)).failures == ()


def test_a_pin_keeps_what_a_state_that_is_being_written_relies_on(store: Store):
    write(store, "first")
    checkpoint(store, QUIET)
    old = manifests(store)
    write(store, "second")
    checkpoint(store, QUIET)
    with pin(store, old):
        new = f"{LOG_DIRECTORY}/manifests/manifest-{'0' * 32}.avro"
        store.put(new, b"")
        collect(store, AT_ONCE, later(2))
        assert states(store) == [1]
        assert {*old, new} <= manifests(store)
    collect(store, AT_ONCE, later(2))
    assert not {*old, new} & manifests(store)


def test_a_pin_of_a_writer_that_was_killed_expires(tmp_path: Path):
    store = open_store(str(tmp_path / "t"))
    write(store, "first")
    checkpoint(store, QUIET)
    old = manifests(store)
    write(store, "second")
    checkpoint(store, QUIET)
    with pin(store, old):
        (name,) = (info.key for info in store.list_from(f"{LOG_DIRECTORY}/_pins"))
        data = store.get(name)
    store.put(name, data)
    path = tmp_path / "t" / name
    yesterday = path.stat().st_mtime - 25 * 3600
    os.utime(path, (yesterday, yesterday))
    collect(store, AT_ONCE, later(2))
    assert not old & manifests(store)
    assert not path.exists()


def test_a_state_that_took_a_day_to_write_is_not_published(store: Store):
    write(store, "first")
    clock = [now_ms()]

    def take_long(call: Callable[[], Any]) -> Any:
        clock[0] += 24 * HOUR
        return call()

    slow = FaultyStore(store, Fault("create", take_long, key="manifests/"))
    with use(Runtime(clock=lambda: clock[0])), pytest.raises(StorageError, match="is not published"):
        checkpoint(slow, QUIET)
    assert states(store) == []
    assert [info.key for info in store.list_from(f"{LOG_DIRECTORY}/_pins")] == []


def test_a_pin_that_cannot_be_read_ends_a_collection(store: Store):
    grown(store, 2)
    before = manifests(store)
    store.put(f"{LOG_DIRECTORY}/_pins/x.json", b"{}")
    with pytest.raises(CorruptTableError, match="no manifest was deleted"):
        collect(store, AT_ONCE, later(2))
    assert manifests(store) == before


def drop(store: Any) -> None:
    """With a snapshot of which nothing but the version is known yet."""
    change = DropPartitions(Compare("=", "day", "mon"))
    assert not commit(store, change, base=load_snapshot(store), settings=QUIET).skipped


def plan(store: Any) -> None:
    assert plan_newest(store, MergeOptions(), QUIET, now=now_ms())[0].version == 3


def truncate(store: Any) -> None:
    assert truncate_time_travel(store, QUIET).status == "SUCCESS"


@pytest.mark.parametrize("work", [drop, plan, truncate], ids=lambda work: work.__name__)
def test_work_on_a_snapshot_whose_state_is_collected_goes_on_with_the_newest(
    store: Store, work: Callable[[Any], None]
):
    """All history goes between the reading of a state and that of its manifests."""
    write(store, "first", overwrite=False)
    write(store, "second", overwrite=False)
    checkpoint(store, QUIET)
    write(store, "third", overwrite=False)
    cache.forget(store.uri)
    struck: list[str] = []

    def overtake(call: Callable[[], Any]) -> Any:
        if not struck:
            struck.append("once")
            write(store, "last", overwrite=False)
            truncate_time_travel(store, QUIET)
            collect(store, AT_ONCE, later(2))
            cache.forget(store.uri)
        return call()

    moments = ("get", "manifests/"), ("get_range", "manifests/"), ("put", "_pins/")
    work(FaultyStore(store, *(Fault(operation, overtake, key) for operation, key in moments)))
    assert struck


def test_a_reader_of_a_state_that_is_collected_is_told_to_open_the_table_again(store: Store):
    """The table is not damaged: the version was cleaned up after the snapshot was opened."""
    write(store, "first")
    checkpoint(store, QUIET)
    cache.forget(store.uri)
    snapshot = read_snapshot(store)
    write(store, "second")
    truncate_time_travel(store, QUIET)
    collect(store, AT_ONCE, later(2))
    with pytest.raises(VersionNotFoundError, match="open the table again"):
        dict(snapshot.files.items())


def test_what_cannot_be_deleted_is_told_of(store: Store):
    grown(store, 3)
    faulty = FaultyStore(store, Fault("delete", fails, key=state_directory(0)))
    done = collect(faulty, AT_ONCE, later(2))
    assert done.states_deleted == 1
    assert "the state of version 0 stays" in done.failures[0]
    assert states(store) == [0, 2]


# By itself, and by PURGE


def test_a_compaction_collects_nothing_in_a_dry_run(store: Store, caplog: pytest.LogCaptureFixture):
    grown(store, 4)
    write(store, "last")
    before = states(store)
    dry = Settings({keys.CLEANUP_DRY_RUN.key: "true", keys.CHECKPOINT_ENABLED.key: "false"})
    with caplog.at_level("INFO"):
        checkpoint(store, dry, lambda: later(169))
    assert states(store) == [*before, 4]
    assert "would be deleted" in caplog.text


def test_a_compaction_collects_the_states_that_it_replaces(store: Store):
    spacing = StateRetention().spacing_ms
    period = (now_ms() - 1000 * HOUR) // spacing * spacing
    grown(store, 4, created=lambda number: period + number)
    assert states(store) == [0, 1, 2, 3], "their files are young, whatever they say"
    write(store, "last")
    checkpoint(store, QUIET, lambda: later(169))
    assert states(store) == [0, 3, 4], "the first one of its time stays for the version files after it"


def test_a_collection_that_is_not_due_costs_one_listing(store: Store):
    grown(store, 4)
    counted = FaultyStore(store)
    assert collect_if_due(counted, StateRetention(), now_ms()) == Collected()
    assert [operation for operation, _ in counted.calls] == ["list_from"]


def test_a_collection_that_fails_does_not_harm_the_commit(store: Store):
    grown(store, 4)
    store.put(state_key(1), b"not a state")
    write(store, "last")
    assert checkpoint(store, QUIET, lambda: later(169)).state_version == 4
    assert states(store) == [0, 1, 2, 3, 4]


@pytest.mark.spec("testCleanupWithPurgeIntegration")
def test_purge_collects_states_and_manifests(store: Store):
    """testCleanupWithPurgeIntegration"""
    grown(store, 4)
    settings = Settings({keys.LOG_RETENTION_HOURS.key: "0", keys.MANIFEST_MIN_AGE_HOURS.key: "0"})
    done = purge(store, settings, clock=lambda: later(200))
    assert (done.expired_states_found, done.expired_states_deleted, done.manifests_deleted) == (2, 2, 2)
    assert states(store) == [2, 3]
    assert len(manifests(store)) == 2
    assert live(read_snapshot(store, VersionSelector(2))) == ["splits/split2.split"]
    with pytest.raises(VersionNotFoundError):
        read_snapshot(store, VersionSelector(1))


def test_the_log_retention_of_a_purge_holds_for_states_too(store: Store):
    grown(store, 4)
    assert purge(store, QUIET, log_hours=300, dry_run=True, clock=lambda: later(200)).states == ()
    assert purge(store, QUIET, log_hours=0, dry_run=True, clock=lambda: later(2)).states == (0, 1)
    assert version_key(0) in versions(store)

"""What follows a checkpoint: a failed state is tried again, states are written once, version files are cleaned up."""

from __future__ import annotations

import pytest

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.log import (
    Append,
    CommitInfo,
    DropPartitions,
    Snapshot,
    checkpoint,
    commit,
    load_snapshot,
    read_version,
    version_key,
)
from indextables.log.actions import checkpoint_key, version_of
from indextables.log.cleanup import clean_if_due
from indextables.log.snapshots import cache, read_snapshot
from indextables.maintenance import upgrade_and_checkpoint
from indextables.predicates import Compare
from indextables.runtime import current
from indextables.state import read_state, state_key
from support.faults import Fault, FaultyStore, MemoryStore, fails
from support.logs import add, live, metadata

EVERY_FOUR = {keys.CHECKPOINT_INTERVAL.key: "4"}
AT_ONCE = {keys.LOG_RETENTION_MS.key: "0"}
SETTINGS = Settings(EVERY_FOUR)


@pytest.fixture
def store(request: pytest.FixtureRequest) -> MemoryStore:
    current().clear_caches()
    return MemoryStore(f"memory://{request.node.name}")


def grow(
    store: object, versions: int, settings: Settings = SETTINGS, base: Snapshot | None = None
) -> Snapshot:
    for n in range(versions):
        number = 0 if base is None else base.version + 1
        base = commit(
            store, Append((add(f"{number}-{n}"),), metadata()), base=base, settings=settings
        ).snapshot
    assert base is not None
    return base


def states(store: MemoryStore) -> list[int]:
    return [int(key.split("/")[1][7:]) for key in sorted(store.objects) if key.endswith("_manifest.avro")]


def versions(store: MemoryStore) -> list[int]:
    return [number for key in sorted(store.objects) if (number := version_of(key)) is not None]


# A state that failed


@pytest.mark.parametrize("warm", [True, False], ids=["the same process", "another process"])
def test_the_next_commit_tries_again_to_write_a_state_that_failed(store: MemoryStore, warm: bool):
    failing = FaultyStore(store, Fault("create", fails, key="state-v", times=3))
    base = grow(failing, 5)
    assert (base.version, states(store)) == (4, [])
    if not warm:
        cache.forget()
        current().clear_caches()
        base = load_snapshot(store)
    base = grow(store, 1, base=base)
    assert states(store) == [5]
    grow(store, 3, base=base)
    assert states(store) == [5, 8], "and then it is business as usual"


def test_a_state_that_another_process_wrote_is_not_overdue(store: MemoryStore):
    base = grow(store, 4)
    for path in ("x", "y"):
        commit(store, Append((add(path),), metadata()), base=load_snapshot(store), settings=SETTINGS)
    current().clear_caches()
    cache.forget()
    assert states(store) == [4]
    grow(store, 1, base=base)
    assert states(store) == [4]


def test_a_table_without_checkpoints_gets_none(store: MemoryStore):
    grow(store, 10, Settings(EVERY_FOUR | {keys.CHECKPOINT_ENABLED.key: "false"}))
    assert states(store) == []


# Written once


def with_tombstones(store: MemoryStore) -> Snapshot:
    every = Settings({keys.CHECKPOINT_INTERVAL.key: "1", keys.STATE_TOMBSTONE_THRESHOLD.key: "0.9"})
    adds = (add("a", day="mon"), add("b", day="tue"), add("c", day="wed"))
    commit(store, Append(adds, metadata()), base=None)
    checkpoint(store, every)
    return commit(
        store, DropPartitions(Compare("=", "day", "mon")), base=load_snapshot(store), settings=every
    ).snapshot


def test_a_compaction_gets_a_version_of_its_own(store: MemoryStore):
    with_tombstones(store)
    assert read_state(store, 1).tombstones == ("a",)
    before = dict(store.objects)
    done = upgrade_and_checkpoint(store, Settings())
    assert (done.state_version, done.is_clean, read_state(store, 2).tombstones) == (2, True, ())
    changed = {key for key in before if store.objects.get(key) != before[key]}
    assert changed == {"_transaction_log/_last_checkpoint"}
    (info, _) = read_version(store, 2) or []
    assert isinstance(info, CommitInfo)
    assert info.operation == "CHECKPOINT"
    assert live(read_snapshot(store)) == ["b", "c"]
    assert upgrade_and_checkpoint(store, Settings()).state_version == 2, "once is enough"


@pytest.mark.parametrize("form", ["avro", "json"])
def test_a_damaged_state_is_left_in_place_and_the_next_version_gets_one(store: MemoryStore, form: str):
    settings = Settings({keys.STATE_FORMAT.key: form})
    commit(store, Append((add("a"),), metadata()), base=None)
    key = state_key(0) if form == "avro" else checkpoint_key(0)
    store.put(key, b"torn")
    with pytest.warns(UserWarning, match="cannot be read"):
        assert upgrade_and_checkpoint(store, settings).state_version == 1
    assert store.get(key) == b"torn"
    cache.forget()
    found = read_snapshot(store)
    assert (found.version, found.files.base_version, live(found)) == (1, 1, ["a"])


def test_the_log_alone_leaves_a_state_that_is_in_place(store: MemoryStore):
    with_tombstones(store)
    before = dict(store.objects)
    assert not checkpoint(store, Settings()).is_clean
    assert store.objects == before


def test_a_damaged_version_is_an_error_of_a_checkpoint(store: MemoryStore):
    grow(store, 2)
    store.put(version_key(1), b"")
    cache.forget()
    with pytest.raises(CorruptTableError, match="is empty"):
        upgrade_and_checkpoint(store, Settings())
    assert versions(store) == [0, 1]


# Version files


@pytest.mark.parametrize("form", ["avro", "json"])
def test_versions_past_their_retention_go_after_a_checkpoint(store: MemoryStore, form: str):
    settings = Settings(EVERY_FOUR | AT_ONCE | {keys.STATE_FORMAT.key: form})
    base = grow(store, 4, settings)
    assert versions(store) == [0, 1, 2, 3]
    grow(store, 1, settings, base)
    assert versions(store) == [4]
    cache.forget()
    assert len(live(load_snapshot(store))) == 5
    grow(store, 4, settings, load_snapshot(store))
    assert versions(store) == [8]


def test_a_checkpoint_on_demand_cleans_up_too(store: MemoryStore):
    grow(store, 3)
    upgrade_and_checkpoint(store, Settings(AT_ONCE))
    assert versions(store) == [2]


def test_versions_within_their_retention_stay(store: MemoryStore):
    grow(store, 9)
    upgrade_and_checkpoint(store, Settings())
    assert versions(store) == list(range(10))


def test_a_dry_run_deletes_nothing(store: MemoryStore):
    grow(store, 5, Settings(EVERY_FOUR | AT_ONCE | {keys.CLEANUP_DRY_RUN.key: "true"}))
    assert versions(store) == [0, 1, 2, 3, 4]


def test_a_state_that_does_not_read_back_covers_nothing(store: MemoryStore):
    grow(store, 5)
    for key in [key for key in store.objects if "/manifests/" in key]:
        store.put(key, b"torn")
    assert clean_if_due(store, Settings(AT_ONCE), live_files=5) == 0
    assert versions(store) == [0, 1, 2, 3, 4]


def test_a_large_table_waits_until_there_is_enough_to_delete(store: MemoryStore):
    grow(store, 5)
    assert clean_if_due(store, Settings(AT_ONCE), live_files=4001) == 0
    assert clean_if_due(store, Settings(AT_ONCE), live_files=4000) == 4


def test_a_clean_up_that_fails_does_not_fail_the_commit(store: MemoryStore):
    settings = Settings(EVERY_FOUR | AT_ONCE)
    failing = FaultyStore(store, Fault("create", fails, key="_cleanup", times=9))
    assert grow(failing, 5, settings).version == 4
    assert (versions(store), states(store)) == ([0, 1, 2, 3, 4], [4])

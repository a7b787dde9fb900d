"""Giving up time travel keeps the current version, whole, and nothing before it."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, VersionNotFoundError
from indextables.log import (
    Append,
    DropPartitions,
    Protocol,
    Txn,
    checkpoint,
    commit,
    encode_version,
    load_snapshot,
)
from indextables.log.actions import checkpoint_key
from indextables.log.snapshots import cache, read_snapshot
from indextables.maintenance import truncate_time_travel
from indextables.predicates import Compare
from indextables.state import LAST_CHECKPOINT, state_key
from support.faults import Fault, FaultyStore, MemoryStore, claims_it_exists, fails
from support.logs import add, live, metadata, put_table

SETTINGS = Settings({keys.CHECKPOINT_ENABLED.key: "false"})


@pytest.fixture
def store(store: MemoryStore) -> MemoryStore:
    """Four appends, a state between, a dropped partition."""
    snapshot = None
    for n, day in enumerate(["mon", "tue", "mon", None]):
        change = Append((add(f"f{n}", day),), metadata(), txn=Txn("app", n))
        snapshot = commit(store, change, base=snapshot, settings=SETTINGS).snapshot
        if n == 1:
            checkpoint(store, SETTINGS)
    commit(store, DropPartitions(Compare("=", "day", "tue")), base=snapshot, settings=SETTINGS)
    return store


def test_a_store_that_reports_conflicts_where_there_are_none_delays_it(store: MemoryStore):
    fault = Fault("create", claims_it_exists, key=state_key(4), times=5)
    assert truncate_time_travel(FaultyStore(store, fault), SETTINGS).versions_deleted == 4
    assert fault.struck == 5


def names(store: MemoryStore) -> list[str]:
    return [key.removeprefix("_transaction_log/") for key in sorted(store.objects)]


def test_only_the_current_version_is_left_and_reads_the_same(store: MemoryStore):
    before = read_snapshot(store)
    done = truncate_time_travel(store, SETTINGS)
    assert asdict(done) == {
        "table_path": store.uri,
        "status": "SUCCESS",
        "checkpoint_version": 4,
        "versions_deleted": 4,
        "checkpoints_deleted": 1,
        "files_preserved": 3,
        "message": "deleted 4 version files and 1 files of states and checkpoints",
    }
    assert [name for name in names(store) if not name.startswith("manifests/")] == [
        "00000000000000000004.json",
        "_cleanup/00000000000000000000.json",
        "_last_checkpoint",
        "state-v00000000000000000004/_manifest.avro",
    ]
    after = read_snapshot(store)
    assert dict(after.files) == dict(before.files)
    assert (after.metadata, after.protocol, after.txns) == (before.metadata, before.protocol, {"app": 3})
    for version in range(4):
        with pytest.raises(VersionNotFoundError, match="can be read from version 4 to 4"):
            load_snapshot(store, version)


def test_a_dry_run_says_the_same_and_changes_nothing(store: MemoryStore):
    before = dict(store.objects)
    planned = truncate_time_travel(store, SETTINGS, dry_run=True)
    assert store.objects == before
    done = truncate_time_travel(store, SETTINGS)
    assert (planned.status, planned.message) == (
        "DRY_RUN",
        "would delete 4 version files and 1 files of states and checkpoints",
    )
    same = ("checkpoint_version", "versions_deleted", "checkpoints_deleted", "files_preserved")
    assert [asdict(planned)[name] for name in same] == [asdict(done)[name] for name in same]


def test_a_second_one_has_nothing_to_delete(store: MemoryStore):
    truncate_time_travel(store, SETTINGS)
    done = truncate_time_travel(store, SETTINGS)
    assert (done.versions_deleted, done.checkpoints_deleted, done.files_preserved) == (0, 0, 3)


def test_the_table_goes_on_after_it(store: MemoryStore):
    truncate_time_travel(store, SETTINGS)
    assert commit(store, Append((add("new"),), metadata()), base=load_snapshot(store)).version == 5
    cache.forget(store.uri)
    assert sorted(live(load_snapshot(store))) == ["f0", "f2", "f3", "new"]


def test_json_checkpoints_and_their_parts_go_too(store: MemoryStore):
    part = "_transaction_log/00000000000000000002.checkpoint.0123456789ab.00001.json"
    store.put(checkpoint_key(2), encode_version([Protocol(4, 4), metadata(), add("f0")]))
    store.put(part, b"")
    assert truncate_time_travel(store, SETTINGS).checkpoints_deleted == 3
    assert part not in store.objects


def test_a_state_that_reads_back_wrong_stops_it_before_anything_is_deleted(store: MemoryStore):
    def tears(call: object) -> None:
        call()  # type: ignore[operator]
        manifest = max(
            (key for key in store.objects if "/manifests/" in key), key=lambda key: store.objects[key][1]
        )
        store.put(manifest, b"torn")

    faulty = FaultyStore(store, Fault("create", tears, key="state-v", times=10))
    with pytest.raises(CorruptTableError, match="nothing was deleted"):
        truncate_time_travel(faulty, SETTINGS)
    assert "00000000000000000000.json" in names(store)


def test_a_lying_or_missing_hint_does_no_harm(store: MemoryStore):
    truncate_time_travel(store, SETTINGS)
    expected = sorted(live(read_snapshot(store)))
    for hint in (b"garbage", b'{"version":2}'):
        store.put(LAST_CHECKPOINT, hint)
        assert sorted(live(read_snapshot(store))) == expected
    store.delete(LAST_CHECKPOINT)
    assert sorted(live(read_snapshot(store))) == expected


def test_files_that_cannot_be_deleted_are_reported(store: MemoryStore):
    done = truncate_time_travel(FaultyStore(store, Fault("delete", fails, times=1000)), SETTINGS)
    assert (done.versions_deleted, done.checkpoints_deleted) == (0, 0)
    assert done.message.count("stay") == 2
    assert sorted(live(read_snapshot(store))) == ["f0", "f2", "f3"]


def test_an_older_table_can_be_truncated(store: MemoryStore):
    old = MemoryStore(f"{store.uri}-old")
    put_table(old, [add("a")], [add("b")], protocol=Protocol(2, 2))
    assert truncate_time_travel(old, SETTINGS).versions_deleted == 2
    assert live(read_snapshot(old)) == ["a", "b"]


def test_the_setting_for_dry_runs_is_honoured(store: MemoryStore):
    before = dict(store.objects)
    dry = Settings({keys.CLEANUP_DRY_RUN.key: "true"})
    planned = truncate_time_travel(store, dry)
    assert (planned.status, planned.versions_deleted) == ("DRY_RUN", 4)
    assert store.objects == before
    assert truncate_time_travel(store, dry, dry_run=False).status == "SUCCESS"

"""From JSON checkpoints to an Avro state: whatever a file's entry says, it says afterwards too."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.config import Settings
from indextables.log import (
    Action,
    AddFile,
    Append,
    Protocol,
    RemoveFile,
    checkpoint,
    commit,
    load_snapshot,
    version_key,
)
from indextables.log.actions import checkpoint_key, to_document
from indextables.log.snapshots import cache
from indextables.state import LAST_CHECKPOINT, LastCheckpoint, encode_pointer, read_pointer, read_state
from support.faults import MemoryStore
from support.logs import add, metadata, put_version
from support.states import add_files


def older_table(*files: AddFile, version: int = 5) -> MemoryStore:
    """A table of protocol 2 as its JSON checkpoint alone tells of it."""
    cache.forget()
    store = MemoryStore()
    actions: list[Action] = [Protocol(2, 2), metadata(), *files]
    store.put(
        checkpoint_key(version),
        "".join(json.dumps(to_document(action)) + "\n" for action in actions).encode(),
    )
    store.put(LAST_CHECKPOINT, encode_pointer(LastCheckpoint(version, size=len(actions))))
    return store


def by_state_alone(store: MemoryStore, version: int) -> dict[str, AddFile]:
    """The files as the Avro state has them: no checkpoint and no version file is left to help."""
    alone = MemoryStore(store.uri)
    alone.objects = {key: data for key, data in store.objects.items() if not key.endswith(".json")}
    cache.forget()
    snapshot = load_snapshot(alone)
    assert (snapshot.version, snapshot.files.base_version) == (version, version)
    return dict(snapshot.files.items())


@pytest.mark.spec(
    "testAutoUpgradeOnRead",
    "testUpgradePreservesAllFiles",
    "testUpgradePreservesPartitionValues",
    "testUpgradePreservesStatistics",
    "testUpgradePreservesSchemaRegistry",
)
@settings(max_examples=40, deadline=None)
@given(st.lists(add_files, max_size=6, unique_by=lambda file: file.path))
def test_nothing_that_a_json_checkpoint_says_of_a_file_is_lost(files: list[AddFile]):
    store = older_table(*files)
    before = load_snapshot(store)
    assert list(before.files.values()) == files
    assert before.files.base is None, "read as it is, and not written"
    checkpoint(store, Settings())
    found = by_state_alone(store, 5)
    assert found == {file.path: file for file in files}
    cache.forget()
    after = load_snapshot(store)
    assert after.metadata.configuration == before.metadata.configuration
    assert (after.schema, after.partition_columns) == (before.schema, before.partition_columns)


@pytest.mark.spec("testUpgradeLargeTable")
@pytest.mark.parametrize(
    "count", [1500, pytest.param(70_000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_a_large_older_table_becomes_one_with_a_state(count: int):
    files = [add(f"splits/{n}.split", day=f"d{n % 30:02d}", min_values={"id": f"{n}"}) for n in range(count)]
    store = older_table(*files)
    checkpoint(store, Settings())
    assert by_state_alone(store, 5) == {file.path: file for file in files}
    state = read_state(store, 5)
    assert (state.num_files, state.total_bytes) == (count, 10 * count)
    assert len(state.manifests) == -(-count // 50_000)


@pytest.mark.spec("testUpgradeWithActiveTombstones")
def test_removes_after_the_checkpoint_are_heard():
    store = older_table(add("a"), add("b"), add("c"))
    put_version(store, 6, [RemoveFile("b"), add("d")])
    put_version(store, 7, [RemoveFile("d"), add("e"), RemoveFile("a")])
    put_version(store, 8, [add("a", rows=9)])
    checkpoint(store, Settings())
    found = by_state_alone(store, 8)
    assert sorted(found) == ["a", "c", "e"]
    assert found["a"].num_records == 9
    assert read_state(store, 8).tombstones == ()


@pytest.mark.spec("testWriteAfterUpgrade")
def test_writes_after_it_use_the_new_format():
    store = older_table(add("a"))
    checkpoint(store, Settings())
    snapshot = load_snapshot(store)
    every = Settings({"spark.indextables.checkpoint.interval": "1"})
    for name in ("b", "c"):
        snapshot = commit(store, Append((add(name),), metadata()), base=snapshot, settings=every).snapshot
    pointer = read_pointer(store)
    assert pointer is not None
    assert (pointer.version, pointer.kind) == (snapshot.version, "avro-state")
    assert sorted(by_state_alone(store, snapshot.version)) == ["a", "b", "c"]
    assert len(read_state(store, snapshot.version).manifests) > 1, "added to, not written again"


@pytest.mark.spec("testReadMissingStateDir")
def test_a_hint_whose_state_is_gone_leads_to_what_is_left():
    """The directory of the state is not there: the versions are."""
    store = older_table(add("a"))
    checkpoint(store, Settings())
    put_version(store, 6, [add("b")])
    for key in [key for key in store.objects if "/state-v" in key]:
        store.delete(key)
    cache.forget()
    assert sorted(load_snapshot(store).files) == ["a", "b"]
    assert version_key(6) in store.objects

"""A table can be made what it was, by a new version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import CorruptTableError, VersionNotFoundError
from indextables.log import Append, Overwrite, Restore, commit, load_snapshot, read_version
from indextables.maintenance import restore
from support.faults import Fault, FaultyStore, MemoryStore, after
from support.invariants import check_removes, check_versions
from support.logs import COLUMNS, add, live, metadata

TABLE = metadata()
OTHER = metadata({**COLUMNS, "id": "string"})


@pytest.fixture
def store(store: MemoryStore) -> MemoryStore:
    """Version 0 has a, version 1 a and b, version 2 only c, of another schema."""
    snapshot = commit(store, Append((add("a"),), TABLE), base=None).snapshot
    snapshot = commit(store, Append((add("b"),), TABLE), base=snapshot).snapshot
    commit(store, Overwrite((add("c"),), OTHER), base=snapshot)
    for path in "abc":
        store.put(path, b"0123456789")
    return store


def run(store: Any, version: int) -> int:
    return restore(store, version, Settings())


def test_files_and_schema_are_those_of_the_version(store: MemoryStore):
    assert run(store, 1) == 3
    now = load_snapshot(store)
    assert (live(now), now.schema) == (["a", "b"], load_snapshot(store, 1).schema)
    info, *_ = read_version(store, 3) or ()
    assert (info.operation, info.parameters) == ("RESTORE", {"version": "1"})
    check_removes(store, check_versions(store))


def test_a_restore_can_be_restored(store: MemoryStore):
    run(store, 0)
    assert run(store, 2) == 4
    now = load_snapshot(store)
    assert (live(now), now.schema) == (["c"], load_snapshot(store, 2).schema)
    check_removes(store, check_versions(store))


def test_the_current_version_needs_no_restore(store: MemoryStore):
    assert run(store, 2) == 2


def test_a_file_that_is_gone_stops_it(store: MemoryStore):
    store.delete("b")
    with pytest.raises(
        CorruptTableError, match="version 1 of .* cannot be restored: b has been deleted since"
    ):
        run(store, 1)
    assert load_snapshot(store).version == 2
    assert run(store, 0) == 3, "which another version does not need"


def test_it_is_computed_anew_when_others_were_faster(store: MemoryStore):
    def theirs() -> None:
        commit(store, Append((add("x"),), OTHER), base=load_snapshot(store))

    assert run(FaultyStore(store, Fault("create", after(theirs))), 1) == 4
    assert live(load_snapshot(store)) == ["a", "b"]
    check_removes(store, check_versions(store))


def test_a_version_that_is_not_there_cannot_be_restored(store: MemoryStore):
    with pytest.raises(VersionNotFoundError, match="from version 0 to 2"):
        run(store, 9)


def test_streaming_batches_and_protocol_stay(store: MemoryStore):
    now = load_snapshot(store)
    actions = Restore(load_snapshot(store, 0), lambda keys: None).actions(now)
    assert {type(action).__name__ for action in actions} == {"Metadata", "RemoveFile", "AddFile"}


def test_rows_come_back(tmp_path: Path):
    for n in range(2):
        it.write(tmp_path, pa.table({"n": [n]}))
    it.write(tmp_path, pa.table({"n": [7]}), mode="overwrite")
    assert it.open(tmp_path).restore(1) == 3
    assert sorted(it.open(tmp_path).to_arrow().column("n").to_pylist()) == [0, 1]
    assert it.open(tmp_path, version=2).to_arrow().column("n").to_pylist() == [7]

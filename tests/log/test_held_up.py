"""A reader or writer that clean-up overtakes between two looks at the store still sees the newest version."""

from __future__ import annotations

import pytest

from indextables.config import Settings
from indextables.errors import VersionNotFoundError
from indextables.log import (
    Append,
    DropPartitions,
    Snapshot,
    checkpoint,
    commit,
    encode_version,
    load_snapshot,
    read_history,
    version_key,
)
from indextables.log.diffs import diff_versions
from indextables.log.snapshots import cache
from indextables.maintenance import truncate_time_travel
from indextables.predicates import Compare
from support.faults import Fault, FaultyStore, MemoryStore, after
from support.logs import add, live, metadata


@pytest.fixture
def known(store: MemoryStore) -> Snapshot:
    """Version 0, as a paused process remembers it; since then came two more."""
    first = commit(store, Append((add("a"),), metadata()), base=None).snapshot
    newest = commit(store, Append((add("b", "tue"),), metadata()), base=first).snapshot
    commit(store, Append((add("c"),), metadata()), base=newest)
    return first


def held_up(store: MemoryStore) -> FaultyStore:
    """All history goes just before the version after the known one is asked for."""
    clean_up = after(lambda: truncate_time_travel(store, Settings()))
    return FaultyStore(store, Fault("get", clean_up, key=version_key(1)))


def test_a_reader_sees_the_newest_version(store: MemoryStore, known: Snapshot):
    cache.forget(store.uri)
    cache.remember(known)
    found = load_snapshot(held_up(store))
    assert (found.version, sorted(live(found))) == (2, ["a", "b", "c"])


def test_a_writer_does_not_take_work_for_done_that_is_not(store: MemoryStore, known: Snapshot):
    done = commit(held_up(store), DropPartitions(Compare("=", "day", "tue")), base=known)
    assert not done.skipped, "version 0 had nothing to drop, the newest has"
    assert sorted(live(done.snapshot)) == ["a", "c"]


def test_a_history_tells_of_what_is_left(store: MemoryStore, known: Snapshot):
    assert [entry.version for entry in read_history(held_up(store))] == [2]


def test_a_history_does_not_tell_of_a_writer_that_came_too_late(store: MemoryStore, known: Snapshot):
    late = store.get(version_key(1))
    truncate_time_travel(store, Settings())
    store.put(version_key(1), late)
    assert [entry.version for entry in read_history(store)] == [2]


def test_changes_are_not_those_of_a_writer_that_came_too_late(store: MemoryStore, known: Snapshot):
    newest = load_snapshot(store)
    checkpoint(store, Settings())
    stray = commit(MemoryStore("memory://elsewhere"), Append((add("stray"),), metadata()), base=None)

    def overtake() -> None:
        truncate_time_travel(store, Settings())
        store.put(version_key(1), encode_version(stray.actions))

    late = FaultyStore(store, Fault("get", after(overtake), key=version_key(1)))
    with pytest.raises(VersionNotFoundError, match="ask since version"):
        diff_versions(late, 0, newest, Settings())

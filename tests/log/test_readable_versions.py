"""Which versions a listing says can be read: just those that can, whatever version files and states are gone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, TableNotFoundError, VersionNotFoundError
from indextables.log import Append, commit, load_snapshot, version_key
from indextables.log.snapshots import cache
from indextables.log.versions import list_log
from indextables.state import LAST_CHECKPOINT, state_key
from indextables.storage import ObjectInfo
from support.faults import MemoryStore
from support.logs import add, metadata

VERSIONS = 12
STATES = {3, 6, 9}
EVERY_THIRD = Settings({keys.CHECKPOINT_INTERVAL.key: "3"})


def grown() -> MemoryStore:
    store, snapshot = MemoryStore(), None
    for version in range(VERSIONS):
        change = Append((add(str(version)),), metadata())
        snapshot = commit(store, change, base=snapshot, settings=EVERY_THIRD).snapshot
    assert set(list_log(store).states) == STATES
    return store


def can_be_read(store: MemoryStore, version: int) -> bool:
    cache.forget()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load_snapshot(store, version).version == version
    except (VersionNotFoundError, CorruptTableError, TableNotFoundError):
        return False


@given(gone=st.sets(st.integers(0, VERSIONS - 1)), states_gone=st.sets(st.sampled_from(sorted(STATES))))
@settings(max_examples=50)
def test_the_versions_named_are_those_that_can_be_read(gone: set[int], states_gone: set[int]) -> None:
    store = grown()
    store.delete(LAST_CHECKPOINT)
    for version in gone:
        store.delete(version_key(version))
    for version in states_gone:
        store.delete(state_key(version))
    runs = list_log(store).readable
    named = {version for first, last in runs for version in range(first, last + 1)}
    assert named == {version for version in range(VERSIONS) if can_be_read(store, version)}
    assert all(before[1] + 1 < after[0] for before, after in pairwise(runs))


def test_a_listing_that_lags_behind_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    snapshot = commit(store, Append((add("a"),), metadata()), base=None).snapshot
    commit(store, Append((add("b"),), metadata()), base=snapshot)
    whole = MemoryStore.list_from

    def lagging(self: MemoryStore, *asked: Any, **more: Any) -> Iterator[ObjectInfo]:
        return (info for info in whole(self, *asked, **more) if info.key != version_key(0))

    monkeypatch.setattr(MemoryStore, "list_from", lagging)
    cache.forget()
    assert load_snapshot(store, 1).version == 1, "the files themselves have the last word"
    cache.forget()
    with pytest.raises(VersionNotFoundError, match="has no version 5; a listing of its log shows none"):
        load_snapshot(store, 5)

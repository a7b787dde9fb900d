"""A store that answers wrongly while a state is written or looked for: no state that cannot be read comes of it."""

from __future__ import annotations

import pytest

from indextables.config import Settings
from indextables.errors import VersionNotFoundError
from indextables.log import Append, Snapshot, checkpoint, commit, load_snapshot
from indextables.log.cleanup import validate_state
from indextables.log.snapshots import VersionSelector, read_snapshot
from support.faults import Fault, FaultyStore, MemoryStore, claims_it_exists
from support.logs import add, live, metadata

SETTINGS = Settings()


@pytest.fixture
def base(store: MemoryStore) -> Snapshot:
    return commit(store, Append((add("a"), add("b")), metadata()), base=None).snapshot


@pytest.mark.parametrize("key", ["/manifests/", "/state-v"])
def test_a_conflict_over_nothing_is_not_believed(store: MemoryStore, base: Snapshot, key: str):
    checkpoint(FaultyStore(store, Fault("create", claims_it_exists, key=key)), SETTINGS)
    found = validate_state(store, base.version, SETTINGS)
    assert found is not None, "the state is there, with all that it names"
    assert live(found) == ["a", "b"]


def test_a_listing_that_shows_nothing_is_an_error_that_can_be_read(store: MemoryStore, base: Snapshot):
    commit(store, Append((add("c"),), metadata()), base=load_snapshot(store))
    checkpoint(store, SETTINGS)
    shows_nothing = Fault("list_from", lambda call: [], spare=1)
    with pytest.raises(VersionNotFoundError, match="has no version 7"):
        read_snapshot(FaultyStore(store, shows_nothing), VersionSelector(7))

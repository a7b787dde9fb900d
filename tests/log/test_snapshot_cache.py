"""A table that was read before is only brought up to date, and another one at the same place is noticed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from indextables.config import Settings
from indextables.log import Append, LiveFiles, Snapshot, commit, load_snapshot, version_key
from indextables.log.snapshots import CacheLimits, cache
from indextables.runtime import CacheFigures, Runtime, use
from support.faults import FaultyStore, MemoryStore
from support.logs import add, live, metadata, put_table, put_version


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    cache.forget()
    yield
    cache.forget()


def table(versions: int) -> MemoryStore:
    store, snapshot = MemoryStore(), None
    for version in range(versions):
        snapshot = commit(store, Append((add(str(version)),), metadata()), base=snapshot).snapshot
    return store


def load_and_count(store: MemoryStore, version: int | None = None) -> tuple[Snapshot, list[tuple[str, str]]]:
    watched = FaultyStore(store)
    return load_snapshot(watched, version), watched.calls


def test_a_second_load_looks_at_two_versions_only():
    store = table(9)
    first, calls = load_and_count(store)
    assert len(calls) == 2 + 9 + 1  # hint and listing, the versions, and a look for a clean-up
    second, calls = load_and_count(store)
    assert second is first
    assert calls == [("get", version_key(9)), ("get", version_key(8))]


def test_what_was_committed_since_is_read():
    store = table(5)
    load_snapshot(store)
    commit(store, Append((add("new"),), metadata()), base=load_snapshot(store))
    snapshot, calls = load_and_count(store)
    assert live(snapshot) == ["0", "1", "2", "3", "4", "new"]
    assert len(calls) == 3
    cache.forget(store.uri)
    assert load_snapshot(store) == snapshot


def test_a_version_that_was_the_newest_once_is_remembered():
    store = table(5)
    old = load_snapshot(store)
    commit(store, Append((add("new"),), metadata()), base=old)
    load_snapshot(store)
    again, calls = load_and_count(store, 4)
    assert again is old
    assert calls == [("get", version_key(4))]
    assert len(load_and_count(store, 2)[1]) == 2 + 3 + 1


@pytest.mark.parametrize("versions", [1, 5, 9])
def test_another_table_at_the_same_place_is_noticed(versions: int):
    load_snapshot(table(5))
    other = table(versions)
    assert live(load_snapshot(other)) == [str(version) for version in range(versions)]
    assert load_snapshot(other, versions - 1).version == versions - 1


def test_a_version_without_a_transaction_id_is_not_kept():
    store = MemoryStore()
    put_table(store, [add("a")])
    load_snapshot(store)
    assert cache.recall(store.uri) is None


def test_a_damaged_version_is_not_hidden_by_the_memory_of_it():
    store = table(3)
    load_snapshot(store)
    store.put(version_key(2), b"{}\n")
    with pytest.raises(Exception, match="no action"):
        load_snapshot(store)


def test_memory_is_bounded_by_snapshots_and_by_files():
    store = table(1)
    snapshot = load_snapshot(store)

    def kept(files: int, version: int, limits: CacheLimits) -> None:
        many = LiveFiles().edit()
        for n in range(files):
            many.add(str(n), add(str(n)), version=0, timestamp_ms=0)
        live_files = many.done()
        cache.remember(
            Snapshot("u", version, 0, snapshot.protocol, snapshot.metadata, live_files, txn_id="t"), limits
        )

    for version, files in enumerate([4, 4, 4, 11]):
        kept(files, version, CacheLimits(files=10))
    assert [cache.recall("u", version) is not None for version in range(4)] == [False, True, True, False]
    cache.recall("u", 1)
    kept(0, 7, CacheLimits(snapshots=2))
    assert [cache.recall("u", version) is not None for version in (1, 2, 7)] == [True, False, True]


def test_an_expired_snapshot_is_read_again():
    now = [100.0]
    with use(Runtime(monotonic=lambda: now[0])):
        store = table(3)
        load_snapshot(store)
        now[0] += 299
        assert cache.recall(store.uri) is not None
        now[0] += 1
        assert cache.recall(store.uri) is None
        _, calls = load_and_count(store)
        assert len(calls) > 2


def test_what_is_written_elsewhere_is_seen_at_once_whatever_the_age():
    store = table(1)
    settings = Settings({"spark.indextables.transaction.cache.expirationSeconds": "86400"})
    load_snapshot(store, settings=settings)
    put_version(store, 1, [add("theirs")])
    assert live(load_snapshot(store, settings=settings)) == ["0", "theirs"]


@pytest.mark.parametrize(
    "setting", [("enabled", "false"), ("expirationSeconds", "0"), ("maxSnapshots", "0"), ("maxFiles", "0")]
)
def test_the_cache_can_be_turned_off(setting: tuple[str, str]):
    settings = Settings({f"spark.indextables.transaction.cache.{setting[0]}": setting[1]})
    store = table(1)
    cache.invalidate_cache()
    load_snapshot(store, settings=settings)
    load_snapshot(store, settings=settings)
    assert cache.recall(store.uri) is None
    assert cache.invalidate_cache(store.uri).hits == 0


def test_hits_and_misses_are_counted_by_table_until_it_is_invalidated():
    store = table(2)
    cache.invalidate_cache()
    for version in (None, None, 0, 1):
        load_snapshot(store, version)
    assert cache.invalidate_cache("elsewhere") == CacheFigures()
    assert cache.invalidate_cache(store.uri) == CacheFigures(hits=2, misses=2)
    assert cache.invalidate_cache() == CacheFigures()
    assert cache.recall(store.uri) is None

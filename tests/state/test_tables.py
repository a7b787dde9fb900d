"""Tables with states: what is read, what is not, what a commit costs, and states that cannot be read."""

from __future__ import annotations

import logging
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from indextables.config import Settings
from indextables.errors import CorruptTableError, VersionNotFoundError
from indextables.log import (
    AddFile,
    Append,
    Change,
    Gap,
    LiveFiles,
    MergeGroup,
    MergeSplits,
    Overwrite,
    RemoveFile,
    StateWarning,
    Txn,
    VersionGapWarning,
    checkpoint,
    commit,
    load_snapshot,
    read_history,
    read_version,
    version_key,
)
from indextables.log.actions import from_entries
from indextables.log.snapshots import cache
from indextables.log.versions import list_log, record_key
from indextables.predicates import Compare
from indextables.state import (
    LAST_CHECKPOINT,
    LastCheckpoint,
    encode_pointer,
    read_pointer,
    read_state,
    state_key,
)
from indextables.storage import open_store
from support.faults import Fault, FaultyStore, MemoryStore, fails
from support.logs import add, live, metadata, put_table, put_version
from support.states import append, damaged, grown

FAST = {"spark.indextables.transaction.retry.baseDelayMs": "1"}


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    cache.forget()


def load(store, *args, **more):
    cache.forget()
    return load_snapshot(store, *args, **more)


def files_of(entries) -> dict[str, AddFile]:
    return {key: added.file for key, added in from_entries(entries)}


def replayed(store, version: int | None = None) -> dict:
    """The live files by the version files alone."""
    bare = MemoryStore(store.uri)
    bare.objects = {key: value for key, value in store.objects.items() if key.endswith(".json")}
    return dict(load(bare, version).files)


def states(store) -> list[int]:
    keys = [info.key for info in store.list_from("_transaction_log") if "/state-v" in info.key]
    return [int(key.split("state-v")[1][:20]) for key in keys]


@pytest.mark.spec("testStateVersionIncrement")
def test_a_state_every_tenth_commit(store):
    grown(store, 31)
    assert states(store) == [10, 20, 30]
    assert read_state(store, 20).num_files == 21
    pointer = read_pointer(store)
    assert pointer is not None
    assert pointer.version == 30


@pytest.mark.parametrize(
    ("options", "found"),
    [({"checkpoint__enabled": "false"}, []), ({"checkpoint__interval": "3"}, [3, 6])],
)
def test_the_interval_is_a_setting(store, options, found):
    snapshot = None
    for version in range(7):
        snapshot = append(store, snapshot, add(str(version)), **options)
    assert states(store) == found


def test_opening_reads_the_state_and_the_versions_since(store):
    grown(store, 25)
    watched = FaultyStore(store)
    snapshot = load(watched)
    assert snapshot.version == 24
    assert watched.calls == [
        ("get", LAST_CHECKPOINT),
        ("list_from", "_transaction_log"),
        ("get", state_key(20)),
        *(("get", version_key(version)) for version in range(21, 25)),
        ("get", record_key(0)),  # has clean-up passed since?
    ]
    assert dict(snapshot.files) == replayed(store)


@pytest.mark.parametrize("version", range(0, 25, 3))
def test_every_version_is_the_same_with_and_without_states(store, version: int):
    grown(store, 25, files_each=2)
    snapshot = load(store, version)
    assert snapshot.version == version
    assert dict(snapshot.files) == replayed(store, version)
    assert len(snapshot.files) == snapshot.files.expected == 2 * (version + 1)


@pytest.mark.spec("testIncrementalAddFiles")
def test_an_append_neither_reads_nor_rewrites_the_base(store):
    grown(store, 11)
    watched = FaultyStore(store)
    snapshot = load(watched)
    for n in range(12):
        snapshot = append(watched, snapshot, add(f"new-{n}"))
    assert not [call for call in watched.calls if call[0] != "create" and "manifests/" in call[1]]
    assert states(store) == [10, 20]
    assert [info.num_entries for info in read_state(store, 20).manifests] == [11, 10]


@pytest.mark.spec("testCompactionPreservesAllFiles")
def test_times_and_versions_of_files_are_true_in_states_and_after_compaction(store):
    snapshot = grown(store, 21)
    checkpoint(store, Settings())
    base = load(store).files.base
    assert base is not None
    table = base.entries()
    assert dict(zip(table["path"].to_pylist(), table["addedAtVersion"].to_pylist(), strict=True)) == {
        f"v{version}-0": version for version in range(21)
    }
    assert max(table["addedAtTimestamp"].to_pylist()) <= snapshot.timestamp_ms


def test_what_is_beside_the_files_is_in_the_state_too(store):
    snapshot = None
    for version in range(11):
        change = Append((add(str(version)),), metadata(), txn=Txn("app", version))
        snapshot = commit(store, change, base=snapshot).snapshot
    before = load(store)
    for version in range(11):
        store.delete(version_key(version))
    after = load(store)
    assert after == before == snapshot
    assert after.txns == {"app": 10}
    assert (after.timestamp_ms, after.txn_id) == (before.timestamp_ms, before.txn_id)


def test_removes_and_returns_over_a_state(store):
    snapshot = append(store, None, add("a"), add("b"), checkpoint__interval="1")
    snapshot = append(store, snapshot, add("c"), checkpoint__interval="1")
    put_version(store, 2, [RemoveFile("a", size=10)])
    put_version(store, 3, [add("a", rows=5), RemoveFile("b"), RemoveFile("never")])
    put_version(store, 4, [add("d"), RemoveFile("d")])
    snapshot = load(store)
    assert snapshot.files.base_version == 1
    assert list(snapshot.files) == ["c", "a"]
    assert snapshot.files["a"].num_records == 5
    assert "b" not in snapshot.files
    assert "d" not in snapshot.files
    with pytest.raises(KeyError):
        snapshot.files["b"]
    with pytest.raises(KeyError):
        snapshot.files["d"]
    assert dict(snapshot.files) == replayed(store)
    checkpoint(store, Settings())
    assert dict(load(store).files) == replayed(store)
    assert read_state(store, 4).num_files == 2


@pytest.mark.spec("testStateManifestNumFiles")
def test_random_histories_read_the_same_at_every_version(store):
    rng = random.Random(5)
    snapshot, names = None, []
    for version in range(60):
        if names and rng.random() < 0.3:
            victim = rng.choice(names)
            change = MergeSplits((MergeGroup((victim,), (add(f"m{version}"),)),), metadata())
            names[names.index(victim)] = f"m{version}"
        elif rng.random() < 0.03:
            change = Overwrite((add(f"o{version}"),), metadata())
            names = [f"o{version}"]
        else:
            change = Append((add(f"a{version}"), add(f"b{version}")), metadata())
            names += [f"a{version}", f"b{version}"]
        settings = Settings({"spark.indextables.state.compaction.afterMerge": "false"})
        snapshot = commit(store, change, base=snapshot, settings=settings).snapshot
    for version in range(60):
        found = load(store, version)
        assert dict(found.files) == replayed(store, version), version
        assert len(found.files) == found.files.expected
    for version in states(store):
        state = read_state(store, version)
        assert state.num_files == len(replayed(store, version))
        assert state.total_bytes == 10 * state.num_files


@pytest.mark.spec("testCompactionTriggerAfterMerge")
def test_a_merge_writes_a_compacted_state(store):
    snapshot = append(store, None, add("a"), add("b"))
    change = MergeSplits((MergeGroup(("a", "b"), (add("ab"),)),), metadata())
    commit(store, change, base=snapshot)
    assert states(store) == [1]
    assert read_state(store, 1).tombstones == ()


@pytest.mark.spec("testCompactionMergesSmallManifests", "testCompactionSkipsCleanState")
def test_a_checkpoint_compacts_and_a_second_one_does_nothing(store):
    grown(store, 25)
    assert checkpoint(store, Settings()).state_version == 24
    state = read_state(store, 24)
    assert (len(state.manifests), state.num_files) == (1, 25)
    writes = store.writes
    checkpoint(store, Settings())
    assert store.writes == writes


def test_a_state_that_cannot_be_written_does_not_fail_the_commit(store, caplog):
    snapshot = grown(store, 10)
    faults = [Fault(operation, fails, key="manifests/", times=99) for operation in ("create", "put")]
    faulty = FaultyStore(store, *faults)
    with caplog.at_level(logging.WARNING):
        assert append(faulty, snapshot, add("x")).version == 10
    assert "no state was written for version 10" in caplog.text
    assert states(store) == []


def test_a_predicate_reads_only_manifests_that_can_match(store):
    snapshot = None
    for version in range(3):
        files = [add(f"{version}-{n}", day=f"d{version}") for n in range(5)]
        snapshot = append(store, snapshot, *files, checkpoint__interval="1")
    store.delete(state_key(0))
    snapshot = load(FaultyStore(store))
    found = snapshot.prune(Compare("=", "day", "d2")).entries
    assert sorted(found.column("key").to_pylist()) == [f"2-{n}" for n in range(5)]
    assert not snapshot.files.base.is_loaded


def test_no_hint_a_stale_hint_and_a_damaged_hint_change_nothing(store):
    grown(store, 25)
    expected = dict(load(store).files)
    for data in (
        b"{",
        b"null",
        encode_pointer(LastCheckpoint(3)),
        encode_pointer(LastCheckpoint(20, state_dir="nowhere")),
    ):
        store.put(LAST_CHECKPOINT, data)
        assert dict(load(store).files) == expected
    store.delete(LAST_CHECKPOINT)
    assert dict(load(store).files) == expected


@pytest.mark.spec("testReadMissingStateDir")
def test_a_hint_at_nothing_is_read_past_and_not_written_past(store):
    grown(store, 3)
    store.put(LAST_CHECKPOINT, encode_pointer(LastCheckpoint(99)))
    with pytest.warns(VersionGapWarning, match="version 3 is missing although version 99"):
        snapshot = load(store)
    assert (snapshot.version, snapshot.gap) == (2, Gap(3, 99))
    with pytest.warns(VersionGapWarning), pytest.raises(CorruptTableError, match="before you write"):
        append(store, snapshot, add("x"))


def test_versions_that_a_state_covers_may_be_gone(store):
    grown(store, 25)
    expected = dict(load(store).files)
    for version in range(15):
        store.delete(version_key(version))
    assert dict(load(store).files) == expected
    assert load(store, 20).version == 20
    readable = "it can be read at version 10 and from version 20 to 24"
    with pytest.raises(VersionNotFoundError, match=f"has no version 7 any more; {readable}"):
        load(store, 7)
    for version in (12, 40):
        with pytest.raises(VersionNotFoundError, match=f"has no version {version}; {readable}"):
            load(store, version)
    assert [entry.version for entry in read_history(store)] == list(range(24, 14, -1))


def test_time_travel_starts_from_a_state_of_that_time(store):
    snapshot, moments = None, []
    for version in range(25):
        change = Append((add(str(version)),), metadata())
        snapshot = commit(store, change, base=snapshot, clock=lambda v=version: 1000 * v).snapshot
        moments.append(snapshot.timestamp_ms)
    for version in (0, 9, 10, 11, 20, 24):
        assert load(store, as_of_ms=moments[version]).version == version
    for version in range(15):
        store.delete(version_key(version))
    with pytest.raises(VersionNotFoundError, match="no version of that time any more"):
        load(store, as_of_ms=moments[9])


def test_a_damaged_state_is_left_out_with_a_warning(store):
    grown(store, 25)
    expected = dict(load(store).files)
    store.put(state_key(20), store.get(state_key(20))[:-9])
    with pytest.warns(StateWarning, match="state of version 20 .* cannot be read"):
        snapshot = load(store)
    assert snapshot.files.base_version == 10
    assert dict(snapshot.files) == expected
    store.delete(state_key(10))
    with pytest.warns(StateWarning):
        assert dict(load(store).files) == expected


def test_a_damaged_state_and_no_versions_is_an_error(store):
    grown(store, 11)
    store.put(state_key(10), b"Obj\x01")
    for version in range(11):
        store.delete(version_key(version))
    with (
        pytest.warns(StateWarning),
        pytest.raises(CorruptTableError, match="state-v00000000000000000010/_manifest.avro"),
    ):
        load(store)


def manifest_keys(store) -> list[str]:
    return [info.key for info in store.list_from("_transaction_log/manifests")]


@pytest.mark.spec("testReadMissingManifest")
@pytest.mark.parametrize("harm", ["damaged", "cut", "gone"])
@pytest.mark.parametrize("asked", ["everything", "a partition"])
def test_a_damaged_manifest_is_made_good_from_older_versions(store, harm: str, asked: str):
    grown(store, 25)
    expected = dict(load(store).files)
    for key in manifest_keys(store):
        data = store.get(key)
        if harm == "gone":
            store.delete(key)
        else:
            store.put(key, data[:-40] if harm == "cut" else data[:-30] + b"x" + data[-29:])
    snapshot = load(store)
    ask = (
        snapshot.files.items
        if asked == "everything"
        else lambda: files_of(snapshot.prune(Compare("=", "day", "d3")).entries)
    )
    with pytest.warns(StateWarning, match="manifests/manifest-"):
        found = dict(ask())
    wanted = {key for key, file in expected.items() if file.partition_values["day"] == "d3"}
    assert wanted <= found.keys()
    assert {key: expected[key] for key in found} == found
    assert asked != "everything" or found == expected
    with pytest.warns(StateWarning):
        checkpoint(store, Settings())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dict(load(store).files) == expected


@pytest.mark.spec("testReadMissingManifest")
def test_a_damaged_manifest_that_nothing_can_replace_is_an_error_that_names_it(store):
    grown(store, 11)
    (key,) = manifest_keys(store)
    data = store.get(key)
    for version in range(11):
        store.delete(version_key(version))
    for at, bad in damaged(data, step=max(1, len(data) // 60)):
        store.put(key, bad)
        for ask in (lambda s: dict(s.files), lambda s: s.prune(Compare("=", "day", "d3")).entries):
            snapshot = load(store)
            with pytest.raises(CorruptTableError, match="manifests/manifest-") as caught:
                assert ask(snapshot) is None, f"byte {at}"
            assert key in str(caught.value)


@pytest.mark.spec("testConcurrentStateUpdate")
def test_writers_with_old_snapshots_write_states_on_the_newest(store):
    old = grown(store, 10)
    append(store, old, add("x"))
    snapshot = old
    for n in range(10):
        snapshot = append(store, snapshot, add(f"late-{n}"))
    assert states(store) == [10, 20]
    state = read_state(store, 20)
    assert [info.num_entries for info in state.manifests] == [11, 10]
    assert dict(load(store).files) == replayed(store)


def test_state_bytes_grow_with_the_change_and_not_with_the_table(store):
    grown(store, 101, files_each=10)
    sizes = [len(store.get(key)) for key in manifest_keys(store)]
    assert len(sizes) == 10
    assert max(sizes) < 1.5 * min(sizes)


def test_a_long_kept_snapshot_moves_to_a_newer_state(store):
    load_snapshot(store_of(store, 1))
    grown_on = load_snapshot(store)
    for n in range(115):
        grown_on = append(store, grown_on, add(f"n{n}"))
    found = load_snapshot(store)
    assert found.files.base_version == 110
    assert dict(found.files) == replayed(store)


def store_of(store, versions: int):
    grown(store, versions)
    return store


def test_version_files_stay_the_truth(store):
    put_table(store, [add("a")])
    assert live(load(store)) == ["a"]
    assert [action.path for action in read_version(store, 1) or []] == ["a"]


@pytest.mark.spec("testConcurrentWrites", "testConcurrentCompaction")
def test_writers_and_compactors_at_once(tmp_path: Path):
    store = open_store(tmp_path / "table")
    append(store, None)
    settings = Settings({"spark.indextables.checkpoint.interval": "2", **FAST})

    def work(writer: int) -> None:
        snapshot = load_snapshot(store)
        for n in range(12):
            change: Change = Append((add(f"{writer}-{n}"), add(f"{writer}-{n}-x")), metadata())
            if n % 4 == 3:
                group = MergeGroup((f"{writer}-{n - 1}", f"{writer}-{n - 1}-x"), (add(f"{writer}-{n}-m"),))
                change = MergeSplits((group,), metadata())
            snapshot = commit(store, change, base=snapshot, settings=settings).snapshot
            if n % 5 == 4:
                checkpoint(store, settings)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert load(store).version == 36
    listing = list_log(store)
    assert len(listing.states) >= 10
    for version in (*listing.states, 36):
        files = LiveFiles().edit()
        for number in range(version + 1):
            for action in read_version(store, number) or []:
                if isinstance(action, AddFile):
                    files.add(action.path, action, version=number, timestamp_ms=0)
                elif isinstance(action, RemoveFile):
                    files.remove(action.path, action.size)
        found = load(store, version)
        assert dict(found.files) == dict(files.done()), version
        if version in listing.states:
            assert read_state(store, version).num_files == len(found.files)

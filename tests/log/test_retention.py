"""Version files go when they are old, covered by a state that was read back, and not the current one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.config import Settings, keys
from indextables.errors import StorageError, VersionNotFoundError
from indextables.log import Append, checkpoint, commit, load_snapshot, version_key
from indextables.log.cleanup import expired_versions, oldest_retained, plan_expiry, retention_ms
from indextables.log.snapshots import read_snapshot, snapshot_of_state
from indextables.log.versions import VersionFile, list_log, read_watermark
from indextables.maintenance import CleanedVersions, clean_versions
from indextables.state import StateContext, StateOptions, state_key, write_state
from support.faults import Fault, FaultyStore, MemoryStore, fails
from support.logs import add, live, metadata

HOUR = 3_600_000
NOW = 10**15
SETTINGS = Settings({keys.CHECKPOINT_ENABLED.key: "false"})


def files(count: int) -> list[VersionFile]:
    """Version n is of hour n."""
    return [VersionFile(version, version * HOUR) for version in range(count)]


def expired(found: Sequence[VersionFile], **more: int) -> list[int]:
    conditions = {"covered_by": 99, "watermark": -1, "retention_ms": 0, "now_ms": NOW} | more
    return expired_versions(found, **conditions)


# The decision


def test_old_covered_versions_go_and_the_current_one_stays():
    assert expired(files(4)) == [0, 1, 2]


def test_a_version_as_old_as_the_retention_stays():
    assert expired(files(9), now_ms=5 * HOUR, retention_ms=2 * HOUR) == [0, 1, 2]


def test_what_no_state_covers_stays_whatever_its_age():
    assert expired(files(9), covered_by=3) == [0, 1, 2]
    assert expired(files(9), covered_by=-1) == []


def test_version_0_goes_by_the_same_rules():
    assert expired(files(2), covered_by=1) == [0]
    assert expired(files(2), covered_by=0) == []


def test_the_only_version_stays():
    assert expired(files(1)) == []
    assert expired([]) == []


def test_a_young_version_keeps_all_after_it():
    """Its clock was wrong, or it was restored: what is left is a run up to the current version."""
    found = files(6)
    found[2] = VersionFile(2, NOW)
    assert expired(found, retention_ms=HOUR) == [0, 1]


def test_what_an_earlier_clean_up_left_goes_whatever_its_age():
    assert expired(files(6), watermark=2, now_ms=0, retention_ms=HOUR) == [0, 1, 2]


def test_a_hole_keeps_all_after_it():
    found = [file for file in files(8) if file.version not in (3, 4)]
    assert expired(found) == [0, 1, 2]
    assert expired(found[2:]) == [2]
    assert expired(found, watermark=3) == [0, 1, 2, 5, 6], "what an earlier clean-up left has holes"


@given(
    st.lists(st.integers(0, 20), max_size=12),
    st.integers(-1, 12),
    st.integers(-1, 3),
    st.integers(0, 20),
    st.integers(0, 25),
)
def test_no_version_goes_that_a_condition_keeps(
    times: list[int], covered_by: int, passed: int, retention: int, now: int
):
    found = [VersionFile(version, modified) for version, modified in enumerate(times)]
    gone = expired(found, covered_by=covered_by, watermark=passed, retention_ms=retention, now_ms=now)
    assert gone == list(range(len(gone)))
    for version in gone:
        assert version < covered_by
        assert version < len(times) - 1
        assert version <= passed or now - times[version] > retention


def test_the_version_that_was_current_when_the_retention_began_is_retained():
    def oldest(now: float, watermark: int = -1) -> int | None:
        return oldest_retained(files(9), watermark=watermark, retention_ms=2 * HOUR, now_ms=round(now * HOUR))

    assert [oldest(now) for now in (0, 1, 2.9, 3, 3.1, 5.9, 10, 99)] == [0, 0, 0, 1, 1, 3, 8, 8]
    assert oldest(1, watermark=3) == 4, "what an earlier clean-up passed is not readable"
    assert oldest_retained([], watermark=-1, retention_ms=0, now_ms=0) is None


def test_what_the_oldest_retained_version_is_read_from_stays(store: MemoryStore):
    """A newer state covers more versions; without them, the oldest retained version could not be read."""
    checkpoint(store, SETTINGS)
    snapshot = load_snapshot(store)
    for n in (6, 7, 8):
        snapshot = commit(
            store, Append((add(f"f{n}"),), metadata()), base=snapshot, settings=SETTINGS
        ).snapshot
    checkpoint(store, SETTINGS)
    listing = list_log(store)
    aged = replace(
        listing, versions=tuple(VersionFile(file.version, file.version * HOUR) for file in listing.versions)
    )
    # Two hours before hour 9, version 7 was the current one. It is read from the state of version 5.
    expiry = plan_expiry(store, SETTINGS, retention_ms=2 * HOUR, now_ms=9 * HOUR, listing=aged)
    assert (expiry.covered_by, expiry.versions) == (5, (0, 1, 2, 3, 4))
    expiry = plan_expiry(store, SETTINGS, retention_ms=2 * HOUR, now_ms=10 * HOUR, listing=aged)
    assert (expiry.covered_by, expiry.versions) == (8, (0, 1, 2, 3, 4, 5, 6, 7))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 30 * 24 * HOUR),
        ({"spark.indextables.logRetention.duration": "7200000"}, 2 * HOUR),
        ({"spark.indextables.purge.txLogRetentionHours": "5"}, 5 * HOUR),
        (
            {
                "spark.indextables.logRetention.duration": "1",
                "spark.indextables.purge.txLogRetentionHours": "0",
            },
            0,
        ),
        ({"spark.tantivy4spark.logRetention.duration": "3"}, 3),
    ],
)
def test_the_newer_key_wins_over_the_older_one(options: dict[str, str], expected: int):
    assert retention_ms(Settings(options)) == expected
    assert retention_ms(Settings(options), hours=7) == 7 * HOUR


# The clean-up


@pytest.fixture
def store(store: MemoryStore) -> MemoryStore:
    """Versions 0 to 5 without a state."""
    snapshot = None
    for n in range(6):
        change = Append((add(f"f{n}"),), metadata())
        snapshot = commit(store, change, base=snapshot, settings=SETTINGS).snapshot
    return store


def clean(store: object, **more: object) -> CleanedVersions:
    return clean_versions(store, more.pop("settings", SETTINGS), hours=0, clock=lambda: NOW, **more)  # type: ignore[arg-type]


def there(store: MemoryStore) -> list[int]:
    return [file.version for file in list_log(store).versions]


def test_without_a_state_nothing_goes(store: MemoryStore):
    assert clean(store) == CleanedVersions(store.uri, -1, 0, 0, 6, dry_run=False)


def test_with_a_state_all_before_it_goes_and_the_table_is_the_same(store: MemoryStore):
    before = load_snapshot(store)
    checkpoint(store, SETTINGS)
    assert clean(store) == CleanedVersions(store.uri, 5, 5, 5, 1, dry_run=False)
    assert (there(store), read_watermark(store)) == ([5], 4)
    assert live(read_snapshot(store)) == live(before)
    with pytest.raises(VersionNotFoundError, match="can be read from version 5 to 5"):
        load_snapshot(store, 3)


def test_a_second_clean_up_finds_nothing(store: MemoryStore):
    checkpoint(store, SETTINGS)
    clean(store)
    assert clean(store).versions_found == 0


def test_the_default_retention_keeps_what_is_young(store: MemoryStore):
    checkpoint(store, SETTINGS)
    done = clean_versions(store, SETTINGS, clock=lambda: 1000)
    assert (done.versions_found, there(store)) == (0, [0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize("by_setting", [True, False])
def test_a_dry_run_counts_and_deletes_nothing(store: MemoryStore, by_setting: bool):
    checkpoint(store, SETTINGS)
    before = dict(store.objects)
    if by_setting:
        done = clean(store, settings=Settings({keys.CLEANUP_DRY_RUN.key: "true"}))
    else:
        done = clean(store, dry_run=True)
    assert done == CleanedVersions(store.uri, 5, 5, 0, 6, dry_run=True)
    assert store.objects == before


def test_a_state_that_cannot_be_read_covers_nothing(store: MemoryStore):
    checkpoint(store, SETTINGS)
    store.put(state_key(5), store.get(state_key(5))[:-20])
    assert clean(store).versions_found == 0


@pytest.mark.parametrize("damage", ["missing", "torn"])
def test_a_state_whose_manifest_is_damaged_covers_nothing(store: MemoryStore, damage: str):
    checkpoint(store, SETTINGS)
    manifest = next(key for key in store.objects if "/manifests/" in key)
    if damage == "missing":
        store.delete(manifest)
    else:
        store.put(manifest, store.get(manifest)[:-5])
    assert clean(store).versions_found == 0


def test_an_older_state_that_can_be_read_covers_what_is_before_it(store: MemoryStore):
    checkpoint(store, SETTINGS)
    commit(store, Append((add("f6"),), metadata()), base=load_snapshot(store), settings=SETTINGS)
    checkpoint(store, SETTINGS)
    store.put(state_key(6), b"damaged")
    assert clean(store).covered_by == 5
    assert there(store) == [5, 6]


def test_a_state_without_metadata_covers_nothing(store: MemoryStore):
    """Some writers leave the metadata to version 0."""
    snapshot = load_snapshot(store)
    context = StateContext(5, 0, [], None)
    write_state(store, None, snapshot.files.delta(), context, StateOptions())
    assert snapshot_of_state(store, 5, list_log(store), parallelism=1).metadata == snapshot.metadata
    assert clean(store).versions_found == 0


def test_a_file_that_cannot_be_deleted_is_reported_and_ends_the_run(store: MemoryStore):
    checkpoint(store, SETTINGS)
    faulty = FaultyStore(store, Fault("delete", fails, key=version_key(2), times=1000))
    done = clean(faulty)
    assert (done.versions_found, done.versions_deleted, done.versions_kept) == (5, 2, 4)
    (failure,) = done.failures
    assert version_key(2) in failure
    assert there(store) == [2, 3, 4, 5], "no hole"
    assert clean(store).versions_deleted == 3


def test_or_it_is_an_error_if_the_policy_says_so(store: MemoryStore):
    checkpoint(store, SETTINGS)
    faulty = FaultyStore(store, Fault("delete", fails, key=version_key(2)))
    with pytest.raises(StorageError):
        clean(faulty, settings=Settings({keys.CLEANUP_FAILURE_POLICY.key: "stop"}))
    assert there(store) == [2, 3, 4, 5]


def test_a_damaged_version_file_can_be_cleaned_up(store: MemoryStore):
    checkpoint(store, SETTINGS)
    store.put(version_key(1), b"\x1f\x8bnot gzip")
    assert clean(store).versions_deleted == 5

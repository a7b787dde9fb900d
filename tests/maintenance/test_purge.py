"""PURGE: what no readable version needs goes when it is old enough, and nothing else ever does."""

from __future__ import annotations

import dataclasses
import os
import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bench.servers import Server
from bench.upkeep import TimedStore

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import (
    CommitConflictError,
    CorruptTableError,
    InputError,
    StorageError,
    VersionNotFoundError,
)
from indextables.log import (
    Append,
    CommitInfo,
    Overwrite,
    checkpoint,
    commit,
    encode_version,
    load_snapshot,
    version_key,
)
from indextables.log.changes import fence_time_ms
from indextables.log.cleanup import ReachableFiles, orphaned_splits, reachable_files
from indextables.log.snapshots import VersionSelector, read_snapshot
from indextables.log.versions import advance_watermark, list_log, read_txn_id
from indextables.maintenance import Purged, purge, restore, truncate_time_travel
from indextables.runtime import Runtime, now_ms, use
from indextables.schema import TableSchema
from indextables.state import LOG_DIRECTORY, read_state, state_key
from indextables.storage import ObjectInfo, Store, open_store
from indextables.table import commit_write, plan_write, run_write_task
from support.faults import Fault, FaultyStore, MemoryStore, fails
from support.invariants import check_live_files
from support.logs import add, live, metadata

TICK_MS = 50
"""By how much the times of a file system may lag behind the clock, amply: they are those of the last tick."""

DAY = 24 * 3_600_000
QUIET = Settings({keys.CHECKPOINT_ENABLED.key: "false"})


def after(days: float) -> Callable[[], int]:
    """A clock that is so many days ahead: everything is that much older."""
    return lambda: now_ms() + int(days * DAY)


def path_of(name: str) -> str:
    return f"splits/{name}.split"


def put(store: Any, *names: str) -> None:
    for name in names:
        store.put(path_of(name), b"0123456789")


def write(store: Any, *names: str, overwrite: bool = False, settings: Settings = QUIET) -> int:
    """A version that adds these splits, or puts them in the place of all others."""
    put(store, *names)
    files = tuple(add(path_of(name)) for name in names)
    change = Overwrite(files, metadata()) if overwrite else Append(files, metadata())
    base = None
    if list(store.list_from(LOG_DIRECTORY)):
        base = load_snapshot(store)
    return commit(store, change, base=base, settings=settings).version


def splits(store: Any) -> set[str]:
    keys_ = (info.key for info in store.list_from("splits"))
    return {key.removeprefix("splits/").removesuffix(".split") for key in keys_}


@pytest.fixture
def store(any_store: Store) -> Store:
    return any_store


# Splits


def test_a_split_that_no_version_names_goes_when_it_is_old(store: Store):
    write(store, "live")
    put(store, "orphan")
    done = purge(store, QUIET, clock=after(8))
    assert splits(store) == {"live"}
    assert (done.status, done.orphaned_files_found, done.orphaned_files_deleted) == ("SUCCESS", 1, 1)
    assert done.size_mb_deleted == 10 / (1 << 20)
    assert done.splits == (path_of("orphan"),)
    assert done.retention_hours == 168


def test_a_young_split_stays_and_is_told_of(store: Store):
    write(store, "live")
    put(store, "young")
    done = purge(store, QUIET, clock=after(6))
    assert splits(store) == {"live", "young"}
    assert (done.orphaned_files_found, done.orphaned_files_deleted) == (1, 0)
    assert "1 splits that no version names stay" in done.message
    assert load_snapshot(store).version == 0, "a purge that deletes no split makes no version"


def test_a_dry_run_deletes_nothing_and_says_what_would_go(store: Store):
    write(store, "old")
    write(store, "new", overwrite=True)
    checkpoint(store, QUIET)
    put(store, "orphan")
    before = [(info.key, info.size) for info in store.list_from("")]
    told = purge(store, QUIET, log_hours=0, dry_run=True, clock=after(8))
    assert [(info.key, info.size) for info in store.list_from("")] == before
    assert (told.status, told.dry_run, told.orphaned_files_deleted) == ("DRY_RUN", True, 0)
    done = purge(store, QUIET, log_hours=0, clock=after(8))
    wanted = (
        "splits",
        "versions",
        "states",
        "orphaned_files_found",
        "tx_log_files_deleted",
        "size_mb_deleted",
    )
    assert [getattr(told, name) for name in wanted] == [getattr(done, name) for name in wanted]
    assert told.splits == (path_of("old"), path_of("orphan"))
    assert splits(store) == {"new"}


def test_the_setting_for_dry_runs_holds(store: Store):
    write(store, "live")
    put(store, "orphan")
    settings = Settings({keys.CLEANUP_DRY_RUN.key: "true"})
    assert purge(store, settings, clock=after(8)).dry_run
    assert splits(store) == {"live", "orphan"}


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "splits/readme.md",
        "splits/split-1.split.tmp",
        "backup/splits/split-1.split",
        "_temporary/split-1.split",
        "day=mon/notes.parquet",
        "_transaction_log/split-1.split",
    ],
)
def test_files_that_are_not_ours_stay(store: Store, name: str):
    write(store, "live")
    store.put(name, b"")
    purge(store, QUIET, clock=after(99))
    assert store.head(name).key == name


def test_files_of_a_table_inside_the_table_stay():
    infos = [
        ObjectInfo("day=mon/_transaction_log/00000000000000000000.json", 1, 0),
        ObjectInfo("day=mon/splits/a.split", 1, 0),
        ObjectInfo("day=tue/splits/b.split", 1, 0),
    ]
    assert [info.key for info in orphaned_splits(infos, ReachableFiles.of([]))] == ["day=tue/splits/b.split"]


def test_checksum_files_go_with_their_splits():
    names = ["splits/a.split", "splits/.a.split.crc", "splits/b.split", "splits/.b.split.crc"]
    infos = [ObjectInfo(name, 1, 0) for name in names]
    found = orphaned_splits(infos, ReachableFiles.of(["splits/a.split"]))
    assert [info.key for info in found] == ["splits/b.split", "splits/.b.split.crc"]


def test_a_log_that_calls_its_files_by_another_address_of_the_table_keeps_them(tmp_path: Path):
    """As tables of other writers do, which were opened through a link."""
    store = open_store(tmp_path / "table")
    put(store, "named", "orphan")
    elsewhere = add(f"/somewhere/else/{path_of('named')}")
    commit(store, Append((elsewhere,), metadata()), base=None, settings=QUIET)
    purge(store, QUIET, clock=after(8))
    assert splits(store) == {"named"}


def test_no_more_files_go_than_the_setting_allows(store: Store):
    write(store, "live")
    put(store, "a", "b", "c")
    settings = Settings({keys.PURGE_MAX_FILES.key: "2"})
    assert purge(store, settings, clock=after(8)).orphaned_files_deleted == 2
    assert purge(store, settings, clock=after(8)).orphaned_files_deleted == 1
    assert splits(store) == {"live"}


# Time travel


def test_a_split_of_any_readable_version_stays(store: Store):
    write(store, "first")
    write(store, "second", overwrite=True)
    write(store, "third", overwrite=True)
    put(store, "orphan")
    purge(store, QUIET, clock=after(8))
    assert splits(store) == {"first", "second", "third"}
    for version, name in enumerate(["first", "second", "third"]):
        assert live(read_snapshot(store, VersionSelector(version))) == [path_of(name)]


def test_the_splits_of_versions_that_go_go_with_them(store: Store):
    write(store, "first")
    write(store, "second", overwrite=True)
    checkpoint(store, QUIET)
    write(store, "third", overwrite=True)
    done = purge(store, QUIET, log_hours=0, clock=after(8))
    assert done.tx_log_files_deleted == 1
    assert splits(store) == {"second", "third"}
    assert live(read_snapshot(store, VersionSelector(1))) == [path_of("second")]
    with pytest.raises(VersionNotFoundError):
        read_snapshot(store, VersionSelector(0))


@pytest.mark.parametrize("interval", [1, 4, 10])
def test_every_version_that_was_current_within_the_retention_can_be_read(
    tmp_path: Path, interval: int, monkeypatch: pytest.MonkeyPatch
):
    """Purges and clean-up after checkpoints leave the state that the oldest of these versions is read from."""
    monkeypatch.setattr("indextables.storage.opening.LocalStore", TimedStore)
    hours, began = 6, now_ms()
    settings = {
        keys.CHECKPOINT_INTERVAL.key: str(interval),
        keys.LOG_RETENTION_HOURS.key: str(hours),
        keys.STATE_RETENTION_HOURS.key: str(hours),
        keys.PURGE_RETENTION_CHECK.key: "false",
        keys.MANIFEST_MIN_AGE_HOURS.key: "0",
    }
    versions: list[int] = []
    for number in range(24):
        with use(Runtime(clock=lambda now=began + number * DAY // 24: now)):
            rows = pa.table({"n": [number]})
            versions.append(it.write(tmp_path, rows, mode="overwrite", settings=settings))
            purge(open_store(str(tmp_path)), Settings(settings), hours=hours, log_hours=hours)
            retained = range(max(number - hours + 1, 0), number + 1)
            found = [it.open(tmp_path, version=versions[old]).to_arrow().to_pylist() for old in retained]
            assert found == [[{"n": old}] for old in retained]
    kept = sum(path.name[:20].isdecimal() for path in (tmp_path / LOG_DIRECTORY).glob("*.json"))
    assert hours < kept <= 2 * (hours + 2) + interval


def test_a_state_that_versions_no_longer_lead_to_keeps_its_splits(store: Store):
    """Version 0 is its state alone; what it names is in no version file that is left."""
    write(store, "first")
    checkpoint(store, QUIET)
    for number in range(3):
        write(store, f"later{number}", overwrite=True)
    checkpoint(store, QUIET)
    settings = Settings({keys.LOG_RETENTION_HOURS.key: "0"})
    done = purge(store, settings, clock=after(8))
    assert done.versions == (0, 1, 2)
    assert done.states == ()
    assert splits(store) == {"first", "later2"}
    assert live(read_snapshot(store, VersionSelector(0))) == [path_of("first")]


def test_a_version_file_that_came_after_clean_up_hides_no_split_of_an_older_state(store: Store):
    """A slow writer creates a number that clean-up has freed; its file does not tell what that version removed."""
    write(store, "first")
    checkpoint(store, QUIET)
    write(store, "second", overwrite=True)
    write(store, "third", overwrite=True)
    checkpoint(store, QUIET)
    purge(store, Settings({keys.LOG_RETENTION_HOURS.key: "0"}), clock=after(8))
    assert "first" in splits(store)
    store.create(version_key(1), encode_version([CommitInfo(timestamp=1, txn_id="of a slow writer")]))
    reachable = reachable_files(store, read_snapshot(store), list_log(store), QUIET)
    assert path_of("first") in reachable
    purge(store, QUIET, clock=after(8))
    assert live(read_snapshot(store, VersionSelector(0))) == [path_of("first")]


def test_a_restored_version_keeps_its_splits(store: Store):
    write(store, "first")
    write(store, "second", overwrite=True)
    put(store, "orphan")
    purge(store, QUIET, clock=after(8))
    restore(store, 0, QUIET)
    purge(store, QUIET, clock=after(8))
    assert live(load_snapshot(store)) == [path_of("first")]
    check_live_files(store)


def test_a_version_that_is_cleaned_up_while_it_is_restored_stays_away(store: Store):
    """Its files may be there still, and go at any moment."""
    write(store, "first")
    write(store, "second", overwrite=True)
    checkpoint(store, QUIET)

    def clean_up(call: Callable[[], Any]) -> Any:
        purge(store, QUIET, log_hours=0, clock=after(8))
        put(store, "first")
        return call()

    held_up = FaultyStore(store, Fault("create", clean_up, key=version_key(2)))
    with pytest.raises(VersionNotFoundError):
        restore(held_up, 0, QUIET)
    assert live(load_snapshot(store)) == [path_of("second")]


# Writers that are held up


def test_a_writer_that_is_younger_than_the_window_commits(store: Store):
    write(store, "live")
    put(store, "orphan")
    purge(store, QUIET, clock=after(8))
    put(store, "fresh")
    purge(store, QUIET, clock=after(6))
    change = Append((add(path_of("fresh")),), metadata())
    assert commit(store, change, base=load_snapshot(store), settings=QUIET).version == 2
    check_live_files(store)


def test_a_writer_that_is_older_than_the_window_is_refused(store: Store):
    base_version = write(store, "live")
    base = load_snapshot(store, base_version)
    put(store, "held-up")
    purge(store, QUIET, clock=after(8))
    with pytest.raises(CommitConflictError, match=r"held-up\.split.*write the rows again"):
        commit(store, Append((add(path_of("held-up")),), metadata()), base=base, settings=QUIET)
    assert live(load_snapshot(store)) == [path_of("live")]


def test_it_is_refused_even_while_its_files_are_still_there(store: Store):
    """The purge has told of itself and has yet to delete."""
    write(store, "live")
    put(store, "held-up")
    refused: list[str] = []

    def commit_now(call: Callable[[], Any]) -> Any:
        change = Append((add(path_of("held-up")),), metadata())
        with pytest.raises(CommitConflictError) as reason:
            commit(store, change, base=load_snapshot(store, 0), settings=QUIET)
        refused.append(str(reason.value))
        return call()

    watched = FaultyStore(store, Fault("delete", commit_now, key="held-up"))
    assert purge(watched, QUIET, clock=after(8)).orphaned_files_deleted == 1
    assert len(refused) == 1


def test_a_commit_just_before_the_purge_tells_of_itself_keeps_its_files(store: Store):
    """Found to be an orphan, then committed: the version is there before the one of the purge."""
    write(store, "live")
    put(store, "late", "orphan")

    def commit_first(call: Callable[[], Any]) -> Any:
        change = Append((add(path_of("late")),), metadata())
        commit(store, change, base=load_snapshot(store), settings=QUIET)
        return call()

    watched = FaultyStore(store, Fault("create", commit_first, key=version_key(1)))
    assert purge(watched, QUIET, clock=after(8)).splits == (path_of("orphan"),)
    assert splits(store) == {"live", "late"}
    check_live_files(store)


def test_a_clean_up_that_overtakes_the_fence_does_not_stop_the_purge(store: Store):
    """The versions between the survey and the fence are gone before the purge reads which files they name."""
    write(store, "live")
    put(store, "late", "orphan")

    def overtake(call: Callable[[], Any]) -> Any:
        change = Append((add(path_of("late")),), metadata())
        commit(store, change, base=load_snapshot(store), settings=QUIET)
        return call()

    def clean_up(call: Callable[[], Any]) -> Any:
        call()
        write(store, "more")
        truncate_time_travel(store, QUIET)

    faults = Fault("create", overtake, key=version_key(1)), Fault("create", clean_up, key=version_key(2))
    assert purge(FaultyStore(store, *faults), QUIET, clock=after(8)).splits == (path_of("orphan"),)
    assert splits(store) == {"live", "late", "more"}
    check_live_files(store)


def test_versions_that_another_clean_up_deletes_one_by_one_do_not_stop_the_purge(store: Store):
    for name in ("a", "b", "c", "d"):
        write(store, name)
        checkpoint(store, QUIET)
    put(store, "orphan")

    def delete(*versions: int) -> Callable[[Callable[[], Any]], Any]:
        def strike(call: Callable[[], Any]) -> Any:
            advance_watermark(store, 2, lambda version: read_txn_id(store, version))
            for version in versions:
                store.delete(version_key(version))
            return call()

        return strike

    faults = Fault("get", delete(0, 1), key=version_key(1)), Fault("get", delete(2), key=version_key(2))
    assert purge(FaultyStore(store, *faults), QUIET, clock=after(8)).splits == (path_of("orphan"),)
    assert [fault.struck for fault in faults] == [1, 1]


def test_the_fence_survives_states_and_clean_up(store: Store):
    base = load_snapshot(store, write(store, "live"))
    put(store, "held-up")
    purge(store, QUIET, clock=after(8))
    write(store, "more")
    checkpoint(store, QUIET)
    purge(store, QUIET, log_hours=0, clock=after(8))
    assert not {version_key(0), version_key(1)} & {info.key for info in store.list_from(LOG_DIRECTORY)}
    with pytest.raises(CommitConflictError):
        commit(store, Append((add(path_of("held-up")),), metadata()), base=base, settings=QUIET)
    assert fence_time_ms(load_snapshot(store)) > 0


@pytest.mark.parametrize("ahead", [0, 300], ids=["right-clock", "clock-ahead"])
def test_rows_of_a_held_up_write_are_written_again(tmp_path: Path, ahead: int):
    """Through the doors that Spark's tasks use; the clock of a machine may be wrong by any amount."""
    uri = str(tmp_path / "table")
    rows = pa.table({"n": [1, 2]})
    it.write(uri, rows)
    plan = plan_write(
        uri, TableSchema.from_arrow(rows.schema), mode="append", partition_by=None, settings=Settings()
    )
    assert plan is not None
    with use(Runtime(clock=after(ahead))):
        result = run_write_task(plan, rows.to_batches())
    purge(open_store(uri), Settings(), clock=after(8))
    with pytest.raises(CommitConflictError, match="write the rows again"):
        commit_write(plan, [result])
    it.write(uri, rows)
    assert it.open(uri).count() == 4


# The log


def test_what_cannot_be_read_stops_a_purge_before_anything_is_deleted(store: Store):
    for number in range(3):
        write(store, f"split{number}", overwrite=True)
        checkpoint(store, QUIET)
    put(store, "orphan")
    (manifest,) = read_state(store, 1).manifests
    for key in (state_key(1), f"{LOG_DIRECTORY}/{manifest.path}", version_key(1)):
        whole = store.get(key)
        store.put(key, whole[: len(whole) // 2] + b"?" + whole[len(whole) // 2 + 1 :])
        before = {info.key for info in store.list_from("")}
        with pytest.raises(CorruptTableError, match=key.rpartition("/")[2]):
            purge(store, QUIET, clock=after(8))
        assert {info.key for info in store.list_from("")} == before
        store.put(key, whole)
    assert purge(store, QUIET, clock=after(8)).orphaned_files_deleted == 1


def test_a_table_with_a_hole_in_its_log_is_not_purged(store: Store):
    for number in range(3):
        write(store, f"split{number}")
    put(store, "orphan")
    store.delete(version_key(1))
    with (
        pytest.warns(UserWarning, match="version 1 is missing"),
        pytest.raises(CorruptTableError, match="repair"),
    ):
        purge(store, QUIET, clock=after(8))
    assert "orphan" in splits(store)


def test_what_cannot_be_deleted_is_told_of():
    store = MemoryStore()
    write(store, "live")
    put(store, "a", "b")
    faulty = FaultyStore(store, Fault("delete", fails, key="a.split"))
    done = purge(faulty, QUIET, clock=after(8))
    assert (done.status, done.orphaned_files_deleted) == ("PARTIAL_SUCCESS", 1)
    assert "splits/a.split stays" in done.message


# Two at once


@pytest.mark.spec("testConcurrentCleanup")
def test_purges_at_once_do_no_harm(store: Store):
    for number in range(12):
        write(store, f"split{number}", overwrite=number % 3 == 0, settings=Settings())
    put(store, *(f"orphan{number}" for number in range(20)))
    failures: list[BaseException] = []

    def run() -> None:
        try:
            purge(store, QUIET, log_hours=0, clock=after(8))
        except BaseException as reason:
            failures.append(reason)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert not {name for name in splits(store) if name.startswith("orphan")}
    check_live_files(store)
    assert len(live(read_snapshot(store))) == 3


def test_a_purge_beside_writers_takes_nothing_of_theirs(store: Store):
    write(store, "first")
    put(store, *(f"orphan{number}" for number in range(20)))
    done: list[Purged] = []
    moment = now_ms() + 1
    while now_ms() <= moment + TICK_MS:
        pass  # what comes from here on is younger than the window

    def run() -> None:
        done.append(purge(store, QUIET, clock=lambda: moment + 7 * DAY))

    thread = threading.Thread(target=run)
    thread.start()
    for number in range(10):
        write(store, f"other{number}")
    thread.join()
    check_live_files(store)
    assert len(load_snapshot(store).files) == 11
    assert done[0].orphaned_files_deleted == 20


# Retention, and the caller's words


def test_a_retention_below_the_minimum_is_refused(store: Store):
    write(store, "live")
    with pytest.raises(InputError, match="the minimum is 24 hours, unless .*retentionCheckEnabled"):
        purge(store, QUIET, hours=23)
    unchecked = Settings({keys.PURGE_RETENTION_CHECK.key: "false"})
    assert purge(store, unchecked, hours=0).retention_hours == 0
    lower = Settings({keys.PURGE_MIN_RETENTION_HOURS.key: "2", keys.PURGE_RETENTION_HOURS.key: "3"})
    assert purge(store, lower).retention_hours == 3
    with pytest.raises(InputError, match="the minimum is 2 hours"):
        purge(store, lower, hours=1)


@pytest.mark.parametrize(
    ("age", "hours"),
    [("7 days", 168), ("1 day", 24), ("36 hours", 36), ("30HOURS", 30), (timedelta(days=2), 48)],
)
def test_a_table_takes_ages_in_words(tmp_path: Path, age: str | timedelta, hours: int):
    it.write(tmp_path, pa.table({"n": [1]}))
    assert it.open(tmp_path).purge(older_than=age, dry_run=True).retention_hours == hours


@pytest.mark.parametrize("age", ["7", "a week", "-1 days", "1.5 days", timedelta(minutes=90)])
def test_other_words_are_refused(tmp_path: Path, age: str | timedelta):
    it.write(tmp_path, pa.table({"n": [1]}))
    with pytest.raises(InputError, match=r"older_than is .*'36 hours' or '7 days'"):
        it.open(tmp_path).purge(older_than=age)


def test_a_purge_by_the_age_that_files_have_on_disk(tmp_path: Path):
    it.write(tmp_path, pa.table({"n": [1]}))
    for name, days in (("old", 8), ("young", 6)):
        split = tmp_path / path_of(name)
        split.write_bytes(b"x" * (1 << 20))
        moment = (now_ms() - days * DAY) / 1000
        os.utime(split, (moment, moment))
    done = it.open(tmp_path).purge()
    assert (done.orphaned_files_found, done.orphaned_files_deleted, done.size_mb_deleted) == (2, 1, 1.0)
    assert not (tmp_path / path_of("old")).exists()
    assert it.open(tmp_path).history().column("operation").to_pylist()[0] == "PURGE"
    assert it.open(tmp_path).to_arrow().column("n").to_pylist() == [1]


@pytest.mark.spec("testS3FullLifecycle", "testAzureFullLifecycle")
@pytest.mark.servers
def test_the_life_of_a_purge_on_a_real_store(server: Server, tmp_path: Path):
    settings = server.settings | {
        keys.HEAP_SIZE.key: "15M",
        keys.CACHE_DIRECTORY.key: str(tmp_path),
        keys.PURGE_RETENTION_CHECK.key: "false",
        keys.MANIFEST_MIN_AGE_HOURS.key: "0",
    }
    uri = server.uri(f"{uuid.uuid4()}/logs")
    for number in range(3):
        it.write(uri, pa.table({"n": [number]}), mode="overwrite", settings=settings)
        it.open(uri, settings=settings).checkpoint()
    store = open_store(uri, Settings(settings))
    put(store, "orphan")
    table = it.open(uri, settings=settings)
    told = table.purge(older_than="0 hours", log_retention="0 hours", dry_run=True)
    done = table.purge(older_than="0 hours", log_retention="0 hours")
    assert (done.orphaned_files_deleted, done.tx_log_files_deleted, done.expired_states_deleted) == (2, 2, 1)
    assert done.manifests_deleted == 1
    assert dataclasses.replace(told, message="", duration_ms=0).splits == done.splits
    assert it.open(uri, settings=settings).to_arrow().column("n").to_pylist() == [2]
    assert it.open(uri, version=1, settings=settings).to_arrow().column("n").to_pylist() == [1]
    with pytest.raises(VersionNotFoundError):
        it.open(uri, version=0, settings=settings)
    check_live_files(store)
    with pytest.raises(StorageError):
        store.head(done.splits[0])

"""Merges and purges that writes start: off the path of the commit, one at a time, and never a failure of the write."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import ConfigError, InputError
from indextables.maintenance import (
    MERGE_JOBS_SCHEMA,
    Merged,
    UpkeepPolicy,
    due_splits,
    running_write,
    upkeep,
)
from indextables.maintenance.upkeep_claims import CLAIM_KEY, PURGE_KEY, claim_purge, take_claim
from indextables.runtime import Runtime, now_ms, use
from indextables.storage import Store, open_store
from support.invariants import check_table

FOUR = {keys.MERGE_ON_WRITE_SPLITS.key: "4"}
AT_ONCE = FOUR | {keys.MERGE_ON_WRITE_ASYNC.key: "false"}
OFF = {keys.MERGE_ON_WRITE.key: "false"}
HOUR = 3_600_000


@pytest.fixture
def path() -> str:
    return f"memory://{uuid.uuid4()}"


def row(n: int) -> pa.Table:
    return pa.table({"n": [n], "message": [f"row {n}"]})


def append(path: str, first: int, count: int, settings: dict[str, str] | None = None) -> None:
    for n in range(first, first + count):
        it.write(path, row(n), text=["message"], settings=settings)


def numbers(path: str) -> list[int]:
    return sorted(it.open(path).to_arrow().column("n").to_pylist())


def files(path: str) -> int:
    return it.open(path).files().num_rows


# --- which splits are merged ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5_000, 1_000_000, 60_000_000])
@pytest.mark.parametrize("least", [16, 32])
def test_small_splits_stay_few_and_rows_are_rewritten_a_few_times(size: int, least: int) -> None:
    target, appends = 4 << 30, 20_000
    small: list[int] = []
    rewritten = 0
    for _ in range(appends):
        small = sorted([*small, size])
        assert len(small) <= least
        if len(small) == least:
            count = due_splits(small, least, target)
            assert count >= least // 2
            merged = sum(small[:count])
            rewritten += merged
            small = sorted([*small[count:], *([merged] if merged < 0.45 * target else [])])
    assert rewritten <= 7 * size * appends


def test_a_merge_does_not_exceed_the_target_size() -> None:
    assert due_splits([30] * 32, 32, 100) == 3


@pytest.mark.parametrize("files", [2_000, 3_500, 10_000, 50_000])
@pytest.mark.parametrize("step", [1, 2, 3, 4, 10, 50])
def test_a_writer_of_some_versions_looks_at_a_large_table_now_and_then(files: int, step: int) -> None:
    policy, turns = UpkeepPolicy.of(Settings()), files // 1000
    for first in range(step):
        versions = range(first, first + 400 * turns * step, step)
        looks = [policy.may_merge(files=files, version=version) for version in versions]
        assert 200 <= sum(looks) <= 800
        longest = max(map(len, "".join("x" if look else "-" for look in looks).split("x")))
        assert longest <= 30 * turns


# --- after a write ----------------------------------------------------------------------------------------------------


def test_thirty_two_small_splits_of_a_partition_become_one(path: str) -> None:
    append(path, 0, 31)
    assert it.open(path).wait_for_upkeep(60)
    assert files(path) == 31
    append(path, 31, 1)
    table = it.open(path)
    assert table.wait_for_upkeep(60)
    assert (files(path), numbers(path)) == (1, list(range(32)))
    jobs = table.merge_jobs()
    assert jobs.schema == MERGE_JOBS_SCHEMA
    (job,) = jobs.drop_columns(["job_id", "duration_ms"]).to_pylist()
    assert job == {
        "table_path": path,
        "status": "COMPLETED",
        "total_groups": 1,
        "completed_groups": 1,
        "total_batches": 1,
        "completed_batches": 1,
        "progress_pct": 100.0,
        "error_message": None,
    }
    assert not open_store(path).exists(CLAIM_KEY)


def test_only_partitions_with_many_small_splits_are_merged(path: str) -> None:
    for n in range(6):
        day = "mon" if n < 4 else "tue"
        it.write(path, pa.table({"day": [day], "n": [n]}), partition_by=["day"], settings=AT_ONCE)
    by_day = [dict(row["partition_values"])["day"] for row in it.open(path).files().to_pylist()]
    assert sorted(by_day) == ["mon", "tue", "tue"]


def test_a_table_with_very_many_small_splits_is_merged_in_rounds(path: str) -> None:
    append(path, 0, 20, OFF)
    append(path, 20, 1, AT_ONCE | {keys.MERGE_MAX_SOURCES.key: "5"})
    assert files(path) < 4
    assert numbers(path) == list(range(21))


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (lambda table: table.delete("n = 2"), [0, 1, 3, 4]),
        (lambda table: table.upsert(row(2), on=["n"]), [0, 1, 2, 3, 4]),
        (
            lambda table: it.write(
                table.uri, row(2), mode="overwrite", replace_where="n = 2", settings=AT_ONCE
            ),
            [0, 1, 2, 3, 4],
        ),
        (lambda table: table.restore(4), [0, 1, 2, 3, 4]),
    ],
    ids=["delete", "upsert", "replace", "restore"],
)
def test_every_change_is_followed_by_upkeep(
    path: str, change: Callable[[it.Table], object], rows: list[int]
) -> None:
    append(path, 0, 5, OFF)
    change(it.open(path, settings=AT_ONCE))
    assert (files(path), numbers(path)) == (1, rows)
    check_table(open_store(path))


def test_dropped_partitions_are_followed_by_upkeep_and_a_change_of_nothing_is_not(path: str) -> None:
    for n in range(5):
        table = pa.table({"day": ["mon" if n else "tue"], "n": [n]})
        it.write(path, table, partition_by=["day"], settings=OFF)
    table = it.open(path, settings=AT_ONCE)
    assert (table.delete("n = 9").rows_deleted, table.drop_partitions("day = 'sun'"), files(path)) == (
        0,
        4,
        5,
    )
    table.drop_partitions("day = 'tue'")
    assert (files(path), numbers(path)) == (1, [1, 2, 3, 4])


def test_a_mistake_in_the_settings_fails_a_delete_before_anything_is_deleted(path: str) -> None:
    append(path, 0, 1)
    with pytest.raises(ConfigError):
        it.open(path, settings={keys.MERGE_ON_WRITE_SPLITS.key: "1"}).delete("n = 0")
    assert numbers(path) == [0]


def test_a_setting_turns_it_off(path: str) -> None:
    append(path, 0, 40, OFF)
    table = it.open(path)
    assert table.wait_for_upkeep(60)
    assert (files(path), table.merge_jobs().num_rows) == (40, 0)


def test_a_mistake_in_the_settings_fails_the_write_before_anything_is_written(path: str) -> None:
    for settings in (
        {keys.MERGE_ON_WRITE_SPLITS.key: "1"},
        {keys.MERGE_ON_WRITE_TARGET.key: "500K"},
        {keys.PURGE_ON_WRITE.key: "true", keys.PURGE_ON_WRITE_HOURS.key: "1"},
    ):
        with pytest.raises((ConfigError, InputError)):
            append(path, 0, 1, settings)
    with pytest.raises(it.IndexTablesError, match="no table"):
        it.open(path)


def test_a_write_does_not_wait_for_a_merge(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    merge = upkeep.merge_tasks

    def slow(*arguments: object, **named: object) -> Merged:
        begun.set()
        assert go_on.wait(60)
        return merge(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(upkeep, "merge_tasks", slow)
    append(path, 0, 4, FOUR)
    assert begun.wait(60)
    append(path, 4, 2, FOUR)  # these return, and their rows are there
    table = it.open(path)
    assert numbers(path) == list(range(6))
    assert not table.wait_for_upkeep(0)
    assert table.merge_jobs().column("status").to_pylist() == ["RUNNING"]
    go_on.set()
    assert table.wait_for_upkeep(60)
    assert (files(path), numbers(path)) == (3, list(range(6)))
    check_table(open_store(path))


def test_a_merge_that_fails_is_logged_and_shown_and_the_next_write_starts_another(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object, **__: object) -> Merged:
        raise MemoryError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "merge_tasks", failing)
        append(path, 0, 4, AT_ONCE)
    (job,) = it.open(path).merge_jobs().to_pylist()
    assert (job["status"], job["error_message"]) == ("FAILED", "MemoryError: no memory")
    assert "automatic upkeep of" in caplog.text
    assert "MemoryError: no memory" in caplog.text
    assert caplog.records[-1].name.startswith("indextables")
    append(path, 4, 1, AT_ONCE)
    assert (files(path), numbers(path)) == (1, list(range(5)))


# --- several processes ------------------------------------------------------------------------------------------------


def test_two_writers_do_not_merge_the_same_splits(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    merge = upkeep.merge_tasks
    merges: list[Merged] = []

    def with_another_writer(*arguments: object, **named: object) -> Merged:
        if not merges:
            with use(Runtime()):
                append(path, 4, 3, AT_ONCE)  # it sees as many small splits, and the claim
            assert not merges
        merges.append(merge(*arguments, **named))  # type: ignore[arg-type]
        return merges[-1]

    monkeypatch.setattr(upkeep, "merge_tasks", with_another_writer)
    append(path, 0, 4, AT_ONCE)
    assert [done.dropped_groups for done in merges] == [0, 0]
    assert (files(path), numbers(path)) == (1, list(range(7)))


@pytest.mark.parametrize(
    ("claim", "merges"),
    [
        ({"since": -HOUR, "until": HOUR}, False),
        ({"since": -HOUR, "until": -1}, True),
        ({"since": -HOUR, "until": HOUR, "pid": os.getpid(), "host": socket.gethostname()}, False),
        ({"since": -HOUR, "until": HOUR, "pid": 2**22 + 1, "host": socket.gethostname()}, True),
        ({"since": -HOUR, "until": HOUR, "pid": 2**22 + 1, "host": "elsewhere"}, False),
        ({"since": 60_000, "until": HOUR}, False),
        ({"since": 365 * 24 * HOUR, "until": 366 * 24 * HOUR, "pid": 2, "host": "elsewhere"}, True),
        ({"since": "x"}, True),
    ],
)
def test_a_claim_holds_for_its_time_and_the_life_of_its_process(
    path: str, claim: dict[str, object], merges: bool
) -> None:
    append(path, 0, 4, OFF)
    now = now_ms()
    times = {
        name: now + value
        for name, value in claim.items()
        if name in ("since", "until") and isinstance(value, int)
    }
    open_store(path).put(CLAIM_KEY, orjson.dumps({"job": "another", **claim, **times}))
    append(path, 4, 1, AT_ONCE)
    assert files(path) == (1 if merges else 5)


def test_a_damaged_claim_is_replaced(path: str) -> None:
    append(path, 0, 4, OFF)
    open_store(path).put(CLAIM_KEY, b"\xff" * 5000)
    append(path, 4, 1, AT_ONCE)
    assert files(path) == 1


SCRIPT = """
import os, signal, sys
import pyarrow as pa
import indextables as it
from indextables.maintenance import merges, upkeep

path, ending = sys.argv[1:]
if ending == "killed":
    def kill(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)
    merges.commit_merge = kill  # the new split is stored, and no version names it
settings = {
    "spark.indextables.mergeOnWrite.minSplits": "4",
    "spark.indextables.mergeOnWrite.shutdownTimeoutMs": "0" if ending == "impatient" else "60000",
}
for n in range(4):
    it.write(path, pa.table({"n": [n], "message": [f"row {n}"]}), text=["message"], settings=settings)
if ending == "killed":
    it.open(path).wait_for_upkeep()
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["patient", "impatient", "killed"])
def test_the_end_of_a_process_waits_for_a_merge_and_a_killed_one_leaves_orphans_only(
    tmp_path: Path, ending: str
) -> None:
    path = str(tmp_path / "table")
    done = subprocess.run([sys.executable, "-c", SCRIPT, path, ending], timeout=120, check=False)
    assert done.returncode == (-signal.SIGKILL if ending == "killed" else 0)
    assert numbers(path) == list(range(4))
    if ending == "patient":
        assert files(path) == 1
        return
    append(path, 4, 3, AT_ONCE)
    assert (files(path) < 4, numbers(path)) == (True, list(range(7)))
    check_table(open_store(path))


# --- purges -----------------------------------------------------------------------------------------------------------


class SlowClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms = now_ms()

    def __call__(self) -> int:
        return self.ms


def test_a_purge_follows_a_merge_and_keeps_what_readable_versions_need(path: str) -> None:
    both = AT_ONCE | {keys.PURGE_ON_WRITE.key: "true"}
    clock = SlowClock()
    with use(Runtime(clock=clock)):
        append(path, 0, 3, both)
        orphan = "splits/split-00000000-0000-0000-0000-000000000000.split"
        open_store(path).put(orphan, b"left by a writer that was killed")
        clock.ms += 169 * HOUR  # the store's clock stands still, so its objects are older than the retention
        append(path, 3, 1, both)
        assert not open_store(path).exists(orphan)
        assert [it.open(path, version=version).count() for version in range(4)] == [1, 2, 3, 4]
        assert files(path) == 1


def test_purges_that_follow_merges_are_apart() -> None:
    store = open_store(f"memory://{uuid.uuid4()}")
    assert [claim_purge(store, now, HOUR) for now in (0, 1, HOUR - 1, HOUR, HOUR + 1)] == [
        True,
        False,
        False,
        True,
        False,
    ]
    store.put(PURGE_KEY, b"damaged")
    assert claim_purge(store, 2 * HOUR, HOUR)


def test_no_purge_deletes_a_file_younger_than_the_longest_running_job(path: str) -> None:
    policy = UpkeepPolicy.of(Settings())
    append(path, 0, 1)
    clock = SlowClock()
    with use(Runtime(clock=clock)):
        store, began = open_store(path), clock.ms
        with running_write(path), running_write("memory://another"):
            clock.ms += 200 * HOUR
            assert upkeep.automatic_retention(store, policy) == (200, 720)
        assert upkeep.automatic_retention(store, policy) == (168, 720)
        assert take_claim(store, "a merge that died", size=0, now=clock.ms - 301 * HOUR)
        assert upkeep.automatic_retention(store, policy) == (168, 720)
        long = 400 * HOUR * 1000  # its lease is a millisecond for a thousand bytes
        assert take_claim(store, "a merge that runs", size=long, now=clock.ms - 300 * HOUR)
        assert upkeep.automatic_retention(store, policy) == (300, 720)
        assert upkeep.automatic_retention(store, policy, began - 200 * HOUR) == (400, 720)


def test_nothing_is_purged_until_asked_for(path: str) -> None:
    clock = SlowClock()
    with use(Runtime(clock=clock)):
        append(path, 0, 3, AT_ONCE)
        orphan = "splits/split-00000000-0000-0000-0000-000000000000.split"
        open_store(path).put(orphan, b"")
        clock.ms += 10_000 * HOUR
        append(path, 3, 1, AT_ONCE)
    assert open_store(path).exists(orphan)


def test_a_purge_can_follow_every_few_writes(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    purged: list[int] = []
    monkeypatch.setattr(
        upkeep, "purge_automatically", lambda store, *_: purged.append(it.open(path).version) or _Done()
    )
    settings = OFF | {
        keys.PURGE_ON_WRITE.key: "true",
        keys.PURGE_AFTER_WRITES.key: "5",
        keys.MERGE_ON_WRITE_ASYNC.key: "false",
    }
    append(path, 0, 12, settings)
    assert purged == [0, 5, 10]


def test_a_purge_that_waits_for_a_merge_is_not_replaced_by_a_later_merge(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The purge is due at version 5, and version 6 asks for a merge, by other settings, while one is running."""
    begun, go_on = threading.Event(), threading.Event()
    merge, retention = upkeep.merge_tasks, list[tuple[int, int]]()

    def slow(*arguments: object, **named: object) -> Merged:
        begun.set()
        assert go_on.wait(60)
        return merge(*arguments, **named)  # type: ignore[arg-type]

    def purge(store: Store, _: Settings, policy: UpkeepPolicy) -> _Done:
        retention.append(upkeep.automatic_retention(store, policy))
        return _Done()

    monkeypatch.setattr(upkeep, "merge_tasks", slow)
    monkeypatch.setattr(upkeep, "purge_automatically", purge)
    append(path, 0, 4, OFF)
    append(path, 4, 1, FOUR)
    assert begun.wait(60)
    purging = {
        keys.PURGE_ON_WRITE.key: "true",
        keys.PURGE_AFTER_WRITES.key: "5",
        keys.PURGE_ON_WRITE_HOURS.key: "1000",
    }
    append(path, 5, 1, FOUR | purging)
    append(path, 6, 4, FOUR)
    go_on.set()
    assert it.open(path).wait_for_upkeep(60)
    assert retention == [(1000, 720)]
    assert files(path) < 4
    assert numbers(path) == list(range(10))


def test_a_merge_that_fails_does_not_stop_a_purge_that_is_due(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[str] = []

    def failing(*_: object, **__: object) -> Merged:
        raise MemoryError("no memory")

    monkeypatch.setattr(upkeep, "merge_tasks", failing)
    monkeypatch.setattr(upkeep, "purge_automatically", lambda store, *_: purged.append(store.uri) or _Done())
    append(path, 0, 5, OFF)
    append(path, 5, 1, AT_ONCE | {keys.PURGE_ON_WRITE.key: "true", keys.PURGE_AFTER_WRITES.key: "5"})
    assert purged == [path]


class _Done:
    message = ""

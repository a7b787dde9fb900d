"""What the check of a table's health finds: each finding of a table that has it, and of none that has not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.log import VersionGapWarning
from indextables.maintenance import Finding, check_health
from indextables.storage import open_store

NO_STATES = {
    "spark.indextables.checkpoint.enabled": "false",
    "spark.indextables.mergeOnWrite.enabled": "false",
}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "logs"


def write(path: Path, count: int = 1, **options: object) -> None:
    for number in range(count):
        it.write(path, pa.table({"n": [number]}), **options)


def finding(path: Path, check: str, settings: dict[str, str] | None = None) -> Finding:
    table = it.open(path, settings=settings)
    found = check_health(open_store(table.uri, table.settings), table.snapshot, table.settings)
    (only,) = [one for one in found if one.check == check]
    return only


def test_few_small_splits_are_counted_as_they_are(path):
    write(path, 2)
    assert finding(path, "small splits").message == "2 small splits, too few to be worth merging"


def test_a_partition_that_is_much_larger_than_the_others_is_skew(path):
    even = pa.table({"day": [f"d{n}" for n in range(5)], "text": ["x"] * 5})
    it.write(path, even, partition_by=["day"])
    assert finding(path, "skew").severity == "ok"
    random = [f"{n * 2_654_435_761 % (1 << 32):x}" * 9 for n in range(20_000)]
    it.write(path, pa.table({"day": ["d0"] * len(random), "text": random}))
    skew = finding(path, "skew")
    assert skew.severity == "warning"
    assert "day=d0" in skew.message
    assert skew.number >= 10


def test_few_partitions_have_no_skew(path):
    it.write(path, pa.table({"day": ["a", "b"], "text": ["x" * 9999, "y"]}), partition_by=["day"])
    assert finding(path, "skew").severity == "ok"


def test_a_state_that_many_versions_have_left_behind_should_be_written_again(path):
    write(path, 51, settings=NO_STATES)
    old = finding(path, "state", NO_STATES)
    assert (old.severity, old.number, old.command) == ("warning", 51, "checkpoint {table}")
    it.open(path).checkpoint()
    assert finding(path, "state", NO_STATES).severity == "ok"


def test_a_state_of_many_tombstones_should_be_compacted(path):
    settings = {
        "spark.indextables.checkpoint.interval": "1",
        "spark.indextables.state.compaction.tombstoneThreshold": "0.9",
    }
    it.write(
        path,
        pa.table({"day": [f"d{n}" for n in range(10)], "n": [1] * 10}),
        partition_by=["day"],
        settings=settings,
    )
    it.write(
        path, pa.table({"day": ["e"], "n": [1]}), settings=settings
    )  # the first state is that of version 1
    it.open(path, settings=settings).drop_partitions("day < 'd3'")
    assert finding(path, "state", settings).severity == "ok"
    dead = finding(path, "state")
    assert (dead.severity, dead.command) == ("warning", "checkpoint {table}")
    assert "tombstones" in dead.message


def test_splits_that_a_purge_would_delete_are_counted(path):
    it.write(path, pa.table({"text": [f"{n * 2_654_435_761:x}" for n in range(20_000)]}))
    it.write(path, pa.table({"text": ["one"]}), mode="overwrite")
    settings = {
        "spark.indextables.purge.retentionCheckEnabled": "false",
        "spark.indextables.purge.defaultRetentionHours": "0",
        "spark.indextables.purge.minRetentionHours": "0",
    }
    assert finding(path, "purge").severity == "ok"  # they are too young
    it.open(path).truncate_time_travel()
    due = finding(path, "purge", settings)
    assert (due.severity, due.command) == ("warning", "purge {table}")
    assert due.number > 100_000


def test_a_split_that_a_merge_could_not_read_is_an_error(path):
    write(path, 3)
    assert finding(path, "unreadable splits").severity == "ok"
    split = min(path.glob("splits/*.split"))
    data = bytearray(split.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = bytes(200)
    split.write_bytes(data)
    it.open(path).merge_splits()
    unreadable = finding(path, "unreadable splits")
    assert (unreadable.severity, unreadable.number) == ("error", 1)
    assert split.name in unreadable.message
    assert unreadable.command == "doctor {table} --deep"


def test_a_version_that_is_missing_in_the_log_is_an_error(path):
    write(path, 3, settings=NO_STATES)
    assert finding(path, "log").number == 2
    copy = shutil.copytree(path, path.parent / "copy")  # which no cache of this process knows
    (copy / "_transaction_log" / f"{1:020}.json").unlink()
    with pytest.warns(VersionGapWarning):
        gap = finding(copy, "log")
    assert (gap.severity, gap.number) == ("error", 1)
    assert gap.command.startswith("repair {log}")

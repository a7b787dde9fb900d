"""A damaged log is written again from what can be read of it, a lost one from the splits."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import (
    CorruptTableError,
    InputError,
    ProtocolError,
    TableExistsError,
    TableNotFoundError,
)
from indextables.log import Protocol, encode_version, version_key
from indextables.log.snapshots import cache
from indextables.maintenance import repair
from indextables.maintenance.log_recovery import recover_log
from indextables.state import LAST_CHECKPOINT, state_key
from indextables.storage import open_store

LOG = "_transaction_log"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six versions, one row each, in three partitions and one of nulls; a state after the fourth."""
    path = tmp_path_factory.mktemp("original")
    for n, day in enumerate(["mon", "tue", "a/b", None, "mon", "tue"]):
        rows = pa.table({"n": [n], "message": [f"row {n}"], "day": pa.array([day], pa.string())})
        it.write(path, rows, partition_by=["day"], text=["message"], txn=("app", n))
        if n == 3:
            it.open(path).checkpoint()
    return path


@pytest.fixture
def table(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "table"))


def put_in_place(table: Path, repaired: Path) -> it.Table:
    """The new log instead of the old one, as its user would do it."""
    if (table / LOG).exists():
        shutil.rmtree(table / LOG)
    shutil.move(repaired / LOG, table / LOG)
    cache.forget()
    return it.open(table)


def numbers(table: it.Table, where: str | None = None) -> list[int]:
    return sorted(table.to_arrow(["n"], where=where).column("n").to_pylist())


def damage(table: Path, key: str) -> None:
    (table / key).write_bytes(b"\x1f\x8bdamaged")


def test_a_sound_log_is_written_anew_as_one_version(table: Path, tmp_path: Path):
    before = it.open(table)
    files = dict(before.snapshot.files)
    done = repair(table / LOG, tmp_path / "new" / LOG)
    assert asdict(done) == {
        "source_path": f"{table}/{LOG}",
        "target_path": f"{tmp_path}/new/{LOG}",
        "source_version": 5,
        "total_splits": 6,
        "valid_splits": 6,
        "missing_splits": 0,
        "status": "SUCCESS",
    }
    after = put_in_place(table, tmp_path / "new")
    assert (after.version, numbers(after)) == (0, [0, 1, 2, 3, 4, 5])
    assert (after.metadata, after.snapshot.txns) == (before.metadata, {"app": 5})
    assert dict(after.snapshot.files) == files


def test_the_source_is_only_read(table: Path, tmp_path: Path):
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}
    repair(table / LOG, tmp_path / "new" / LOG)
    assert {path: path.read_bytes() for path in table.rglob("*") if path.is_file()} == before


def test_a_damaged_version_is_passed_over_and_named(table: Path, tmp_path: Path):
    damage(table, version_key(4))
    done = repair(table / LOG, tmp_path / "new" / LOG)
    assert (done.total_splits, done.source_version) == (5, 5)
    assert version_key(4) in done.status
    assert numbers(put_in_place(table, tmp_path / "new")) == [0, 1, 2, 3, 5]


def test_a_missing_version_is_named(table: Path, tmp_path: Path):
    (table / version_key(4)).unlink()
    done = repair(table / LOG, tmp_path / "new" / LOG)
    assert f"{version_key(4)}: missing" in done.status


def test_a_damaged_state_costs_nothing_while_the_versions_are_there(table: Path, tmp_path: Path):
    damage(table, state_key(3))
    done = repair(table / LOG, tmp_path / "new" / LOG)
    assert (done.valid_splits, state_key(3) in done.status) == (6, True)


def test_damaged_manifests_are_as_a_damaged_state(table: Path, tmp_path: Path):
    for manifest in (table / LOG / "manifests").iterdir():
        manifest.write_bytes(b"Obj\x01torn")
    done = repair(table / LOG, tmp_path / "new" / LOG)
    assert (done.valid_splits, "manifests/" in done.status) == (6, True)


def test_a_state_replaces_the_versions_before_it(table: Path, tmp_path: Path):
    for version in range(4):
        damage(table, version_key(version))
    (table / LAST_CHECKPOINT).write_bytes(b"damaged")
    done = repair(table / LOG, tmp_path / "new" / LOG)
    assert (done.valid_splits, done.status) == (6, "SUCCESS")


def test_splits_that_are_gone_are_left_out(table: Path, tmp_path: Path):
    gone = it.open(table).files("day = 'mon'").column("path").to_pylist()
    for path in gone:
        (table / path).unlink()
    done = repair(table / LOG, tmp_path / "new" / LOG)
    assert (done.total_splits, done.valid_splits, done.missing_splits) == (6, 4, 2)
    assert numbers(put_in_place(table, tmp_path / "new")) == [1, 2, 3, 5]


def test_without_a_log_the_splits_are_enough(table: Path, tmp_path: Path):
    shutil.rmtree(table / LOG)
    done = repair(table / LOG, table / LOG)
    assert (done.source_version, done.total_splits, done.valid_splits) == (-1, 6, 6)
    cache.forget()
    after = it.open(table)
    assert after.partition_columns == ["day"]
    assert after.schema.names == ["n", "message", "day"]
    assert numbers(after) == [0, 1, 2, 3, 4, 5]
    assert numbers(after, "day = 'a/b'") == [2]
    assert numbers(after, "day IS NULL") == [3]
    assert numbers(after, "message TEXTSEARCH 'row AND 4'") == [4]
    assert {file.num_records for file in after.snapshot.files.values()} == {1}


def test_the_rebuilt_table_takes_new_rows(table: Path):
    shutil.rmtree(table / LOG)
    repair(table / LOG, table / LOG)
    cache.forget()
    it.write(table, pa.table({"n": [9], "message": ["row 9"], "day": ["wed"]}))
    assert it.open(table).count(where="message TEXTSEARCH 'row'") == 7


def test_splits_that_do_not_fit_or_cannot_be_read_are_named(table: Path, tmp_path: Path):
    shutil.rmtree(table / LOG)
    (table / "splits").mkdir(exist_ok=True)
    (table / "splits" / "torn.split").write_bytes(b"torn")
    it.write(tmp_path / "other", pa.table({"x": ["y"]}))
    stranger = next((tmp_path / "other").rglob("*.split"))
    shutil.copy(stranger, table / "splits" / "stranger.split")
    done = repair(table / LOG, table / LOG)
    assert (done.valid_splits, "torn.split" in done.status, "stranger.split" in done.status) == (
        6,
        True,
        True,
    )


def test_a_log_that_lost_its_schema_gets_it_from_the_splits(tmp_path: Path):
    for n in range(3):
        it.write(tmp_path, pa.table({"n": [n]}))
    damage(tmp_path, version_key(0))
    done = repair(tmp_path / LOG, tmp_path / "new" / LOG)
    assert (done.total_splits, "schema is that of the splits" in done.status) == (2, True)
    assert numbers(put_in_place(tmp_path, tmp_path / "new")) == [1, 2]


def test_the_target_must_be_empty(table: Path):
    with pytest.raises(TableExistsError, match="is not empty"):
        repair(table / LOG, table / LOG)


@pytest.mark.parametrize("place", ["table", "table/_transaction_log_repaired"])
def test_paths_that_are_no_logs_are_refused(table: Path, place: str):
    with pytest.raises(InputError, match="must end in /_transaction_log"):
        repair(table / LOG, table.parent / place)


def test_nothing_at_all_is_no_table(tmp_path: Path):
    with pytest.raises(TableNotFoundError, match="neither a log nor a split"):
        repair(tmp_path / "no" / LOG, tmp_path / "new" / LOG)


def test_a_log_of_a_newer_release_is_not_guessed_at(table: Path, tmp_path: Path):
    (table / version_key(6)).write_bytes(encode_version([Protocol(99, 99)]))
    with pytest.raises(ProtocolError):
        repair(table / LOG, tmp_path / "new" / LOG)


def test_what_is_salvaged_of_a_sound_log_is_its_snapshot(table: Path):
    found = recover_log(open_store(str(table)), Settings())
    snapshot = it.open(table).snapshot
    assert found.files == dict(snapshot.files)
    assert (found.metadata, found.protocol, found.txns) == (
        snapshot.metadata,
        snapshot.protocol,
        snapshot.txns,
    )
    assert found.damaged == []


# In its own place


@pytest.mark.parametrize("suffix", ["", f"/{LOG}"])
def test_a_lost_log_is_reconstructed_in_its_own_place(table: Path, suffix: str):
    shutil.rmtree(table / LOG)
    done = repair(f"{table}{suffix}")
    assert (done.source_path, done.target_path) == (f"{table}/{LOG}", f"{table}/{LOG}")
    assert (done.source_version, done.valid_splits, done.status) == (-1, 6, "SUCCESS")
    cache.forget()
    assert numbers(it.open(table)) == [0, 1, 2, 3, 4, 5]


def test_pointers_to_versions_that_are_gone_do_not_outlive_them(table: Path):
    it.open(table).truncate_time_travel()
    for path in [*(table / LOG).glob("*.json"), *(table / LOG).glob("state-v*/*")]:
        path.unlink()
    assert (table / LAST_CHECKPOINT).exists()
    assert list((table / LOG / "_cleanup").iterdir())
    cache.forget()
    repair(table / LOG)
    cache.forget()
    opened = it.open(table)
    assert (opened.version, numbers(opened)) == (0, [0, 1, 2, 3, 4, 5])
    assert it.write(table, pa.table({"n": [6], "message": ["m"], "day": ["mon"]})) == 1
    assert numbers(it.open(table)) == [0, 1, 2, 3, 4, 5, 6]


def test_what_is_left_of_a_log_is_not_overwritten(table: Path):
    damage(table, version_key(4))
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}
    with pytest.raises(TableExistsError, match="up to version 5.*AT LOCATION"):
        repair(table / LOG)
    assert {path: path.read_bytes() for path in table.rglob("*") if path.is_file()} == before


def test_an_empty_version_file_is_passed_over(table: Path, tmp_path: Path):
    (table / version_key(4)).write_bytes(b"")
    cache.forget()
    with pytest.raises(CorruptTableError, match="is empty"):
        it.open(table)
    done = repair(table / LOG, tmp_path / "new" / LOG)
    assert "is empty" in done.status
    assert numbers(put_in_place(table, tmp_path / "new")) == [0, 1, 2, 3, 5]

"""Links, pipes and devices inside a table are neither followed nor read; what is read is bounded."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.columns import Transaction, read_manifest
from indextables.config import Settings
from indextables.errors import CorruptTableError, IrregularFileError, StorageError
from indextables.log import LOG_DIRECTORY, checkpoint, load_snapshot, version_key
from indextables.log.cleanup import StateRetention, collect
from indextables.maintenance import purge, repair
from indextables.runtime import now_ms
from indextables.storage import open_store

pytestmark = pytest.mark.timeout(60)  # what hangs must not hang the run

DAY_MS = 24 * 3_600_000
NO_CHECKPOINTS = {"spark.indextables.checkpoint.enabled": "false"}
ROWS = pa.table({"id": [1, 2], "day": ["mon", "tue"]})


def write(path: Path) -> None:
    it.write(path, ROWS, partition_by=["day"])


def link(path: Path) -> None:
    target = path.with_name("target")
    path.rename(target)
    path.symlink_to(target)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [link, pipe, directory])
def test_only_regular_files_are_read(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    store = open_store(tmp_path)
    store.put("a/k", b"12345")
    spoil(tmp_path / "a/k")
    for ask in (store.get, store.head, lambda key: store.get_range(key, 0, 1)):
        with pytest.raises(IrregularFileError, match="a/k is a"):
            ask("a/k")


def test_a_link_to_a_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/k").write_bytes(b"1")
    store = open_store(tmp_path / "t")
    store.put("k", b"")
    (tmp_path / "t/a").symlink_to(tmp_path / "other")
    for ask in (
        store.get,
        store.head,
        store.delete,
        lambda key: store.put(key, b"2"),
        lambda key: store.create(key, b"2"),
        store.local_path,
        lambda key: list(store.list_from(key.rpartition("/")[0])),
    ):
        with pytest.raises(IrregularFileError, match="t/a is a symbolic link"):
            ask("a/k")
    assert [info.key for info in store.list_from("")] == ["a", "k"]
    store.delete("a")
    assert (tmp_path / "other/k").read_bytes() == b"1"
    assert not (tmp_path / "t/a").is_symlink()


def test_a_root_that_is_reached_through_a_link_is_a_table_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "t").symlink_to(tmp_path / "real")
    write(tmp_path / "t")
    it.write(tmp_path / "t", ROWS, mode="append")
    assert it.open(tmp_path / "t").count() == 4
    assert purge(open_store(tmp_path / "t"), Settings()).status == "SUCCESS"


def test_a_purge_does_not_follow_a_link_into_another_table(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    (tmp_path / "a/day=wed").symlink_to(tmp_path / "b/day=mon")
    done = purge(open_store(tmp_path / "a"), Settings(), clock=lambda: now_ms() + 30 * DAY_MS)
    assert done.orphaned_files_deleted == 0
    assert sorted(it.open(tmp_path / "b").to_arrow().column("id").to_pylist()) == [1, 2]


def test_a_purge_removes_a_link_named_like_a_split_and_not_what_it_points_to(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    (theirs,) = (tmp_path / "b").glob("day=mon/splits/*.split")
    ours = tmp_path / "a/day=mon/splits/split-x.split"
    ours.symlink_to(theirs)
    done = purge(open_store(tmp_path / "a"), Settings(), clock=lambda: now_ms() + 30 * DAY_MS)
    assert (done.orphaned_files_deleted, ours.is_symlink(), theirs.exists()) == (1, False, True)


@pytest.mark.parametrize("spoil", [link, pipe])
def test_a_split_that_is_no_file_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    write(tmp_path / "t")
    (split,) = (tmp_path / "t").glob("day=mon/splits/*.split")
    spoil(split)
    with pytest.raises(CorruptTableError, match=split.name):
        it.open(tmp_path / "t").to_arrow()


@pytest.mark.parametrize("spoil", [link, pipe])
def test_a_version_that_is_no_file_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    write(tmp_path / "t")
    it.write(tmp_path / "t", ROWS, mode="append", settings=NO_CHECKPOINTS)
    spoil(tmp_path / "t" / version_key(1))
    with pytest.raises(CorruptTableError, match=version_key(1)):
        it.open(tmp_path / "t")


def test_a_log_behind_a_link_is_not_taken_for_no_log(tmp_path: Path) -> None:
    write(tmp_path / "t")
    link(tmp_path / "t" / LOG_DIRECTORY)
    with pytest.raises(IrregularFileError, match=LOG_DIRECTORY):
        it.open(tmp_path / "t")
    with pytest.raises(IrregularFileError, match=LOG_DIRECTORY):
        it.write(tmp_path / "t", ROWS, mode="append")


def test_repair_passes_over_what_is_no_file(tmp_path: Path) -> None:
    write(tmp_path / "t")
    it.write(tmp_path / "t", ROWS, mode="append", settings=NO_CHECKPOINTS)
    pipe(tmp_path / "t" / version_key(1))
    (split,) = _first(tmp_path / "t")
    pipe(split)
    done = repair(tmp_path / "t" / LOG_DIRECTORY, tmp_path / "new" / LOG_DIRECTORY)
    assert (done.valid_splits, done.missing_splits) == (1, 1)
    assert "is a pipe" in done.status


def test_a_table_is_rebuilt_without_splits_that_are_no_files(tmp_path: Path) -> None:
    write(tmp_path / "t")
    for path in (tmp_path / "t" / LOG_DIRECTORY).glob("**/*"):
        if path.is_file():
            path.unlink()
    (split,) = (tmp_path / "t").glob("day=mon/splits/*.split")
    pipe(split)
    done = repair(tmp_path / "t" / LOG_DIRECTORY, tmp_path / "new" / LOG_DIRECTORY)
    assert done.valid_splits == 1
    assert split.name in done.status


def test_a_collection_does_not_follow_a_link_to_manifests(tmp_path: Path) -> None:
    write(tmp_path / "t")
    store = open_store(tmp_path / "t")
    checkpoint(store, Settings())
    link(tmp_path / "t" / LOG_DIRECTORY / "manifests")
    files = sorted((tmp_path / "t" / LOG_DIRECTORY / "target").iterdir())
    with pytest.raises(CorruptTableError, match="nothing was deleted"):
        collect(store, StateRetention.of(Settings(), 0), now_ms() + 365 * DAY_MS)
    assert sorted((tmp_path / "t" / LOG_DIRECTORY / "target").iterdir()) == files


def test_a_version_of_a_dataset_that_is_no_file_is_named(tmp_path: Path) -> None:
    Transaction.open(tmp_path).add_delta_log("d1", 3).commit()
    (manifest,) = (path for path in tmp_path.glob("_metadata/*") if path.is_file())
    pipe(manifest)
    with pytest.raises(CorruptTableError, match="is a pipe"):
        read_manifest(tmp_path)


def test_a_file_beyond_all_bounds_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "t")
    os.truncate(tmp_path / "t" / version_key(0), 1 << 40)  # takes no room on the disk
    with pytest.raises(CorruptTableError, match=f"has {1 << 40} bytes"):
        it.open(tmp_path / "t")


def test_a_range_beyond_the_end_takes_no_memory(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.put("k", b"0123456789")
    with pytest.raises(StorageError, match="ends at byte 10"):
        store.get_range("k", 4, 1 << 50)


def _first(table: Path) -> list[Path]:
    """One of the splits that version 0 added."""
    names = load_snapshot(open_store(table), 0).files
    return [table / next(iter(names))]

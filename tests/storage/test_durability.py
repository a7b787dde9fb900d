"""What a local store has written survives the power cut after it, and no name ever shows half a file."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.storage import Store, open_store
from support.power_cut import Disk

DATA = b"rows" * 5000
Write = Callable[[Store, str, Path], None]


def create(store: Store, key: str, _: Path) -> None:
    store.create(key, DATA)


def put(store: Store, key: str, _: Path) -> None:
    store.put(key, DATA)


def put_file(store: Store, key: str, source: Path) -> None:
    source.write_bytes(DATA)
    store.put_file(key, source)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "table"
    found.mkdir()
    return found


def test_the_disk_forgets_what_was_not_synced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(root, monkeypatch)
    (root / "a").write_bytes(b"1")
    os.rename(root / "a", root / "b")  # noqa: PTH104 - the call that is watched
    assert (disk.after_power_cut(), disk.early) == ({}, [str(root / "b")])


@pytest.mark.parametrize("key", ["k", "day=mon/splits/k"])
@pytest.mark.parametrize("write", [create, put, put_file])
def test_a_write_that_has_returned_survives(
    write: Write, key: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(root, monkeypatch)
    write(open_store(root), key, root.parent / "source")
    assert disk.after_power_cut() == {key: DATA}
    assert disk.early == []


@pytest.mark.parametrize("write", [put, put_file])
def test_an_object_that_is_replaced_survives_as_the_new_one(
    write: Write, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(root, monkeypatch)
    store = open_store(root)
    store.put("k", b"old")
    write(store, "k", root.parent / "source")
    assert disk.after_power_cut() == {"k": DATA}
    assert disk.early == []


def test_a_file_from_another_disk_survives(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, replace = root.parent / "source", os.replace

    def other_device(a: str, b: str) -> None:
        if os.fspath(a) == str(source):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        replace(a, b)

    monkeypatch.setattr(os, "replace", other_device)
    disk = Disk(root, monkeypatch)
    source.write_bytes(DATA)
    monkeypatch.setattr(disk, "_named", lambda *_: None)
    put_file(open_store(root), "splits/s", source)
    assert disk.after_power_cut() == {"splits/s": DATA}


def test_a_table_whose_write_has_returned_is_whole_after_a_power_cut(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(root, monkeypatch)
    it.write(root, pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"]}), partition_by=["day"])
    assert disk.early == []
    for key, data in disk.after_power_cut().items():
        path = tmp_path / "restored" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    monkeypatch.undo()
    assert sorted(it.open(tmp_path / "restored").to_arrow().column("id").to_pylist()) == [1, 2, 3]


def test_a_write_is_repeated_if_its_temporary_file_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A purge whose clock is days ahead takes the file of a running writer for an abandoned one."""
    store, link = open_store(tmp_path), os.link
    deleted: list[str] = []

    def delete_first(source: str, target: str) -> None:
        if not deleted:
            deleted.append(source)
            Path(source).unlink()
        link(source, target)

    monkeypatch.setattr(os, "link", delete_first)
    store.create("a/b", b"1")
    assert (store.get("a/b"), len(deleted)) == (b"1", 1)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]

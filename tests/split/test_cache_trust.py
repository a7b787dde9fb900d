"""The index cache is trusted without reading the split: it must be private, and changes in it must be detected."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import ConfigError
from indextables.runtime import Runtime, current, use
from indextables.split.index_cache import directory
from indextables.split.index_cache.cache import OPEN_INDEXES
from indextables.split.index_cache.directory import cache_directory
from indextables.table.scans.open_readers import reader_cache

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the temporary directory of a process without a home."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    with use(Runtime()):
        yield tmp_path / "tmp"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def chosen(path: Path) -> Settings:
    return Settings({keys.CACHE_DIRECTORY.key: str(path)})


def test_the_cache_is_below_the_cache_home(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert cache_directory(Settings()) == home / ".cache/indextables"
    assert mode(home / ".cache/indextables") == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory(Settings()) == tmp_path / "xdg/indextables"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # must be ignored, by the XDG specification
    assert cache_directory(Settings()) == home / ".cache/indextables"


def test_without_a_home_it_is_a_private_one_in_the_temporary_directory(temporary: Path) -> None:
    found = cache_directory(Settings())
    assert found == temporary / f"indextables-cache-{os.geteuid()}"
    assert mode(found) == 0o700


def test_a_home_that_cannot_be_written_to_is_passed_over(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").write_bytes(b"")  # not even a directory
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_directory(Settings()).parent == temporary


def taken_by_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.mkdir()
    ours = os.geteuid()
    monkeypatch.setattr(directory.os, "geteuid", lambda: ours + 1)
    path.rename(path.with_name(f"indextables-cache-{ours + 1}"))


def open_to_all(path: Path, _: pytest.MonkeyPatch) -> None:
    path.mkdir()
    path.chmod(0o777)


def a_link(path: Path, _: pytest.MonkeyPatch) -> None:
    (path.parent / "elsewhere").mkdir()
    path.symlink_to(path.parent / "elsewhere")


Prepare = Callable[[Path, pytest.MonkeyPatch], None]


@pytest.mark.parametrize("prepare", [open_to_all, a_link])
def test_a_directory_that_others_may_write_to_is_not_used(
    prepare: Prepare, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = temporary / f"indextables-cache-{os.geteuid()}"
    prepare(expected, monkeypatch)
    found = cache_directory(Settings())
    assert found not in (expected, expected.resolve())
    assert (mode(found), found.parent) == (0o700, temporary)
    assert cache_directory(Settings()) == found  # one for the whole process
    directory._remove_own(found, os.getpid() + 1)  # as a forked child would at its end
    assert found.exists()
    directory._remove_own(found, os.getpid())
    assert not found.exists()


def test_a_directory_of_another_user_is_not_used(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_by_another(temporary / f"indextables-cache-{os.geteuid()}", monkeypatch)
    (planted,) = temporary.iterdir()
    it.write(tmp_path / "t", pa.table({"m": ["alpha"]}), text=["m"])
    current().cache(OPEN_INDEXES).clear()
    assert it.open(tmp_path / "t").count(query="m:alpha") == 1
    assert list(planted.iterdir()) == []
    directory._remove_own(cache_directory(Settings()), os.getpid())


def test_a_shared_directory_in_the_settings_gets_a_private_one_inside(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    found = cache_directory(chosen(shared))
    assert found == shared / f"indextables-cache-{os.geteuid()}"
    assert mode(found) == 0o700


def test_a_directory_of_this_user_in_the_settings_is_used_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "own"
    assert cache_directory(chosen(own)) == own
    assert mode(own) == 0o700
    own.chmod(0o755)
    assert cache_directory(chosen(own)) == own


def test_a_chosen_directory_that_cannot_be_trusted_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    open_to_all(tmp_path / f"indextables-cache-{os.geteuid()}", pytest.MonkeyPatch())
    with pytest.raises(ConfigError, match=r"others may write.*cache\.directoryPath"):
        cache_directory(chosen(tmp_path))


@pytest.fixture
def table(tmp_path: Path) -> it.Table:
    texts = [f"alpha word{i}" for i in range(50)]
    it.write(tmp_path / "t", pa.table({"id": range(50), "m": texts}), text=["m"])
    return it.open(tmp_path / "t", settings={keys.CACHE_DIRECTORY.key: str(tmp_path / "cache")})


def largest_file(root: Path) -> Path:
    return max((path for path in root.glob("[!.]*/*.*") if path.suffix), key=lambda path: path.stat().st_size)


def search(table: it.Table) -> int:
    """Open the index and search it. Leave nothing open: reading a mapped file that was truncated kills the process."""
    try:
        return table.count(query="m:word7")
    finally:
        reader_cache().clear()
        current().cache(OPEN_INDEXES).clear()


def nudge(path: Path) -> None:
    """Change a file so that the engine opens the index without an error and gives another answer."""
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 1
    path.write_bytes(raw)


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    for at in range(0, len(raw) - 60, 3):
        raw[at] ^= 0xFF
    path.write_bytes(raw)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("change", [nudge, flip, cut, link, pipe, Path.unlink])
@pytest.mark.parametrize("suffix", [".term", ".idx", ".fast", ".json"])
def test_a_file_that_was_changed_after_the_extraction_is_extracted_again(
    change: Callable[[Path], None], suffix: str, table: it.Table, tmp_path: Path
) -> None:
    assert search(table) == 1
    (path,) = (tmp_path / "cache").glob(f"[!.]*/[!.]*{suffix}")
    raw = path.read_bytes()
    change(path)
    assert search(table) == 1
    assert path.read_bytes() == raw
    assert not path.is_symlink()


@pytest.mark.parametrize("record", [b"", b"{}", b"[]", b'{"size":1,"files":{"meta.json":[1]}}', b"\xff"])
def test_an_entry_whose_record_is_damaged_is_extracted_again(
    record: bytes, table: it.Table, tmp_path: Path
) -> None:
    assert search(table) == 1
    (path,) = (tmp_path / "cache").glob("[!.]*/.files")
    path.write_bytes(record)
    assert search(table) == 1


def test_a_file_that_was_only_touched_is_read_once_and_kept(table: it.Table, tmp_path: Path) -> None:
    assert search(table) == 1
    path = largest_file(tmp_path / "cache")
    inode = path.stat().st_ino
    os.utime(path, (1000, 1000))
    record = (path.parent / ".files").read_bytes()
    assert search(table) == 1
    assert path.stat().st_ino == inode
    assert (
        path.parent / ".files"
    ).read_bytes() != record  # the record was updated, so that the next open need not read the files

"""Disks that are full, read-only or absent, and processes without file descriptors: every error is an IndexTablesError.

Limits are set in a process of their own: they hold for root too, and need no file system to be mounted.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.columns import Writer
from indextables.config import keys
from indextables.errors import IndexTablesError, StorageDeniedError, StorageError, StorageFullError
from indextables.runtime import current
from indextables.split.index_cache.cache import OPEN_INDEXES
from indextables.storage import local, open_store
from indextables.storage.claiming import Backoff, Claim, claim

pytestmark = pytest.mark.timeout(120)

PROGRAM = """
import os, random, resource, sys
import pyarrow as pa
import indextables as it
from indextables.columns import Writer
from indextables.errors import IndexTablesError
from indextables.runtime import current
from indextables.split.index_cache.cache import OPEN_INDEXES

root, limit = sys.argv[1:]
rows = pa.table({"id": range(1000), "day": ["a", "b"] * 500,
                 "m": [random.Random(i).randbytes(16).hex() for i in range(1000)]})
settings = {"spark.indextables.indexWriter.tempDirectoryPath": root + "/scratch",
            "spark.indextables.cache.directoryPath": root + "/cache"}
os.makedirs(root + "/scratch")
for name in "tu":
    it.write(f"{root}/{name}", rows, text=["m"])
table, other = (it.open(f"{root}/{name}", settings=settings) for name in "tu")
other.count(query="m:a*")
current().cache(OPEN_INDEXES).clear()

def columns():
    with Writer(root + "/c", rows.schema, settings=settings) as writer:
        writer.write(rows)

actions = {
    "write": lambda: it.write(root + "/t", rows, mode="append", settings=settings),
    "write partitions": lambda: it.write(root + "/p", rows, partition_by=["day"], settings=settings),
    "write columns": columns,
    "search": lambda: table.count(query="m:a*"),
    "search again": lambda: other.count(query="m:a*"),
    "read": lambda: table.to_arrow(),
}
if limit == "files":
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, 4096))
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
answers = []
for name, action in actions.items():
    try:
        action()
    except IndexTablesError as error:
        answers.append(f"{name}: {error.kind}: {error}")
    except BaseException as error:
        answers.append(f"{name}: FOREIGN {type(error)!r}: {error}")
    else:
        answers.append(f"{name}: fine")
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
print(*answers, f"left: {os.listdir(root + '/scratch')}", f"rows: {it.open(root + '/t').count()}", sep="\\n")
"""


def limited(root: Path, limit: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(root), limit],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(root / "home")},
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def test_a_full_disk_is_said_to_be_full_and_nothing_is_left(tmp_path: Path) -> None:
    answers = limited(tmp_path, "10000")
    for action in ("write", "write partitions", "write columns", "search"):
        assert answers[action].startswith("STORAGE_FULL: cannot "), (action, answers[action])
        assert "spark.indextables." in answers[action]  # where to put it instead
    assert (answers["search again"], answers["read"]) == ("fine", "fine")
    assert (answers["left"], answers["rows"]) == ("[]", "1000")


def test_without_a_file_descriptor_left_the_error_is_ours(tmp_path: Path) -> None:
    answers = limited(tmp_path, "files")
    assert (answers.pop("left"), answers.pop("rows")) == ("[]", "1000")
    for action, answer in answers.items():
        assert answer.startswith("STORAGE: cannot "), (action, answer)
        assert "Too many open files; raise the limit on open files (ulimit -n)" in answer, action


ROWS = pa.table({"m": ["alpha"]})


@pytest.mark.parametrize("place", ["absent", "a file/x"])
def test_a_temporary_directory_that_is_none_is_named_with_its_setting(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").write_bytes(b"")
    settings = {keys.TEMP_DIRECTORY.key: str(tmp_path / place)}
    for attempt in (
        lambda: it.write(tmp_path / "t", ROWS, settings=settings),
        lambda: Writer(tmp_path / "c", ROWS.schema, settings=settings),
    ):
        with pytest.raises(StorageError, match=rf"{place}.*{keys.TEMP_DIRECTORY.key}"):
            attempt()


def test_a_cache_directory_that_is_none_is_named_with_its_setting(tmp_path: Path) -> None:
    it.write(tmp_path / "t", ROWS, text=["m"])
    (tmp_path / "a file").write_bytes(b"")
    current().cache(OPEN_INDEXES).clear()
    table = it.open(tmp_path / "t", settings={keys.CACHE_DIRECTORY.key: str(tmp_path / "a file/x")})
    with pytest.raises(StorageError, match=rf"a file/x.*{keys.CACHE_DIRECTORY.key}"):
        table.count(query="m:alpha")


@pytest.mark.parametrize(
    ("number", "kind", "advice"),
    [
        (errno.ENOSPC, StorageFullError, "free space"),
        (errno.EDQUOT, StorageFullError, "quota"),
        (errno.EFBIG, StorageFullError, "ulimit -f"),
        (errno.EACCES, StorageDeniedError, "access"),
        (errno.EROFS, StorageDeniedError, "read-only"),
        (errno.EMFILE, StorageError, "ulimit -n"),
        (errno.ENFILE, StorageError, "open files"),
        (errno.ENOTDIR, StorageError, "is a file"),
        (errno.EIO, StorageError, "Input/output"),
    ],
)
def test_each_failure_of_a_disk_has_its_error_and_advice(
    number: int, kind: type[IndexTablesError], advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    store.put("a/k", b"1")

    def fail(*_: Any, **__: Any) -> int:
        raise OSError(number, os.strerror(number), "/some/path")

    monkeypatch.setattr(local.os, "write", fail)
    for write in (store.put, store.create):
        with pytest.raises(StorageError, match=advice) as caught:
            write("a/new", b"2")
        assert type(caught.value) is kind
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["k"]


def test_a_directory_that_cannot_be_synced_does_not_deny_the_commit_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the link the version is visible: an error that says that nothing was written would be a lie."""
    store = open_store(tmp_path)
    store.put("log/0", b"")
    real = local._sync

    def full(path: str) -> None:
        if path.endswith("log"):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path)

    monkeypatch.setattr(local, "_sync", full)
    ours = Claim("log/1", b"mine", lambda data: data == b"mine", "version 1", "look")
    assert claim(store, ours, Backoff(0, 0, None, lambda _: None))  # type: ignore[arg-type]

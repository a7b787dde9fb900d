"""What killed writers leave behind: temporary files in a table, temporary directories. A purge takes the old ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.log import LOG_DIRECTORY
from indextables.maintenance import purge
from indextables.storage import open_store
from indextables.storage.scratch import ScratchDirectory, remove_leftovers

HOUR = 3600
NAME = f".{'0a' * 16}.tmp"


def age(path: Path, hours: float) -> None:
    then = time.time() - hours * HOUR
    os.utime(path, (then, then), follow_symlinks=False)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "scratch").mkdir()
    return Settings({keys.TEMP_DIRECTORY.key: str(tmp_path / "scratch")})


def test_a_purge_takes_old_temporary_files_of_the_table(tmp_path: Path, settings: Settings) -> None:
    table = tmp_path / "t"
    it.write(table, pa.table({"id": [1]}))
    it.write(table / "inner", pa.table({"id": [1]}))
    files = {
        table / LOG_DIRECTORY / NAME: 200,
        table / "splits" / NAME: 200,
        table / "splits" / NAME.replace("0a", "0b"): 1,  # a writer may be at it
        table / "splits" / ".notes.tmp": 200,  # not a name that writers give
        table / "inner" / LOG_DIRECTORY / NAME: 200,  # of another table
    }
    for path, hours in files.items():
        path.write_bytes(b"half")
        age(path, hours)
    store = open_store(table)
    assert "would delete" in (dry := purge(store, settings, dry_run=True)).message
    assert "2 temporary files" in dry.message
    assert all(path.exists() for path in files)
    done = purge(store, settings)
    assert (done.temporary_files_deleted, done.status) == (2, "SUCCESS")
    assert [path.exists() for path in files] == [False, False, True, True, True]
    assert it.open(table).count() == 1


def test_a_scratch_directory_goes_with_its_writer(settings: Settings, tmp_path: Path) -> None:
    with ScratchDirectory(settings) as path:
        assert path.parent == tmp_path / "scratch"
        (path / "rows").write_bytes(b"1")
    assert list((tmp_path / "scratch").iterdir()) == []


KILLED = """
import os, signal, sys
from indextables.config import Settings
from indextables.storage.scratch import ScratchDirectory
scratch = ScratchDirectory(Settings({"spark.indextables.indexWriter.tempDirectoryPath": sys.argv[1]}))
(scratch.path / "rows").write_bytes(b"1")
print(scratch.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_directory_of_a_killed_writer_goes_when_it_is_old(settings: Settings, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(scratch)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    (dead,) = scratch.iterdir()
    assert remove_leftovers(settings) == 0  # it is young
    age(dead, 30)
    it.write(tmp_path / "t", pa.table({"id": [1]}))
    assert purge(open_store(tmp_path / "t"), settings).status == "SUCCESS"
    assert list(scratch.iterdir()) == []


def test_a_living_writer_keeps_its_directory_however_old_it_is(settings: Settings) -> None:
    with ScratchDirectory(settings) as path:
        age(path, 1000)
        assert remove_leftovers(settings) == 0
        assert path.exists()


def test_only_what_writers_make_is_taken(settings: Settings, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    (tmp_path / "precious").mkdir()
    old = [scratch / "indextables-abcd_123", scratch / "indextables-columns-abcd_123"]
    kept = [scratch / "indextables-cache-1000", scratch / "indextables-notes", scratch / "other"]
    for path in (*old, *kept):
        path.mkdir()
        age(path, 1000)
    (scratch / "indextables-abcd_123.jsonl").write_bytes(b"1")
    age(scratch / "indextables-abcd_123.jsonl", 1000)
    (scratch / "indextables-linked12").symlink_to(tmp_path / "precious")
    age(scratch / "indextables-linked12", 1000)
    assert remove_leftovers(settings) == 3
    assert sorted(scratch.iterdir()) == sorted([*kept, scratch / "indextables-linked12"])
    assert (tmp_path / "precious").exists()

"""Forked children: tables and datasets work with everything warm, and what cannot work fails at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from indextables.runtime import ForkSafeLock, LibraryThreads
from support import forking_process

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SCRIPT = Path(forking_process.__file__)


def report_of(case: str, directory: Path) -> dict[str, Any]:
    process = subprocess.Popen(
        # Python warns of a fork in a process with threads, which is what is tested.
        [sys.executable, "-W", "ignore::DeprecationWarning", str(SCRIPT), case, str(directory)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=180)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # a child that hangs goes too
            process.communicate()
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(output)
    return found


def expected(version: int) -> dict[str, Any]:
    rows = 40 * (version + 1)
    return {
        "version": version,
        "rows": rows,
        "hits": rows,
        "state": version,
        "rows of the state": rows // 2,
        "parquet": 40,
        "vortex": 40,
    }


def test_a_forked_child_reads_searches_writes_and_checkpoints_with_everything_warm(tmp_path: Path) -> None:
    pytest.importorskip("vortex")
    names = ["parent", "child", "pool", "parent again"]
    assert report_of("warm", tmp_path) == {name: expected(version) for version, name in enumerate(names)}


KEPT = {"snapshots", "Parquet footers of splits"}
DROPPED = {"open indexes", "open splits", "store clients"}


def test_caches_and_threads_that_are_warm_at_the_fork_serve_parent_and_children(tmp_path: Path) -> None:
    report = report_of("caches", tmp_path)
    parent, child = report["parent"], report["child"]
    assert (parent["driver"], parent["rows"], parent["hits"], parent["threads"]) == (40, 40, 40, 3)
    assert set(parent["runtime"]) >= KEPT | DROPPED, "all of them are warm"
    assert set(child["inherited"]) >= KEPT
    assert not DROPPED & set(child["inherited"]), "files, threads and connections are the parent's"
    assert child["read"] == child["read again"] == parent
    first, second = report["grandchild"]
    assert first == second["read"] == second["read again"] == parent
    assert not DROPPED & set(second["inherited"])
    assert set(report["parent again"]["inherited"]) >= KEPT | DROPPED, "a fork takes nothing from the parent"
    assert report["parent again"]["read"] == parent


def test_a_lock_that_another_thread_held_is_free_in_the_child(tmp_path: Path) -> None:
    pytest.importorskip("vortex")
    assert report_of("lock", tmp_path) == {"child": 40}


def test_a_network_store_used_before_the_fork_fails_at_once_and_says_what_to_do(tmp_path: Path) -> None:
    report = report_of("network", tmp_path)
    assert (report["child before"], report["parent"], report["parent again"]) == ("bytes",) * 3
    for name in ("child", "child with the parent's"):
        assert report[name].startswith(
            "ForkedProcessError: cannot read s3://bucket/table/object: this process"
        )
        assert 'multiprocessing.get_context("spawn")' in report[name]


def test_a_lock_excludes_and_threads_are_usable_where_they_were_started() -> None:
    lock, threads = ForkSafeLock(), LibraryThreads()
    with lock:
        assert lock._lock.locked()
    assert not lock._lock.locked()
    assert [threads.usable(), threads.usable()] == [True, True]

"""Processes that commit to one table at once, on each kind of store, in good weather and through the fault proxy."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from bench.proxies import running
from bench.servers import Server

import indextables as it
from indextables.config import Settings, keys
from indextables.storage import open_store
from support import writing_process
from support.fault_proxy import Fault, FaultProxy, bad_network
from support.invariants import check_table
from support.processes import run

HOUR = 3600
SMALL = {keys.HEAP_SIZE.key: "15M"}


def race(uri: str, tmp_path: Path, access: dict[str, str], *, processes: int, commits: int) -> list[int]:
    """Return the rows. Every commit of a writer is one row and one version, whatever its settings lead it through.

    The last process commits twice as often, and merges after its commits.
    """
    tasks = [(access, uri, str(tmp_path), n, 1, commits) for n in range(processes - 1)]
    merging = access | writing_process.MERGING
    tasks.append((merging, uri, str(tmp_path), processes, 1, 2 * commits))
    assert run(writing_process.append_with, *tasks) == [[]] * processes
    first = processes * 2 * commits
    return [*range((processes - 1) * commits), *range(first, first + 2 * commits)]


def check(uri: str, access: dict[str, str], *, rows: list[int], merges: int) -> None:
    """Check that a table has the rows, and has been merged at least so often."""
    newest = check_table(open_store(uri, Settings(access)))
    table = it.open(uri, settings=access)
    operations = table.history().column("operation").to_pylist()
    assert len(operations) == newest + 1, "dense"
    merged = operations.count("MERGE SPLITS")
    assert len(operations) - merged == len(rows), "as many versions as commits"
    assert merged >= merges
    assert sorted(table.to_arrow(columns=["id"]).column("id").to_pylist()) == rows, "every row once"


@pytest.mark.servers
def test_a_few_writers_on_a_server(server: Server, tmp_path: Path):
    uri = server.uri(str(uuid.uuid4()))
    rows = race(uri, tmp_path, server.settings, processes=4, commits=5)
    check(uri, server.settings, rows=rows, merges=1)


@pytest.mark.servers
def test_a_few_writers_through_a_bad_network(server: Server, tmp_path: Path):
    uri = server.uri(str(uuid.uuid4()))
    with bad_network(server) as proxied:
        rows = race(uri, tmp_path, proxied.settings, processes=4, commits=5)
    check(uri, server.settings, rows=rows, merges=0)


@pytest.mark.servers
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name.lower())
def test_one_writer_meets_one_fault_again_and_again(server: Server, fault: Fault):
    uri, commits = server.uri(str(uuid.uuid4())), 4
    with running(FaultProxy(server.address, faults=(fault,))) as proxy:
        access = server.through(proxy.address).settings
        for n in range(commits):
            assert it.write(uri, pa.table({"id": [n]}), settings=access | SMALL) == n, "known as its own"
    assert proxy.struck[fault] >= commits // 2
    check(uri, server.settings, rows=list(range(commits)), merges=0)


@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_writers_on_a_disk(tmp_path: Path):
    uri = str(tmp_path / "t")
    rows = race(uri, tmp_path, {}, processes=16, commits=100)
    check(uri, {}, rows=rows, merges=1)


@pytest.mark.servers
@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_writers_on_a_server(server: Server, tmp_path: Path):
    uri = server.uri(str(uuid.uuid4()))
    rows = race(uri, tmp_path, server.settings, processes=16, commits=25)
    check(uri, server.settings, rows=rows, merges=1)


@pytest.mark.servers
@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_writers_through_a_bad_network(server: Server, tmp_path: Path):
    uri = server.uri(str(uuid.uuid4()))
    with bad_network(server) as proxied:
        rows = race(uri, tmp_path, proxied.settings, processes=16, commits=25)
    check(uri, server.settings, rows=rows, merges=0)

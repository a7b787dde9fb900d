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


def race(uri: str, tmp_path: Path, access: dict[str, str], *, processes: int, commits: int) -> None:
    """Every commit is one row and one version, whatever the writers' settings lead them through."""
    tasks = [(access, uri, str(tmp_path), n, 1, commits) for n in range(processes)]
    assert run(writing_process.append_with, *tasks) == [[]] * processes


def check(uri: str, access: dict[str, str], *, rows: int) -> None:
    assert check_table(open_store(uri, Settings(access))) == rows - 1, "as many versions as commits, dense"
    found = it.open(uri, settings=access).to_arrow(columns=["id"]).column("id").to_pylist()
    assert sorted(found) == list(range(rows)), "every row once"


@pytest.mark.servers
def test_a_few_writers_on_a_server(server: Server, tmp_path: Path):
    uri = server.uri(str(uuid.uuid4()))
    race(uri, tmp_path, server.settings, processes=4, commits=5)
    check(uri, server.settings, rows=20)


@pytest.mark.servers
def test_a_few_writers_through_a_bad_network(server: Server, tmp_path: Path):
    uri = server.uri(str(uuid.uuid4()))
    with bad_network(server) as proxied:
        race(uri, tmp_path, proxied.settings, processes=4, commits=5)
    check(uri, server.settings, rows=20)


@pytest.mark.servers
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name.lower())
def test_one_writer_meets_one_fault_again_and_again(server: Server, fault: Fault):
    uri, commits = server.uri(str(uuid.uuid4())), 4
    with running(FaultProxy(server.address, faults=(fault,))) as proxy:
        access = server.through(proxy.address).settings
        for n in range(commits):
            assert it.write(uri, pa.table({"id": [n]}), settings=access | SMALL) == n, "known as its own"
    assert proxy.struck[fault] >= commits // 2
    check(uri, server.settings, rows=commits)


@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_writers_on_a_disk(tmp_path: Path):
    uri = str(tmp_path / "t")
    race(uri, tmp_path, {}, processes=16, commits=100)
    check(uri, {}, rows=1600)


@pytest.mark.servers
@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_writers_on_a_server(server: Server, tmp_path: Path):
    uri = server.uri(str(uuid.uuid4()))
    race(uri, tmp_path, server.settings, processes=16, commits=25)
    check(uri, server.settings, rows=400)


@pytest.mark.servers
@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_writers_through_a_bad_network(server: Server, tmp_path: Path):
    uri = server.uri(str(uuid.uuid4()))
    with bad_network(server) as proxied:
        race(uri, tmp_path, proxied.settings, processes=16, commits=25)
    check(uri, server.settings, rows=400)

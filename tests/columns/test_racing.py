"""Processes that commit to one dataset of column groups at once, on each kind of store: nothing lost, nothing twice."""

from __future__ import annotations

import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bench.servers import Server

from indextables.columns import Manifest, Transaction, read_manifest, versions
from indextables.config import Settings
from indextables.storage import Store, open_store
from support import committing_process
from support.fault_proxy import bad_network
from support.processes import run

HOUR = 3600


def merge(base: str, access: dict[str, str], *, processes: int, commits: int) -> None:
    """Half of the race adds rows, the other half, on a second dataset, adds columns."""
    names = [f"{process}-{n}" for process in range(processes) for n in range(commits)]
    for kind, task in (
        ("rows", committing_process.merge_rows),
        ("columns", committing_process.merge_columns),
    ):
        place = f"{base}/{kind}"
        made = race(task, place, access, processes=processes, commits=commits)
        assert sorted(version for each in made for version in each) == list(range(2, 2 + len(names)))
        store = open_store(place, Settings(access))
        check_versions(store, 1 + len(names))
        after = read_manifest(store)
        assert names_of(after, "delta_logs") == Counter(names), "every delta log once"
        assert set(after.stats) == set(names), "every statistic"
        check_groups(after, kind, names)


def check_groups(after: Manifest, kind: str, names: list[str]) -> None:
    groups = after.column_groups
    if kind == "rows":
        for number, group in enumerate(groups):
            found = Counter(file.path.rpartition("/")[2] for file in group.files)
            assert found == Counter(f"{name}-{number}" for name in ["first", *names]), "every file once"
        assert len(groups) == 2
    else:
        assert Counter(group.columns for group in groups[2:]) == Counter((name,) for name in names)
        assert {group.num_rows for group in groups} == {committing_process.ROWS}


def compete(base: str, access: dict[str, str], *, processes: int, commits: int) -> None:
    """Every version has one winner, and the other writers got an error."""
    answers = race(committing_process.compete, base, access, processes=processes, commits=commits)
    won = [version for versions_won, _ in answers for version in versions_won]
    lost = [version for _, versions_lost in answers for version in versions_lost]
    assert sorted(won) == list(range(2, 2 + processes * commits)), "one winner a version"
    assert set(lost) <= set(won), "a version was lost that no writer won"
    store = open_store(base, Settings(access))
    check_versions(store, 1 + len(won))
    assert len(names_of(read_manifest(store), "delta_logs")) == len(won), "a loser leaves nothing"


def race(task: Any, base: str, access: dict[str, str], *, processes: int, commits: int) -> list[Any]:
    with Transaction.open(base, options=access) as tx:
        tx.append_files(committing_process.rows("first")).commit()
    return run(task, *[(access, base, process, commits) for process in range(processes)])


def check_versions(store: Store, count: int) -> None:
    """Dense, and each has one delta log more than the one before."""
    assert versions(store) == tuple(range(1, count + 1))
    sizes = [
        len(read_manifest(store, version).delta_logs) for version in range(1, count + 1, max(1, count // 50))
    ]
    assert sizes == list(range(0, count, max(1, count // 50)))


def names_of(manifest: Manifest, section: str) -> Counter[str]:
    return Counter(entry.path.rpartition("/")[2] for entry in getattr(manifest, section))


def test_a_few_merge_on_a_disk(tmp_path: Path):
    merge(str(tmp_path), {}, processes=4, commits=10)


def test_a_few_compete_on_a_disk(tmp_path: Path):
    compete(str(tmp_path / "ds"), {}, processes=4, commits=10)


@pytest.mark.servers
def test_a_few_merge_on_a_server(server: Server):
    merge(server.uri(str(uuid.uuid4())), server.settings, processes=4, commits=10)


@pytest.mark.servers
def test_a_few_compete_on_a_server(server: Server):
    compete(server.uri(str(uuid.uuid4())), server.settings, processes=4, commits=10)


@pytest.mark.servers
def test_a_few_merge_through_a_bad_network(server: Server):
    base = server.uri(str(uuid.uuid4()))
    with bad_network(server) as proxied:
        merge(base, proxied.settings, processes=4, commits=10)


@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_merge_on_a_disk(tmp_path: Path):
    merge(str(tmp_path), {}, processes=16, commits=100)


@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_compete_on_a_disk(tmp_path: Path):
    compete(str(tmp_path / "ds"), {}, processes=16, commits=100)


@pytest.mark.servers
@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_merge_on_a_server(server: Server):
    merge(server.uri(str(uuid.uuid4())), server.settings, processes=16, commits=25)


@pytest.mark.servers
@pytest.mark.soak
@pytest.mark.timeout(HOUR)
def test_sixteen_compete_on_a_server(server: Server):
    compete(server.uri(str(uuid.uuid4())), server.settings, processes=16, commits=25)

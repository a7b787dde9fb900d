"""Splits are assigned to hosts evenly, by names alone, and stay where they are when hosts come and go."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.config import Settings
from indextables.predicates import parse_where
from indextables.table import ScanRequest, plan_prewarm, plan_scan
from indextables.table.scans.locality import assign_hosts

KEYS = [f"day=1/splits/split-{number:06}.split" for number in range(3000)]
FIXED = ["10.0.0.2", "10.0.0.1", "10.0.0.3", "10.0.0.1"]
HOSTS = st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=8, unique=True)


@given(HOSTS)
def test_when_a_host_leaves_only_its_own_splits_move(hosts):
    before, after = assign_hosts(KEYS[:200], hosts), assign_hosts(KEYS[:200], hosts[1:])
    assert all(was == now for was, now in zip(before, after, strict=True) if was != hosts[0])


@given(HOSTS)
def test_when_a_host_joins_splits_move_to_it_alone(hosts):
    before, after = assign_hosts(KEYS[:200], hosts[1:]), assign_hosts(KEYS[:200], hosts)
    assert all(now in (was, hosts[0]) for was, now in zip(before, after, strict=True))


def test_the_assignment_does_not_change_between_releases_or_with_the_order_of_hosts():
    hosts = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assigned = assign_hosts(["splits/a.split", "splits/b.split", "splits/c.split", "splits/d.split"], hosts)
    assert assigned == FIXED
    assert assign_hosts(KEYS, hosts) == assign_hosts(KEYS, [*reversed(hosts), hosts[0]])


def test_hosts_get_about_equal_shares():
    shares = Counter(assign_hosts(KEYS, [f"worker-{number}" for number in range(6)]))
    assert len(shares) == 6
    assert all(400 <= count <= 600 for count in shares.values()), shares


def test_there_must_be_a_host():
    with pytest.raises(ValueError, match="no host"):
        assign_hosts(KEYS, [])


@pytest.fixture
def table(tmp_path) -> it.Table:
    path = str(tmp_path / "t")
    for number in range(12):
        it.write(path, pa.table({"n": [number], "message": ["disk full"]}), text=["message"])
    return it.open(path)


def plan(table: it.Table, where: str, hosts: list[str], parallelism: int = 4):
    request = ScanRequest(("n",), parse_where(where, table.snapshot.schema))
    return plan_scan(table.uri, table.snapshot, request, Settings(), parallelism=parallelism, hosts=hosts)


def test_a_search_goes_to_the_hosts_of_its_splits_and_a_prewarm_to_the_same(table):
    hosts = ["a", "b", "c"]
    planned = plan(table, "message TEXTSEARCH 'disk'", hosts)
    by_search = {
        ref.path: host
        for task, host in zip(planned.tasks, planned.locations, strict=True)
        for ref in task.splits
    }
    assert len(by_search) == 12
    assert by_search == dict(zip(by_search, assign_hosts(list(by_search), hosts), strict=True))
    tasks = plan_prewarm(table.snapshot, Settings(), hosts=hosts, parallelism=6)
    assert {key: task.host for task in tasks for key, _ in task.splits} == by_search
    assert len(tasks) <= 6


def test_a_scan_of_all_rows_and_a_session_without_hosts_have_no_locations(table):
    assert set(plan(table, "true", ["a", "b"]).locations) == {None}
    planned = plan(table, "message TEXTSEARCH 'disk'", [])
    assert (set(planned.locations), len(planned.tasks)) == ({None}, 4)
    assert {task.host for task in plan_prewarm(table.snapshot, Settings(), parallelism=5)} == {None}


def test_a_search_of_no_split_is_still_one_task(table):
    planned = plan(table, "n = 99", ["a", "b"])
    assert (len(planned.tasks), planned.locations) == (1, (None,))

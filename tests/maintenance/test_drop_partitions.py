"""Partitions are dropped by conditions on partition columns, and the answer has true figures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import PredicateError
from indextables.log import Append, CommitInfo, commit, load_snapshot, read_version
from indextables.maintenance import drop_partitions
from indextables.predicates import parse_where
from support.faults import Fault, FaultyStore, MemoryStore, after
from support.logs import add, live, metadata

TABLE = metadata({"id": "long", "year": "integer", "day": "date"}, ("year", "day"))
DAYS = [("2022", "2022-12-31"), ("2023", "2023-01-01"), ("2023", "2023-06-01"), ("2024", "2024-02-29")]


def put(store: MemoryStore, path: str, year: str | None, day: str | None) -> None:
    values = {name: value for name, value in (("year", year), ("day", day)) if value is not None}
    file = add(path, None)
    base = load_snapshot(store) if store.objects else None
    change = Append(
        (type(file)(path, values, 10, num_records=1, doc_mapping_ref=file.doc_mapping_ref),), TABLE
    )
    commit(store, change, base=base)


@pytest.fixture
def store(store: MemoryStore) -> MemoryStore:
    for n, (year, day) in enumerate(DAYS):
        put(store, f"f{n}", year, day)
    put(store, "f4", None, None)
    return store


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("year = 2023", ["f0", "f3", "f4"]),
        ("year > 2022", ["f0", "f4"]),
        ("year >= 2022 AND year < 2024", ["f3", "f4"]),
        ("year BETWEEN 2022 AND 2023", ["f3", "f4"]),
        ("day BETWEEN '2023-01-01' AND '2023-12-31'", ["f0", "f3", "f4"]),
        ("year = 2022 OR day = '2024-02-29'", ["f1", "f2", "f4"]),
        ("year IN (2022, 2024)", ["f1", "f2", "f4"]),
        ("NOT year IN (2022, 2024)", ["f0", "f3", "f4"]),
        ("(year = 2023 AND day < '2023-02-01') OR year IS NULL", ["f0", "f2", "f3"]),
        ("year <=> NULL", ["f0", "f1", "f2", "f3"]),
        ("TRUE", []),
        ("year = 1999", ["f0", "f1", "f2", "f3", "f4"]),
    ],
)
def test_the_partitions_go_for_which_the_condition_is_true(store: MemoryStore, where: str, left: list[str]):
    snapshot = load_snapshot(store)
    version, done = drop_partitions(store, snapshot, parse_where(where, snapshot.schema), Settings())
    assert sorted(live(load_snapshot(store))) == left
    gone = 5 - len(left)
    assert version == (5 if gone else 4)
    assert (done.splits_removed, done.partitions_dropped, done.total_size_bytes) == (gone, gone, 10 * gone)
    assert done.status == ("success" if gone else "no_action")


def test_the_answer_has_the_columns_of_the_command(store: MemoryStore):
    put(store, "again", *DAYS[1])
    snapshot = load_snapshot(store)
    _, done = drop_partitions(store, snapshot, parse_where("year = 2023", snapshot.schema), Settings())
    assert asdict(done) == {
        "table_path": store.uri,
        "status": "success",
        "partitions_dropped": 2,
        "splits_removed": 3,
        "total_size_bytes": 30,
        "message": "dropped by version 6; the files are deleted when the table is purged",
    }


def test_what_others_added_meanwhile_is_counted(store: MemoryStore):
    snapshot = load_snapshot(store)
    rival = Fault("create", after(lambda: put(store, "late", *DAYS[1])))
    where = parse_where("year = 2023", snapshot.schema)
    version, done = drop_partitions(FaultyStore(store, rival), snapshot, where, Settings())
    assert (version, done.splits_removed, done.partitions_dropped) == (6, 3, 2)


def test_the_history_says_it_in_sql(store: MemoryStore):
    snapshot = load_snapshot(store)
    where = "day >= DATE '2023-01-01' AND (year = 2023 OR year IS NULL)"
    version, _ = drop_partitions(store, snapshot, parse_where(where, snapshot.schema), Settings())
    info, *_ = read_version(store, version) or ()
    assert isinstance(info, CommitInfo)
    assert (info.operation, info.parameters) == ("DROP PARTITIONS", {"predicate": where})


@pytest.mark.parametrize("where", ["id = 1", "year = 2023 AND id = 1"])
def test_other_columns_are_refused(store: MemoryStore, where: str):
    snapshot = load_snapshot(store)
    with pytest.raises(PredicateError, match="partitioned by year, day"):
        drop_partitions(store, snapshot, parse_where(where, snapshot.schema), Settings())


def test_a_table_without_partitions_has_none_to_drop(tmp_path: Path):

    it.write(tmp_path, pa.table({"n": [1]}))
    with pytest.raises(PredicateError, match="not partitioned"):
        it.open(tmp_path).drop_partitions("n = 1")

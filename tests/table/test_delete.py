"""Deleting rows: every answer is that of the rows that remain, and no split is written."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import CorruptTableError, InputError, QueryError
from indextables.log import load_snapshot
from indextables.log.snapshots import VersionSelector, read_snapshot
from indextables.maintenance import repair
from indextables.storage import open_store
from indextables.table import COUNT_ROWS, ScanRequest, answer_on_driver, plan_scan

OLDER_READER = Path(__file__).parents[1] / "data" / "older_reader.zip"
WORDS = ("disk", "full", "login", "timeout", "cache")
QUERIES = (
    "disk",
    "disk AND full",
    "login OR cache",
    "NOT message:disk",
    'message:"disk full"',
    "message:tim*",
)
CONDITIONS = (
    "ms > 50",
    "level = 'ERROR'",
    "message LIKE '%full%'",
    "NOT (message TEXTSEARCH 'timeout')",
    "message TEXTSEARCH 'disk' OR ms < 10",
    "day = 'mon'",
    "day = 'mon' AND level IS NULL",
    "level IN ('WARN', 'INFO') AND message TEXTSEARCH 'cache'",
)


def rows(count: int, start: int = 0) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "id": list(numbers),
            "day": [("mon", "tue", None)[n % 3] for n in numbers],
            "level": pa.array([("ERROR", "WARN", "INFO", None)[n // 3 % 4] for n in numbers], pa.string()),
            "ms": [n * 37 % 101 for n in numbers],
            "message": [f"{WORDS[n % 5]} {WORDS[n * 7 // 3 % 5]} full{n % 11}" for n in numbers],
        }
    )


def make(path: str, tables: int = 2, each: int = 120, **options: object) -> it.Table:
    for n in range(tables):
        it.write(path, rows(each, n * each), text=["message"], **options)
    return it.open(path)


def ids(table: pa.Table) -> list[int]:
    return sorted(table.column("id").to_pylist())


def check_answers(table: it.Table, expected: pa.Table) -> None:
    """Compare every kind of answer with that of a table which never had the deleted rows."""
    other = f"memory://{table.uri.strip('/').replace('/', '-')}-{table.version}"
    it.write(other, expected, text=["message"], mode="overwrite")
    model = it.open(other)
    assert table.count() == model.count() == expected.num_rows
    assert ids(table.to_arrow()) == ids(expected)
    assert table.to_arrow(limit=7).num_rows == min(7, expected.num_rows)
    for where in CONDITIONS:
        found = ids(model.to_arrow(where=where))
        assert ids(table.to_arrow(where=where)) == found, where
        assert table.count(where=where) == len(found), where
        limited = ids(table.to_arrow(where=where, limit=3))
        assert len(limited) == min(3, len(found)), where
        assert set(limited) <= set(found), where
    for query in QUERIES:
        found = ids(model.search(query, limit=None))
        assert ids(table.search(query, limit=None)) == found, query
        assert table.count(query) == len(found), query
        best = table.search(query, limit=5, snippet="message")
        assert best.num_rows == min(5, len(found)), query
        everything = table.search(query, limit=None)
        assert best.column("_score").to_pylist() == everything.column("_score").to_pylist()[:5], query
        assert best.column("id").to_pylist() == everything.column("id").to_pylist()[:5], query
    for where in (None, "message TEXTSEARCH 'disk'"):
        assert table.stats("ms", where=where) == model.stats("ms", where=where)
        assert table.top_values("day", where=where).equals(model.top_values("day", where=where))
        assert table.top_values("level", n=None, where=where).equals(
            model.top_values("level", n=None, where=where)
        )
        assert table.histogram("ms", every=10, by="day", where=where).equals(
            model.histogram("ms", every=10, by="day", where=where)
        )
    live = table.files()
    assert sum(live.column("num_records").to_pylist()) == expected.num_rows
    assert f"rows={expected.num_rows}>" in repr(table)


def without(table: pa.Table, deleted: set[int]) -> pa.Table:
    keep = [n not in deleted for n in table.column("id").to_pylist()]
    return table.filter(pa.array(keep, pa.bool_()))


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("place", ["memory", "disk"])
def test_all_answers_are_those_of_the_remaining_rows(tmp_path: Path, place: str, *, partitioned: bool):
    path = str(tmp_path / "t") if place == "disk" else f"memory://deletes-{partitioned}"
    options = {"partition_by": ["day"]} if partitioned else {}
    make(path, **options)
    remaining = pa.concat_tables([rows(120), rows(120, 120)])
    for where, query in (
        ("ms > 90", None),
        (None, "timeout"),
        ("day = 'mon' AND ms < 20", "disk"),
        ("id = 7", None),
    ):
        table = it.open(path)
        doomed = set(
            ids(
                table.to_arrow(where=where) if query is None else table.search(query, where=where, limit=None)
            )
        )
        change = table.delete(where, query=query)
        assert (change.version, change.rows_deleted) == (table.version + 1, len(doomed))
        remaining = without(remaining, doomed)
        assert ids(it.open(path).to_arrow()) == ids(remaining)
        assert it.open(path, version=table.version).count() == table.count()
    it.open(path).invalidate_cache()
    check_answers(it.open(path), remaining)


def test_no_split_is_written_and_one_without_other_rows_is_removed(tmp_path: Path):
    path = str(tmp_path / "t")
    table = make(path, partition_by=["day"])
    splits = set(tmp_path.rglob("*.split"))
    change = table.delete("day = 'mon' OR ms > 80")
    assert (change.files_removed, change.files_changed) == (2, 4)
    assert set(tmp_path.rglob("*.split")) == splits
    assert len(list(tmp_path.rglob("delta-*.parquet"))) == 4
    everything = table.refresh().delete("id >= 0")
    assert (everything.files_removed, everything.files_changed, table.refresh().count()) == (4, 0, 0)


def test_a_delete_of_no_row_commits_nothing(tmp_path: Path):
    table = make(str(tmp_path / "t"))
    assert table.delete("id < 0") == it.RowChange(1, 0, 0, 0, 0)
    assert table.refresh().version == 1
    assert table.refresh().protocol.reader_features is None


def test_a_delete_needs_a_condition_that_can_be_read(tmp_path: Path):
    table = make(str(tmp_path / "t"))
    with pytest.raises(InputError, match="give where or query"):
        table.delete()
    with pytest.raises(QueryError):
        table.delete(query="message:(disk")
    assert table.delete("true").rows_deleted == 240


def test_only_readers_that_know_delta_logs_read_a_table_with_deletes(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path)
    plain, deleted, with_state = (str(tmp_path / name) for name in ("plain", "deleted", "state"))
    shutil.copytree(path, plain)
    it.open(plain).checkpoint()
    it.open(path).delete("ms > 50")
    shutil.copytree(path, deleted)
    it.open(path).checkpoint()
    shutil.copytree(path, with_state)
    for log in Path(with_state).rglob("0000000000000000000[012].json"):
        log.unlink()
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import indextables as it
for path in sys.argv[2:]:
    try:
        print(it.open(path).count())
    except it.ProtocolError as error:
        print(error)
"""
    command = [sys.executable, "-c", script, str(OLDER_READER), plain, deleted, with_state]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert answers[0] == "240"
    assert all("requires the feature deltaLogs" in answer for answer in answers[1:])
    assert len(answers) == 3
    assert it.open(with_state).count() == it.open(path).count()


def test_changes_do_not_have_deleted_rows_nor_the_files_that_a_delete_adds_again(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path)
    it.open(path).delete("ms > 50")
    table = it.open(path)
    expected = ids(table.to_arrow(where="id >= 120"))
    changed = table.changes(since=0)
    assert [add.num_deleted for add in changed.adds] == [120 - len(expected)]
    assert (len(changed.removes), len(changed.changed)) == (0, 1)
    assert ids(changed.to_arrow()) == expected
    assert ids(table.changes(since=0, adds_only=True).to_arrow()) == expected
    since_append = table.changes(since=1)
    assert (since_append.adds, since_append.removes, len(since_append.changed)) == ((), (), 2)
    assert bool(since_append)
    assert since_append.to_arrow().num_rows == 0
    assert table.changes(since=1, adds_only=True).adds == ()
    table.checkpoint()
    it.open(path).invalidate_cache()
    assert it.open(path).changes(since=1, adds_only=True).adds == ()
    it.open(path).merge_splits()
    it.open(path).delete("id = 200 OR id = 3")
    with pytest.raises(InputError, match="tells which of their rows"):
        it.open(path).changes(since=0).to_arrow()


def test_the_history_of_a_delete_has_no_new_files(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path)
    it.open(path).delete("ms > 50 AND message TEXTSEARCH 'disk'")
    newest = it.open(path).history().to_pylist()[0]
    assert newest["operation"] == "DELETE"
    assert dict(newest["parameters"]) == {"predicate": "ms > 50 AND message TEXTSEARCH 'disk'"}
    assert (newest["files_added"], newest["files_removed"], newest["rows_added"]) == (0, 0, 0)


def test_a_restore_brings_deleted_rows_back_and_deletes_them_again(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path)
    it.open(path).delete("ms > 50")
    deleted = it.open(path)
    deleted.restore(1)
    assert it.open(path).count() == 240
    it.open(path).checkpoint()
    it.open(path).restore(2)
    it.open(path).invalidate_cache()
    assert ids(it.open(path).to_arrow()) == ids(deleted.to_arrow())


@pytest.mark.parametrize("state_format", ["avro", "json"])
def test_states_and_checkpoints_keep_deletes(tmp_path: Path, state_format: str):
    path = str(tmp_path / "t")
    settings = {
        "spark.indextables.checkpoint.interval": "2",
        "spark.indextables.state.format": state_format,
        "spark.indextables.state.compaction.tombstoneThreshold": "1.0",
        "spark.indextables.state.compaction.maxManifests": "3",
    }
    expected: set[int] = set()
    for n in range(12):
        it.write(path, rows(20, n * 20), settings=settings, text=["message"])
        expected |= set(range(n * 20, n * 20 + 20))
        doomed = set(range(n, n * 20 + 20, 13))
        it.open(path, settings=settings).delete(_in(doomed))
        expected -= doomed
        it.open(path).invalidate_cache()
        table = it.open(path)
        assert ids(table.to_arrow()) == sorted(expected)
        assert table.count() == len(expected)
        snapshot = read_snapshot(open_store(path))
        assert snapshot.files.expected == len(snapshot.files) == n + 1
        if snapshot.files.base is not None:
            state = snapshot.files.base.manifest
            at_state = read_snapshot(open_store(path), VersionSelector(state.state_version))
            assert state.num_files == len(at_state.files)
            assert state.total_bytes == sum(file.size for file in at_state.files.values())


def _in(numbers: set[int]) -> str:
    return f"id IN ({', '.join(map(str, sorted(numbers)))})"


def test_a_commit_of_deletes_writes_an_incremental_state(tmp_path: Path):
    path = str(tmp_path / "t")
    settings = {"spark.indextables.checkpoint.interval": "1"}
    for n in range(30):
        it.write(path, rows(3, n * 3), settings=settings)
    it.open(path).checkpoint()
    before = read_snapshot(open_store(path)).files.base
    assert before is not None
    it.open(path, settings=settings).delete("id = 40")
    after = read_snapshot(open_store(path)).files.base
    assert after is not None
    assert after.version == before.version + 1
    assert [info.path for info in after.manifest.manifests][:1] == [
        info.path for info in before.manifest.manifests
    ]
    assert (after.manifest.num_files, after.manifest.tombstones) == (30, ())
    assert it.open(path).count() == 89


def test_driver_answers_leave_deleted_rows_out(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path)
    it.open(path).delete("ms > 50")
    snapshot = load_snapshot(open_store(path))
    expected = ids(it.open(path).to_arrow(where="message TEXTSEARCH 'disk'"))
    predicate = it.open(path)._where("message TEXTSEARCH 'disk'")
    for _ in range(2):
        plan = plan_scan(path, snapshot, ScanRequest(("id",), predicate), Settings())
        answer = answer_on_driver(plan)
        assert answer is not None
        assert ids(answer) == expected
        counted = answer_on_driver(
            plan_scan(path, snapshot, ScanRequest((), predicate, aggregate=COUNT_ROWS), Settings())
        )
        assert counted is not None
        assert counted.column(0).to_pylist() == [len(expected)]


def test_merging_leaves_deleted_rows_out_and_ends_deletes(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path, partition_by=["day"])
    it.open(path).delete("ms > 50")
    expected = it.open(path).to_arrow()
    merged = it.open(path).merge_splits()
    assert (merged.merge_groups, merged.rows) == (3, expected.num_rows)
    assert it.open(path).files().column("num_deleted").to_pylist() == [0, 0, 0]
    check_answers(it.open(path), expected)


def test_a_split_of_any_size_is_rewritten_above_the_deleted_share(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path, tables=1)
    it.open(path).delete("id < 12")
    options = {"target_size": "1M", "settings": {"spark.indextables.merge.skipSplitThreshold": "0"}}
    assert it.open(path).merge_splits(**options).status == "no_action"
    it.open(path).delete("id < 30")
    assert it.open(path).merge_splits(**options).merge_groups == 1
    assert it.open(path).files().select(["num_records", "num_deleted"]).to_pylist() == [
        {"num_records": 90, "num_deleted": 0}
    ]


def test_a_purge_keeps_the_delta_logs_of_readable_versions_and_deletes_others(tmp_path: Path):
    path = str(tmp_path / "t")
    settings = {"spark.indextables.purge.retentionCheckEnabled": "false"}
    make(path)
    for limit in (90, 70, 50):
        it.open(path).delete(f"ms > {limit}")
    counts = [it.open(path, version=version).count() for version in range(5)]
    orphan = tmp_path / "t" / "splits" / "delta-01-02.crc32-00000000.parquet"
    orphan.write_bytes(b"left by a writer that died")
    it.open(path).checkpoint()
    it.open(path, settings=settings).purge(older_than="0 hours")
    assert not orphan.exists()
    for version, count in enumerate(counts):
        it.open(path).invalidate_cache()
        assert it.open(path, version=version).count() == count
    it.open(path).merge_splits()
    it.open(path).truncate_time_travel()
    it.open(path, settings=settings).purge(older_than="0 hours")
    assert list(tmp_path.rglob("delta-*.parquet")) == []
    assert len(list(tmp_path.rglob("*.split"))) == 1
    assert it.open(path).count() == counts[-1]


@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped", "empty", "other rows"])
def test_a_damaged_delta_log_is_an_error(tmp_path: Path, damage: str):
    path = str(tmp_path / "t")
    make(path, tables=1)
    it.open(path).delete("ms > 50")
    damaged = str(tmp_path / "damaged")
    shutil.copytree(path, damaged)
    (log,) = Path(damaged).rglob("delta-*.parquet")
    whole = log.read_bytes()
    match damage:
        case "missing":
            log.unlink()
        case "truncated":
            log.write_bytes(whole[: len(whole) // 2])
        case "flipped":
            log.write_bytes(whole[:20] + bytes([whole[20] ^ 1]) + whole[21:])
        case "empty":
            log.write_bytes(b"")
        case "other rows":
            pq.write_table(pa.table({"pos": [1 << 40]}), log)
    with pytest.raises(CorruptTableError, match=log.name):
        it.open(damaged).count("disk")


@pytest.mark.parametrize(
    "fields",
    [
        {"deltaLog": "../../etc/delta-0.crc32-00000000.parquet", "numDeleted": 1},
        {"deltaLog": "splits/other.parquet", "numDeleted": 1},
        {"deltaLog": "splits/delta-0.crc32-00000000.parquet"},
        {"deltaLog": "splits/delta-0.crc32-00000000.parquet", "numDeleted": 121},
        {"deltaLog": "splits/delta-0.crc32-00000000.parquet", "numDeleted": 1 << 62},
    ],
)
def test_a_hostile_delta_log_in_the_log_is_an_error(tmp_path: Path, fields: dict[str, object]):
    path = tmp_path / "t"
    make(str(path), tables=1)
    first = path / "_transaction_log" / "00000000000000000000.json"
    lines = [orjson.loads(line) for line in gzip.decompress(first.read_bytes()).splitlines()]
    (add,) = [line["add"] for line in lines if "add" in line]
    again = [{"add": {**add, **fields}}]
    second = b"\n".join(map(orjson.dumps, again))
    (path / "_transaction_log" / "00000000000000000001.json").write_bytes(second)
    with pytest.raises(CorruptTableError):
        it.open(str(path)).to_arrow()


def test_rows_are_counted_once_whoever_counts(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path)
    it.open(path).delete("level = 'ERROR'")
    found = Counter(it.open(path).to_arrow(columns=["level"]).column("level").to_pylist())
    assert {
        value["value"]: value["count"] for value in it.open(path).top_values("level", n=None).to_pylist()
    } == found


def test_a_repaired_log_keeps_deletes(tmp_path: Path):
    path = str(tmp_path / "t")
    make(path)
    it.open(path).delete("ms > 50")
    expected = ids(it.open(path).to_arrow())
    repair(f"{path}/_transaction_log", f"{path}/_repaired/_transaction_log")
    shutil.rmtree(f"{path}/_transaction_log")
    shutil.move(f"{path}/_repaired/_transaction_log", f"{path}/_transaction_log")
    it.open(path).invalidate_cache()
    assert ids(it.open(path).to_arrow()) == expected
    assert it.open(path).protocol.reader_features == {"deltaLogs"}

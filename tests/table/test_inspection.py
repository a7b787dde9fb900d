"""Looking inside a process: requests, skipped files, caches, environment; prewarming and flushing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import InputError
from indextables.runtime import Runtime, use
from indextables.table import plan_prewarm


@pytest.fixture(autouse=True)
def own_runtime():
    with use(Runtime()):
        yield


@pytest.fixture
def options(tmp_path) -> dict[str, str]:
    (tmp_path / "cache").mkdir(mode=0o700)
    return {"spark.indextables.cache.directoryPath": str(tmp_path / "cache")}


@pytest.fixture
def path(tmp_path) -> str:
    path = str(tmp_path / "logs")
    for day in range(4):
        rows = pa.table(
            {"day": [day] * 3, "n": [day * 10 + i for i in range(3)], "message": ["disk full"] * 3}
        )
        it.write(path, rows, partition_by=["day"], text=["message"])
    return path


def test_skipped_files_are_counted_by_stage_and_table(path, tmp_path):
    table = it.open(path)
    assert table.count(where="day = 2") == 3
    assert table.count(where="n >= 20") == 6
    assert table.count() == 12
    it.write(tmp_path / "other", pa.table({"n": [1]}))
    it.open(tmp_path / "other").count()
    (row,) = it.data_skipping_stats(path).to_pylist()
    assert (row["scans"], row["files_considered"], row["files_read"]) == (3, 12, 7)
    assert (row["pruned_by_partition_values"], row["pruned_by_min_max"]) == (3, 2)
    assert row["percent_skipped"] == pytest.approx(100 * 5 / 12)
    assert it.data_skipping_stats().num_rows == 2
    assert it.data_skipping_stats(tmp_path / "never").num_rows == 0


def test_prewarm_makes_the_first_search_a_hit(path, options):
    table = it.open(path, settings=options)
    warmed = table.prewarm(where="day < 3")
    assert (warmed.splits, warmed.failures) == (3, ())
    before = it.disk_cache_stats(options).to_pylist()[0]
    assert (before["splits_cached"], before["misses"]) == (3, 3)
    assert table.count("disk") == 12
    after = it.disk_cache_stats(options).to_pylist()[0]
    assert (after["hits"] - before["hits"], after["misses"]) == (3, 4)


def test_a_split_that_cannot_be_read_does_not_stop_a_prewarm(path, options):
    table = it.open(path, settings=options)
    key = table.files().column("path")[1].as_py()
    (Path(path) / key).write_bytes(b"damaged")
    warmed = table.prewarm()
    assert warmed.splits == 3
    assert [failed for failed, _ in warmed.failures] == [key]
    assert "damaged" in warmed.failures[0][1]


def test_the_parallelism_of_a_prewarm_is_bounded(path):
    table = it.open(path)
    with pytest.raises(InputError, match="from 1 to 64"):
        plan_prewarm(table.snapshot, table.settings, threads=65)


def test_flushing_one_table_leaves_the_others(path, options, tmp_path):
    other = tmp_path / "other"
    it.write(other, pa.table({"message": ["disk"]}), text=["message"])
    for place in (path, other):
        it.open(place, settings=options).count("disk")
    assert it.flush_caches(path, settings=options, disk=False).indexes_closed == 4
    flushed = it.flush_caches(path, settings=options)
    assert (flushed.indexes_closed, flushed.indexes_deleted) == (0, 4)
    assert flushed.bytes_freed > 0
    assert it.disk_cache_stats(options).column("splits_cached").to_pylist() == [1]
    assert it.flush_caches(settings=options, memory=False).indexes_deleted == 1
    assert it.open(path, settings=options).count("disk") == 12


def test_the_environment_hides_secrets():
    settings = {
        "spark.indextables.aws.secretKey": "hunter2",
        "spark.indextables.aws.region": "eu-central-1",
        "spark.indextables.aws.endpoint": "http://user:hunter2@localhost:9000",
    }
    rows = it.environment(settings).to_pylist()
    assert "hunter2" not in str(rows)
    shown = {row["property_name"]: row["property_value"] for row in rows if row["property_type"] == "setting"}
    assert shown["spark.indextables.aws.secretKey"] == "***REDACTED***"
    assert shown["spark.indextables.aws.region"] == "eu-central-1"
    names = {(row["property_type"], row["property_name"]) for row in rows}
    assert {
        ("version", "pyarrow"),
        ("version", "tantivy"),
        ("memory", "cpus"),
        ("cache", "directory"),
    } <= names


def test_requests_are_counted_from_the_start_of_the_process(path):
    before = {row["operation"]: row for row in it.storage_stats().to_pylist()}
    it.open(path).search("disk")
    after = {row["operation"]: row for row in it.storage_stats().to_pylist()}
    assert after["get_range"]["bytes_fetched"] > before["get_range"]["bytes_fetched"]
    assert after["map"]["requests"] > before["map"]["requests"], "rows of local files are mapped"

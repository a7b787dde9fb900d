"""The metrics of states: each follows from what happens to a table, and costs nothing without a listener."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from indextables.config import Settings
from indextables.log import MergeGroup, MergeSplits, commit, load_snapshot
from indextables.log.snapshots import cache
from indextables.maintenance import upgrade_and_checkpoint
from indextables.predicates import Compare
from indextables.state import metrics
from support.faults import MemoryStore
from support.logs import add, metadata
from support.states import append

NAMES = {
    "indextables.state.read.duration_ms",
    "indextables.state.read.manifest_count",
    "indextables.state.read.file_count",
    "indextables.state.write.duration_ms",
    "indextables.state.write.compacted",
    "indextables.state.tombstone_count",
    "indextables.state.tombstone_ratio",
}
EVERY = "1"


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> InMemoryMetricReader:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    instruments = metrics.Instruments.of(provider.get_meter("test"))
    monkeypatch.setattr(metrics, "instruments", lambda: instruments)
    cache.forget()
    return reader


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore("memory://watched")


@pytest.fixture
def table(store: MemoryStore) -> MemoryStore:
    """A table made without a listener: only fixtures named after this one get what follows."""
    tabled(store)
    return store


def told(reader: InMemoryMetricReader) -> dict[str, Any]:
    """The data point of each metric."""
    found = reader.get_metrics_data()
    points: dict[str, Any] = {}
    for metric in found.resource_metrics[0].scope_metrics[0].metrics if found else []:
        (points[metric.name],) = metric.data.data_points
        assert points[metric.name].attributes == {"indextables.table": "memory://watched"}
    return points


def tabled(store: MemoryStore) -> None:
    """Five files in three manifests and one tombstone, at version 3."""
    snapshot = None
    for day in ("mon", "tue", "wed"):
        files = [add(f"{day}-{n}", day=day) for n in range(4)]
        snapshot = append(store, snapshot, *files, checkpoint__interval=EVERY)
    settings = Settings(
        {
            "spark.indextables.checkpoint.interval": EVERY,
            "spark.indextables.state.compaction.afterMerge": "false",
        }
    )
    change = MergeSplits((MergeGroup(("mon-0",), (add("mon-4", day="mon"),)),), metadata())
    commit(store, change, base=snapshot, settings=settings)
    cache.forget()


def test_every_metric_of_the_format_is_told_under_its_name(store: MemoryStore, reader: InMemoryMetricReader):
    tabled(store)
    dict(load_snapshot(store).files)
    assert told(reader).keys() == NAMES


def test_a_write_tells_its_time_and_whether_it_compacted(store: MemoryStore, reader: InMemoryMetricReader):
    tabled(store)
    points = told(reader)
    # Versions 1, 2 and 3 have states, and the first had none to add to.
    assert points["indextables.state.write.duration_ms"].count == 3
    assert points["indextables.state.write.duration_ms"].sum > 0
    assert points["indextables.state.write.compacted"].value == 1
    upgrade_and_checkpoint(store, Settings())
    assert told(reader)["indextables.state.write.compacted"].value == 2


def test_a_read_tells_how_many_manifests_and_files(table: MemoryStore, reader: InMemoryMetricReader):
    snapshot = load_snapshot(table)
    assert "indextables.state.read.duration_ms" not in told(reader), "no entry was asked for yet"
    dict(snapshot.files)
    points = told(reader)
    assert points["indextables.state.read.duration_ms"].count == 1
    assert points["indextables.state.read.duration_ms"].sum > 0
    assert points["indextables.state.read.manifest_count"].sum == 3
    assert points["indextables.state.read.file_count"].sum == 12


def test_a_read_of_one_partition_tells_what_it_read(table: MemoryStore, reader: InMemoryMetricReader):
    load_snapshot(table).prune(Compare("=", "day", "wed"))
    points = told(reader)
    assert points["indextables.state.read.manifest_count"].sum == 1
    assert points["indextables.state.read.file_count"].sum == 4


def test_tombstones_are_those_of_the_newest_state(store: MemoryStore, reader: InMemoryMetricReader):
    tabled(store)
    load_snapshot(store, 1)
    points = told(reader)
    assert points["indextables.state.tombstone_count"].value == 1
    assert points["indextables.state.tombstone_ratio"].value == pytest.approx(1 / 12)
    upgrade_and_checkpoint(store, Settings())
    assert told(reader)["indextables.state.tombstone_count"].value == 0
    assert told(reader)["indextables.state.tombstone_ratio"].value == 0


def test_a_reader_tells_of_tombstones_too(table: MemoryStore, reader: InMemoryMetricReader):
    assert told(reader) == {}
    load_snapshot(table)
    assert told(reader)["indextables.state.tombstone_count"].value == 1


LIBRARY_ALONE = """
import sys
import indextables as it, pyarrow as pa
from opentelemetry import metrics
it.write("memory://t", pa.table({"n": [1]}))
it.open("memory://t").checkpoint()
assert it.open("memory://t").files().num_rows == 1
assert not [name for name in sys.modules if name.startswith("opentelemetry.sdk")]
"""


def test_the_api_alone_is_enough():
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY_ALONE], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")

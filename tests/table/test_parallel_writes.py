"""Writes in plain Python build several splits at a time: the same splits, within the same memory, and all or none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.schema import TableSchema
from indextables.split import RowRequest, SplitWriter, open_split
from indextables.storage import open_store
from indextables.table import WritePlan, plan_write, run_write_task
from indextables.table.writes import split_building
from indextables.table.writes.split_building import SplitJob, parallel_writers, run_jobs

ROWS = pa.table(
    {
        "id": range(12_000),
        "p": [n * 7919 % 5 for n in range(12_000)],
        "message": [f"row {n}" if n % 3 else None for n in range(12_000)],
    }
)
BATCHES = ROWS.to_batches(max_chunksize=700)


def plan_of(path: Path, partition_by: list[str] | None = None, **settings: str) -> WritePlan:
    scratch = path / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    given = {keys.TARGET_SPLIT_SIZE.key: "100K", keys.TEMP_DIRECTORY.key: str(scratch), **settings}
    plan = plan_write(
        str(path / "table"),
        TableSchema.from_arrow(ROWS.schema),
        mode="append",
        partition_by=partition_by,
        settings=Settings(given),
    )
    assert plan is not None
    return plan


def rows_of_splits(plan: WritePlan, batches: Any, writers: int) -> list[tuple[dict[str, str], list[int]]]:
    """Write, and return the partition and the ids of each split in its order."""
    result = run_write_task(plan, batches, writers=writers)
    found = []
    store = open_store(plan.uri, Settings(plan.options))
    for add in result.adds:
        with open_split(store, add.path, add.size) as reader:
            rows = pa.Table.from_batches(list(reader.rows(RowRequest(("id",)))))
        found.append((dict(add.partition_values), rows.column("id").to_pylist()))
    return found


@pytest.mark.parametrize("partition_by", [None, ["p"]])
def test_the_splits_are_those_of_one_writer_in_the_same_order(tmp_path, partition_by):
    serial = rows_of_splits(plan_of(tmp_path / "serial", partition_by), iter(BATCHES), 1)
    parallel = rows_of_splits(plan_of(tmp_path / "parallel", partition_by), BATCHES, 3)
    assert len(serial) >= 3
    assert parallel == serial
    if partition_by is None:
        assert [n for _, ids in parallel for n in ids] == list(range(ROWS.num_rows))


@pytest.mark.parametrize("partition_by", [None, ["p"]])
def test_two_splits_are_built_at_the_same_time(tmp_path, monkeypatch, partition_by):
    meeting = threading.Barrier(2, timeout=60)
    thread = threading.local()
    write = SplitWriter.write

    def meet(self: SplitWriter, batch: pa.RecordBatch) -> None:
        if not hasattr(thread, "has_met"):
            thread.has_met = True
            meeting.wait()  # until another thread is at its first batch
        write(self, batch)

    monkeypatch.setattr(SplitWriter, "write", meet)
    run_write_task(plan_of(tmp_path, partition_by), BATCHES, writers=2)


@pytest.mark.parametrize("partition_by", [None, ["p"]])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_one_split_leaves_none_and_no_temporary_files(tmp_path, monkeypatch, partition_by, error):
    write = SplitWriter.write

    def fail(self: SplitWriter, batch: pa.RecordBatch) -> None:
        if 7000 in batch.column("id").to_pylist():
            raise error("row 7000")
        write(self, batch)

    monkeypatch.setattr(SplitWriter, "write", fail)
    with pytest.raises(error, match="row 7000"):
        run_write_task(plan_of(tmp_path, partition_by), BATCHES, writers=2)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_writers_share_the_heap_of_one_and_are_no_more_than_allowed(tmp_path, monkeypatch):
    heaps: list[int | None] = []
    at_work, most = set(), []
    create, finish = SplitWriter.__init__, SplitWriter.finish

    def counted(self: SplitWriter, *args: Any, max_heap: int | None = None, **named: Any) -> None:
        heaps.append(max_heap)
        at_work.add(id(self))
        most.append(len(at_work))
        create(self, *args, max_heap=max_heap, **named)

    def finished(self: SplitWriter) -> Any:
        try:
            return finish(self)
        finally:
            at_work.discard(id(self))

    monkeypatch.setattr(SplitWriter, "__init__", counted)
    monkeypatch.setattr(SplitWriter, "finish", finished)
    run_write_task(plan_of(tmp_path / "memory", **{keys.HEAP_SIZE.key: "60M"}), BATCHES, writers=3)
    assert max(most) <= 3
    assert set(heaps) == {(60 << 20) // 3}
    most.clear()

    def stream() -> Iterator[pa.RecordBatch]:
        yield from BATCHES

    run_write_task(plan_of(tmp_path / "stream"), stream(), writers=3)
    assert max(most) == 1  # the rows of a stream are not held


def test_the_number_of_writers_follows_cores_and_heap(monkeypatch):
    monkeypatch.setattr(split_building, "_cores", lambda: 64)
    assert parallel_writers(Settings({})) == 4
    assert parallel_writers(Settings({keys.HEAP_SIZE.key: "1G"})) == 8
    assert parallel_writers(Settings({keys.HEAP_SIZE.key: "100M"})) == 1
    monkeypatch.setattr(split_building, "_cores", lambda: 2)
    assert parallel_writers(Settings({})) == 2


def test_progress_counts_the_rows_of_parallel_splits(tmp_path, monkeypatch):
    monkeypatch.setattr(split_building, "_cores", lambda: 2)
    told: list[tuple[int, int | None]] = []
    settings = {keys.TARGET_SPLIT_SIZE.key: "100K"}
    it.write(tmp_path / "t", ROWS, settings=settings, progress=lambda rows, total: told.append((rows, total)))
    assert told == sorted(told)
    assert told[-1] == (ROWS.num_rows, ROWS.num_rows)
    assert it.open(tmp_path / "t").to_arrow().column("id").to_pylist() == list(range(ROWS.num_rows))


@pytest.mark.parametrize("kind", ["nullable", "dictionary"])
def test_rows_in_memory_become_the_same_splits_for_any_number_of_writers(tmp_path, kind):
    texts = pa.array([f"row {n}" if n % 3 else None for n in range(60_000)])
    rows = pa.table(
        {"id": range(60_000), "message": texts.dictionary_encode() if kind == "dictionary" else texts}
    )
    found = []
    for writers in (1, 3):
        plan = plan_write(
            str(tmp_path / str(writers)),
            TableSchema.from_arrow(rows.schema),
            mode="append",
            partition_by=None,
            settings=Settings({keys.TARGET_SPLIT_SIZE.key: "300K"}),
        )
        assert plan is not None
        found.append([len(ids) for _, ids in rows_of_splits(plan, rows.to_batches(), writers)])
    assert found[0] == found[1]
    assert len(found[0]) > 2
    assert min(found[0][:-1]) > 1000, "the end of one split is a split of its own"


def test_an_interrupt_of_the_caller_ends_the_jobs_of_other_threads():
    begun, ended, pause = threading.Event(), [], threading.Event()

    def build(job: SplitJob, _heap: int | None, check: Callable[[], None]) -> None:
        if job.key == ("first",):
            begun.wait(60)
            return
        begun.set()
        for _ in range(2000):
            check()
            pause.wait(0.01)
        ended.append(job)

    def interrupt(_job: SplitJob) -> None:
        raise KeyboardInterrupt

    jobs = [SplitJob(("first",), []), SplitJob(("second",), [])]
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, build, settings=Settings({}), writers=2, after=interrupt)
    assert ended == []

"""When a scan is answered where it is planned: only if the answer is small, near, and told beforehand."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.predicates import TRUE, parse_where
from indextables.runtime import current
from indextables.split.index_cache.cache import OPEN_INDEXES
from indextables.table import (
    COUNT_ROWS,
    ScanPlan,
    ScanRequest,
    answer_on_driver,
    plan_scan,
    run_scan_task,
    scan_schema,
)
from indextables.table.scans import driver_answers
from indextables.table.scans.driver_answers import MAX_STORED_BYTES, Hits, shares
from indextables.table.scans.driver_totals import MAX_SPLITS, may_open

ROWS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "message": ["disk full" if i % 4 == 0 else "all is well" for i in range(40)],
        "host": [f"host-{i % 2}" for i in range(40)],
        "i8": pa.array([None if i % 5 == 0 else i for i in range(40)], pa.int8()),
        "f32": pa.array([i / 4 for i in range(40)], pa.float32()),
        "flag": [None if i % 7 == 0 else i % 2 == 0 for i in range(40)],
        "day": [date(1969, 12, 31) if i % 3 else None for i in range(40)],
        "at": pa.array([datetime(2024, 1, 1, 0, 0, i, i, UTC) for i in range(40)], pa.timestamp("us", "UTC")),
        "raw": pa.array([bytes([i, 255]) if i % 6 else None for i in range(40)], pa.binary()),
    }
)
EVERY = ScanRequest(columns=("id",))


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    current().cache(OPEN_INDEXES).clear()
    return {"spark.indextables.cache.directoryPath": str(tmp_path / "cache")}


@pytest.fixture
def path(tmp_path: Path) -> str:
    for part in (ROWS.slice(0, 25), ROWS.slice(25)):
        it.write(tmp_path / "table", part, text=["message"], partition_by=["host"])
    return str(tmp_path / "table")


def planned(path: str, options: dict[str, str], where: str | None = None, **request: object) -> ScanPlan:
    table = it.open(path, settings=options)
    predicate = TRUE if where is None else parse_where(where, table.snapshot.schema)
    columns = request.pop("columns", tuple(ROWS.schema.names))
    asked = ScanRequest(columns, predicate, **request)  # type: ignore[arg-type]
    return plan_scan(table.uri, table.snapshot, asked, table.settings, parallelism=2)


def by_tasks(plan: ScanPlan) -> pa.Table:
    schema = scan_schema(plan.tasks[0].schema, plan.tasks[0].request)
    return pa.Table.from_batches([batch for task in plan.tasks for batch in run_scan_task(task)], schema)


def in_order(rows: pa.Table) -> list[dict[str, object]]:
    found: list[dict[str, object]] = rows.sort_by("id").to_pylist()
    return found


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8),
    st.none() | st.integers(1, 60),
    st.none() | st.integers(1, 60),
    st.integers(1, 100),
)
def test_shares_are_what_limit_and_top_leave_and_never_too_many(
    splits: list[tuple[int, int]], limit: int | None, top: int | None, max_rows: int
) -> None:
    found = [Hits(rows, 100, rows + others) for rows, others in splits]
    taken = shares(found, ScanRequest(("id",), limit=limit, top=top), max_rows)
    offered = [min(n for n in (hits.rows, top) if n is not None) for hits in found]
    wanted = sum(offered) if limit is None else min(limit, sum(offered))
    if wanted > max_rows:
        assert taken is None
    else:
        assert taken is not None
        assert sum(taken) == wanted
        assert all(rows <= most for rows, most in zip(taken, offered, strict=False))


def test_a_split_that_cannot_tell_leaves_all_to_tasks() -> None:
    assert shares([Hits(1, 100, 10), Hits(None, 100, 10)], EVERY, 100) is None


def test_large_rows_are_left_to_tasks() -> None:
    assert shares([Hits(1, MAX_STORED_BYTES * 10, 10)], EVERY, 100) == [1]
    assert shares([Hits(2, MAX_STORED_BYTES * 10, 10)], EVERY, 100) is None


def test_no_split_is_looked_at_after_the_answer_is_too_large_or_complete() -> None:
    def found(*rows: int) -> Iterator[Hits]:
        for n in rows:
            yield Hits(n, 100, 1000)
        raise AssertionError("one split too many")

    assert shares(found(60, 60), EVERY, 100) is None
    assert shares(found(3, 4), ScanRequest(("id",), limit=5), 100) == [3, 2]


def test_few_splits_of_this_machine_are_opened() -> None:
    assert may_open("/data/t", MAX_SPLITS)
    assert not may_open("/data/t", MAX_SPLITS + 1)
    assert not may_open("s3://bucket/t", 1)
    assert not may_open("abfss://box@account.dfs.core.windows.net/t", 1)


@pytest.mark.parametrize(
    "where",
    [
        "message TEXTSEARCH 'disk'",
        "message TEXTSEARCH 'disk' AND host = 'host-0' AND i8 > 8",
        "message TEXTSEARCH 'nowhere'",
        "message TEXTSEARCH 'disk' OR host = 'host-1'",
        "host = 'host-2'",
        None,
    ],
)
def test_the_answer_is_what_the_tasks_would_return(
    path: str, options: dict[str, str], where: str | None
) -> None:
    plan = planned(path, options, where)
    answer = answer_on_driver(plan)
    assert answer is not None
    assert answer.schema == by_tasks(plan).schema
    assert in_order(answer) == in_order(by_tasks(plan))


@pytest.mark.parametrize(
    "where", ["message LIKE '%is%'", "id > 3", "message TEXTSEARCH 'disk' AND message LIKE '%is%'"]
)
def test_what_rows_must_be_read_for_is_left_to_tasks(path: str, options: dict[str, str], where: str) -> None:
    assert answer_on_driver(planned(path, options, where)) is None


@pytest.mark.parametrize(
    ("where", "number"),
    [(None, 40), ("message TEXTSEARCH 'disk'", 10), ("id > 30", 9), ("host = 'host-0'", 20)],
)
def test_counts_are_one_row(path: str, options: dict[str, str], where: str | None, number: int) -> None:
    answer = answer_on_driver(planned(path, options, where, columns=(), aggregate=COUNT_ROWS))
    assert answer is not None
    assert answer.to_pylist() == [{"measure_0": number}]


def test_a_count_that_the_log_knows_opens_no_split(path: str, options: dict[str, str]) -> None:
    plan = planned(path, options, "host = 'host-1'", columns=(), aggregate=COUNT_ROWS)
    for split in Path(path).rglob("*.split"):
        split.unlink()
    answer = answer_on_driver(plan)
    assert answer is not None
    assert answer.to_pylist() == [{"measure_0": 20}]


def test_limits_and_the_best_of_a_search(path: str, options: dict[str, str]) -> None:
    limited = answer_on_driver(planned(path, options, limit=27))
    assert limited is not None
    assert limited.num_rows == 27
    found = answer_on_driver(planned(path, options, "message TEXTSEARCH 'disk'", limit=3))
    assert found is not None
    assert found.column("message").to_pylist() == ["disk full"] * 3
    plan = planned(path, options, "message TEXTSEARCH 'disk'", columns=("id", "_score", "_snippet"), top=2)
    best = answer_on_driver(plan)
    assert best is not None
    assert in_order(best) == in_order(by_tasks(plan))


def test_the_setting_bounds_the_rows_and_switches_it_off(path: str, options: dict[str, str]) -> None:
    def answered(most: str) -> bool:
        settings = options | {"spark.indextables.read.answerOnDriver.maxRows": most}
        return answer_on_driver(planned(path, settings, "message TEXTSEARCH 'disk'")) is not None

    assert [answered(most) for most in ("10", "9", "0")] == [True, False, False]
    off = options | {"spark.indextables.read.answerOnDriver.maxRows": "0"}
    assert answer_on_driver(planned(path, off, columns=(), aggregate=COUNT_ROWS)) is None


def test_an_answer_that_turns_out_large_is_left_to_tasks(
    path: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_answers, "MAX_ANSWER_BYTES", 100)
    assert answer_on_driver(planned(path, options, "message TEXTSEARCH 'disk'")) is None


def test_large_splits_are_searched_only_if_their_indexes_are_in_the_cache(
    path: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(driver_answers, "MAX_UNPACKED_BYTES", 0)
    plan = planned(path, options, "message TEXTSEARCH 'disk'")
    assert answer_on_driver(plan) is None
    assert not list((tmp_path / "cache").glob("*"))
    rows = by_tasks(plan)  # which unpacks the indexes
    current().cache(OPEN_INDEXES).clear()
    assert in_order(answer_on_driver(plan)) == in_order(rows)  # type: ignore[arg-type]
    shutil.rmtree(tmp_path / "cache")
    current().cache(OPEN_INDEXES).clear()
    assert answer_on_driver(plan) is None
    assert answer_on_driver(planned(path, options, limit=5)) is not None  # which asks no index


def test_an_error_of_reading_is_left_to_tasks(path: str, options: dict[str, str]) -> None:
    plan = planned(path, options, "message TEXTSEARCH 'disk'")
    for split in Path(path).rglob("*.split"):
        split.write_bytes(b"no split")
    assert answer_on_driver(plan) is None

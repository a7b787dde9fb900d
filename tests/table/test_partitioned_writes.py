"""Rows of many partitions in one write: every row in its own partition, however many partitions and columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.schema import TableSchema
from indextables.table.writes.partitioning import PartitionKey, PartitionSpill, split_by_partition

PARTITIONS = 1000


def scattered(rows: int, partitions: int) -> pa.Table:
    """Rows whose partitions follow each other in no order: each batch mixes nearly all of them."""
    return pa.table(
        {
            "id": range(rows),
            "p": [i * 7919 % partitions for i in range(rows)],
            "message": [f"row {i}" for i in range(rows)],
        }
    )


def spilled(
    directory: Path, batches: list[pa.RecordBatch], columns: tuple[str, ...], run_bytes: int
) -> dict[PartitionKey, list[dict[str, object]]]:
    schema = TableSchema.from_arrow(batches[0].schema)
    with PartitionSpill(directory, schema, columns, run_bytes=run_bytes) as spill:
        for batch in batches:
            spill.add(batch)
        return {key: pa.Table.from_batches(part).to_pylist() for key, part in spill.partitions()}


@pytest.mark.parametrize(
    "partitions", [80, pytest.param(PARTITIONS, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_a_write_of_many_partitions_in_mixed_batches_keeps_every_row(tmp_path: Path, partitions: int) -> None:
    data = scattered(4 * partitions, partitions)
    path = str(tmp_path / "table")
    it.write(path, data.to_reader(max_chunksize=partitions - 7), partition_by=["p"])
    table = it.open(path)
    assert table.files().num_rows == partitions
    assert table.to_arrow().sort_by("id").to_pylist() == data.to_pylist()


@pytest.mark.parametrize("run_bytes", [1, 20_000, 1 << 30])
def test_spilled_rows_come_back_by_partition_in_their_order(tmp_path: Path, run_bytes: int) -> None:
    data = scattered(3 * PARTITIONS, PARTITIONS)
    found = spilled(tmp_path, data.to_batches(max_chunksize=900), ("p",), run_bytes)
    expected: dict[PartitionKey, list[dict[str, object]]] = {}
    for row in data.to_pylist():
        key = (str(row.pop("p")),)
        expected.setdefault(key, []).append(row)
    assert found == expected
    assert list(tmp_path.iterdir()) == []


def test_a_spill_without_rows_has_no_partitions(tmp_path: Path) -> None:
    empty = pa.RecordBatch.from_pylist([], schema=scattered(1, 1).schema)
    assert spilled(tmp_path, [empty], ("p",), 1) == {}


def test_a_batch_is_sorted_once_and_cut_into_slices() -> None:
    (batch,) = scattered(PARTITIONS, 100).to_batches()
    groups = [rows for _, rows in split_by_partition(batch, TableSchema.from_arrow(batch.schema), ("p",))]
    assert len(groups) == 100
    assert len({rows.column("id").buffers()[1].address for rows in groups}) == 1


def test_combinations_of_many_partition_columns_stay_apart(tmp_path: Path) -> None:
    """17 columns of 16 values have more combinations than 64 bits can number."""
    columns = [f"p{i}" for i in range(17)]
    rows = [{"id": value, **dict.fromkeys(columns, value)} for value in range(16)]
    rows += [{"id": 100 + value, **dict.fromkeys(columns, 0), "p0": value} for value in (1, 15)]
    path = str(tmp_path / "table")
    it.write(path, pa.Table.from_pylist(rows), partition_by=columns)
    assert it.open(path).to_arrow().sort_by("id").to_pylist() == rows


@given(
    st.integers(1, 20).flatmap(
        lambda width: st.lists(
            st.tuples(*[st.one_of(st.none(), st.sampled_from(["", "a", "b", "é"]))] * width), max_size=30
        )
    )
)
def test_every_row_is_in_the_group_of_its_values(values: list[tuple[str | None, ...]]) -> None:
    columns = tuple(f"p{i}" for i in range(len(values[0]))) if values else ("p0",)
    arrays = [pa.array([row[i] for row in values], pa.string()) for i in range(len(columns))]
    batch = pa.record_batch([pa.array(range(len(values)), pa.int64()), *arrays], names=["id", *columns])
    expected: dict[PartitionKey, list[int]] = {}
    for number, row in enumerate(values):
        expected.setdefault(row, []).append(number)
    schema = TableSchema.from_arrow(batch.schema)
    found = {key: rows["id"].to_pylist() for key, rows in split_by_partition(batch, schema, columns)}
    assert found == expected

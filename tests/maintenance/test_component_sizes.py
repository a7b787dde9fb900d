"""The sizes of the parts of splits: complete, named, and only of the splits that may match."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import CorruptTableError, PredicateError


@pytest.fixture
def path(tmp_path) -> str:
    path = str(tmp_path / "logs")
    for n in range(2):
        rows = pa.table({"id": range(50), "day": [n] * 50, "message": ["disk full on db1"] * 50})
        it.write(
            path,
            rows,
            partition_by=["day"],
            text=["message"],
            settings={"spark.indextables.stats.bloom.columns": "id"},
        )
    return path


def test_the_parts_of_a_split_add_up_to_it(path):
    table = it.open(path)
    sizes = table.component_sizes()
    files = table.files().select(["path", "size"]).to_pylist()
    parts = sizes.group_by("split_path").aggregate([("size_bytes", "sum"), ("percent", "sum")]).to_pylist()
    assert {part["split_path"]: part["size_bytes_sum"] for part in parts} == {
        file["path"]: file["size"] for file in files
    }
    assert [part["percent_sum"] for part in parts] == pytest.approx([100, 100])


def test_index_rows_filters_and_footers_are_told_apart(path):
    sizes = it.open(path).component_sizes("day = 1").to_pylist()
    kinds = {row["component_type"] for row in sizes}
    assert {"term", "postings", "positions", "fastfield", "fieldnorm", "store"} <= kinds
    assert {"rows", "rows_footer", "rows_pages", "rows_checksums", "bloom", "footer", "metadata"} <= kinds
    (bloom,) = (row for row in sizes if row["component_type"] == "bloom")
    assert bloom["field_name"] == "id"
    assert bloom["partition_values"] == '{"day":"1"}'
    assert all(row["size_bytes"] > 0 for row in sizes)


def test_a_condition_leaves_out_the_splits_that_cannot_match(path):
    table = it.open(path)
    assert len(set(table.component_sizes("day = 0").column("split_path").to_pylist())) == 1
    assert table.component_sizes("day = 7").num_rows == 0
    with pytest.raises(PredicateError):
        table.component_sizes("nope = 1")


def test_a_split_that_is_gone_is_an_error(path):
    table = it.open(path)
    key = table.files().column("path")[0].as_py()
    (Path(path) / key).unlink()
    with pytest.raises(CorruptTableError, match="is missing"):
        table.component_sizes()

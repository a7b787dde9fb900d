"""Writing column groups: which columns go together, what files are made, what is left after an error."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import columns
from indextables.columns import Reader, SchemaBased, Single, SizeBased, Transaction, Writer
from indextables.columns.column_encoding import worth_dictionary
from indextables.columns.policies import plan_groups
from indextables.errors import InputError, SchemaError, StorageError
from indextables.storage import open_store
from indextables.storage.local import LocalStore

ROWS = pa.table(
    {"id": range(5000), "v_a": [0.5] * 5000, "v_b": [1.5] * 5000, "text": ["x" * 40] * 5000},
    schema=pa.schema(
        [("id", pa.int64()), ("v_a", pa.float32()), ("v_b", pa.float32()), ("text", pa.string())]
    ),
)


def columns_of(policy, first_rows=ROWS):
    batch = None if first_rows is None else first_rows.combine_chunks().to_batches()[0]
    return [group.columns for group in plan_groups(policy, ROWS.schema, "parquet", batch)]


def test_the_first_pattern_that_matches_a_whole_name_takes_the_column():
    assert columns_of(SchemaBased(("v_.*", ".*t", "v_a"))) == [("v_a", "v_b"), ("text",), ("id",)]
    assert columns_of(SchemaBased(("v", "i"))) == [("id", "v_a", "v_b", "text")]  # no whole name


def test_patterns_can_have_formats_of_their_own():
    groups = plan_groups(SchemaBased(("v_.*",), ("vortex",)), ROWS.schema, "parquet", None)
    assert [(group.columns, group.format) for group in groups] == [
        (("v_a", "v_b"), "vortex"),
        (("id", "text"), "parquet"),
    ]
    with pytest.raises(InputError, match="1 patterns and 2 formats"):
        plan_groups(SchemaBased(("v_.*",), ("vortex", "parquet")), ROWS.schema, "parquet", None)
    with pytest.raises(InputError, match="not a regular expression"):
        plan_groups(SchemaBased(("(",)), ROWS.schema, "parquet", None)


def test_wide_columns_stand_alone_and_no_group_is_empty():
    assert columns_of(SizeBased(30, 2)) == [("id", "v_a"), ("text",), ("v_b",)]
    assert columns_of(SizeBased(1, 9)) == [("id",), ("v_a",), ("v_b",), ("text",)]  # the first one too
    assert columns_of(SizeBased(30, 9), None) == [("id", "v_a", "v_b", "text")]


def test_files_are_named_by_group_and_their_footer_tells_the_row_groups(tmp_path):
    with Writer(
        tmp_path, ROWS.schema, policy=SchemaBased(("v_.*",)), row_group_bytes=20_000, rolling_bytes=60_000
    ) as writer:
        for batch in ROWS.to_batches(max_chunksize=700):
            writer.write(batch)
        groups = writer.close()
    assert [group.columns for group in groups] == [("v_a", "v_b"), ("id", "text")]
    assert [len(group.files) for group in groups] == [1, 5]
    for number, group in enumerate(groups):
        assert [file.start_index for file in group.files] == [0] * len(group.files)
        for file in group.files:
            path = Path(file.path)
            assert path.parent == tmp_path / "_data"
            assert re.fullmatch(rf"{number}_[0-9a-f-]{{36}}\.parquet", path.name)
            metadata = pq.read_metadata(path)
            assert metadata.num_rows == file.end_index
            assert file.properties["file_size"] == str(path.stat().st_size)
            stated = metadata.metadata[b"row_group_metadata"].decode().split(";")
            rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            assert [int(entry.split("|")[1]) for entry in stated] == rows
            assert [int(entry.split("|")[2]) for entry in stated] == [sum(rows[:i]) for i in range(len(rows))]
            assert all(0 < int(entry.split("|")[0]) < 30_000 for entry in stated)
            assert metadata.metadata[b"storage_version"] == b"1.0.0"


@pytest.mark.parametrize("file_format", ["parquet", "vortex"])
def test_a_row_larger_than_a_row_group_is_written(tmp_path, file_format):
    rows = pa.table({"blob": [b"x" * 100_000, None, b"y" * 50_000]})
    with Writer(tmp_path, rows.schema, format=file_format, row_group_bytes=1000) as writer:
        writer.write(rows)
    assert Reader(writer.close(), rows.schema).to_table().equals(rows)


def test_rows_are_fitted_to_the_schema_or_refused(tmp_path):
    schema = pa.schema([("a", pa.int16()), pa.field("b", pa.string(), nullable=False)])
    with Writer(tmp_path, schema) as writer:
        writer.write(pa.table({"b": pa.array(["x"], pa.large_string()), "a": [1]}))
    assert Reader(writer.close(), schema).to_table().to_pylist() == [{"a": 1, "b": "x"}]
    for wrong, message in [
        ({"a": [70_000], "b": ["x"]}, "'a' of the rows is int64, but the schema declares int16"),
        ({"a": [1], "b": [None]}, "'b' of the rows has nulls"),
        ({"a": ["1"], "b": ["x"]}, "'a' of the rows is string"),
        ({"a": [1]}, "missing: 'b'"),
        ({"a": [1], "b": ["x"], "c": [1]}, "not in the schema: 'c'"),
    ]:
        with pytest.raises(SchemaError, match=message), Writer(tmp_path, schema) as writer:
            writer.write(pa.table(wrong))


def test_no_rows_make_groups_without_files(tmp_path):
    with Writer(tmp_path, ROWS.schema, policy=SizeBased()) as writer:
        writer.write(ROWS.slice(0, 0))
    assert [(group.columns, group.files) for group in writer.close()] == [(tuple(ROWS.schema.names), ())]
    assert not (tmp_path / "_data").exists()


def test_an_error_leaves_no_file_and_a_writer_that_says_so(tmp_path):
    def fail_in_the_middle():
        with Writer(tmp_path, ROWS.schema, rolling_bytes=1000, row_group_bytes=500) as writer:
            writer.write(ROWS)
            assert list((tmp_path / "_data").iterdir())
            raise KeyError("the caller's")

    with pytest.raises(KeyError):
        fail_in_the_middle()
    assert not list((tmp_path / "_data").iterdir())
    writer = Writer(tmp_path, ROWS.schema)
    writer.abort()
    with pytest.raises(InputError, match="has failed or was aborted"):
        writer.write(ROWS)
    writer = Writer(tmp_path, ROWS.schema)
    writer.close()
    with pytest.raises(InputError, match="is closed"):
        writer.write(ROWS)


def test_a_store_that_fails_leaves_nothing_listed(tmp_path, monkeypatch):
    calls = iter([True, True, False])
    original = LocalStore.put_file

    def put_file(self, key, source):
        original(self, key, source)
        if not next(calls):
            raise StorageError("the disk is tired")

    monkeypatch.setattr(LocalStore, "put_file", put_file)
    writer = Writer(tmp_path, ROWS.schema, rolling_bytes=1000, row_group_bytes=500)
    with pytest.raises(StorageError, match="tired"):
        writer.write(ROWS)
    assert not list((tmp_path / "_data").iterdir())
    with pytest.raises(InputError, match="has failed"):
        writer.close()


def test_files_appear_in_any_store_and_commit_with_a_transaction():
    base = "memory:columns-writer-commit"
    with Writer(base, ROWS.schema, policy=Single()) as writer:
        writer.write(ROWS)
    with Transaction.open(base) as transaction:
        assert transaction.append_files(writer.close()).commit() == 1
    assert [info.key.split("/")[0] for info in open_store(base).list_from("")] == ["_data", "_metadata"]


def test_wrong_options_are_refused(tmp_path):
    for options, message in [
        ({"format": "orc"}, "no file format 'orc'; choose parquet or vortex"),
        ({"compression": "zip"}, "compression is 'zip'"),
        ({"row_group_bytes": 0}, "row_group_bytes is 0 and .* both take 1 or more"),
        ({"policy": SizeBased(0)}, "max_avg_column_size is 0; both take 1 or more"),
    ]:
        with pytest.raises(InputError, match=message):
            Writer(tmp_path, ROWS.schema, **options).close()
    with pytest.raises(SchemaError, match="at least one column, and column names must be unique"):
        Writer(tmp_path, pa.schema([("a", pa.int8()), ("a", pa.int8())]))


def test_without_its_package_vortex_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vortex", None)
    with (
        pytest.raises(InputError, match=r'pip install "CLONE\[vortex\]"'),
        Writer(tmp_path, ROWS.schema, format="vortex") as writer,
    ):
        writer.write(ROWS)


def test_columns_are_encoded_by_what_their_first_rows_gain(tmp_path):
    random = np.random.default_rng(5)
    rows = pa.table(
        {
            "sorted": np.arange(20_000),
            "small": random.integers(0, 1 << 20, 20_000),
            "random": random.integers(-(1 << 63), 1 << 63, 20_000),
            "float": random.standard_normal(20_000),
            "text": [f"a text of some length, number {n}" for n in range(20_000)],
            "word": random.choice(["red", "green"], 20_000),
            "list": [[2 * n, 2 * n + 1] for n in range(20_000)],
        }
    )
    columns.write(tmp_path, rows)
    [file] = columns.open(tmp_path).manifest.column_groups[0].files
    group = pq.read_metadata(file.path).row_group(0)
    chunks = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    deltas = {name for name, chunk in chunks.items() if "DELTA_BINARY_PACKED" in chunk.encodings}
    compressed = {name for name, chunk in chunks.items() if chunk.compression == "ZSTD"}
    assert deltas == {"sorted", "small", "list.list.element"}
    assert compressed == {"text"}
    assert columns.open(tmp_path).to_arrow().equals(rows)
    picks = random.choice(20_000, 50, replace=False)
    assert columns.open(tmp_path).take(picks).equals(rows.take(pa.array(picks)))


def test_nulls_do_not_make_random_numbers_worth_a_dictionary():
    random = np.random.default_rng(5)
    numbers = pa.array(random.integers(0, 1 << 40, 15_000), mask=random.random(15_000) < 0.4)
    few = pa.array(random.integers(0, 40, 15_000), mask=random.random(15_000) < 0.4)
    assert worth_dictionary(pa.table({"numbers": numbers, "few": few})) == ["few"]


@pytest.mark.parametrize("period", [1, 10, 1024, 4096])
def test_values_that_repeat_at_any_distance_are_worth_a_dictionary(period):
    rows = pa.table({"text": [f"a text of some length, number {n % period}" for n in range(16_384)]})
    assert worth_dictionary(rows) == ["text"]


def test_columns_with_dictionaries_everywhere_are_compressed_where_it_saves_room(tmp_path):
    random = np.random.default_rng(5)
    rows = pa.table({"float": random.standard_normal(20_000), "sorted": np.arange(20_000)})
    columns.write(tmp_path, rows, dictionary=True)
    [file] = columns.open(tmp_path).manifest.column_groups[0].files
    group = pq.read_metadata(file.path).row_group(0)
    chunks = [group.column(leaf) for leaf in range(group.num_columns)]
    assert [chunk.has_dictionary_page for chunk in chunks] == [True, True]
    assert [chunk.compression for chunk in chunks] == ["UNCOMPRESSED", "ZSTD"]
    assert columns.open(tmp_path).to_arrow().equals(rows)

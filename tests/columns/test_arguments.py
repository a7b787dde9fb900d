"""Arguments of `indextables.columns`: what is of another type, or means something else, is an error that says so."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from indextables import columns
from indextables.columns import (
    LATEST,
    Manifest,
    Reader,
    SchemaBased,
    Transaction,
    Writer,
    write_delta,
)
from indextables.errors import InputError, SchemaError

ROWS = pa.table({"id": [1, 2, 3], "text": ["a", "b", "c"], "n": [0.5, 1.5, 2.5]})


@pytest.fixture
def dataset(tmp_path):
    columns.write(tmp_path, ROWS, policy=SchemaBased(("text",)))
    return columns.open(tmp_path)


def test_what_is_of_another_type_is_refused_with_what_is_expected(dataset, tmp_path):
    reader = dataset.reader()
    transaction = Transaction.open(tmp_path)
    wrong = [
        lambda: columns.open(5),
        lambda: columns.open(tmp_path, version="1"),
        lambda: columns.open(tmp_path, schema={"id": "long"}),
        lambda: columns.open(tmp_path, settings=5),
        lambda: columns.write(5, ROWS),
        lambda: columns.write(tmp_path, 5),
        lambda: columns.write(tmp_path, [{"id": 1}]),
        lambda: columns.write(tmp_path, ROWS, mode=5),
        lambda: columns.write(tmp_path, ROWS, rolling_bytes="1"),
        lambda: columns.adopt(tmp_path, 5),
        lambda: columns.adopt(tmp_path, [5]),
        lambda: Writer(tmp_path, {"id": "long"}),
        lambda: Writer(tmp_path, ROWS.schema, policy="single"),
        lambda: Writer(tmp_path, ROWS.schema, policy=SchemaBased("text")),
        lambda: Writer(tmp_path, ROWS.schema, compression=3),
        lambda: Writer(tmp_path, ROWS.schema, dictionary="yes"),
        lambda: Reader(5, ROWS.schema),
        lambda: Reader([5], ROWS.schema),
        lambda: Reader(Manifest(), ["id"]),
        lambda: dataset.to_arrow(columns="id"),
        lambda: dataset.to_arrow(columns=[5]),
        lambda: dataset.to_arrow(where=5),
        lambda: reader.scan(rows=5),
        lambda: reader.take([0], parallelism="2"),
        lambda: reader.get_chunk_reader("0"),
        lambda: reader.get_chunk_reader(0).get_chunk("0"),
        lambda: reader.get_chunk_reader(0).get_chunk_indices(["0"]),
        lambda: transaction.append_files([5]),
        lambda: transaction.append_files(5),
        lambda: transaction.add_column_group("x"),
        lambda: transaction.add_delta_log(5, 1),
        lambda: transaction.add_delta_log("d", "1"),
        lambda: transaction.add_delta_log("d", 1, "POSITIONAL"),
        lambda: transaction.update_stat(5, ["a"]),
        lambda: transaction.update_stat("k", "a"),
        lambda: transaction.update_stat("k", [5]),
        lambda: transaction.update_stat("k", ["a"], {"k": 5}),
        lambda: transaction.drop_column(5),
        lambda: transaction.add_index("i"),
        lambda: transaction.drop_index("1"),
        lambda: transaction.add_lob_file("f"),
        lambda: Transaction.open(5),
        lambda: Transaction.open(tmp_path, retry_limit="1"),
        lambda: write_delta(tmp_path, "x", ROWS),
        lambda: write_delta(tmp_path, 0, [1]),
    ]
    for number, call in enumerate(wrong):
        try:
            with pytest.raises(InputError, match=r"take|there are"):
                call()
        except BaseException as error:
            error.add_note(f"call {number}")
            raise


@pytest.mark.parametrize("indices", [[[0]], [[]], 0, [0.5], [True], ["0"], None, [[0], [1, 2]]])
def test_positions_are_a_flat_list(dataset, indices):
    with pytest.raises(InputError, match="list of whole numbers"):
        dataset.take(indices)


def test_a_chunk_reader_reads_the_columns_of_its_reader(dataset):
    reader = dataset.reader(columns=["n"])
    assert reader.get_chunk_reader(1).get_chunk(0).schema.names == ["n"]
    assert reader.get_chunk_reader(1, ["id"]).get_chunk(0).schema.names == ["id"]
    without = reader.get_chunk_reader(0).get_chunk(0)
    assert (without.num_columns, without.num_rows) == (0, 3)


@pytest.mark.parametrize("file_format", ["parquet", "vortex"])
def test_a_file_is_no_larger_than_rolling_bytes_says(tmp_path, file_format):
    rows = pa.table({"id": pa.array(range(1000), pa.int64())})
    columns.write(tmp_path, rows, format=file_format, rolling_bytes=2000)
    [group] = columns.open(tmp_path).manifest.column_groups
    assert [file.end_index for file in group.files] == [250] * 4
    assert columns.open(tmp_path).to_arrow().equals(rows)


def encodings(path: str) -> dict[str, bool]:
    group = pq.read_metadata(path).row_group(0)
    found = [group.column(place) for place in range(group.num_columns)]
    return {column.path_in_schema: "RLE_DICTIONARY" in column.encodings for column in found}


def test_dictionaries_are_for_columns_whose_values_repeat(tmp_path):
    rows = pa.table(
        {
            "id": pa.array(range(500), pa.int64()),
            "word": ["one", "another", "yet another", None] * 125,
            "vector": pa.array([[n * 0.1, n * 0.7] for n in range(500)], pa.list_(pa.float32())),
            "pairs": pa.array([[("key", n)] for n in range(500)], pa.map_(pa.string(), pa.int64())),
        }
    )
    for dictionary in (None, True, False):
        base = tmp_path / str(dictionary)
        columns.write(base, rows, dictionary=dictionary)
        [file] = columns.open(base).manifest.column_groups[0].files
        found = encodings(file.path)
        if dictionary is None:
            names = ["word", "pairs.key_value.key"]
            assert [name for name, has in found.items() if has] == names
        else:
            assert set(found.values()) == {dictionary}
        assert columns.open(base).to_arrow().equals(rows)


@pytest.mark.parametrize("kind", [pa.binary(4), pa.duration("us"), pa.list_(pa.binary(2))])
def test_what_vortex_cannot_hold_is_refused_before_rows_come(tmp_path, kind):
    schema = pa.schema([("x", kind)])
    with pytest.raises(SchemaError, match=r"column 'x' .* cannot hold; cast it"):
        Writer(tmp_path, schema, format="vortex")
    columns.write(tmp_path, pa.table([pa.nulls(2, kind)], schema=schema))
    assert columns.open(tmp_path).num_rows == 2


def test_vortex_files_are_adopted_where_they_lie(tmp_path):
    vortex = pytest.importorskip("vortex")
    lake = tmp_path / "lake"
    lake.mkdir()
    vortex.io.write(ROWS, str(lake / "a.vortex"))
    vortex.io.write(ROWS.slice(0, 1), str(lake / "b.vortex"))
    assert columns.adopt(tmp_path / "ds", lake) == 1
    dataset = columns.open(tmp_path / "ds")
    assert dataset.manifest.column_groups[0].format == "vortex"
    assert dataset.to_arrow(["id"]).column("id").to_pylist() == [1, 2, 3, 1]
    vortex.io.write(ROWS.slice(1, 1), str(tmp_path / "c.vortex"))
    assert columns.adopt(tmp_path / "ds", tmp_path / "c.vortex") == 2
    assert columns.open(tmp_path / "ds").num_rows == 5
    pq.write_table(ROWS, lake / "c.parquet")
    with pytest.raises(InputError, match="parquet and vortex; choose one with format"):
        columns.adopt(tmp_path / "other", lake)
    columns.adopt(tmp_path / "other", lake, format="parquet")
    assert columns.open(tmp_path / "other").num_rows == 3


def test_importing_everything_leaves_open_alone():
    namespace: dict[str, object] = {}
    exec("from indextables.columns import *", namespace)
    assert "open" not in namespace
    assert namespace["open_dataset"] is columns.open


@pytest.mark.parametrize("root", ["address", "file system", "subtree"])
def test_the_python_example_of_the_manifest_extension_runs_as_written(tmp_path, root):
    local = pyarrow.fs.LocalFileSystem()
    fs, base_path = {
        "address": (str(tmp_path), "shop"),
        "file system": (local, str(tmp_path / "shop")),
        "subtree": (pyarrow.fs.SubTreeFileSystem(str(tmp_path), local), "shop"),
    }[root]
    with Writer(tmp_path / "shop", ROWS.schema) as writer:
        writer.write(ROWS)
        new_column_groups = writer.close()

    transaction = Transaction.open(fs, base_path, version=LATEST)
    manifest = transaction.get_manifest()
    assert (manifest.delta_logs_size(), manifest.stats_size()) == (0, 0)
    transaction.add_delta_log("delta/pk_001.log", 200)
    transaction.add_delta_log("delta/pk_002.log", 150)
    transaction.update_stat("pk.delete", ["delete_file_1.parquet", "delete_file_2.parquet"])
    transaction.update_stat("bloomfilter", ["bloom_filter_1.bf"])
    transaction.update_stat("bm25", ["bm25_index_1.idx"])
    transaction.append_files(new_column_groups)
    committed_version = transaction.commit()
    current_manifest = transaction.get_manifest()
    all_delta_logs = current_manifest.get_delta_logs()
    delete_files = current_manifest.get_stat("pk.delete")
    all_stats = current_manifest.get_all_stats()

    assert committed_version == 1
    assert [log.num_entries for log in all_delta_logs] == [200, 150]
    assert [path.rpartition("/")[2] for path in delete_files] == [
        "delete_file_1.parquet",
        "delete_file_2.parquet",
    ]
    assert sorted(all_stats) == ["bloomfilter", "bm25", "pk.delete"]
    assert (current_manifest.delta_logs_size(), current_manifest.stats_size()) == (2, 3)
    assert current_manifest == columns.read_manifest(tmp_path / "shop")
    assert columns.open(tmp_path / "shop").to_arrow().equals(ROWS)


def test_a_file_system_without_conditional_creates_is_refused():
    root = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(None))
    with pytest.raises(InputError, match="opened by its address"):
        Transaction.open(root, "shop")
    with pytest.raises(InputError, match="two versions"):
        Transaction.open("memory:two-versions", 1, version=2)


@pytest.mark.parametrize(
    "call", [columns.versions, columns.latest_version, columns.read_manifest, Transaction.open]
)
def test_options_is_another_name_of_settings_and_both_are_an_error(call):
    place, settings = "memory:two-names", {"spark.indextables.transaction.retry.maxAttempts": "3"}
    call(place, settings=settings)
    call(place, options=settings)
    with pytest.raises(InputError, match="settings and options are two names of one argument; give settings"):
        call(place, settings=settings, options=settings)

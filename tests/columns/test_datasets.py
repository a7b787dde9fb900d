"""Reading edge by edge: wrong manifests and files, delta logs, external tables, and the dataset as a whole."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import columns
from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLogType,
    Manifest,
    Reader,
    SchemaBased,
    Transaction,
    Writer,
    save_modes,
    write_delta,
)
from indextables.errors import (
    CorruptTableError,
    InputError,
    PredicateError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.predicates import Compare
from indextables.rows import RowReader

ROWS = pa.table(
    {"id": range(1000), "k": [i // 100 for i in range(1000)], "t": [f"t{i}" for i in range(1000)]}
)


@pytest.fixture
def groups(tmp_path):
    with Writer(
        tmp_path, ROWS.schema, policy=SchemaBased(("t",)), row_group_bytes=1600, rolling_bytes=5000
    ) as writer:
        writer.write(ROWS)
    return writer.close()


def decoded(monkeypatch) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """The row groups, whole or some pages of them, and columns that are decoded from here on."""
    calls: list[tuple[tuple[int, ...], tuple[str, ...]]] = []
    read, fetch_pages = RowReader.read, RowReader._fetch_pages

    def read_groups(self, groups, names):
        calls.append((tuple(groups), tuple(names)))
        return read(self, groups, names)

    def read_pages(self, picked, pages, names):
        calls.append((tuple(picked.groups), tuple(names)))
        return fetch_pages(self, picked, pages, names)

    monkeypatch.setattr(RowReader, "read", read_groups)
    monkeypatch.setattr(RowReader, "_fetch_pages", read_pages)
    return calls


def test_a_predicate_leaves_row_groups_and_columns_unread(groups, monkeypatch):
    calls = decoded(monkeypatch)
    reader = Reader(groups, ROWS.schema)
    assert reader.to_table("k = 7", columns=["t"]).equals(ROWS.slice(700, 100).select(["t"]))
    tested = sum(len(chunks) for chunks, names in calls if names == ("k",))
    fetched = sum(len(chunks) for chunks, names in calls if names == ("t",))
    whole = [reader.get_chunk_reader(i).get_number_of_chunks() for i in (0, 1)]
    assert 1 <= fetched <= 1 + whole[0] // 5
    assert 1 <= tested <= 1 + whole[1] // 5
    calls.clear()
    assert reader.count("k = 99") == 0
    assert not calls


def test_only_the_groups_that_have_a_column_are_opened(groups):
    for file in groups[0].files:
        Path(file.path).unlink()
    assert Reader(groups, ROWS.schema).to_table(columns=["k"]).equals(ROWS.select(["k"]))
    with pytest.raises(CorruptTableError, match="does not exist, though the manifest names it"):
        Reader(groups, ROWS.schema).to_table()


def test_taking_reads_only_the_row_groups_of_the_rows(groups, monkeypatch):
    calls = decoded(monkeypatch)
    assert Reader(groups, ROWS.schema).take([999, 0, 999], ["id"]).column("id").to_pylist() == [999, 0, 999]
    assert sum(len(chunks) for chunks, _ in calls) == 2


def test_wrong_rows_and_columns_are_refused(groups):
    reader = Reader(groups, ROWS.schema)
    for wrong in ([1000], [-1], [0, 5000]):
        with pytest.raises(InputError, match="there is no row"):
            reader.take(wrong)
    with pytest.raises(InputError, match="whole numbers"):
        reader.take([0.5])
    assert reader.take([], ["id"]).num_rows == 0
    with pytest.raises(SchemaError, match="no column 'nope'"):
        reader.scan(columns=["nope"])
    with pytest.raises(SchemaError, match="requested twice"):
        reader.scan(columns=["id", "id"])
    with pytest.raises(SchemaError, match="no column 'nope'"):
        reader.scan(Compare("=", "nope", 1))
    with pytest.raises(PredicateError):
        reader.scan("id = ")
    with pytest.raises(PredicateError, match="needs an index"):
        reader.scan("t TEXTSEARCH 'x'")
    with pytest.raises(InputError, match="no column group 2"):
        reader.get_chunk_reader(2)
    with pytest.raises(InputError, match="'id' is not in column group 0"):
        reader.get_chunk_reader(0, ["id"])
    with pytest.raises(InputError, match="there is no chunk"):
        reader.get_chunk_reader(0).get_chunks([0, 9999])


def test_columns_that_no_group_has_are_null_and_rows_still_count(groups):
    schema = pa.schema([pa.field("new", pa.float32(), nullable=False), ("id", pa.int64())])
    reader = Reader(groups, schema)
    assert reader.to_table(columns=["new"]).column("new").null_count == 1000
    assert reader.schema.field("new").nullable
    assert reader.count("new IS NULL AND id < 10") == 10
    assert sum(batch.num_rows for batch in reader.scan("id < 10", columns=[])) == 10


def test_groups_that_do_not_fit_each_other_are_an_error(groups):
    shorter = replace(groups[0], files=groups[0].files[:-1])
    with pytest.raises(CorruptTableError, match="the column groups have different numbers of rows"):
        Reader((shorter, groups[1]), ROWS.schema)
    with pytest.raises(CorruptTableError, match="'t' in two column groups"):
        Reader((groups[0], groups[0]), ROWS.schema)


def test_ranges_and_columns_that_files_do_not_have_are_an_error(tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(ROWS.slice(0, 10), path)

    def read(columns=("id",), start=0, end=10):
        group = ColumnGroup(columns, "parquet", (ColumnGroupFile(path, start, end),))
        return Reader([group], ROWS.schema).to_table(columns=list(columns))

    assert read(start=3, end=5).column("id").to_pylist() == [3, 4]
    assert read(start=10, end=10).num_rows == 0
    with pytest.raises(CorruptTableError, match="has 10 rows, but the manifest declares 11"):
        read(end=11)
    for start, end in [(-1, -1), (5, 4)]:
        with pytest.raises(CorruptTableError, match="the manifest declares"):
            read(start=start, end=end)
    pq.write_table(ROWS.slice(0, 10).drop(["k"]), path)
    with pytest.raises(CorruptTableError, match="has no column 'k'"):
        read(("k",))


def test_files_of_another_type_are_cast_where_that_is_safe(tmp_path):
    path = str(tmp_path / "a.parquet")
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    pq.write_table(pa.table({"n": [1, 300], "t": pa.array([moment] * 2, pa.timestamp("ms", "UTC"))}), path)
    group = ColumnGroup(("n", "t"), "parquet", (ColumnGroupFile(path, 0, 2),))
    fits = pa.schema([("n", pa.int16()), ("t", pa.timestamp("us", "UTC"))])
    assert Reader([group], fits).to_table("n < 5").to_pylist() == [{"n": 1, "t": moment}]
    with pytest.raises(SchemaError, match=r"'n' of .*a.parquet is int64, but the schema declares int8"):
        Reader([group], pa.schema([("n", pa.int8())])).to_table()
    with pytest.raises(SchemaError, match=r"'n' of .*a.parquet is int64, but the schema declares string"):
        Reader([group], pa.schema([("n", pa.string())])).to_table()


def test_a_damaged_file_is_named(groups):
    file = Path(groups[1].files[0].path)
    file.write_bytes(file.read_bytes()[:-20] + b"x" * 20)
    with pytest.raises(CorruptTableError, match=file.name):
        Reader(groups, ROWS.schema).to_table()


def test_delta_logs_say_what_is_wrong_with_them(tmp_path, groups):
    def read(log, **options):
        return Reader(Manifest(groups, (log,)), ROWS.schema, apply_deltas=True, **options).num_rows

    log = write_delta(tmp_path, DeltaLogType.PRIMARY_KEY, pa.table({"id": [1, 5000], "ts": [7, 8]}))
    with pytest.raises(SchemaError, match="deletes by column 'ts'"):
        read(log)
    assert read(log, primary_key="id") == 999
    with pytest.raises(CorruptTableError, match="has 2 entries, but the manifest declares 3"):
        read(replace(log, num_entries=3))
    with pytest.raises(CorruptTableError, match="deletes rows 1000 to 1000; the dataset has 1000 rows"):
        read(write_delta(tmp_path, DeltaLogType.POSITIONAL, pa.table({"pos": [1000]})))
    with pytest.raises(InputError, match="a primary key to delete is null"):
        write_delta(tmp_path, DeltaLogType.PRIMARY_KEY, pa.table({"id": [None, 1]}))
    with pytest.raises(SchemaError, match="missing: 'pos'"):
        write_delta(tmp_path, DeltaLogType.POSITIONAL, pa.table({"row": [1]}))


def test_a_moved_dataset_reads_as_before(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    columns.write(here, ROWS, policy=SchemaBased(("t",)))
    with Transaction.open(here) as transaction:
        log = write_delta(here, DeltaLogType.EQUALITY, pa.table({"k": [3], "t": ["t301"]}))
        transaction.add_delta_log(log.path, log.num_entries, log.type).commit()
    here.rename(there)
    found = columns.open(there).to_arrow(apply_deltas=True)
    assert found.equals(pa.concat_tables([ROWS.slice(0, 301), ROWS.slice(302)]))


def test_a_version_stays_what_it_was(tmp_path):
    assert columns.write(tmp_path, ROWS.slice(0, 10)) == 1
    assert columns.write(tmp_path, ROWS.slice(10, 5)) == 2
    assert columns.open(tmp_path).num_rows == 15
    assert columns.open(tmp_path, version=1).to_arrow().equals(ROWS.slice(0, 10))
    with pytest.raises(VersionNotFoundError):
        columns.open(tmp_path, version=3)
    with pytest.raises(TableNotFoundError):
        columns.open(tmp_path / "other")


def test_writing_has_the_four_modes(tmp_path):
    assert columns.write(tmp_path, ROWS.slice(0, 10), mode="error") == 1
    with pytest.raises(TableExistsError):
        columns.write(tmp_path, ROWS, mode="error")
    assert columns.write(tmp_path, ROWS, mode="ignore") == 1
    log = write_delta(tmp_path, DeltaLogType.POSITIONAL, pa.table({"pos": [0]}))
    Transaction.open(tmp_path).add_delta_log(log.path, log.num_entries, log.type).commit()
    other = pa.table({"name": ["a", "b"]})
    assert columns.write(tmp_path, other, mode="overwrite") == 3
    assert columns.open(tmp_path).to_arrow(apply_deltas=True).equals(other)  # the delta log was of other rows
    with pytest.raises(InputError, match="mode is 'upsert'"):
        columns.write(tmp_path, other, mode="upsert")


def test_appended_rows_go_into_the_groups_that_are_there(tmp_path):
    columns.write(tmp_path, ROWS.slice(0, 10), policy=SchemaBased(("t", "k")))
    columns.write(tmp_path, ROWS.slice(10, 10).select(["t", "id", "k"]))
    dataset = columns.open(tmp_path)
    assert [len(group.files) for group in dataset.manifest.column_groups] == [2, 2, 2]
    assert dataset.schema.names == ["id", "k", "t"]
    assert dataset.to_arrow().equals(ROWS.slice(0, 20))
    with pytest.raises(SchemaError):
        columns.write(tmp_path, pa.table({"id": [1]}))
    assert len(list((tmp_path / "_data").iterdir())) == 6


def test_an_empty_dataset_keeps_its_columns(tmp_path):
    assert columns.write(tmp_path, ROWS.slice(0, 0), policy=SchemaBased(("t",))) == 1
    dataset = columns.open(tmp_path)
    assert dataset.schema.equals(ROWS.schema)
    assert dataset.to_arrow().equals(ROWS.slice(0, 0))
    assert columns.write(tmp_path, ROWS.slice(0, 0)) == 1  # no rows, no version
    columns.write(tmp_path, iter(ROWS.to_batches()))
    assert columns.open(tmp_path).to_arrow().equals(ROWS)


def test_a_dropped_column_is_gone_and_may_come_again_with_another_type(tmp_path):
    columns.write(tmp_path, ROWS)
    Transaction.open(tmp_path).drop_column("k").commit()
    assert columns.open(tmp_path).schema.names == ["id", "t"]
    with Writer(tmp_path, pa.schema([("k", pa.string())])) as writer:
        writer.write(pa.table({"k": ["new"] * 1000}))
    Transaction.open(tmp_path).add_column_group(writer.close()[0]).commit()
    assert columns.open(tmp_path).to_arrow(["k"]).column("k").to_pylist() == ["new"] * 1000


def test_parquet_files_are_adopted_where_they_lie(tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in (2, 1):
        pq.write_table(ROWS.slice(number * 100, 100), lake / f"part-{number}.parquet", row_group_size=30)
    (lake / "_SUCCESS").write_text("")
    dataset = tmp_path / "dataset"
    assert columns.adopt(dataset, lake) == 1
    [group] = columns.open(dataset).manifest.column_groups
    assert [(file.path, file.start_index, file.end_index) for file in group.files] == [
        (f"{lake}/part-{number}.parquet", 0, 100) for number in (1, 2)
    ]
    assert columns.open(dataset).to_arrow(where="id >= 150").equals(ROWS.slice(150, 150))
    # Further rows from a file, then a further column from another.
    pq.write_table(ROWS.slice(300, 1), tmp_path / "more.parquet")
    assert columns.adopt(dataset, tmp_path / "more.parquet") == 2
    pq.write_table(pa.table({"w": range(201)}), tmp_path / "wide.parquet")
    assert columns.adopt(dataset, [tmp_path / "wide.parquet"]) == 3
    assert columns.open(dataset).take([200]).to_pylist() == [{"id": 300, "k": 3, "t": "t300", "w": 200}]
    assert sorted(path.name for path in dataset.iterdir()) == ["_metadata"]


def test_files_that_do_not_fit_together_are_not_adopted(tmp_path):
    pq.write_table(ROWS, tmp_path / "a.parquet")
    pq.write_table(ROWS.drop(["t"]), tmp_path / "b.parquet")
    pq.write_table(pa.table({"id": ["x"], "k": [1]}), tmp_path / "c.parquet")
    dataset = tmp_path / "dataset"
    with pytest.raises(SchemaError, match=r"b.parquet has no column 't'"):
        columns.adopt(dataset, [tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(SchemaError, match=r"'id' of .*c.parquet is string"):
        columns.adopt(dataset, [tmp_path / "b.parquet", tmp_path / "c.parquet"])
    with pytest.raises(InputError, match="there are no Parquet or Vortex files"):
        columns.adopt(dataset, dataset)
    assert columns.adopt(dataset, [tmp_path / "a.parquet"], columns=["id", "k"]) == 1
    with pytest.raises(SchemaError, match="some columns"):
        columns.adopt(dataset, [tmp_path / "a.parquet"], columns=["id", "t"])


def test_opening_and_projecting_leave_the_files_of_other_groups_closed(tmp_path):
    columns.write(tmp_path, ROWS, policy=SchemaBased(("t",)))
    texts, _ = columns.open(tmp_path).manifest.column_groups
    Path(texts.files[0].path).write_bytes(b"no Parquet")
    dataset = columns.open(tmp_path)
    assert dataset.schema.equals(ROWS.schema)
    assert dataset.to_arrow(["id"], where="k = 1").equals(ROWS.slice(100, 100).select(["id"]))
    with pytest.raises(CorruptTableError, match="cannot be read"):
        dataset.to_arrow(["t"])


def test_wide_groups_get_larger_row_groups(tmp_path):
    wide = pa.table({f"c{i}": [float(i)] * 3000 for i in range(100)})
    columns.write(tmp_path, wide)
    [group] = columns.open(tmp_path).manifest.column_groups
    assert pq.read_metadata(group.files[0].path).num_row_groups == 1


def test_two_writers_that_both_make_a_dataset_both_get_their_rows_in(tmp_path, monkeypatch):
    original = save_modes.store_schema
    rivals = iter([ROWS.slice(0, 3)])

    def store_schema(store, schema, groups):
        for rows in rivals:
            columns.write(tmp_path, rows)
        return original(store, schema, groups)

    monkeypatch.setattr(save_modes, "store_schema", store_schema)
    assert columns.write(tmp_path, ROWS.slice(3, 3)) == 2
    assert columns.open(tmp_path).to_arrow().equals(ROWS.slice(0, 6))


def test_a_write_that_loses_to_a_rival_leaves_no_files(tmp_path, monkeypatch):
    original = save_modes.store_schema
    rivals = iter([pa.table({"other": [1]})])

    def store_schema(store, schema, groups):
        for rows in rivals:
            columns.write(tmp_path, rows)
        return original(store, schema, groups)

    monkeypatch.setattr(save_modes, "store_schema", store_schema)
    with pytest.raises(TableExistsError, match="at the same time"):
        columns.write(tmp_path, ROWS, mode="error")
    [group] = columns.open(tmp_path).manifest.column_groups
    assert [str(path) for path in (tmp_path / "_data").iterdir()] == [group.files[0].path]

"""Rows by their pages: what is fetched is what a plain read gives, only the pages are read, and damage shows."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indextables as it
from indextables.config import Settings
from indextables.errors import CorruptTableError, SchemaError
from indextables.predicates import TRUE, Compare, Predicate
from indextables.rows import (
    GroupPages,
    LeafKind,
    LeafPages,
    PageDirectory,
    checksums_and_pages,
    parquet_excerpt,
)
from indextables.rows.thrift import number, read_number, skip
from indextables.schema import FieldMapping, TableSchema
from indextables.split import RowRequest, SplitReader, open_split
from indextables.split.container.bundle import open_bundle
from indextables.split.rows_writer import RowsMemberWriter, column_groups
from indextables.split.writer import SplitWriter
from indextables.storage import open_store
from support.faults import FaultyStore

VALUES: dict[pa.DataType, Any] = {
    pa.string(): lambda rng: rng.choice(["", "a", "word " * rng.randrange(20), "é", str(rng.random())]),
    pa.int8(): lambda rng: rng.randrange(-128, 128),
    pa.int32(): lambda rng: rng.randrange(-(1 << 31), 1 << 31),
    pa.int64(): lambda rng: rng.randrange(-(1 << 63), 1 << 63),
    pa.float32(): lambda rng: float(np.float32(rng.uniform(-1e9, 1e9))),
    pa.float64(): lambda rng: rng.choice([rng.uniform(-1, 1), float("inf"), -0.0]),
    pa.bool_(): lambda rng: rng.random() < 0.5,
    pa.date32(): lambda rng: date.fromordinal(rng.randrange(1, 3_000_000)),
    pa.timestamp("us", tz="UTC"): lambda rng: datetime.fromtimestamp(rng.randrange(1 << 31), UTC),
    pa.binary(): lambda rng: rng.randbytes(rng.randrange(40)),
}


def rows_of(seed: int, count: int) -> pa.Table:
    """A column of every type, with nulls, some all null and some constant."""
    rng = random.Random(seed)
    columns = {}
    for i, (kind, draw) in enumerate(VALUES.items()):
        share = rng.choice([0.0, 0.1, 1.0])
        constant = draw(rng) if rng.random() < 0.2 else None
        values = [
            None if rng.random() < share else constant if constant is not None else draw(rng)
            for _ in range(count)
        ]
        columns[f"c{i}"] = pa.array(values, kind)
    return pa.table(columns)


def written(directory: Path, rows: pa.Table, **options: str) -> tuple[str, Path]:
    """A split of these rows: the directory it is in, and its path there."""
    schema = TableSchema.from_arrow(rows.schema)
    chosen = Settings({f"spark.indextables.{key.replace('_', '.')}": value for key, value in options.items()})
    writer = SplitWriter(schema, FieldMapping.of(schema, (), {}), settings=chosen, directory=directory)
    for batch in rows.to_batches(max_chunksize=700):
        writer.write(batch)
    return str(directory), writer.finish().path


@given(seed=st.integers(0, 1 << 32), count=st.integers(1, 3000), group=st.integers(1, 2000))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_by_page_are_the_rows_of_a_plain_read(tmp_path_factory: Any, seed: int, count: int, group: int):
    rows = rows_of(seed, count)
    rng = random.Random(seed)
    groups = rng.choice(["", "c0", "c0;c3,c9", "c1,c2;c0;c7"])
    home, path = written(
        tmp_path_factory.mktemp("split"),
        rows,
        write_rowGroupRows=str(group),
        columns_groups=groups,
        write_compression=rng.choice(["auto", "lz4", "zstd", "snappy", "none"]),
    )
    with open_split(open_store(home, Settings()), path.name) as split:
        store = split._contents.rows
        for _ in range(5):
            wanted = np.sort(
                np.array(
                    rng.sample(range(count), rng.choice([1, min(3, count), rng.randrange(1, count + 1)]))
                )
            )
            columns = rng.sample(rows.schema.names, rng.randrange(1, len(rows.schema.names) + 1))
            assert pa.Table.from_batches([store.fetch(wanted, columns)]).equals(
                rows.select(columns).take(pa.array(wanted)).combine_chunks()
            ), f"seed {seed}"
        whole = pa.Table.from_batches(list(split.rows(RowRequest(tuple(rows.schema.names)))))
        assert whole.combine_chunks().equals(rows.combine_chunks())


def test_texts_with_a_dictionary_in_some_row_groups_and_in_some_pages_only(tmp_path: Path):
    texts = ["a few", "words", None] * 1000 + [body(i) for i in range(3000)] + ["and few again"] * 3000
    rows = pa.table({"text": texts, "id": pa.array(range(len(texts)), pa.int64())})
    home, path = written(tmp_path, rows, write_rowGroupRows="2000")
    with open_split(open_store(home, Settings()), path.name) as split:
        wanted = np.arange(5, len(texts), 611)
        found = split._contents.rows.fetch(wanted, ["id", "text"])
        assert pa.Table.from_batches([found]).equals(rows.select(["id", "text"]).take(pa.array(wanted)))


def body(i: int) -> str:
    """A text that does not compress away."""
    return random.Random(i).randbytes(100).hex()


def numbered(count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(count), pa.int64()), "body": [body(i) for i in range(count)]})


class Counted(FaultyStore):
    """A store that is not on this disk, and counts the bytes that are read."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.bytes = 0

    def get_range(self, key: str, start: int, length: int) -> bytes:
        self.bytes += length
        return super().get_range(key, start, length)

    def local_path(self, key: str) -> Path | None:
        return None


def test_hits_that_were_kept_are_the_rows_of_their_own_question_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    words = pa.array(["often"] * 2983 + ["rare"] * 7 + ["else"] * 10)
    home, path = written(tmp_path, numbered(3000).append_column("word", words))
    few, other = Compare("=", "word", "rare"), Compare("=", "word", "else")
    its_ids = list(range(2983, 2990))

    def ids(split: SplitReader, predicate: Predicate, limit: int | None = None) -> list[int]:
        request = RowRequest(("id",), predicate, limit)
        return [value for batch in split.rows(request) for value in batch.column("id").to_pylist()]

    with open_split(open_store(home, Settings()), path.name) as split:
        assert split.hits(few, keep=7) == 7
        assert ids(split, other) == list(range(2990, 3000))
        assert ids(split, few) == its_ids
        assert split.hits(few, keep=6) == 7  # too many to be kept
        assert ids(split, few, 3) == its_ids[:3]
        assert split.hits(few, keep=7) == 7
        with monkeypatch.context() as patch:
            patch.setattr(split._contents.search, "rows", None)  # who searches again fails
            assert ids(split, few, 3) == its_ids[:3]
        assert ids(split, few) == its_ids


def test_one_row_costs_a_few_pages_of_a_large_row_group(tmp_path: Path):
    home, path = written(tmp_path, numbered(30_000))
    store = Counted(open_store(home, Settings()))
    with open_split(store, path.name) as split:
        split._contents.rows.fetch(np.array([11_000]), ["id"])  # the footer, and the directory
        member = open_bundle(store, path.name).member("rows-0.parquet")
        store.bytes = 0
        found = split._contents.rows.fetch(np.array([20_000]), ["id", "body"])
        assert found.to_pylist() == [{"id": 20_000, "body": body(20_000)}]
        assert 0 < store.bytes < member.length / 20


def test_a_column_group_is_read_alone(tmp_path: Path):
    home, path = written(tmp_path, numbered(20_000), columns_groups="body")
    store = Counted(open_store(home, Settings()))
    bundle = open_bundle(store, path.name)
    assert {"rows-0.parquet", "rows-1.parquet"} <= set(bundle.members)
    with open_split(store, path.name) as split:
        list(split.rows(RowRequest(("id",))))
        before = store.bytes
        list(split.rows(RowRequest(("id",))))
        assert store.bytes - before < bundle.member("rows-1.parquet").length / 2
        predicate = Compare("<", "id", 5)
        assert [len(b) for b in split.rows(RowRequest(("body",), predicate))] == [5]


def test_column_groups_through_the_door(tmp_path: Path):
    path = str(tmp_path / "t")
    it.write(path, numbered(100), settings={"spark.indextables.columns.groups": "BODY"})
    table = it.open(path)
    assert table.to_arrow().num_rows == 100
    assert table.count(where="id < 10") == 10


def test_a_column_is_in_one_group_only():
    with pytest.raises(SchemaError, match="'a' is in two column groups"):
        column_groups(["a", "b"], "a; b, A")


def test_wide_rows_make_pages_of_few_rows(tmp_path: Path):
    wide = pa.table({"body": [f"{i} " * 20_000 for i in range(40)]})
    writer = RowsMemberWriter(tmp_path / "p.parquet", TableSchema.from_arrow(wide.schema), {"body"})
    writer.write_group(wide)
    documents = dict(writer.finish())
    assert int.from_bytes(documents["p.parquet.pages"][:4], "little") == 1


def test_every_damaged_page_shows(tmp_path: Path):
    home, path = written(tmp_path, numbered(5_000))
    store = open_store(home, Settings())
    member = open_bundle(store, path.name).member("rows-0.parquet")
    raw = bytearray(path.read_bytes())
    for place in random.Random(3).sample(range(4, member.length // 2), 25):
        damaged = bytearray(raw)
        damaged[member.offset + place] ^= 0x10
        path.write_bytes(damaged)
        wanted = np.arange(0, 5_000, 512)
        with open_split(store, path.name) as split, pytest.raises(CorruptTableError, match="checksum"):
            split._contents.rows.read(range(1), ["id", "body"])
        with open_split(store, path.name) as split:
            try:
                found = split._contents.rows.fetch(wanted[::3], ["id", "body"])
            except CorruptTableError:
                continue
            assert (
                found.column("id").to_pylist() == wanted[::3].tolist()
            )  # the damage is in no page of theirs


def test_a_split_without_a_directory_is_read_by_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "indextables.rows.writer.checksums_and_pages", lambda *args: (checksums_and_pages(*args)[0], None)
    )
    home, path = written(tmp_path, numbered(3_000), write_rowGroupRows="500")
    assert not [
        n for n in open_bundle(open_store(home, Settings()), path.name).members if n.endswith(".pages")
    ]
    with open_split(open_store(home, Settings()), path.name) as split:
        found = split._contents.rows.fetch(np.array([0, 499, 500, 2999]), ["id"])
        assert found.column("id").to_pylist() == [0, 499, 500, 2999]
        assert sum(len(batch) for batch in split.rows(RowRequest(("id",), TRUE))) == 3_000


def test_pages_that_are_not_where_they_should_be_make_no_directory(tmp_path: Path):
    path = tmp_path / "other.parquet"
    pq.write_table(numbered(5_000), path, max_rows_per_page=300, write_page_index=True)
    assert checksums_and_pages(path, 300)[1] is not None
    assert checksums_and_pages(path, 512)[1] is None


def test_a_directory_of_another_file_is_refused(tmp_path: Path):
    home, path = written(tmp_path, numbered(5_000))
    bundle = open_bundle(open_store(home, Settings()), path.name)
    footer = pq.read_metadata(pa.BufferReader(bundle.read("rows-0.parquet")))
    raw = bundle.read("rows-0.parquet.pages")
    with pytest.raises(ValueError, match=r"has 82 entries, and its pages need 84"):
        PageDirectory(raw[:-8], footer).spans(0, 0, [0])
    other = bytearray(raw)
    other[8] ^= 1
    with pytest.raises(ValueError, match="other lengths"):
        PageDirectory(bytes(other), footer).spans(0, 0, [0])


def test_an_excerpt_of_nothing_has_no_rows():
    schema = pa.schema({"id": pa.int64()})
    assert pq.read_table(pa.BufferReader(parquet_excerpt(schema, []))).equals(schema.empty_table())
    empty = GroupPages(0, [LeafPages(LeafKind(("id",), "INT64", "ZSTD"), 0, None, [])])
    assert pq.ParquetFile(pa.BufferReader(parquet_excerpt(schema, [empty]))).metadata.num_rows == 0


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_of_thrift_come_back(value: int):
    raw = number(value)
    assert read_number(raw, 0) == (value, len(raw))
    assert skip(raw, 0, 6) == len(raw)


def test_an_unknown_type_of_thrift_is_refused():
    with pytest.raises(ValueError, match="unknown type 13"):
        skip(b"\0", 0, 13)


def test_the_codec_of_each_column_follows_from_the_table_alone(tmp_path: Path) -> None:
    """Merges copy column chunks, and readers expect one codec in all row groups of a column."""
    rows = pa.table(
        {
            "title": ["a longer text " * 9] * 10,
            "n": range(10),
            "odd. name": ["y" * 99] * 10,
            "tags": pa.array([["q" * 40]] * 10),
            "attrs": pa.array([[("k", 1)]] * 10, pa.map_(pa.string(), pa.int64())),
            "user": pa.array([{"bio": "z" * 50, "inner": {"c": 1}}] * 10),
        }
    )
    schema = TableSchema.from_arrow(rows.schema)
    for compression, text, other in (
        ("auto", "ZSTD", "LZ4"),
        ("lz4", "LZ4", "LZ4"),
        ("zstd", "ZSTD", "ZSTD"),
    ):
        writer = RowsMemberWriter(tmp_path / "r.parquet", schema, {"title", "tags", "user.bio"}, compression)
        writer.write_group(rows.cast(schema.arrow))
        writer.finish()
        group = pq.read_metadata(tmp_path / "r.parquet").row_group(0)
        chunks = [group.column(n) for n in range(group.num_columns)]
        assert {chunk.path_in_schema: chunk.compression for chunk in chunks} == {
            "title": text,
            "n": other,
            "odd. name": other,
            "tags.list.element": text,
            "attrs.key_value.key": other,
            "attrs.key_value.value": other,
            "user.bio": text,
            "user.inner.c": other,
        }

"""Rows of a Parquet file by their pages: those of a plain read, for flat and nested columns, verified before use."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.errors import CorruptTableError
from indextables.rows import (
    Footer,
    MappedSource,
    PageDirectory,
    PageSize,
    RangedSource,
    RowReader,
    RowWriter,
    checksums_and_pages,
    page_options,
)


def draw_rows(rng: random.Random, count: int) -> pa.Table:
    """Columns of every shape that Parquet nests, with nulls and empty lists at every level."""

    def numbers() -> list[int | None] | None:
        return maybe([maybe(rng.randrange(99)) for _ in range(rng.randrange(4))])

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.2 else value

    values: dict[str, tuple[pa.DataType, Any]] = {
        "flat": (pa.int64(), lambda: maybe(rng.randrange(1 << 40))),
        "word": (pa.string(), lambda: maybe(rng.choice(["red", "blue", "", "green " * 9]))),
        "a.b": (pa.large_string(), lambda: maybe(str(rng.random()))),
        "price": (pa.decimal128(12, 2), lambda: maybe(rng.randrange(10**6))),
        "hash": (pa.binary(4), lambda: maybe(rng.randbytes(4))),
        "vector": (pa.list_(pa.float32(), 3), lambda: [rng.random() for _ in range(3)]),
        "list": (pa.list_(pa.int32()), numbers),
        "lists": (
            pa.list_(pa.list_(pa.int32())),
            lambda: maybe([numbers() for _ in range(rng.randrange(3))]),
        ),
        "struct": (
            pa.struct({"x": pa.int8(), "y": pa.list_(pa.int32())}),
            lambda: maybe({"x": maybe(1), "y": numbers()}),
        ),
        "map": (
            pa.map_(pa.string(), pa.int64()),
            lambda: maybe([(f"k{i}", maybe(i)) for i in range(rng.randrange(3))]),
        ),
        "category": (pa.dictionary(pa.int32(), pa.string()), lambda: maybe(rng.choice("abc"))),
    }
    return pa.table(
        {name: pa.array([draw() for _ in range(count)], kind) for name, (kind, draw) in values.items()}
    )


def write(
    path: Path, rows: pa.Table, page_rows: int, group_rows: int, **options: Any
) -> tuple[bytes, bytes | None]:
    writer = RowWriter(
        path, rows.schema, PageSize(bytes=1 << 30, max_rows=page_rows), lambda _rows, _page: options
    )
    for start in range(0, rows.num_rows, group_rows):
        writer.write_group(rows.slice(start, group_rows))
    return writer.finish()


def damaged(reason: object) -> CorruptTableError:
    return CorruptTableError(f"the file is damaged: {reason}")


def reader(path: Path, checksums: bytes, directory: bytes | None, *, mapped: bool = True) -> RowReader:
    metadata = pq.read_metadata(path)
    raw = path.read_bytes()
    source = (
        MappedSource(path, 0, len(raw), damaged)
        if mapped
        else RangedSource(lambda start, length: raw[start : start + length], len(raw), damaged)
    )
    pages = None if directory is None else PageDirectory(directory, metadata)
    return RowReader(source, Footer(metadata, pages), lambda: checksums)


@given(seed=st.integers(0, 1 << 32), count=st.integers(1, 400))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_by_page_are_the_rows_of_the_table(tmp_path: Path, seed: int, count: int):
    rng = random.Random(seed)
    rows = draw_rows(rng, count)
    path = tmp_path / "rows.parquet"
    checksums, directory = write(
        path,
        rows,
        page_rows=rng.randrange(1, 30),
        group_rows=rng.randrange(1, count + 1),
        data_page_version=rng.choice(["1.0", "2.0"]),
        compression=rng.choice(["none", "zstd", "lz4", "snappy", "gzip", "brotli"]),
        use_dictionary=rng.choice([True, False, ["word"]]),
    )
    assert directory is not None
    by_page = reader(path, checksums, directory, mapped=rng.random() < 0.5)
    assert by_page.footer.has_excerpts
    for size in (1, min(3, count), rng.randrange(1, count + 1)):
        wanted = np.sort(np.array(rng.sample(range(count), size)))
        names = rng.sample(rows.schema.names, rng.randrange(1, len(rows.schema.names) + 1))
        taken = by_page.fetch(wanted, names)
        taken.validate(full=True)
        assert taken.to_pylist() == rows.select(names).take(pa.array(wanted)).to_pylist(), f"seed {seed}"
        assert taken.schema.equals(rows.select(names).schema)


def test_few_rows_are_taken_from_their_pages_alone(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    rows = pa.table({"id": range(10_000), "list": [[i] * (i % 3) for i in range(10_000)]})
    checksums, directory = write(path, rows, page_rows=50, group_rows=5_000, data_page_version="2.0")
    by_page = reader(path, checksums, directory)
    by_page.read = None  # type: ignore[assignment]  # by row group it fails
    wanted = np.array([3, 4_999, 5_000, 9_999])
    assert (
        by_page.fetch(wanted, ["list", "id"]).to_pylist()
        == rows.select(["list", "id"]).take(wanted).to_pylist()
    )
    assert by_page.rows_decoded_for(wanted) == 200 == by_page.most_rows_decoded_for(len(wanted))
    assert by_page.rows_decoded_for(np.arange(60)) == 100 < by_page.most_rows_decoded_for(60)
    assert by_page.most_rows_decoded_for(1_000) == 10_000


@pytest.mark.parametrize("mapped", [True, False])
def test_a_flipped_bit_of_a_page_is_damage_to_the_rows_of_that_page_only(tmp_path: Path, mapped: bool):
    path = tmp_path / "rows.parquet"
    rows = pa.table({"id": range(1_000), "vector": [[i * 0.5, i * 0.25] for i in range(1_000)]})
    checksums, directory = write(path, rows, page_rows=100, group_rows=1_000, data_page_version="2.0")
    whole = path.read_bytes()
    end = sum(pq.read_metadata(path).row_group(0).column(leaf).total_compressed_size for leaf in range(2))
    outcomes = set()
    for bit in range(4 * 8, (4 + end) * 8, 997):
        damage = bytearray(whole)
        damage[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damage)
        for row in (5, 555):
            try:
                taken = reader(path, checksums, directory, mapped=mapped).fetch(
                    np.array([row]), ["id", "vector"]
                )
            except CorruptTableError as error:
                outcomes.add("noticed" if "the checksum of its bytes" in str(error) else str(error))
            else:
                assert taken.to_pylist() == rows.slice(row, 1).to_pylist()
                outcomes.add("elsewhere")
    assert outcomes == {"noticed", "elsewhere"}


def test_lists_are_taken_by_page_though_pages_of_version_1_state_values_and_not_rows(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    rows = pa.table({"list": [[[n, n], [], [n]][n % 3] for n in range(300)]})
    checksums, directory = write(path, rows, page_rows=50, group_rows=300, data_page_version="1.0")
    by_page = reader(path, checksums, directory)
    by_page.read = None  # type: ignore[assignment]  # by row group it fails
    wanted = np.array([49, 50, 251])
    assert by_page.fetch(wanted, ["list"]).equals(rows.take(wanted))


def test_a_file_without_an_offset_index_has_no_directory(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    rows = pa.table({"id": range(300)})
    pq.write_table(rows, path, **page_options(50) | {"write_page_index": False})
    checksums, directory = checksums_and_pages(path, 50)
    assert directory is None
    assert reader(path, checksums, directory).fetch(np.array([7, 299]), ["id"]).to_pylist() == [
        {"id": 7},
        {"id": 299},
    ]


def test_a_file_with_another_schema_than_excerpts_get_is_read_by_row_groups(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    rows = pa.table({"list": pa.array([[1, 2], [], [3]] * 100)})
    pq.write_table(
        rows,
        path,
        max_rows_per_page=10,
        write_batch_size=10,
        data_page_version="2.0",
        write_page_index=True,
        use_compliant_nested_type=False,
    )
    checksums, directory = checksums_and_pages(path, 10)
    assert directory is not None
    by_group = reader(path, checksums, directory)
    assert not by_group.footer.has_excerpts
    assert by_group.fetch(np.array([3, 299]), ["list"]).to_pylist() == [{"list": [1, 2]}, {"list": [3]}]


def test_repeated_rows_are_repeated_though_they_are_as_many_as_the_file_has(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    table = pa.table({"id": range(40)})
    checksums, directory = write(path, table, page_rows=50, group_rows=50)
    rows = np.array([0, *range(39)])
    assert reader(path, checksums, directory).fetch(rows, ["id"]).equals(table.take(rows))

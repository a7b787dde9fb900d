"""Damage to a dataset: when any bit of any file flips, the rows are right or the error is an IndexTablesError."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
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
    write_delta,
)
from indextables.columns.codec import decode, encode
from indextables.columns.file_checksums import PAGES, TAIL, Section
from indextables.errors import CorruptTableError, IndexTablesError
from indextables.rows import TRAILER_BYTES, footer_size
from support import damaged_dataset

FORMATS = ["parquet", "vortex"]
ROWS = pa.table(
    {
        "id": pa.array(range(60), pa.int64()),
        "word": [f"w{n % 7}" for n in range(60)],
        "price": [None if n % 5 == 0 else n / 4 for n in range(60)],
        "vector": pa.array([[n * 0.1, n * 0.7, 1.0] for n in range(60)], pa.list_(pa.float32())),
    }
)


def dataset(base: Path, file_format: str) -> Path:
    """Two column groups, several row groups, two versions, and a delta log of each type."""
    for rows in (ROWS.slice(0, 40), ROWS.slice(40)):
        columns.write(
            base,
            rows,
            format=file_format,
            policy=SchemaBased(("vector",)) if rows.num_rows == 40 else None,
            row_group_bytes=500,
        )
    transaction = Transaction.open(base, resolver="merge")
    for kind, entries in (
        (DeltaLogType.PRIMARY_KEY, pa.table({"id": [2, 41]})),
        (DeltaLogType.POSITIONAL, pa.table({"pos": [5]})),
        (DeltaLogType.EQUALITY, pa.table({"word": ["w6"]})),
    ):
        log = write_delta(base, kind, entries)
        transaction.add_delta_log(log.path, log.num_entries, log.type)
    transaction.commit()
    return base


def files_that_are_read(base: Path) -> list[Path]:
    """Every file of the dataset but the manifests of older versions."""
    old = {base / "_metadata/manifest-1.avro", base / "_metadata/manifest-2.avro"}
    return sorted(path for path in base.rglob("*") if path.is_file() and path not in old)


def flip(base: Path, bits: int) -> int:
    """Flip bits of every file in a process of its own; return how many, once each had an outcome that is allowed."""
    files = files_that_are_read(base)
    command = [sys.executable, damaged_dataset.__file__, str(base), str(bits), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended with {done.returncode} at {done.stderr[-2000:]}"
    *bad, flipped = done.stdout.splitlines()
    assert not bad, bad[:20]
    return int(flipped)


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_flipped_bit_anywhere_is_noticed(tmp_path, file_format):
    base = dataset(tmp_path / "ds", file_format)
    right = damaged_dataset.answers(str(base))
    assert [table.num_rows for table in right[:4]] == [60, 5, 3, 50]
    files = files_that_are_read(base)
    assert {path.suffix for path in files} == {".avro", ".arrow", ".parquet", f".{file_format}"}
    assert flip(base, 25) >= 25 * len(files)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("file_format", FORMATS)
def test_every_third_flipped_bit_is_noticed(tmp_path, file_format):
    base = dataset(tmp_path / "ds", file_format)
    assert 3 * flip(base, 0) >= sum(8 * path.stat().st_size for path in files_that_are_read(base))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_file_that_is_cut_or_longer_is_noticed(tmp_path, file_format):
    base = dataset(tmp_path / "ds", file_format)
    right = damaged_dataset.answers(str(base))
    for path in files_that_are_read(base):
        raw = path.read_bytes()
        for damaged in (b"", raw[:-1], raw[: len(raw) // 2], raw[1:], raw + b"\0", bytes(len(raw))):
            path.write_bytes(damaged)
            if path.suffix == ".avro" and damaged == raw + b"\0":
                continue  # bytes after the record belong to no record
            with pytest.raises(IndexTablesError):
                damaged_dataset.answers(str(base))
        path.write_bytes(raw)
    assert damaged_dataset.answers(str(base)) == right


@pytest.mark.parametrize("file_format", FORMATS)
def test_checksums_leave_a_file_readable_for_everybody(tmp_path, file_format):
    columns.write(tmp_path, ROWS, format=file_format)
    [file] = columns.open(tmp_path).manifest.column_groups[0].files
    if file_format == "parquet":
        assert pq.read_table(file.path).equals(ROWS)
        assert pq.ParquetFile(file.path, page_checksum_verification=True).read().equals(ROWS)
    else:
        vortex = pytest.importorskip("vortex")
        assert vortex.open(file.path).to_arrow(ROWS.schema.names, schema=ROWS.schema).read_all().equals(ROWS)


def test_taking_a_row_reads_the_tail_and_the_chunks_of_the_row(monkeypatch):
    columns.write("memory:damage-ranges", pa.concat_tables([ROWS] * 40), row_group_bytes=4000)
    base = columns.open("memory:damage-ranges")
    [file] = base.manifest.column_groups[0].files
    asked = []
    store = type(base.reader()._files.store("memory://damage-ranges/_data"))
    original = store.get_range
    monkeypatch.setattr(
        store, "get_range", lambda self, key, *span: asked.append(span) or original(self, key, *span)
    )
    assert base.take([700], ["id"]).column("id").to_pylist() == [700 % 60]
    size = int(file.properties["file_size"])
    sections = sum(Section.stated(file.properties, key).length for key in (TAIL, PAGES))
    assert asked[0] == (size - sections, sections)
    assert len(asked) == 2
    assert asked[1][1] < size / 20


def foreign(path: str, rows: int = 60, properties: dict[str, str] | None = None) -> Reader:
    file = ColumnGroupFile(path, 0, rows, b"", properties or {})
    return Reader(Manifest((ColumnGroup(tuple(ROWS.schema.names), "parquet", (file,)),)), ROWS.schema)


def test_a_footer_that_would_end_the_process_is_refused_before_arrow_sees_it(tmp_path):
    """Flip every bit of the footer of a file that has no checksums, in the types and levels of its columns too."""
    path = tmp_path / "x.parquet"
    pq.write_table(ROWS, path)
    raw = path.read_bytes()
    program = (
        "import runpy, sys\n"
        "flip_footer = runpy.run_path(sys.argv[1])['flip_footer']\n"
        "flip_footer(sys.argv[2])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, __file__, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]
    assert path.read_bytes() == raw


def flip_footer(name: str, step: int = 23) -> None:
    path = Path(name)
    raw = path.read_bytes()
    size = footer_size(raw[-TRAILER_BYTES:], len(raw))
    for bit in range(8 * (len(raw) - size), 8 * len(raw), step):
        damaged = bytearray(raw)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with contextlib.suppress(IndexTablesError):
            foreign(name).to_table("id > 30").to_pylist()
    path.write_bytes(raw)
    print("done")


def test_rows_that_are_not_there_are_an_error_and_not_fewer_rows(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(ROWS, path)
    with pytest.raises(CorruptTableError, match="60 rows, but the manifest declares 61"):
        foreign(str(path), 61).to_table()


def test_an_adopted_file_is_known_again_by_its_footer(tmp_path):
    path = tmp_path / "lake" / "x.parquet"
    path.parent.mkdir()
    pq.write_table(ROWS, path)
    columns.adopt(tmp_path / "ds", path.parent)
    [file] = columns.open(tmp_path / "ds").manifest.column_groups[0].files
    assert Section.stated(file.properties, TAIL).length == footer_size(path.read_bytes(), path.stat().st_size)
    assert columns.open(tmp_path / "ds").to_arrow().equals(ROWS)
    pq.write_table(ROWS.set_column(0, "id", pa.array(range(1, 61), pa.int64())), path)
    with pytest.raises(CorruptTableError, match=r"x\.parquet cannot be read"):
        columns.open(tmp_path / "ds").to_arrow()


def test_a_manifest_checks_itself_and_those_of_other_writers_are_taken():
    manifest = Manifest().with_delta_log("d1", 3)
    raw = encode(manifest)
    assert decode(raw) == manifest
    for marker in (
        bytes(16),
        b"\xd7ITc" + bytes(11) + b"x",
    ):  # another writer's, and one whose checksum is another's
        other = encode(manifest, sync=marker)
        if marker == bytes(16):
            assert decode(other) == manifest
        else:
            with pytest.raises(CorruptTableError, match="checksum"):
                decode(other)
    for bit in range(8 * len(raw)):
        damaged = bytearray(raw)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptTableError):
            decode(bytes(damaged))


def test_a_property_that_is_not_a_checksum_is_damage(tmp_path):
    columns.write(tmp_path, ROWS)
    [file] = columns.open(tmp_path).manifest.column_groups[0].files
    for text in ("", "12", "x:00000000", "12:0000000G", "99999999:00000000"):
        with pytest.raises(CorruptTableError, match="cannot be read"):
            foreign(file.path, properties={**file.properties, TAIL: text}).to_table()
    assert foreign(replace(file).path).to_table().equals(ROWS)

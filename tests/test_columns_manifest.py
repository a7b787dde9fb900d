"""The manifest of a column-group store: its MILV bytes, version 1."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.columns import ColumnGroup, ColumnGroupFile, DeltaLog, DeltaLogType, Manifest, Statistics
from indextables.errors import CorruptTableError, InputError

FIXTURES = Path(__file__).parent.parent.parent / "shared" / "fixtures" / "milvus"

EXAMPLE = Manifest(
    (ColumnGroup(("id",), "parquet", (ColumnGroupFile("a.pq", 0, 10),)),),
    (DeltaLog("d", 3),),
    {"bm25": Statistics(("s",))},
)
EXAMPLE_BYTES = bytes.fromhex(
    "acb1cad409 02 02 0204696400 02 08612e7071 0014 00 00 0e70617271756574 00 020264000600 0208626d3235 02027300 00"
)

longs = st.integers(-(1 << 63), (1 << 63) - 1)
names = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.just("not\udcffutf8"))
files = st.builds(ColumnGroupFile, names, longs, longs, st.binary(max_size=20))
groups = st.builds(
    ColumnGroup, st.lists(names, max_size=3).map(tuple), names, st.lists(files, max_size=3).map(tuple)
)
delta_logs = st.builds(DeltaLog, names, longs, st.sampled_from(DeltaLogType))
statistics = st.builds(Statistics, st.lists(names, max_size=3).map(tuple))
manifests = st.builds(
    Manifest,
    st.lists(groups, max_size=3).map(tuple),
    st.lists(delta_logs, max_size=3).map(tuple),
    st.dictionaries(names, statistics, max_size=3),
)


def test_the_example_of_the_format_is_written_byte_for_byte() -> None:
    assert EXAMPLE.to_bytes(version=1) == EXAMPLE_BYTES
    assert Manifest.from_bytes(EXAMPLE_BYTES) == EXAMPLE


def test_an_empty_manifest_is_nine_bytes() -> None:
    assert Manifest().to_bytes() == bytes.fromhex("acb1cad409 02 00 00 00")


@settings(deadline=None)
@given(manifests)
def test_what_is_written_reads_back_equal(manifest: Manifest) -> None:
    raw = manifest.to_bytes(version=1)
    assert Manifest.from_bytes(raw) == manifest
    assert Manifest.from_bytes(raw).to_bytes() == raw


@settings(deadline=None)
@given(manifests, st.data())
def test_a_truncated_manifest_is_refused(manifest: Manifest, data: st.DataObject) -> None:
    raw = manifest.to_bytes()
    with pytest.raises(CorruptTableError):
        Manifest.from_bytes(raw[: data.draw(st.integers(0, len(raw) - 1))])


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_other_bytes_are_an_error_of_ours(junk: bytes) -> None:
    for raw in (junk, EXAMPLE_BYTES[:6] + junk):
        with contextlib.suppress(CorruptTableError):
            Manifest.from_bytes(raw)


def test_a_hostile_count_costs_nothing() -> None:
    with pytest.raises(CorruptTableError, match="truncated or damaged"):
        Manifest.from_bytes(bytes.fromhex("acb1cad409 02 feffffffffffffffff01"))


def test_blocks_and_trailing_bytes_are_read_as_other_writers_leave_them() -> None:
    # column groups in two blocks, the second with a negative count and its size in bytes
    one = "00 00 0e70617271756574"
    raw = bytes.fromhex(f"acb1cad409 02 02 {one} 01 14 {one} 00 00 00 ffff")
    assert Manifest.from_bytes(raw).column_groups == (ColumnGroup((), "parquet"), ColumnGroup((), "parquet"))


def test_other_versions_and_foreign_bytes_are_named() -> None:
    with pytest.raises(CorruptTableError, match="version 4"):
        Manifest.from_bytes(bytes.fromhex("acb1cad409 08 00 00 00"))
    with pytest.raises(CorruptTableError, match="magic number"):
        Manifest.from_bytes(b"PAR1....")
    with pytest.raises(CorruptTableError, match="empty"):
        Manifest.from_bytes(b"")
    with pytest.raises(InputError, match="version 7"):
        Manifest().to_bytes(version=7)
    with pytest.raises(InputError, match="metadata"):
        Manifest(stats={"bm25": Statistics(("s",), {"k": "v"})}).to_bytes(version=1)


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="the fixtures are not beside this checkout")
@pytest.mark.parametrize("name", ["v1-groups", "v1-deltas-stats"])
def test_files_of_the_original_library_read_and_rewrite(name: str) -> None:
    raw = (FIXTURES / f"{name}.avro").read_bytes()
    wanted = json.loads((FIXTURES / f"{name}.json").read_text())
    manifest = Manifest.from_bytes(raw)
    assert manifest.to_bytes(version=1) == raw
    assert [
        {
            "columns": list(group.columns),
            "files": [
                {
                    "path": file.path,
                    "start_index": file.start_index,
                    "end_index": file.end_index,
                    "metadata_bytes": list(file.metadata),
                }
                for file in group.files
            ],
            "format": group.format,
        }
        for group in manifest.column_groups
    ] == wanted["column_groups"]
    assert [
        {"path": log.path, "type": log.type, "num_entries": log.num_entries} for log in manifest.delta_logs
    ] == wanted["delta_logs"]
    assert {key: list(stat.paths) for key, stat in manifest.stats.items()} == wanted["stats"]

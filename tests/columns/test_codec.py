"""The bytes of a manifest in every version of the format, against the original's files and another Avro library."""

from __future__ import annotations

import hashlib
import io
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.columns.codec import Format, decode, encode, encode_record, encode_stream, format_of
from indextables.columns.schemas import CONTAINER_VERSIONS, STREAM_VERSIONS, schema, schema_text
from indextables.errors import InputError
from support.columns_values import FULL, blocky, manifests, number, readable, record, with_fastavro

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "milvus"
SYNC = bytes(range(16))

V1 = Manifest(
    (ColumnGroup(("id",), "parquet", (ColumnGroupFile("a.pq", 0, 10),)),),
    (DeltaLog("d", 3),),
    {"bm25": Statistics(("s",))},
)
V1_BYTES = bytes.fromhex(
    "acb1cad409 02 02 0204696400 02 08612e7071 0014 00 00 0e70617271756574 00 020264000600 0208626d3235 02027300 00"
)
V6 = Manifest(
    (ColumnGroup(("id",), "parquet", (ColumnGroupFile("a.pq", 0, 10, properties={"file_size": "9"}),)),),
    (DeltaLog("d", 3),),
    {"bm25": Statistics(("s",), {"k": "v"})},
    (Index("id", "t", "p", "n", 101, 7, index_file_keys=("a", "b"), properties={"M": "16"}),),
    (LobFile("l", 101, 10, 9, 99),),
)
V6_BODY = bytes.fromhex(
    "02 0204696400 02 08612e7071 0014 02 12 66696c655f73697a65 0239 00 00 0e70617271756574 00"
    "020264000600"
    "02 08626d3235 02027300 02026b 0276 00 00"
    "02 046964 026e 0274 0270 ca01 0e 00 00 00 00 00 00 00 00 04 0261 0262 00 02 024d 04 3136 00 00"
    "02 026c ca01 14 12 c601 00"
)


@pytest.mark.spec(
    "Manifest serialization with delta logs and stats",
    "Manifest deserialization with delta logs and stats",
    "Empty delta logs and stats handling",
)
def test_the_version_1_example_is_written_byte_for_byte():
    assert encode(V1, 1) == V1_BYTES
    assert decode(V1_BYTES) == V1
    assert Manifest().to_bytes() == bytes.fromhex("acb1cad409 02 00 00 00")


@pytest.mark.spec("Backward compatibility: reading old manifest format")
def test_version_2_and_3_streams_have_indexes_and_version_3_has_metadata_of_stats():
    index = (Index("id", "t", "p", properties={"M": "1"}),)
    groups_and_logs = "00 00"
    raw = bytes.fromhex(
        f"acb1cad409 04 {groups_and_logs} 0202730202780000 02 046964 0274 0270 02024d0231 00 00"
    )
    manifest = Manifest(stats={"s": Statistics(("x",))}, indexes=index)
    assert (decode(raw), encode(manifest, 2)) == (manifest, raw)
    raw = bytes.fromhex(
        f"acb1cad409 06 {groups_and_logs} 02027302027800 02026b0276 00 00 02 046964 0274 0270 02024d0231 00 00"
    )
    manifest = Manifest(stats={"s": Statistics(("x",), {"k": "v"})}, indexes=index)
    assert (decode(raw), encode_stream(manifest, 3)) == (manifest, raw)


@pytest.mark.parametrize(
    ("version", "length", "digest"),
    [(3, 1432, "75b75850c675a03b"), (4, 1459, "051a37b490992183"), (5, 1783, "f8afdd16cd50c42f"),
     (6, 2433, "c669d92afe76d5a9")],
)  # fmt: skip
def test_the_schema_in_a_container_is_that_of_the_original_to_the_letter(
    version: int, length: int, digest: str
):
    text = schema_text(version).encode()
    assert (len(text), hashlib.sha256(text).hexdigest()[:16]) == (length, digest)


@pytest.mark.spec(
    "Manifest serialization with delta logs and stats",
    "Manifest deserialization with delta logs and stats",
    "Empty delta logs and stats handling",
)
def test_version_6_is_written_byte_for_byte():
    head = (
        b"Obj\x01\x04\x14avro.codec\x08null\x16avro.schema" + number(2433) + schema_text(6).encode() + b"\0"
    )
    assert encode(Manifest(), sync=SYNC) == head + SYNC + b"\x02\x0a\0\0\0\0\0" + SYNC
    assert len(encode(Manifest())) == 2508
    raw = head + SYNC + b"\x02" + number(len(V6_BODY)) + V6_BODY + SYNC
    assert encode(V6, sync=SYNC) == raw
    assert decode(raw) == V6


@pytest.mark.spec("Old manifests with metadata deserialize correctly")
@pytest.mark.skipif(not FIXTURES.is_dir(), reason="the fixtures are not next to this checkout")
@pytest.mark.parametrize(
    ("name", "version"),
    [("v1-groups", 1), ("v1-deltas-stats", 1), ("ocf-e3", 3), ("ocf-e4", 4), ("ocf-e6", 6), ("ocf-w6", 6)],
)
def test_files_of_the_original_read_as_documented_and_are_written_alike(name: str, version: int):
    raw = (FIXTURES / f"{name}.avro").read_bytes()
    found = format_of(raw)
    assert found == Format(version, container=name.startswith("ocf"))
    manifest = decode(raw)
    wanted = json.loads((FIXTURES / f"{name}.json").read_text())
    assert in_json(manifest, wanted.pop("version", None) is not None, list(wanted)) == wanted
    assert encode(manifest, version, sync=raw[-16:] if found.container else None) == raw


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="the fixtures are not next to this checkout")
def test_no_file_of_the_original_is_left_out():
    assert len(list(FIXTURES.glob("*.avro"))) == 6


def in_json(manifest: Manifest, stream: bool, sections: list[str]) -> dict[str, Any]:
    """As the files next to the fixtures have it."""
    found = record(manifest)
    for group in found["column_groups"]:
        for file in group["files"]:
            metadata, properties = file.pop("metadata"), file.pop("properties")
            file.update({"metadata_bytes": list(metadata)} if stream else {"properties": properties})
    if stream:
        found["stats"] = {key: stat["paths"] for key, stat in found["stats"].items()}
    assert not any(found[section] for section in found if section not in sections)
    return {section: found[section] for section in sections}


@pytest.mark.spec(
    "Manifest deserialization with delta logs and stats",
    "All delta log types: PRIMARY_KEY, POSITIONAL, EQUALITY",
)
@pytest.mark.parametrize("version", CONTAINER_VERSIONS + STREAM_VERSIONS[:2])
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_what_is_written_reads_back_equal(version: int, data: st.DataObject):
    manifest = data.draw(manifests(version))
    raw = manifest.to_bytes(version)
    assert Manifest.from_bytes(raw) == manifest
    assert Manifest.from_bytes(raw).to_bytes(version) == raw
    assert format_of(raw) == Format(version, container=version >= 3)


@pytest.mark.spec("Old manifests with metadata deserialize correctly")
@settings(deadline=None, max_examples=25)
@given(manifests(3))
def test_a_version_3_stream_reads_back_equal(manifest: Manifest):
    raw = encode_stream(manifest, 3)
    assert decode(raw) == manifest
    assert format_of(raw) == Format(3, container=False)


def test_equal_manifests_are_equal_bytes_whatever_the_order_of_their_maps():
    turned = replace(
        FULL, stats=dict(reversed(FULL.stats.items())), indexes=(replace(FULL.indexes[0]), FULL.indexes[1])
    )
    assert turned.to_bytes(6) == FULL.to_bytes(6)
    assert FULL.to_bytes(6) != replace(FULL, lob_files=()).to_bytes(6)


@pytest.mark.spec("Multiple stats entries with different keys")
def test_maps_are_sorted_by_their_bytes_and_the_properties_of_a_file_are_not():
    stats = {key: Statistics(()) for key in ("b", "é", "a", "\udcff")}
    assert list(decode(encode(Manifest(stats=stats))).stats) == ["a", "b", "é", "\udcff"]
    file = ColumnGroupFile("p", properties={"z": "1", "a": "2"})
    (group,) = decode(encode(Manifest((ColumnGroup(("id",), files=(file,)),)))).column_groups
    assert list(group.files[0].properties) == ["z", "a"]


# Another Avro library.


@pytest.mark.spec("Forward compatibility: new manifest format")
@settings(deadline=None, max_examples=25)
@given(manifests(6, readable))
def test_another_library_reads_what_is_written(manifest: Manifest):
    (found,) = fastavro.reader(io.BytesIO(manifest.to_bytes(6)))
    wanted = record(manifest)
    for group in wanted["column_groups"]:
        for file in group["files"]:
            del file["metadata"]
    assert found == wanted


@pytest.mark.parametrize("version", CONTAINER_VERSIONS)
@pytest.mark.parametrize("compression", ["null", "deflate", "zstandard"])
@settings(deadline=None, max_examples=6)
@given(data=st.data())
def test_what_another_library_writes_is_read(version: int, compression: str, data: st.DataObject):
    manifest = data.draw(manifests(version, readable))
    raw = with_fastavro(schema(version), [record(manifest)], compression)
    assert decode(raw) == manifest
    assert format_of(raw).version == version


@pytest.mark.parametrize("version", CONTAINER_VERSIONS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_lists_and_maps_may_be_cut_into_blocks(version: int, data: st.DataObject):
    manifest = data.draw(manifests(version, readable))
    rng = random.Random(data.draw(st.integers(0, 1000)))
    raw = encode_record(schema_text(version), blocky(rng, schema(version), record(manifest)), SYNC)
    next(fastavro.reader(io.BytesIO(raw)))
    assert decode(raw) == manifest


@pytest.mark.parametrize("version", STREAM_VERSIONS)
def test_lists_and_maps_of_streams_may_be_cut_into_blocks(version: int):
    manifest = Manifest(FULL.column_groups[1:] * 5, FULL.delta_logs * 5)
    head = bytes.fromhex("acb1cad409") + number(version)
    for seed in range(20):
        raw = head + blocky(random.Random(seed), schema(version), record(manifest))
        assert decode(raw) == manifest


@settings(deadline=None, max_examples=25)
@given(manifests(6), st.integers(0, 1000))
def test_files_are_read_alike_in_one_go_and_one_by_one(manifest: Manifest, seed: int):
    # Another field in a file's record, and the list is read by the readers of its fields.
    changed = json.loads(schema_text(6))
    changed["fields"][0]["type"]["items"]["fields"][1]["type"]["items"]["fields"].append(
        {"name": "new", "type": "null"}
    )
    body = blocky(random.Random(seed), schema(6), record(manifest))
    raws = [encode_record(text, body, SYNC) for text in (schema_text(6), json.dumps(changed))]
    assert decode(raws[0]) == decode(raws[1]) == manifest


def test_the_first_record_counts_whatever_follows():
    for interval in (1, 1 << 20):  # a block each, and all in one
        raw = with_fastavro(schema(6), [record(V6), record(Manifest())], sync_interval=interval)
        assert decode(raw) == V6
    assert decode(encode(FULL) + b"junk") == FULL
    assert decode(encode(V1, 1) + b"junk") == V1


# Metadata of files: a field up to version 3, a property from 4 on.


def with_file(**values: Any) -> Manifest:
    return Manifest((ColumnGroup(("id",), files=(ColumnGroupFile("p", 0, 1, **values),)),))


@pytest.mark.spec("ColumnGroups metadata preserved for backward compatibility")
def test_metadata_of_a_file_is_a_property_in_newer_versions_and_bytes_in_older_ones():
    old, new = with_file(metadata=b"\xaa\xbb"), with_file(properties={"metadata": "\udcaa\udcbb"})
    assert decode(encode(old, 6)) == new
    assert decode(encode(new, 1)) == old
    assert encode(old, 6) == encode(new, 6)
    assert encode(old, 3) == encode(new, 3)


def test_two_different_metadata_of_a_file_are_refused():
    for version in (1, 6):
        with pytest.raises(InputError, match="'p' has metadata, and other metadata"):
            encode(with_file(metadata=b"a", properties={"metadata": "b"}), version)


# What a version has no room for.


@pytest.mark.parametrize(
    ("manifest", "version", "what"),
    [
        (Manifest(indexes=FULL.indexes), 1, "version 1 cannot hold the index of column 'vec'; version 2"),
        (Manifest(indexes=FULL.indexes), 5, "version 5 cannot hold index_name of the index of column 'vec'"),
        (Manifest(indexes=(Index("a", "b", "c", mem_size=1),)), 2, "mem_size"),
        (Manifest(indexes=(Index("a", "b", "c", index_file_keys=("k",)),)), 4, "index_file_keys"),
        (Manifest(stats={"bm25": Statistics(("s",), {"k": "v"})}), 1, "metadata of statistic 'bm25'"),
        (Manifest(stats={"bm25": Statistics(("s",), {"k": "v"})}), 2, "metadata of statistic 'bm25'"),
        (Manifest(lob_files=FULL.lob_files), 4, "large-object file '101/_data/x'; version 5"),
        (with_file(properties={"file_size": "1"}), 3, "property 'file_size' of file 'p'; version 4"),
        (Manifest(), 7, "version 7"),
        (Manifest(), 0, "version 0"),
        (Manifest(delta_logs=(DeltaLog("d", 1 << 63),)), 6, "64 bits"),
        (Manifest(indexes=(Index("a", "b", "c", current_index_version=1 << 31),)), 6, "32 bits"),
        (Manifest(delta_logs=(DeltaLog("\ud800", 1),)), 6, "cannot hold the text"),
    ],
)
def test_what_a_version_cannot_hold_is_named(manifest: Manifest, version: int, what: str):
    with pytest.raises(InputError, match=what):
        manifest.to_bytes(version)


def test_a_sync_marker_has_sixteen_bytes_and_only_containers_have_one():
    with pytest.raises(InputError, match="16 bytes, not 3"):
        Manifest().to_bytes(6, sync=b"abc")
    with pytest.raises(InputError, match="has no sync marker"):
        Manifest().to_bytes(1, sync=SYNC)

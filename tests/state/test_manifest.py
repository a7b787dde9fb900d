"""The state manifest and the hint that leads to it: both dialects, tolerant where meaning is plain."""

from __future__ import annotations

import io
import json

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.errors import CorruptTableError, ProtocolError
from indextables.state import (
    LAST_CHECKPOINT,
    LastCheckpoint,
    ManifestInfo,
    PartitionBounds,
    StateManifest,
    decode_pointer,
    decode_state,
    encode_pointer,
    encode_state,
    manifest_key,
    read_pointer,
    write_pointer,
)
from indextables.state.manifest import STATE_SCHEMA, ManifestPlace
from support.faults import MemoryStore
from support.states import damaged, number, optional, text, texts

infos = st.builds(
    ManifestInfo,
    path=st.uuids().map(lambda u: f"manifests/manifest-{u.hex}.avro"),
    num_entries=st.integers(0, 1 << 40),
    min_added_at_version=number,
    max_added_at_version=number,
    partition_bounds=optional(
        st.dictionaries(text, st.builds(PartitionBounds, optional(text), optional(text)), max_size=3)
    ),
    tombstone_count=number,
    live_entry_count=number,
    place=optional(st.builds(ManifestPlace, st.integers(0, 1 << 40), st.integers(0, 1 << 32))),
)
states = st.builds(
    StateManifest,
    state_version=st.integers(0, 1 << 60),
    created_at=number,
    num_files=number,
    total_bytes=number,
    manifests=st.lists(infos, max_size=4, unique_by=lambda info: info.path).map(tuple),
    tombstones=st.lists(text, max_size=5).map(tuple),
    schema_registry=texts.filter(lambda found: not any(key.startswith("docMapping") for key in found)),
    protocol_version=st.integers(1, 9),
    metadata=optional(text),
    extras=st.dictionaries(text, text, max_size=2),
)


@pytest.mark.spec("testWriteStateManifest", "testStateManifestWithTombstones")
@settings(max_examples=80, deadline=None)
@given(states, st.sampled_from(["null", "snappy", "zstandard"]))
def test_a_state_comes_back_whole(state: StateManifest, codec: str):
    assert decode_state(encode_state(state, codec=codec), "f") == state


def example() -> StateManifest:
    bounds = {"day": PartitionBounds("2024-01-01", "2024-01-31"), "none": PartitionBounds(None, None)}
    return StateManifest(
        42,
        1704067200000,
        num_files=1,
        total_bytes=10,
        manifests=(ManifestInfo("manifests/manifest-a1b2c3d4.avro", 2, 0, 42, bounds),),
        tombstones=("splits/x.split",),
        schema_registry={"ab12": "[]"},
        metadata='{"metaData":{}}',
    )


@pytest.mark.spec("testWriteStateManifest")
def test_other_readers_find_every_field_of_the_format():
    (record,) = fastavro.reader(io.BytesIO(encode_state(example())))
    assert record["formatVersion"] == 1
    assert record["manifests"][0]["partitionBounds"]["day"] == {"min": "2024-01-01", "max": "2024-01-31"}
    assert record["tombstones"] == ["splits/x.split"]
    assert record["schemaRegistry"] == {"ab12": "[]"}


@pytest.mark.spec("testStateManifestWithSchemaRegistry")
def test_registry_keys_are_bare_whoever_wrote_them():
    record = dict(next(iter(fastavro.reader(io.BytesIO(encode_state(example()))))))
    record["schemaRegistry"] = {"docMappingSchema.ab12": "[]"}
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(STATE_SCHEMA), [record], codec="deflate")
    assert decode_state(out.getvalue(), "f") == example()


@pytest.mark.spec("testReadStateManifest", "testEmptyTombstones")
def test_the_json_of_older_tables_says_the_same():
    document = {
        "formatVersion": 1,
        "stateVersion": 42,
        "createdAt": 1704067200000,
        "numFiles": 1,
        "totalBytes": 10,
        "manifests": [
            {
                "path": "manifests/manifest-a1b2c3d4.avro",
                "numEntries": 2,
                "minAddedAtVersion": 0,
                "maxAddedAtVersion": 42,
                "partitionBounds": {"day": {"min": "2024-01-01", "max": "2024-01-31"}, "none": {}},
            }
        ],
        "tombstones": ["splits/x.split"],
        "schemaRegistry": {"ab12": "[]"},
        "protocolVersion": 4,
        "metadata": '{"metaData":{}}',
    }
    assert decode_state(json.dumps(document).encode(), "f") == example()
    del document["tombstones"], document["schemaRegistry"], document["metadata"], document["totalBytes"]
    assert decode_state(json.dumps(document).encode(), "f").tombstones == ()


@pytest.mark.spec("testInvalidSchemaVersion")
def test_a_format_of_the_future_is_refused():
    with pytest.raises(
        ProtocolError, match="reading f requires state format 2; this release supports up to 1"
    ):
        decode_state(b'{"formatVersion":2,"stateVersion":1,"numFiles":0,"manifests":[]}', "f")


@pytest.mark.parametrize("codec", ["null", "zstandard"])
def test_every_changed_byte_is_noticed(codec: str):
    for _, bad in damaged(encode_state(example(), codec=codec)):
        with pytest.raises(CorruptTableError, match="^f"):
            decode_state(bad, "f")


@given(st.binary(max_size=100))
def test_any_bytes_give_a_state_or_our_error(data: bytes):
    for candidate in (data, b"{" + data, b"Obj\x01" + data):
        try:
            decode_state(candidate, "f")
        except (CorruptTableError, ProtocolError):
            continue


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("manifests/manifest-ab.avro", "_transaction_log/manifests/manifest-ab.avro"),
        ("state-v00000000000000000003/m.avro", "_transaction_log/state-v00000000000000000003/m.avro"),
        ("m.avro", "_transaction_log/state-v00000000000000000007/m.avro"),
    ],
)
def test_three_forms_of_a_manifest_path(path: str, key: str):
    assert manifest_key(path, 7) == key


@pytest.mark.parametrize("path", ["../x.avro", "/etc/passwd", "manifests/../../x", "", "a\0b"])
def test_a_manifest_path_that_leaves_the_log_is_refused(path: str):
    with pytest.raises(CorruptTableError):
        manifest_key(path, 7)


def test_the_hint_keeps_every_field():
    pointer = LastCheckpoint(100, 70500, 123, 70500, 17, 3, "abc", "avro-state", "state-v100", 4, {"new": 1})
    assert decode_pointer(encode_pointer(pointer)) == pointer


def test_fields_that_are_not_there_are_left_out():
    assert encode_pointer(LastCheckpoint(1)) == b'{"version":1}'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"version":1}', "json"),
        ('{"version":1,"checkpointId":"ab","parts":3}', "json-multipart"),
        ('{"version":1,"format":"avro-state","parts":null}', "avro-state"),
    ],
)
def test_what_a_hint_without_a_format_means(text: str, kind: str):
    pointer = decode_pointer(text.encode())
    assert pointer is not None
    assert pointer.kind == kind


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"7", b'{"version":"x"}', b'{"version":-1}', b"\xff", b"{}"]
)
def test_a_damaged_hint_is_no_hint(data: bytes):
    assert decode_pointer(data) is None


def test_the_hint_only_goes_forward():
    store = MemoryStore()
    assert read_pointer(store) is None
    for version in (5, 7, 6):
        write_pointer(store, LastCheckpoint(version))
    assert read_pointer(store) == LastCheckpoint(7)
    store.put(LAST_CHECKPOINT, b"{")
    write_pointer(store, LastCheckpoint(1))
    assert read_pointer(store) == LastCheckpoint(1)

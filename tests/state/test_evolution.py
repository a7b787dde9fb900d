"""Manifests of other releases: fields are known by their ids, so that writers may add, rename, widen and reorder.

`random_schema` is any release that keeps to those rules. What such a release writes, this one reads, as long as it
has what an entry cannot do without; and what this one writes, a release that knows fewer fields reads.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.avro import read_blocks, read_header, records, write_container
from indextables.errors import CorruptTableError
from indextables.log import load_snapshot
from indextables.log.actions import Added, to_document, to_entries
from indextables.log.snapshots import cache
from indextables.state import (
    AVRO_SCHEMA,
    ENTRY_SCHEMA,
    decode_entries,
    decode_state,
    encode_entries,
    encode_state,
    entries,
    state_key,
)
from indextables.state.entry_fields import FIELDS
from indextables.state.manifest import STATE_SCHEMA, ManifestInfo, StateManifest
from support.faults import MemoryStore
from support.logs import metadata
from support.states import added_files

MAPS = ("partitionValues", "minValues", "maxValues")
NEEDED = ("path", "size")

SPECIFIED = {
    "path": (100, "string"),
    "partitionValues": (101, {"type": "map", "values": "string"}),
    "size": (102, "long"),
    "modificationTime": (103, "long"),
    "dataChange": (104, "boolean"),
    "stats": (110, ["null", "string"]),
    "minValues": (111, ["null", {"type": "map", "values": "string"}]),
    "maxValues": (112, ["null", {"type": "map", "values": "string"}]),
    "numRecords": (113, ["null", "long"]),
    "footerStartOffset": (120, ["null", "long"]),
    "footerEndOffset": (121, ["null", "long"]),
    "hasFooterOffsets": (124, "boolean"),
    "splitTags": (132, ["null", {"type": "array", "items": "string"}]),
    "numMergeOps": (134, ["null", "int"]),
    "docMappingRef": (135, ["null", "string"]),
    "uncompressedSizeBytes": (136, ["null", "long"]),
    "addedAtVersion": (140, "long"),
    "addedAtTimestamp": (141, "long"),
}
"""The eighteen fields that the description of the format has."""

STRANGERS: list[tuple[Any, Any]] = [
    ("long", 7),
    ("double", 1.5),
    ("bytes", b"\x00\xff"),
    (["null", "string"], None),
    (["null", "string", "long"], "either"),
    (["string", "null"], "first"),
    ({"type": "map", "values": {"type": "array", "items": "int"}}, {"x": [1, 2]}),
    ({"type": "array", "items": ["null", "double"]}, [None, 2.5]),
    ({"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}, "BLUE"),
    ({"type": "fixed", "name": "Four", "size": 4}, b"abcd"),
    ({"type": "long", "logicalType": "timestamp-micros"}, 1_700_000_000_000_000),
    (
        {
            "type": "record",
            "name": "Inner",
            "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"]}],
        },
        {"a": 1, "b": None},
    ),
]
"""Types, and values of them, that a release yet to come may add."""


def rows_of(files: list[Added]) -> list[dict[str, Any]]:
    table = to_entries((added.file.path, added) for added in files).select(ENTRY_SCHEMA.names)
    return [
        {name: dict(value) if name in MAPS and value is not None else value for name, value in row.items()}
        for row in table.to_pylist()
    ]


def as_rows(table: Any) -> list[dict[str, Any]]:
    return [
        {name: dict(value) if name in MAPS and value is not None else value for name, value in row.items()}
        for row in table.to_pylist()
    ]


def avro(fields: list[dict], rows: list[dict], namespace: str = "io.indextables.state") -> bytes:
    schema = {"type": "record", "name": "FileEntry", "namespace": namespace, "fields": fields}
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec="zstandard")
    return out.getvalue()


def decode(data: bytes) -> list[dict[str, Any]]:
    header = read_header(data, "m.avro")
    return as_rows(decode_entries(header.schema, read_blocks(data, header, "m.avro"), "m.avro"))


def our_fields() -> list[dict]:
    return json.loads(AVRO_SCHEMA)["fields"]


def random_schema(rng: random.Random) -> tuple[list[dict], dict[str, str], dict[str, Any]]:
    """Fields of another release, its name for each of our fields that it has, and values for those we do not know."""
    fields, names, strange = [], {}, {}
    for field in our_fields():
        name = field["name"]
        if name not in NEEDED and rng.random() < 0.2:
            continue  # not yet there, or no longer
        names[name] = f"renamed{len(names)}" if rng.random() < 0.3 else name
        kind = field["type"]
        if isinstance(kind, list) and rng.random() < 0.3:
            kind = kind[::-1]
        elif not isinstance(kind, list) and rng.random() < 0.2:
            kind = ["null", kind]
        kind = "long" if kind == "int" else ["null", "long"] if kind == ["null", "int"] else kind
        new = {"name": names[name], "type": kind, "field-id": field["field-id"]}
        fields.append(new)
    for number, (kind, value) in enumerate(rng.sample(STRANGERS, rng.randrange(4))):
        strange[f"new{number}"] = value
        new = {"name": f"new{number}", "type": kind}
        fields.append(new | ({"field-id": 160 + number} if rng.random() < 0.7 else {}))
    rng.shuffle(fields)
    return fields, names, strange


@pytest.fixture(params=["pyruhvro", "fastavro"])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    entries._plan.cache_clear()
    if request.param == "fastavro":
        monkeypatch.setattr(records, "pyruhvro", None)
    yield
    entries._plan.cache_clear()


@pytest.mark.spec("testAddNewField", "testReadOldSchemaWithNewReader", "testRenameField")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(added_files, min_size=1, max_size=5), st.integers(0, 1 << 32))
def test_any_release_that_keeps_field_ids_is_read(decoder: None, files: list[Added], seed: int):
    fields, names, strange = random_schema(random.Random(seed))
    ours = rows_of(files)
    theirs = [{names[name]: value for name, value in row.items() if name in names} | strange for row in ours]
    defaults = {field.name: field.default for field in FIELDS} | {"partitionValues": {}}
    expected = [
        {name: value if name in names else defaults[name] for name, value in row.items()} for row in ours
    ]
    assert decode(avro(fields, theirs)) == expected


def simple(size: Any, *more: dict) -> list[dict]:
    return [{"name": "path", "type": "string"}, {"name": "size", "type": size}, *more]


@pytest.mark.spec("testPromoteFieldType")
@pytest.mark.parametrize("kind", ["int", "long", "float", "double"])
def test_whole_numbers_of_any_width_are_read(decoder: None, kind: str):
    fields = simple(kind, {"name": "rows", "type": ["null", kind], "field-id": 113})
    rows = [{"path": "a", "size": 1 << 20, "rows": 7}, {"path": "b", "size": 0, "rows": None}]
    found = decode(avro(fields, rows))
    assert [(row["size"], row["numRecords"]) for row in found] == [(1 << 20, 7), (0, None)]


def test_a_number_that_is_meant_as_a_moment_is_read_as_the_number(decoder: None):
    moment = {"type": "long", "logicalType": "timestamp-millis"}
    fields = simple("long", {"name": "modificationTime", "type": moment})
    (row,) = decode(avro(fields, [{"path": "a", "size": 1, "modificationTime": 1_700_000_000_123}]))
    assert row["modificationTime"] == 1_700_000_000_123


@pytest.mark.spec("testPromoteFieldType")
@pytest.mark.parametrize(
    ("kind", "value"),
    [("double", 1.5), ("string", "12"), (["null", "long"], None), ("boolean", True), ("bytes", b"1")],
)
def test_what_is_no_size_is_refused(decoder: None, kind: Any, value: object):
    with pytest.raises(CorruptTableError, match="^m.avro: "):
        decode(avro(simple(kind), [{"path": "a", "size": value}]))


@pytest.mark.parametrize("kind", ["long", "boolean", {"type": "array", "items": "string"}])
def test_what_is_no_text_is_refused(decoder: None, kind: Any):
    value = {"long": 1, "boolean": True}.get(kind if isinstance(kind, str) else "", ["a"])
    fields = [{"name": "path", "type": kind}, {"name": "size", "type": "long"}]
    with pytest.raises(CorruptTableError, match="^m.avro: "):
        decode(avro(fields, [{"path": value, "size": 1}]))


def test_bytes_are_text_where_they_are_utf8(decoder: None):
    fields = [{"name": "path", "type": "bytes"}, {"name": "size", "type": "long"}]
    assert decode(avro(fields, [{"path": "ü".encode(), "size": 1}]))[0]["path"] == "ü"
    with pytest.raises(CorruptTableError, match="^m.avro: "):
        decode(avro(fields, [{"path": b"\xff\xfe", "size": 1}]))


@pytest.mark.spec("testFieldIdPreservation")
def test_the_ids_of_the_description_are_ours():
    ids = {field["name"]: (field["field-id"], field["type"]) for field in our_fields()}
    assert {name: ids[name] for name in SPECIFIED} == SPECIFIED
    assert json.loads(AVRO_SCHEMA)["namespace"] == "io.indextables.state"


ALL_IDS = {
    "path": 100, "partitionValues": 101, "size": 102, "modificationTime": 103, "dataChange": 104, "stats": 110,
    "minValues": 111, "maxValues": 112, "numRecords": 113, "footerStartOffset": 120, "footerEndOffset": 121,
    "deleteOpstamp": 123, "hasFooterOffsets": 124, "splitTags": 132, "docMappingJson": 133, "numMergeOps": 134,
    "docMappingRef": 135, "uncompressedSizeBytes": 136, "timeRangeStart": 137, "timeRangeEnd": 138,
    "addedAtVersion": 140, "addedAtTimestamp": 141, "companionSourceFiles": 150, "companionDeltaVersion": 151,
    "companionFastFieldMode": 152, "extra": 159,
}  # fmt: skip


@pytest.mark.spec("testFieldIdPreservation")
def test_no_id_ever_changes_and_none_is_used_twice():
    ids = {field["name"]: field["field-id"] for field in our_fields()}
    assert {name: ids.get(name) for name in ALL_IDS} == ALL_IDS
    assert len(set(ids.values())) == len(ids)


@pytest.mark.spec("testReadNewSchemaWithOldReader")
@settings(max_examples=30, deadline=None)
@given(st.lists(added_files, min_size=1, max_size=5))
def test_a_reader_that_knows_fewer_fields_reads_what_we_write(files: list[Added]):
    table = to_entries((added.file.path, added) for added in files).select(ENTRY_SCHEMA.names)
    data = write_container(AVRO_SCHEMA, encode_entries(table), codec="zstandard")
    older = {
        "type": "record",
        "name": "FileEntry",
        "namespace": "io.indextables.state",
        "fields": [
            {"name": name, "type": kind, "field-id": number} for name, (number, kind) in SPECIFIED.items()
        ],
    }
    found = list(fastavro.reader(io.BytesIO(data), reader_schema=fastavro.parse_schema(older)))
    assert found == [{name: row[name] for name in SPECIFIED} for row in rows_of(files)]


def state_bytes(change: Any) -> bytes:
    """A state as another release writes it, with one manifest."""
    info = ManifestInfo("manifests/manifest-a1b2c3d4.avro", 1, 0, 0)
    text = json.dumps(to_document(metadata()))
    plain = encode_state(StateManifest(3, 5, 1, 10, (info,), metadata=text))
    (record,) = fastavro.reader(io.BytesIO(plain))
    schema = json.loads(json.dumps(STATE_SCHEMA))
    change(schema["fields"], record)
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [record], codec="deflate")
    return out.getvalue()


def knows_more(fields: list[dict], record: dict) -> None:
    fields.insert(0, {"name": "news", "type": {"type": "array", "items": "string"}})
    fields.append({"name": "mood", "type": ["null", "double"]})
    fields[6]["type"]["items"]["fields"].append({"name": "checksum", "type": "bytes"})
    record |= {"news": ["x"], "mood": 0.5}
    record["manifests"][0]["checksum"] = b"abc"


def knows_less(fields: list[dict], record: dict) -> None:
    absent = ("createdAt", "totalBytes", "tombstones", "schemaRegistry", "protocolVersion")
    fields[:] = [field for field in fields if field["name"] not in absent]
    items = fields[[field["name"] for field in fields].index("manifests")]["type"]["items"]["fields"]
    items[:] = [item for item in items if item["name"] in ("path", "numEntries")]


def is_narrower(fields: list[dict], record: dict) -> None:
    for field in fields:
        if field["type"] == "long":
            field["type"] = "int"


@pytest.mark.spec("testReadOldSchemaWithNewReader")
@pytest.mark.parametrize("change", [knows_more, knows_less, is_narrower])
def test_a_state_of_another_release_is_read(change: Any):
    store = MemoryStore()
    cache.forget()
    state = decode_state(state_bytes(change), "f")
    assert (state.state_version, state.num_files, len(state.manifests)) == (3, 1, 1)
    store.put(state_key(3), state_bytes(change))
    fields = [{"name": name, "type": kind, "field-id": number} for name, (number, kind) in SPECIFIED.items()]
    row = {"path": "a", "partitionValues": {}, "size": 10, "modificationTime": 0, "dataChange": True}
    row |= {"hasFooterOffsets": False, "addedAtVersion": 3, "addedAtTimestamp": 7}
    store.put("_transaction_log/manifests/manifest-a1b2c3d4.avro", avro(fields, [row]))
    assert list(load_snapshot(store).files) == ["a"]

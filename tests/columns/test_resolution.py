"""Manifests that were written with other schemas: fields are matched by name, unknown ones skipped, and a schema
with which a few bytes could keep a reader busy is refused.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from indextables.columns import DeltaLog, DeltaLogType, Index, Manifest
from indextables.columns.codec import decode, encode, encode_record, format_of
from indextables.columns.schemas import schema
from indextables.errors import CorruptTableError
from support.columns_values import FULL, number, record, with_fastavro


@pytest.mark.spec("Backward compatibility: reading old manifest format")
def test_indexes_of_older_containers_are_read_by_name():
    # The original fails here: its decoder takes the fields in the newest order.
    indexes = (Index("vec", "hnsw", "i1", properties={"M": "16"}), Index("id", "sort", "i2"))
    for version in (3, 4, 5):
        assert decode(encode(Manifest(indexes=indexes), version)).indexes == indexes


STRANGERS = [
    ("null", None), ("boolean", True), ("float", 1.5), ("double", 2.5), ("int", -3), ("long", 1 << 40),
    ("bytes", b"\xff"), ("string", "x"), (["null", "string"], "y"), (["null", "string"], None),
    ({"type": "array", "items": {"type": "map", "values": "long"}}, [{"a": 1}, {}]),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    ({"type": "fixed", "name": "F", "size": 3}, b"abc"),
    ({"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}, {"name": "n", "type": "null"}]},
     {"a": "x", "n": None}),
    ({"type": "long", "logicalType": "timestamp-millis"}, 5),
]  # fmt: skip


def with_strangers(rng: random.Random, node: Any, value: Any, taken: list[int]) -> Any:
    """The schema with unknown fields in every record and the known ones in another order; values are filled in."""
    if isinstance(node, str):
        return node
    if node["type"] == "array":
        return node | {"items": with_strangers(rng, node["items"], value, taken)}
    if node["type"] == "map":
        return node | {"values": with_strangers(rng, node["values"], value, taken)}
    fields = [field | {"type": with_strangers(rng, field["type"], value, taken)} for field in node["fields"]]
    for kind, content in rng.sample(STRANGERS, 5):
        taken.append(1)
        name = f"new_{len(taken)}"
        own = {"name": f"Own{len(taken)}"} if isinstance(kind, dict) and "name" in kind else {}
        fields.append({"name": name, "type": kind | own if own else kind})
        value[name] = content
    rng.shuffle(fields)
    return node | {"fields": fields}


@pytest.mark.spec("Forward compatibility: new manifest format")
@pytest.mark.parametrize("seed", range(30))
def test_unknown_fields_are_skipped_wherever_they_are(seed: int):
    rng = random.Random(seed)
    unknown: dict[str, Any] = {}
    newer = with_strangers(rng, schema(6), unknown, [])

    def fill(value: Any) -> Any:
        if isinstance(value, list):
            return [fill(item) for item in value]
        if not isinstance(value, dict):
            return value
        filled = {key: fill(item) for key, item in value.items()}
        # Maps of the manifest are no records: what is added to them would be entries.
        return filled | unknown if "path" in value or "paths" in value or "columns" in value else filled

    plain = FULL.column_groups[1:]  # fastavro wants text that is UTF-8
    wanted = replace(FULL, column_groups=plain)
    raw = with_fastavro(newer, [fill(record(wanted)) | unknown])
    assert decode(raw) == wanted
    assert format_of(raw).version == 6


@pytest.mark.spec("Backward compatibility: reading old manifest format")
def test_what_an_older_schema_does_not_have_takes_the_default():
    little = {
        "type": "record",
        "name": "Manifest",
        "fields": [
            {"name": "delta_logs", "type": schema(6)["fields"][1]["type"]},
            {"name": "column_groups", "type": schema(6)["fields"][0]["type"]},
        ],
    }
    wanted = Manifest(FULL.column_groups[1:], FULL.delta_logs)
    assert decode(with_fastavro(little, [record(wanted)])) == wanted


def test_numbers_and_text_may_be_of_the_neighbouring_type_and_one_of_several():
    older = json.loads(json.dumps(schema(5)))
    older["fields"][1]["type"]["items"]["fields"] = [
        {"name": "num_entries", "type": "int"},
        {"name": "type", "type": ["null", "long"]},
        {"name": "path", "type": "bytes"},
    ]
    logs = [{"path": b"d\xff", "type": 2, "num_entries": 3}]
    raw = with_fastavro(older, [record(Manifest()) | {"delta_logs": logs}])
    assert decode(raw).delta_logs == (DeltaLog("d\udcff", 3, DeltaLogType.EQUALITY),)


# Hostile schemas. The values are whatever would be most work.


def container(written: Any, body: bytes = b"\0" * 64) -> bytes:
    return encode_record(json.dumps(written), body, None)


def with_field(kind: Any) -> Any:
    """The newest schema, after one unknown field."""
    return schema(6) | {"fields": [{"name": "new", "type": kind}, *schema(6)["fields"]]}


def doubling(depth: int, leaf: Any) -> Any:
    """Each type holds the one before it twice: 2 ** depth values in a few bytes of schema."""
    kind = leaf
    for level in range(depth):
        name = f"T{level}"
        fields = [{"name": "a", "type": kind}, {"name": "b", "type": f"T{level - 1}" if level else leaf}]
        kind = {"type": "record", "name": name, "fields": fields}
    return kind


EMPTY_RECORD = {"type": "record", "name": "Nothing", "fields": []}


@pytest.mark.parametrize(
    "items", ["null", EMPTY_RECORD, {"type": "fixed", "name": "F", "size": 0}, doubling(20, "null")]
)
def test_lists_of_what_takes_no_bytes_are_refused(items: Any):
    many = number(60) * 60
    with pytest.raises(CorruptTableError, match="array of items that take no bytes"):
        decode(container(with_field({"type": "array", "items": items}), many))


def test_lists_of_known_records_without_fields_are_refused():
    bare = json.loads(json.dumps(schema(6)))
    bare["fields"][3]["type"]["items"]["fields"] = [{"name": "n", "type": "null"}]
    with pytest.raises(CorruptTableError, match="has no field Index.column_name"):
        decode(container(bare))


def test_what_takes_no_bytes_takes_no_time():
    assert decode(container(with_field(doubling(25, "null")), b"\0" * 5)) == Manifest()


def test_values_that_would_be_endlessly_many_end_with_the_bytes():
    with pytest.raises(CorruptTableError, match="truncated or damaged"):
        decode(container(with_field(doubling(25, "long")), b"\0" * 1000))


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]},
        {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]},
        {"type": "record", "name": "R", "fields": [{"name": "r", "type": {"type": "array", "items": "R"}}]},
    ],
)
def test_types_that_contain_themselves_are_refused(kind: Any):
    with pytest.raises(CorruptTableError, match="contains itself"):
        decode(container(with_field(kind)))


@pytest.mark.parametrize("depth", [40, 200, 600, 20_000])
def test_deep_schemas_are_refused(depth: int):
    text = json.dumps(with_field("DEEP"))
    for opening, closing in (('{"type":"array","items":', "}"), ('{"type":"map","values":', "}"), ("[", "]")):
        deep = text.replace('"DEEP"', opening * depth + '"long"' + closing * depth)
        with pytest.raises(CorruptTableError, match="the schema (nests|is not JSON)"):
            decode(encode_record(deep, b"\0" * 64, None))


def test_deep_schemas_by_name_are_refused_too():
    fields: list[Any] = [{"name": "f0", "type": {"type": "record", "name": "T0", "fields": []}}]
    for level in range(1, 60):
        inner = [{"name": "x", "type": f"T{level - 1}"}]
        fields.append({"name": f"f{level}", "type": {"type": "record", "name": f"T{level}", "fields": inner}})
    with pytest.raises(CorruptTableError, match="nests more than"):
        decode(container(schema(6) | {"fields": [*fields, *schema(6)["fields"]]}))


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("null", "no record at Manifest, but 'null'"),
        ([], "chooses type 0 of 0"),
        ({}, "no type where one has to be"),
        (7, "no type where one has to be"),
        ({"type": "record", "name": "Manifest"}, "without fields"),
        ({"type": "record", "name": "Manifest", "fields": [{"name": "a"}]}, "no type where one has to be"),
        ({"type": "record", "name": "Manifest", "fields": [{"type": "long"}]}, "nameless"),
        (schema(6) | {"fields": schema(6)["fields"] * 2}, "repeated"),
        (schema(6) | {"fields": schema(6)["fields"][1:]}, "has no field Manifest.column_groups"),
        (with_field("Elsewhere"), "does not define: 'Elsewhere'"),
        (with_field({"type": "fixed", "name": "F", "size": -1}), "size -1"),
        (with_field({"type": "array"}), "no type where one has to be"),
        (
            schema(1) | {"fields": [{"name": "column_groups", "type": "long"}]},
            "no array at Manifest.column_groups",
        ),
        (
            with_field({"type": "enum", "name": "E", "symbols": []}) | {"type": ["null"]},
            "no record at Manifest",
        ),
    ],
)
def test_schemas_of_something_else_are_named(written: Any, why: str):
    with pytest.raises(CorruptTableError, match=why):
        decode(container(written))


def test_a_schema_that_repeats_names_without_end_costs_little():
    record_of = {"type": "record", "name": "G", "fields": schema(6)["fields"][0]["type"]["items"]["fields"]}
    groups = {"type": "array", "items": [record_of, *["G"] * 20_000]}
    fields = [schema(6)["fields"][0] | {"type": groups}, *schema(6)["fields"][1:]]
    assert decode(container(schema(6) | {"fields": fields}, b"\0" * 5)) == Manifest()


def test_a_value_that_chooses_another_type_is_refused():
    changed = json.loads(json.dumps(schema(6)))
    changed["fields"][1]["type"]["items"]["fields"][0]["type"] = ["null", "string"]
    logs = [{"path": None, "type": 0, "num_entries": 1}]
    raw = with_fastavro(changed, [record(Manifest()) | {"delta_logs": logs}])
    with pytest.raises(CorruptTableError, match="no string at DeltaLog.path, but 'null', and a value"):
        decode(raw)


def test_a_schema_that_is_larger_than_any_manifest_needs_is_refused():
    with pytest.raises(CorruptTableError, match="the schema has 2,0[0-9,]+ characters"):
        decode(encode_record(json.dumps(schema(6)) + " " * 2_000_000, b"\0" * 5, None))

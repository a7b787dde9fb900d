"""File entries: nothing is lost between the log, Arrow and Avro, and files of other writers read too."""

from __future__ import annotations

import io
import json

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.avro import Block, read_blocks, read_header, records, write_container
from indextables.errors import CorruptTableError
from indextables.log.actions import Added, AddFile, from_entries, to_entries
from indextables.log.actions import entries as log_entries
from indextables.state import AVRO_SCHEMA, ENTRY_SCHEMA, decode_entries, encode_entries, entries
from support.logs import add
from support.states import added_files

MAPS = ("partitionValues", "minValues", "maxValues")


def table_of(files: list[Added]) -> pa.Table:
    return to_entries((added.file.path, added) for added in files).select(ENTRY_SCHEMA.names)


def avro(schema: dict, rows: list[dict], codec: str = "zstandard") -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec=codec)
    return out.getvalue()


def decode(data: bytes) -> pa.Table:
    header = read_header(data, "m.avro")
    return decode_entries(header.schema, read_blocks(data, header, "m.avro"), "m.avro")


def rows(table: pa.Table) -> list[dict]:
    return [
        {name: dict(value) if name in MAPS and value is not None else value for name, value in row.items()}
        for row in table.to_pylist()
    ]


@pytest.mark.spec(
    "testReadSingleEntry",
    "testReadNullableFields",
    "testReadWithPartitionValues",
    "testReadWithEmptyPartitionValues",
    "testWriteAllFields",
)
@settings(max_examples=60, deadline=None)
@given(st.lists(added_files, max_size=20))
def test_an_add_comes_back_whole(files: list[Added]):
    data = write_container(AVRO_SCHEMA, encode_entries(table_of(files)), codec="zstandard")
    table = decode(data)
    keys = pa.array([added.file.path for added in files], pa.string())
    assert [added for _, added in from_entries(table.append_column("key", keys))] == files


@pytest.mark.spec("testReadAllFields", "testWriteAllFields", "testWriteNullableFields")
@settings(max_examples=60, deadline=None)
@given(st.lists(added_files, min_size=1, max_size=20))
def test_fastavro_agrees_in_both_directions(files: list[Added]):
    table = table_of(files)
    ours = write_container(AVRO_SCHEMA, encode_entries(table), codec="snappy")
    assert list(fastavro.reader(io.BytesIO(ours))) == rows(table)
    theirs = avro(json.loads(AVRO_SCHEMA), rows(table))
    assert decode(theirs).equals(table)


@settings(max_examples=30, deadline=None)
@given(st.lists(added_files, max_size=5))
def test_the_fallback_gives_the_same(files: list[Added]):
    table = table_of(files)
    fast = list(encode_entries(table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "pyruhvro", None)
        entries._plan.cache_clear()
        assert list(encode_entries(table)) == fast
        assert decode_entries(AVRO_SCHEMA, fast, "m").equals(table)
    entries._plan.cache_clear()


def test_field_ids_and_namespace_are_those_of_tables_in_the_wild():
    schema = json.loads(AVRO_SCHEMA)
    assert schema["namespace"] == "io.indextables.state"
    ids = {field["name"]: field["field-id"] for field in schema["fields"]}
    assert {
        name: ids[name] for name in ("hasFooterOffsets", "splitTags", "numMergeOps", "docMappingRef")
    } == {
        "hasFooterOffsets": 124,
        "splitTags": 132,
        "numMergeOps": 134,
        "docMappingRef": 135,
    }
    assert len(set(ids.values())) == len(ids)


def test_large_manifests_have_many_blocks():
    files = [Added(add(f"splits/{n}.split"), n, n) for n in range(20_000)]
    found = list(encode_entries(table_of(files)))
    assert len(found) > 10
    assert sum(block.count for block in found) == 20_000
    assert decode_entries(AVRO_SCHEMA, found, "m").equals(table_of(files))


def minimal(**fields: object) -> tuple[dict, dict]:
    kinds = {
        "path": ("string", 100),
        "partitionValues": ({"type": "map", "values": "string"}, 101),
        "size": ("long", 102),
    }
    schema = {
        "type": "record",
        "name": "FileEntry",
        "fields": [
            {"name": name, "type": kind, "field-id": number} for name, (kind, number) in kinds.items()
        ],
    }
    return schema, {"path": "a", "partitionValues": {}, "size": 1, **fields}


@pytest.mark.spec("testReadWithEmptyPartitionValues")
def test_a_file_of_an_older_writer_has_defaults_for_what_it_lacks():
    schema, row = minimal()
    (entry,) = rows(decode(avro(schema, [row])))
    assert (entry["path"], entry["hasFooterOffsets"], entry["numRecords"], entry["addedAtVersion"]) == (
        "a",
        False,
        None,
        0,
    )


@pytest.mark.spec("testAddNewField")
def test_fields_that_we_do_not_know_are_passed_over():
    schema, row = minimal(news={"x": [1]}, more=1.5)
    schema["fields"].insert(
        0, {"name": "news", "type": {"type": "map", "values": {"type": "array", "items": "int"}}}
    )
    schema["fields"].append({"name": "more", "type": ["null", "double"], "field-id": 170})
    (entry,) = rows(decode(avro(schema, [row])))
    assert (entry["path"], entry["size"]) == ("a", 1)


@pytest.mark.spec("testRenameField")
def test_a_renamed_field_is_known_by_its_id():
    schema, row = minimal(rowCount=7, numRecords=8)
    schema["fields"].append({"name": "numRecords", "type": "long", "field-id": 160})
    schema["fields"].append({"name": "rowCount", "type": "long", "field-id": 113})
    assert decode(avro(schema, [row])).column("numRecords").to_pylist() == [7]


def test_a_field_without_an_id_is_known_by_its_name():
    schema, row = minimal(numRecords=8)
    schema["fields"].append({"name": "numRecords", "type": "long"})
    assert decode(avro(schema, [row])).column("numRecords").to_pylist() == [8]


def test_another_numbering_is_seen_by_its_names():
    schema, row = minimal(splitTags=["t"], numMergeOps=3, docMappingRef="ref", uncompressedSizeBytes=9)
    for number, (name, kind) in enumerate(
        {"splitTags": {"type": "array", "items": "string"}, "numMergeOps": "int", "docMappingRef": "string",
         "uncompressedSizeBytes": "long"}.items(), 130,
    ):  # fmt: skip
        schema["fields"].append({"name": name, "type": ["null", kind], "field-id": number})
    (entry,) = rows(decode(avro(schema, [row])))
    assert (entry["splitTags"], entry["numMergeOps"], entry["docMappingRef"], entry["uncompressedSizeBytes"]) == (
        ["t"], 3, "ref", 9,
    )  # fmt: skip


def test_a_narrower_number_is_widened():
    schema, row = minimal()
    schema["fields"][2]["type"] = "int"
    assert decode(avro(schema, [row])).column("size").to_pylist() == [1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda fields: fields.pop(0), "no path"),
        (lambda fields: fields[2].update(type={"type": "map", "values": "long"}), "field 'size' has type"),
    ],
)
def test_what_is_no_entry_is_refused_by_name(change, said: str):
    schema, row = minimal()
    change(schema["fields"])
    if said.startswith("field"):
        row["size"] = {"x": 1}
    with pytest.raises(CorruptTableError, match=f"^m.avro: .*{said}"):
        decode(avro(schema, [row]))


@given(st.binary(max_size=300), st.integers(0, 50))
def test_any_payload_gives_entries_or_our_error(data: bytes, count: int):
    try:
        decode_entries(AVRO_SCHEMA, [Block(count, data)], "m")
    except CorruptTableError:
        return


def test_text_that_is_not_utf8_is_refused():
    (block,) = encode_entries(table_of([Added(add("splits/aaaa.split"), 0, 0)]))
    with pytest.raises(CorruptTableError, match="UTF-8"):
        decode_entries(AVRO_SCHEMA, [Block(1, block.data.replace(b"aaaa", b"\xff\xfeaa"))], "m")


def test_many_files_are_put_into_several_arrays(monkeypatch: pytest.MonkeyPatch):
    files = [
        (str(n), Added(AddFile(str(n), {"day": str(n)}, n, min_values={"a": "1"} if n % 2 else None), n, 0))
        for n in range(5)
    ]
    whole = to_entries(files)
    monkeypatch.setattr(log_entries, "_AT_ONCE", 2)
    in_pieces = to_entries(files)
    assert in_pieces.column("path").num_chunks == 3
    assert in_pieces.equals(whole)
    assert list(from_entries(in_pieces)) == files

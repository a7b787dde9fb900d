"""Version files: what is written is read back, whatever a newer or older writer put in, and damage is named."""

from __future__ import annotations

import gzip
import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import CorruptTableError
from indextables.log import (
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
    decode_version,
    encode_version,
)
from indextables.log.actions import first_action, to_document

NAME = "/t/_transaction_log/00000000000000000007.json"

WHOLE = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "str": TEXT,
    "int": WHOLE,
    "bool": st.booleans(),
    "Mapping[str, str]": st.dictionaries(TEXT, TEXT, max_size=3),
    "Mapping[str, int]": st.dictionaries(TEXT, WHOLE, max_size=3),
    "Extra": st.dictionaries(TEXT, JSON, max_size=3),
    "tuple[str, ...]": st.lists(TEXT, max_size=3).map(tuple),
    "frozenset[str]": st.frozensets(TEXT, max_size=3),
}
# Figures of files and moments: what is out of range reads as unknown.
FIGURE = st.integers(0, 2**31 - 1)
FIGURES = {
    AddFile: {field.name for field in fields(AddFile)} - {"size"},
    RemoveFile: {"deletion_timestamp", "size", "num_deleted"},
    SkipFile: {"skip_timestamp", "retry_after", "size", "skip_count"},
    Metadata: {"created_time"},
    CommitInfo: {"timestamp"},
}
KINDS = (Protocol, Metadata, AddFile, RemoveFile, SkipFile, CommitInfo, Txn)
KNOWN = {"protocol", "metaData", "add", "remove", "mergeskip", "skip", "commitInfo", "txn"}


def actions(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Any value of the action: every optional field there or not, and fields that no release knows yet."""
    parts: dict[str, st.SearchStrategy[Any]] = {}
    for field in fields(kind):
        plain = str(field.type).removesuffix(" | None")
        is_figure = plain == "int" and field.name in FIGURES.get(kind, ())
        values = FIGURE if is_figure else BY_TYPE[plain]
        parts[field.name] = values if plain == field.type else st.none() | values
    parts["extra"] = st.dictionaries(TEXT.map(lambda name: f"new{name}"), JSON, max_size=3)
    return st.builds(kind, **parts)


ANY = st.one_of(
    *(actions(kind) for kind in KINDS),
    st.builds(UnknownAction, TEXT.filter(lambda name: name not in KNOWN), JSON),
)


@given(st.lists(ANY, min_size=1, max_size=6), st.booleans())
def test_what_is_written_is_read_back(wanted: list[Any], compress: bool):
    assert decode_version(encode_version(wanted, compress=compress), NAME) == wanted


@given(st.lists(ANY, min_size=1, max_size=4))
def test_plain_gzip_and_marked_gzip_read_alike(wanted: list[Any]):
    plain = encode_version(wanted, compress=False)
    assert encode_version(wanted)[:2] == b"\x1f\x8b"
    for data in (plain, gzip.compress(plain), b"\x01\x01" + gzip.compress(plain)):
        assert decode_version(data, NAME) == wanted


@given(st.sampled_from(KINDS).flatmap(actions))
def test_an_explicit_null_reads_as_a_field_left_out(action: Any):
    ((name, body),) = to_document(action).items()
    every = {_json_name(field.name): None for field in fields(action) if field.name != "extra"}
    line = json.dumps({name: {**every, **body}}).encode()
    assert decode_version(line, NAME) == [action]


@given(st.lists(ANY, max_size=3), st.booleans())
def test_the_first_action_can_be_read_alone(wanted: list[Any], compress: bool):
    data = encode_version(wanted, compress=compress)
    for form in (data, b"\x01\x01" + data) if compress else (data,):
        assert first_action(form, NAME) == (wanted[0] if wanted else None)


def _json_name(attribute: str) -> str:
    head, *rest = attribute.split("_")
    return head + "".join(part.title() for part in rest)


@given(ANY)
def test_no_null_is_written_for_a_known_field(action: Any):
    document = to_document(action)
    if not isinstance(action, UnknownAction):
        (body,) = document.values()
        assert not [key for key, value in body.items() if value is None and key not in action.extra]


@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_our_own_error(data: bytes):
    for candidate in (data, b"\x1f\x8b" + data, b"\x01\x01" + data, gzip.compress(data)):
        try:
            decode_version(candidate, NAME)
        except CorruptTableError as error:
            assert NAME in str(error)  # noqa: PT017


@given(
    st.dictionaries(
        st.sampled_from(sorted(KNOWN)), JSON | st.dictionaries(st.sampled_from(["path", "size"]), JSON)
    )
)
def test_no_json_does_worse_than_our_own_error(document: Any):
    try:
        decode_version(json.dumps(document).encode(), NAME)
    except CorruptTableError as error:
        assert f"{NAME}, line 1: " in str(error)  # noqa: PT017


def test_the_specs_own_example_of_an_add_is_read_field_by_field():
    line = b"""{"add": {"path": "s3://bucket/table/part-00000.split", "partitionValues":
      {"year": "2024", "month": null},
      "size": 1048576, "modificationTime": 1696000000000, "dataChange": true, "tags": {"source": "batch"},
      "minValues": {"id": 1}, "maxValues": {"id": "1000"}, "numRecords": 1000, "footerStartOffset": 1040000,
      "footerEndOffset": 1048576, "hotcacheStartOffset": 0, "hotcacheLength": 8192, "hasFooterOffsets": true,
      "timeRangeStart": 1727740800, "timeRangeEnd": "2024-10-01T23:59:59Z", "splitTags": ["production"],
      "deleteOpstamp": 0, "numMergeOps": 0, "docMappingJson": "{}", "uncompressedSizeBytes": 2097152,
      "companionSourceFiles": ["a.parquet"], "companionDeltaVersion": 3, "companionFastFieldMode": "HYBRID"}}"""
    assert decode_version(line.replace(b"\n", b" "), NAME) == [
        AddFile(
            path="s3://bucket/table/part-00000.split",
            partition_values={"year": "2024"},
            size=1048576,
            modification_time=1696000000000,
            data_change=True,
            tags={"source": "batch"},
            min_values={"id": "1"},
            max_values={"id": "1000"},
            num_records=1000,
            footer_start_offset=1040000,
            footer_end_offset=1048576,
            hotcache_start_offset=0,
            hotcache_length=8192,
            has_footer_offsets=True,
            time_range_start="1727740800",
            time_range_end="2024-10-01T23:59:59Z",
            split_tags=("production",),
            delete_opstamp=0,
            num_merge_ops=0,
            doc_mapping_json="{}",
            uncompressed_size_bytes=2097152,
            companion_source_files=("a.parquet",),
            companion_delta_version=3,
            companion_fast_field_mode="HYBRID",
        )
    ]


def test_names_on_disk_are_those_of_the_specs():
    lines = encode_version(
        [
            Protocol(4, 4, reader_features=frozenset({"b", "a"})),
            Metadata("id", "{}", ("date",), {"k": "v"}),
            RemoveFile("p", deletion_timestamp=1),
            SkipFile("p", 1, "broken", "merge"),
            CommitInfo("t", "WRITE", {"mode": "append"}, {"filesAdded": 1}, "engine/1", 5, 0),
            Txn("app", 3),
        ],
        compress=False,
    )
    assert [json.loads(line) for line in lines.splitlines()] == [
        {"protocol": {"minReaderVersion": 4, "minWriterVersion": 4, "readerFeatures": ["a", "b"]}},
        {
            "metaData": {
                "id": "id",
                "schemaString": "{}",
                "partitionColumns": ["date"],
                "configuration": {"k": "v"},
                "format": {"provider": "indextables", "options": {}},
            }
        },
        {"remove": {"path": "p", "deletionTimestamp": 1, "dataChange": True}},
        {
            "mergeskip": {
                "path": "p",
                "skipTimestamp": 1,
                "reason": "broken",
                "operation": "merge",
                "skipCount": 1,
            }
        },
        {
            "commitInfo": {
                "txnId": "t",
                "operation": "WRITE",
                "parameters": {"mode": "append"},
                "metrics": {"filesAdded": 1},
                "engine": "engine/1",
                "timestamp": 5,
                "readVersion": 0,
            }
        },
        {"txn": {"appId": "app", "version": 3}},
    ]


def test_skip_is_read_and_mergeskip_written():
    line = b'{"skip":{"path":"p","skipTimestamp":1,"reason":"r","operation":"merge"}}'
    (action,) = decode_version(line, NAME)
    assert action == SkipFile("p", 1, "r", "merge")
    assert b'"mergeskip"' in encode_version([action], compress=False)


def test_a_commit_info_that_is_not_ours_never_makes_a_table_unreadable():
    line = b'{"commitInfo":{"timestamp":"yesterday","operation":7,"metrics":{"x":"y"},"user":"me"}}'
    (info,) = decode_version(line, NAME)
    assert info == CommitInfo(
        extra={"timestamp": "yesterday", "operation": 7, "metrics": {"x": "y"}, "user": "me"}
    )
    assert json.loads(encode_version([info], compress=False))["commitInfo"]["timestamp"] == "yesterday"


def test_two_actions_on_one_line_are_both_read():
    line = b'{"txn":{"appId":"a","version":1},"remove":{"path":"p"},"add":null}'
    assert decode_version(line, NAME) == [Txn("a", 1), RemoveFile("p")]


def test_blank_lines_and_windows_line_ends_are_no_actions():
    assert decode_version(b'\n{"txn":{"appId":"a","version":1}}\r\n \n', NAME) == [Txn("a", 1)]
    assert decode_version(gzip.compress(b""), NAME) == []


def test_gzip_members_one_after_the_other_are_one_file():
    one, two = (gzip.compress(encode_version([Txn("a", n)], compress=False)) for n in (1, 2))
    assert decode_version(one + two + b"\0\0", NAME) == [Txn("a", 1), Txn("a", 2)]


@pytest.mark.parametrize("keep", [2, 5, 12, 25, -1])
def test_a_truncated_gzip_is_damage(keep: int):
    data = encode_version([Txn("app", n) for n in range(50)])[:keep]
    with pytest.raises(CorruptTableError, match="the gzip stream is truncated") as caught:
        decode_version(data, NAME)
    assert NAME in str(caught.value)


def test_a_changed_byte_in_a_gzip_is_damage():
    data = bytearray(encode_version([Txn("app", n) for n in range(50)]))
    data[-6] ^= 0xFF  # in the checksum
    with pytest.raises(CorruptTableError, match=r"0007\.json: damaged gzip"):
        decode_version(bytes(data), NAME)


def test_a_gzip_bomb_is_refused_before_it_fills_memory():
    bomb = gzip.compress(b"\0" * (8 << 20))
    assert len(bomb) < 10_000
    with pytest.raises(CorruptTableError, match="inflates to more than 2 MB"):
        decode_version(bomb, NAME, max_inflated=2 << 20)


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        (b'{"add": {"path"', "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "no action"),
        (b'{"add": []}', "add is not a JSON object"),
        (b'{"add": {"size": 1}}', "add has no path"),
        (b'{"add": {"path": "p", "partitionValues": {}}}', "add has no size"),
        (b'{"add": {"path": "p", "size": "1"}}', "add.size is not a whole number"),
        (b'{"add": {"path": "p", "size": true}}', "add.size is not a whole number"),
        (b'{"add": {"path": 1, "size": 1}}', "add.path is not a string"),
        (
            b'{"add": {"path": "p", "size": 1, "partitionValues": ["a"]}}',
            "add.partitionValues is not an object",
        ),
        (b'{"add": {"path": "p", "size": 1, "splitTags": "a"}}', "add.splitTags is not a list"),
        (b'{"add": {"path": "p", "size": 1, "dataChange": "yes"}}', "add.dataChange is not true or false"),
        (b'{"protocol": {"minReaderVersion": 4}}', "protocol has no minWriterVersion"),
        (b'{"metaData": {"id": "x"}}', "metaData has no schemaString"),
    ],
)
def test_a_bad_line_is_named_with_its_number(line: bytes, trouble: str):
    data = b'{"txn":{"appId":"a","version":1}}\n\n' + line + b"\n"
    with pytest.raises(CorruptTableError) as caught:
        decode_version(gzip.compress(data), NAME)
    assert str(caught.value).startswith(f"{NAME}, line 3: ")
    assert trouble in str(caught.value)


def test_a_hundred_thousand_actions_are_one_version():
    wanted = [AddFile(f"splits/{n}.split", {}, n) for n in range(100_000)]
    assert decode_version(encode_version(wanted), NAME) == wanted

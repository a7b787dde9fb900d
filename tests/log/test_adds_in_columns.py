"""Decoding adds to columns gives the same actions, or the same errors, as decoding line by line."""

from __future__ import annotations

import gc
import pickle
import time
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.log import (
    AddFile,
    CommitInfo,
    RemoveFile,
    decode_version,
    encode_version,
    load_snapshot,
    refresh,
)
from indextables.log.actions import (
    Added,
    Adds,
    bulk,
    decode_parts,
    parts_of,
    split_key,
    split_keys,
    to_entries,
    version_key,
)
from indextables.log.snapshots import cache, replay, snapshot_of_checkpoint, write_snapshot_checkpoint
from indextables.log.versions import VersionActions
from support.faults import MemoryStore
from support.logs import metadata, put_table

PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "path": st.sampled_from([f"{letter}.split" for letter in "abcdefgh"]),
    "partitionValues": st.dictionaries(st.sampled_from("xyz"), st.text(max_size=3), max_size=2),
    "size": st.integers(0, 1 << 62),
    "modificationTime": st.integers(0, 1 << 40),
    "dataChange": st.booleans(),
    "stats": st.text(max_size=3),
    "minValues": st.dictionaries(st.sampled_from("xyz"), st.text(max_size=3), max_size=2),
    "maxValues": st.dictionaries(st.sampled_from("xyz"), st.text(max_size=3), max_size=2),
    "numRecords": st.integers(0, 1 << 30),
    "footerStartOffset": st.integers(0, 1 << 30),
    "hasFooterOffsets": st.booleans(),
    "splitTags": st.lists(st.text(max_size=3), max_size=2),
    "numMergeOps": st.integers(0, 9),
    "timeRangeStart": st.text(max_size=3) | st.integers(-9, 9),
    "tags": st.dictionaries(st.sampled_from("xyz"), st.text(max_size=3), max_size=2),
    "hotcacheLength": st.integers(0, 1 << 30),
}
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
    st.lists(st.none() | st.text(max_size=2) | st.integers(0, 3), max_size=2),
    st.dictionaries(st.sampled_from("xyz"), st.none() | st.text(max_size=2) | st.integers(0, 3), max_size=2),
)
UNKNOWN = ("extra", "key", "addedAtVersion", "newField")


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.sets(st.sampled_from(list(PLAIN))))
    body = {name: draw(PLAIN[name]) for name in PLAIN if name in names or name in ("path", "size")}
    if draw(st.integers(0, 5)) == 0:
        body[draw(st.sampled_from([*PLAIN, *UNKNOWN]))] = draw(ODD)
    return body


LINES = st.one_of(
    *([bodies().map(lambda body: orjson.dumps({"add": body}))] * 12),
    st.sampled_from(["a.split", "b.split"]).map(lambda path: orjson.dumps({"remove": {"path": path}})),
    st.sampled_from(
        [
            b"",
            b" ",
            b'{"add":null}',
            b'{"add":[]}',
            b'{"add":{"path":"a"}}',
            b'{"add":{"path":"a","size":1},"remove":{"path":"b"}}',
            b'{"add":{"path":"a","size":1,"size":2}}',
            b'{"add":{"path":"a","size":1,"deep":' + b"[" * 300 + b"]" * 300 + b"}}",
            b'{"add":{"path":"a","size":1,"large":1e400}}',
            b'{"add":{"path":"a","size":1}},{"add":{"path":"b","size":1}}',
            b'{"add":{"path":"a","size":1}',
            b'{"novel":{"add":1}}',
            b"[]",
            b"1",
        ]
    ),
)


def small_runs() -> AbstractContextManager[Any]:
    return mock.patch.multiple(
        "indextables.log.actions.bulk", _BATCH_LINES=3, _MIN_COLUMN_ROWS=2, _BLOCK_BYTES=1000
    )


def outcome(decode: Any, text: bytes) -> Any:
    try:
        with mock.patch("indextables.log.actions.codec._MANY_LINES", 0), small_runs():
            return list(decode(text, "7.json"))
    except CorruptTableError as reason:
        return type(reason), str(reason)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=12))
def test_lines_give_the_same_actions_or_the_same_error(lines: list[bytes]):
    text = b"\n".join(lines)
    assert repr(outcome(decode_parts, text)) == repr(outcome(decode_version, text))


TRICKY_TEXT = st.text('a"\\\\/\n\u00e9\U0001f600{}[]:, ', max_size=4)
SHAPED = {
    "path": TRICKY_TEXT.map(lambda text: f"a{text}.split"),
    "partitionValues": st.fixed_dictionaries({"x": TRICKY_TEXT, "\u00fc": TRICKY_TEXT}),
    "size": st.integers(-9, 1 << 62),
    "modificationTime": st.integers(0, 1 << 40),
    "dataChange": st.booleans(),
    "stats": TRICKY_TEXT,
    "minValues": st.just({}),
    "maxValues": st.fixed_dictionaries({'a"b\\': TRICKY_TEXT}),
    "numRecords": st.integers(0, 9),
    "hasFooterOffsets": st.booleans(),
    "splitTags": st.tuples(TRICKY_TEXT, TRICKY_TEXT).map(list),
    "numMergeOps": st.integers(0, 9),
    "timeRangeStart": TRICKY_TEXT,
}
DAMAGES = [
    b"", b'"', b"\\", b'\\"', b"\\\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\r", b"\t", b"\0", b"\x7f", b" ",
    b"0", b"00", b"-", b"+", b".", b"1", b"e5", b"99999999999999999999", b"9223372036854775808", b"null",
    b"true", b"tru", b"\xff",
    b"\xc3", b"\\ud800", b"\\udc00\\ud800", b"\\u0000", b"\\u00e9", b"\\x", b'","size":1,"', b'":"', b'"}}\n{"add":{"',
    b"]}", b"[{",
]  # fmt: skip


@st.composite
def shaped_texts(draw: st.DrawFn) -> bytes:
    """Draw lines of one to three shapes, as one writer produces them, and damage some in a few places."""
    shapes = draw(st.lists(st.sets(st.sampled_from(list(SHAPED))), min_size=1, max_size=3))
    lines = []
    for shape in draw(st.lists(st.sampled_from(shapes), min_size=2, max_size=8)):
        body = {name: draw(SHAPED[name]) for name in SHAPED if name in shape or name in ("path", "size")}
        lines.append(orjson.dumps({"add": body}))
    text = b"\n".join(lines)
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 3))
        text = text[:start] + draw(st.sampled_from(DAMAGES)) + text[start + length :]
    return text


@settings(max_examples=300, deadline=None)
@given(shaped_texts())
def test_lines_of_few_shapes_give_the_same_actions_or_the_same_error(text: bytes):
    assert repr(outcome(decode_parts, text)) == repr(outcome(decode_version, text))


GOOD = (
    b'{"add":{"path":"a","partitionValues":{"d":"x"},"size":1,"dataChange":true,"stats":"s","numRecords":5}}'
)
HOSTILE = [
    GOOD.replace(b'"size":1', b'"size":1,"size":2'),
    GOOD.replace(b'{"d":"x"}', b'{"d":"x","d":"y"}'),
    GOOD.replace(b'"size":1', b'"size":"1"'),
    GOOD.replace(b'"size":1', b'"size":01'),
    GOOD.replace(b'"size":1', b'"size":-0'),
    GOOD.replace(b'"size":1', b'"size":1.0'),
    GOOD.replace(b'"size":1', b'"size":1e3'),
    GOOD.replace(b'"size":1', b'"size":0x1'),
    GOOD.replace(b'"size":1', b'"size":'),
    GOOD.replace(b'"size":1', b'"size":-'),
    GOOD.replace(b'"size":1', b'"size"'),
    GOOD.replace(b'"size":1', b'"size":null'),
    GOOD.replace(b'"size":1', b'"size":9223372036854775807'),
    GOOD.replace(b'"size":1', b'"size":9223372036854775808'),
    GOOD.replace(b'"size":1', b'"size":-9223372036854775809'),
    GOOD.replace(b'"numRecords":5', b'"numRecords":-1'),
    GOOD.replace(b'"numRecords":5', b'"numRecords":99999999999999999999999'),
    GOOD.replace(b'"numRecords":5', b'"numRecords":true'),
    GOOD.replace(b'"numRecords":5', b'"numRecords":null'),
    GOOD.replace(b'"numRecords":5', b'"numRecords": 5'),
    GOOD.replace(b"true", b"True"),
    GOOD.replace(b"true", b"1"),
    GOOD.replace(b"true", b'"true"'),
    GOOD.replace(b'"s"', b"null"),
    GOOD.replace(b'"s"', b'"\\ud800"'),
    GOOD.replace(b'"s"', b'"\\ud83d\\ude00"'),
    GOOD.replace(b'"s"', b'"\\ude00\\ud83d"'),
    GOOD.replace(b'"s"', b'"\\q"'),
    GOOD.replace(b'"s"', b'"\\"'),
    GOOD.replace(b'"s"', b'"\\\\"'),
    GOOD.replace(b'"s"', b'"\\\\\\""'),
    GOOD.replace(b'"s"', b'"\x01"'),
    GOOD.replace(b'"s"', b'"\xed\xa0\x80"'),
    GOOD.replace(b'"s"', b'"\xff"'),
    GOOD.replace(b'"s"', b'"\\u0000"'),
    GOOD.replace(b'{"d":"x"}', b'{"d":1}'),
    GOOD.replace(b'{"d":"x"}', b'{"d":null}'),
    GOOD.replace(b'{"d":"x"}', b'{"d":["x",{"y":1}]}'),
    GOOD.replace(b'{"d":"x"}', b'{"d":' + b"[" * 300 + b"]" * 300 + b"}"),
    GOOD.replace(b'{"d":"x"}', b"[]"),
    GOOD.replace(b'{"d":"x"}', b'"d"'),
    GOOD.replace(b'{"d":"x"}', b'{"\\u0064":"x"}'),
    GOOD.replace(b'"stats":"s"', b'"\\u0073tats":"s"'),
    GOOD.replace(b'"stats":"s"', b'"novel":"s"'),
    GOOD.replace(b'"stats":"s"', b'"tags":{"k":"v"}'),
    GOOD.replace(b'"stats":"s"', b'"splitTags":["s",1]'),
    GOOD.replace(b'"stats":"s"', b'"x":{"y":{}}'),
    GOOD.replace(b'{"d":"x"}', b'{"d":"x","e":{"y":{}}')[:-1],
    GOOD.replace(b'"path":"a",', b""),
    GOOD.replace(b'"add"', b'"\\u0061dd"'),
    GOOD + b" ",
    b" " + GOOD,
    GOOD + GOOD,
    GOOD + b"," + GOOD,
    GOOD[:-1],
    GOOD + b"}",
    GOOD[:-1] + b',"remove":{"path":"b"}}',
    GOOD[:-1] + b',"add":{"path":"b","size":2}}',
    b'{"add":{}}',
    b'{"add":{"path":"a","size":1,"x":[{"y":{}}\n{"add":{}}]}}',
    b'{"add":{"path":"a\nb","size":1}}',
    b'{"add":{"path":"a"',
    b"",
    b"\r",
]


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:90].decode("ascii", "backslashreplace"))
def test_a_hostile_line_among_good_ones_gives_the_same_actions_or_the_same_error(line: bytes, place: int):
    lines = [GOOD.replace(b'"a"', b'"%d"' % n) for n in range(3)]
    text = b"\n".join([*lines[:place], line, *lines[place:]])
    assert repr(outcome(decode_parts, text)) == repr(outcome(decode_version, text))


def test_adds_of_few_shapes_are_not_parsed_one_by_one():
    shapes = [
        {"path": "x", "size": 1},
        {
            "path": "x",
            "partitionValues": {"day": "mon"},
            "size": 2,
            "stats": '{"a":"\\n"}',
            "splitTags": ["t"],
        },
        {
            "path": "x",
            "size": 3,
            "modificationTime": None,
            "dataChange": False,
            "minValues": {"n": None, "m": ""},
        },
    ]
    lines = [orjson.dumps({"add": shapes[n * n % 3] | {"path": f"{n}.split"}}) for n in range(300)]
    text = b"\n".join([b'{"commitInfo":{}}', *lines])
    with mock.patch.object(bulk, "_parse_lines", wraps=bulk._parse_lines) as parse:
        actions = decode_parts(text, "7.json")
    assert [call.args[0] for call in parse.call_args_list] == [[b'{"commitInfo":{}}']]
    assert [type(part) for part in parts_of(actions)] == [CommitInfo, Adds]
    assert list(actions) == decode_version(text, "7.json")


def test_lines_that_would_cost_more_by_columns_are_parsed():
    wide = {f"c{n}": "1" for n in range(20_000)}
    long = "x" * (1 << 18)
    for body in ({"minValues": wide}, {"stats": long}, {"novel": [[]] * 50_000}):
        text = b"\n".join([orjson.dumps({"add": {"path": "x", "size": 1} | body})] * 3)
        began = time.process_time()
        assert outcome(decode_parts, text) == outcome(decode_version, text)
        assert time.process_time() - began < 5


def test_a_line_that_is_longer_than_a_block_is_parsed():
    text = b"\n".join([GOOD, GOOD.replace(b'"s"', b'"' + b'\\"' * 2000 + b'"'), GOOD])
    assert outcome(decode_parts, text) == outcome(decode_version, text)


def test_adds_of_many_shapes_are_parsed():
    lines = [orjson.dumps({"add": {"path": "x", "size": 1, "minValues": {f"c{n}": "1"}}}) for n in range(100)]
    assert outcome(decode_parts, b"\n".join(lines)) == outcome(decode_version, b"\n".join(lines))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(bodies() | st.sampled_from("abcdefgh"), max_size=8), min_size=1, max_size=4))
def test_replay_gives_the_same_files(versions: list[list[dict[str, Any] | str]]):
    by_columns, by_lines = [VersionActions(0, [metadata()])], [VersionActions(0, [metadata()])]
    for number, each in enumerate(versions, 1):
        lines = [
            orjson.dumps({"remove": {"path": f"{a}.split"}} if isinstance(a, str) else {"add": a})
            for a in each
        ]
        text = b"\n".join([b'{"commitInfo":{"timestamp":5}}', *lines])
        try:
            by_lines.append(VersionActions(number, decode_version(text, "x")))
        except CorruptTableError:
            return
        with mock.patch("indextables.log.actions.codec._MANY_LINES", 0), small_runs():
            by_columns.append(VersionActions(number, decode_parts(text, "x")))
    try:
        expected = replay("memory://t", None, by_lines)
    except CorruptTableError:
        with pytest.raises(CorruptTableError):
            replay("memory://t", None, by_columns)
        return
    snapshot = replay("memory://t", None, by_columns)
    assert expected is not None
    assert snapshot is not None
    for files in (snapshot.files, pickle.loads(pickle.dumps(snapshot.files))):
        assert list(files.added()) == list(expected.files.added())
        assert list(files) == list(expected.files)
        assert (len(files), files.expected) == (len(expected.files), expected.files.expected)
        assert {key: files[key] for key in files} == dict(expected.files.items())
        assert files.entries().to_pylist() == expected.files.entries().to_pylist()


def test_a_large_version_is_opened_without_an_object_for_each_add():
    store = MemoryStore("memory://columns")
    put_table(store, [AddFile(f"in-columns-{n}.split", {}, n, num_records=n) for n in range(300)])
    cache.forget()
    snapshot = load_snapshot(store)
    assert snapshot.files.expected == snapshot.files.entries().num_rows == 300
    assert not objects_made("in-columns")
    assert snapshot.files["in-columns-7.split"].num_records == 7


def objects_made(prefix: str) -> list[AddFile]:
    return [each for each in gc.get_objects() if type(each) is AddFile and each.path.startswith(prefix)]


@pytest.mark.parametrize("part_rows", [1000, 100])
def test_a_checkpoint_is_opened_without_an_object_for_each_add(part_rows: int):
    store = MemoryStore(f"memory://checkpoint-in-columns-{part_rows}")
    files = [AddFile(f"of-checkpoint-{n}.split", {"day": str(n)}, n, num_records=n) for n in range(300)]
    put_table(store, files[:200], files[200:])
    options = Settings({keys.STATE_ENTRIES_PER_MANIFEST.key: str(part_rows)})
    before = load_snapshot(store)
    write_snapshot_checkpoint(store, before, options, 5)
    expected = before.files.entries()
    del before, files
    cache.forget()
    snapshot = snapshot_of_checkpoint(store, 2)
    assert snapshot.files.entries().equals(expected)
    assert not objects_made("of-checkpoint")
    assert {added.version for _, added in snapshot.files.added()} == {1, 2}


def test_a_checkpoint_keeps_the_extra_fields_of_its_files():
    store = MemoryStore("memory://checkpoint-with-extra")
    files = [AddFile(f"{n}.split", {}, n, extra={"novel": n} if n % 100 == 7 else {}) for n in range(300)]
    put_table(store, files)
    write_snapshot_checkpoint(store, load_snapshot(store), Settings({}), 5)
    assert list(snapshot_of_checkpoint(store, 1).files.values()) == files


def test_a_refresh_makes_no_object_for_each_add():
    store = MemoryStore("memory://refresh-in-columns")
    put_table(store, [AddFile("first.split", {}, 1)])
    before = load_snapshot(store)
    files = [AddFile(f"of-refresh-{n}.split", {}, n) for n in range(300)]
    store.put(version_key(2), encode_version([CommitInfo("t", "WRITE", {}, timestamp=2), *files]))
    del files
    after = refresh(store, before)
    assert (after.version, after.files.entries().num_rows) == (2, 301)
    assert not objects_made("of-refresh")


def test_fields_that_are_nested_too_deeply_are_refused_with_the_file():
    deep = b"[" * 300 + b"]" * 300
    with pytest.raises(
        CorruptTableError, match=r"7\.json, line 1: add\.partitionValues cannot be kept as text"
    ):
        decode_version(b'{"add":{"path":"a","size":1,"partitionValues":{"x":' + deep + b"}}}", "7.json")
    (file,) = decode_version(b'{"add":{"path":"a.split","size":1,"novel":' + deep + b"}}", "7.json")
    assert isinstance(file, AddFile)
    with pytest.raises(
        CorruptTableError, match=r"add of 'a\.split' has a field that this release cannot keep"
    ):
        to_entries([("a.split", Added(file, 1, 2))])


def test_a_commit_info_after_the_adds_is_found_without_decoding_them():
    add = b'{"add":{"path":"a.split","size":1}}\n'
    version = VersionActions(1, decode_parts(add * 100 + b'{"commitInfo":{"txnId":"t"}}', "1.json"))
    assert [type(part) for part in parts_of(version.actions)] == [Adds, CommitInfo]
    assert version.commit_info is not None
    assert version.commit_info.txn_id == "t"
    assert version.txn_id is None
    assert len(version.actions) == 101


def test_the_line_with_an_error_is_named_in_a_large_version():
    good = b'{"add":{"path":"a.split","size":1}}\n'
    with pytest.raises(CorruptTableError, match=r"7\.json, line 201: add\.size is not a whole number"):
        decode_parts(good * 200 + b'{"add":{"path":"a.split","size":"1"}}\n' + good, "7.json")


@given(st.lists(st.text("a./:\n\0", max_size=5), max_size=4))
def test_keys_of_many_paths_are_those_of_each(paths: list[str]):
    def keys(of: Any) -> Any:
        try:
            return of()
        except CorruptTableError as reason:
            return str(reason)

    each = keys(lambda: [split_key(path, "/t") for path in paths])
    assert keys(lambda: split_keys(paths, "/t")) == each


def test_removes_of_files_in_columns_are_replayed():
    text = b"".join(b'{"add":{"path":"%d.split","size":1}}\n' % n for n in range(100))
    versions = [
        VersionActions(0, [metadata()]),
        VersionActions(1, decode_parts(text, "1")),
        VersionActions(2, [RemoveFile("3.split"), AddFile("5.split", {}, 2), AddFile("3.split", {}, 3)]),
    ]
    snapshot = replay("memory://t", None, versions)
    assert snapshot is not None
    numbers = [*range(3), *range(4, 100), 3]
    assert list(snapshot.files) == [f"{n}.split" for n in numbers]
    assert snapshot.files.entries().column("size").to_pylist() == [
        {5: 2, 3: 3}.get(number, 1) for number in numbers
    ]

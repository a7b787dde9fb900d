"""Adds that are decoded to columns are the adds, or the errors, that decoding line by line gives."""

from __future__ import annotations

import gc
import pickle
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.errors import CorruptTableError
from indextables.log import AddFile, CommitInfo, RemoveFile, decode_version, load_snapshot
from indextables.log.actions.adds import Adds, parts_of
from indextables.log.actions.codec import decode_parts
from indextables.log.actions.paths import split_key, split_keys
from indextables.log.snapshots import cache
from indextables.log.snapshots.snapshot import VersionActions, replay
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
    return mock.patch.multiple("indextables.log.actions.adds", _BATCH_LINES=3, _MIN_COLUMN_ROWS=2)


def outcome(decode: Any, text: bytes) -> Any:
    try:
        with mock.patch("indextables.log.actions.codec._MANY_LINES", 0), small_runs():
            return list(decode(text, "7.json"))
    except (CorruptTableError, orjson.JSONEncodeError) as reason:
        return type(reason), str(reason)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=12))
def test_lines_give_the_same_actions_or_the_same_error(lines: list[bytes]):
    text = b"\n".join(lines)
    assert repr(outcome(decode_parts, text)) == repr(outcome(decode_version, text))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(bodies() | st.sampled_from("abcdefgh"), max_size=8), min_size=1, max_size=4))
def test_replay_gives_the_same_files(versions: list[list[dict[str, Any] | str]]):
    found, expected = [VersionActions(0, [metadata()])], [VersionActions(0, [metadata()])]
    for number, each in enumerate(versions, 1):
        lines = [
            orjson.dumps({"remove": {"path": f"{a}.split"}} if isinstance(a, str) else {"add": a})
            for a in each
        ]
        text = b"\n".join([b'{"commitInfo":{"timestamp":5}}', *lines])
        try:
            expected.append(VersionActions(number, decode_version(text, "x")))
        except CorruptTableError:
            return
        with mock.patch("indextables.log.actions.codec._MANY_LINES", 0), small_runs():
            found.append(VersionActions(number, decode_parts(text, "x")))
    try:
        want = replay("memory://t", None, expected)
    except CorruptTableError:
        with pytest.raises(CorruptTableError):
            replay("memory://t", None, found)
        return
    have = replay("memory://t", None, found)
    assert want is not None
    assert have is not None
    for files in (have.files, pickle.loads(pickle.dumps(have.files))):
        assert list(files.added()) == list(want.files.added())
        assert list(files) == list(want.files)
        assert (len(files), files.expected) == (len(want.files), want.files.expected)
        assert {key: files[key] for key in files} == dict(want.files.items())
        assert files.entries().to_pylist() == want.files.entries().to_pylist()


def test_a_large_version_is_opened_without_an_object_for_each_add():
    store = MemoryStore("memory://columns")
    put_table(store, [AddFile(f"in-columns-{n}.split", {}, n, num_records=n) for n in range(300)])
    cache.forget()
    snapshot = load_snapshot(store)
    assert snapshot.files.expected == snapshot.files.entries().num_rows == 300
    made = [o for o in gc.get_objects() if type(o) is AddFile and o.path.startswith("in-columns")]
    assert not made
    assert snapshot.files["in-columns-7.split"].num_records == 7


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
    adds = b"".join(b'{"add":{"path":"%d.split","size":1}}\n' % n for n in range(100))
    versions = [
        VersionActions(0, [metadata()]),
        VersionActions(1, decode_parts(adds, "1")),
        VersionActions(2, [RemoveFile("3.split"), AddFile("5.split", {}, 2), AddFile("3.split", {}, 3)]),
    ]
    snapshot = replay("memory://t", None, versions)
    assert snapshot is not None
    numbers = [*range(3), *range(4, 100), 3]
    assert list(snapshot.files) == [f"{n}.split" for n in numbers]
    assert snapshot.files.entries().column("size").to_pylist() == [
        {5: 2, 3: 3}.get(number, 1) for number in numbers
    ]

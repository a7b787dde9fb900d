"""Logs as an enemy, a broken disk or another program may leave them: each has one answer, and none is a wrong one."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import CorruptTableError, IndexTablesError, ProtocolError
from indextables.log import (
    AddFile,
    Append,
    CommitInfo,
    Protocol,
    RemoveFile,
    commit,
    decode_version,
    encode_version,
    load_snapshot,
    version_key,
)
from indextables.storage import open_store
from support.faults import MemoryStore
from support.logs import add, live, metadata, put_table, put_version


def append_to(store: MemoryStore) -> None:
    commit(store, Append((add("mine"),), metadata()), base=None)


# Bytes


def test_a_truncated_gzip_is_an_error_that_names_the_file(store: MemoryStore):
    put_table(store, [add("a")])
    whole = store.get(version_key(1))
    for length in range(1, len(whole)):
        store.put(version_key(1), whole[:length])
        with pytest.raises(CorruptTableError, match=version_key(1)):
            load_snapshot(store)
    with pytest.raises(CorruptTableError, match=version_key(1)):
        append_to(store)


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(store: MemoryStore):
    put_table(store)
    bomb = gzip.compress(bytes(64 << 20)) * 16
    assert len(bomb) < 2 << 20
    store.put(version_key(1), bomb)
    with pytest.raises(CorruptTableError, match=f"{version_key(1)}: inflates to more than 512 MB"):
        load_snapshot(store)


def test_so_is_one_of_a_single_member():
    with pytest.raises(CorruptTableError, match="inflates to more than 4 MB"):
        decode_version(gzip.compress(bytes(64 << 20)), "some file", max_inflated=4 << 20)


def test_many_small_gzip_members_are_counted_together():
    members = gzip.compress(bytes(1000)) * 100
    with pytest.raises(CorruptTableError, match="inflates to more than"):
        decode_version(members, "some file", max_inflated=50_000)


@pytest.mark.parametrize("text", [b"{", b"null", b"[]", b"3", b'"add"', b"{}", b"\xff\xfe", b"\0" * 100])
def test_an_invalid_line_is_an_error_that_names_it(store: MemoryStore, text: bytes):
    put_table(store)
    good = encode_version([add("a")], compress=False)
    store.put(version_key(1), gzip.compress(good + text + b"\n" + good))
    with pytest.raises(CorruptTableError, match=rf"{version_key(1)}, line 2"):
        load_snapshot(store)


def test_deeply_nested_json_is_an_error_and_no_crash(store: MemoryStore):
    put_table(store)
    store.put(version_key(1), b'{"add":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    with pytest.raises(CorruptTableError, match="line 1"):
        load_snapshot(store)


@pytest.mark.parametrize(
    "line",
    [
        '{"add":{"path":7,"partitionValues":{},"size":1}}',
        '{"add":{"path":"a","partitionValues":[],"size":1}}',
        '{"add":{"path":"a","partitionValues":{},"size":"1"}}',
        '{"add":{"path":"a","partitionValues":{},"size":1.5}}',
        '{"add":{"path":"a","partitionValues":{}}}',
        '{"remove":{}}',
        '{"txn":{"appId":"a"}}',
        '{"protocol":{"minReaderVersion":true,"minWriterVersion":1}}',
        '{"metaData":{"id":"x"}}',
    ],
)
def test_a_field_that_is_wrong_or_missing_is_an_error_that_names_it(store: MemoryStore, line: str):
    put_table(store)
    store.put(version_key(1), line.encode())
    with pytest.raises(CorruptTableError, match=r"line 1: (add|remove|txn|protocol|metaData)"):
        load_snapshot(store)


# Paths


@pytest.mark.parametrize("path", ["../../etc/passwd", "a/../../b", "..", ".", "", "a\0b", "./../x"])
def test_a_path_that_leaves_the_table_is_refused(store: MemoryStore, path: str):
    put_table(store, [AddFile(path, {"day": "mon"}, 1)])
    with pytest.raises(CorruptTableError, match="version 1: the log names a file"):
        load_snapshot(store)
    with pytest.raises(CorruptTableError):
        append_to(store)


def test_so_is_one_in_a_remove(store: MemoryStore):
    put_table(store, [RemoveFile("../../etc/passwd")])
    with pytest.raises(CorruptTableError, match="outside the table"):
        load_snapshot(store)


@pytest.mark.parametrize("path", ["/etc/passwd", "file:///etc/passwd", "s3://elsewhere/x.split"])
def test_a_file_elsewhere_is_never_opened_as_one_of_the_table(path: str):
    uri = f"memory://hostile-{path.replace('/', '-')}"
    it.write(uri, pa.table({"n": [1]}))
    table = it.open(uri)
    file = next(iter(table.snapshot.files.values()))
    stranger = AddFile(path, {}, 10, num_records=1, doc_mapping_ref=file.doc_mapping_ref)
    put_version(open_store(uri), 1, [CommitInfo("x"), stranger])
    with pytest.raises(IndexTablesError, match="passwd|elsewhere"):
        it.open(uri).to_arrow()


# Actions that do not add up


def test_a_file_added_twice_lives_once_as_it_was_added_last(store: MemoryStore):
    put_table(store, [add("a", rows=1), add("a", rows=2)], [add("./a", rows=3)])
    snapshot = load_snapshot(store)
    assert [file.num_records for file in snapshot.files.values()] == [3]


def test_a_remove_of_what_does_not_live_changes_nothing(store: MemoryStore):
    put_table(store, [RemoveFile("never was"), add("a")], [RemoveFile("never was")])
    assert live(load_snapshot(store)) == ["a"]


def test_a_remove_before_the_add_in_one_version_leaves_the_file(store: MemoryStore):
    put_table(store, [add("a")], [RemoveFile("a"), add("a")], [add("b"), RemoveFile("b")])
    assert live(load_snapshot(store)) == ["a"]


def test_version_0_without_metadata_is_an_error_that_says_so(store: MemoryStore):
    put_version(store, 0, [Protocol(4, 4), add("a")])
    with pytest.raises(
        CorruptTableError, match="no metaData action up to version 0: its schema is lost; repair"
    ):
        load_snapshot(store)
    with pytest.raises(CorruptTableError):
        append_to(store)


def test_metadata_that_comes_later_is_metadata(store: MemoryStore):
    put_version(store, 0, [Protocol(4, 4)])
    put_version(store, 1, [metadata(), add("a")])
    assert live(load_snapshot(store)) == ["a"]


# Protocols


@pytest.mark.parametrize("protocol", [Protocol(99, 99), Protocol(4, 4, frozenset({"timeMachine"}))])
def test_a_newer_protocol_or_feature_is_refused(store: MemoryStore, protocol: Protocol):
    put_table(store, [add("a")], protocol=protocol)
    words = "99" if protocol.min_reader_version == 99 else "timeMachine"
    with pytest.raises(ProtocolError, match=f"{words}.*Upgrade indextables"):
        load_snapshot(store)
    with pytest.raises(ProtocolError):
        append_to(store)


@pytest.mark.parametrize("protocol", [Protocol(4, 99), Protocol(4, 4, None, frozenset({"timeMachine"}))])
def test_what_only_writers_must_know_stops_only_writers(store: MemoryStore, protocol: Protocol):
    put_table(store, [add("a")], protocol=protocol)
    assert live(load_snapshot(store)) == ["a"]
    with pytest.raises(ProtocolError, match="writing .* requires"):
        append_to(store)


def test_a_protocol_is_obeyed_before_the_actions_behind_it(store: MemoryStore):
    put_table(store, [Protocol(99, 99), AddFile("../../new-in-99", {}, 1)])
    with pytest.raises(ProtocolError):
        load_snapshot(store)


# Size


def test_a_hundred_thousand_actions_in_one_version_are_just_many(store: MemoryStore):
    put_table(store, [AddFile(f"splits/{n}", {"day": "mon"}, 10) for n in range(100_000)])
    snapshot = load_snapshot(store)
    assert len(snapshot.files) == 100_000
    commit(store, Append((add("one more"),), metadata()), base=snapshot)
    assert len(load_snapshot(store).files) == 100_001


def test_a_version_number_at_the_end_of_its_digits_is_no_trap(store: MemoryStore):
    """A file of a far version is a hole in the log, which is read up to it, and not that many versions to look for."""
    put_table(store, [add("a")])
    store.put(version_key(10**20 - 1), store.get(version_key(1)))
    with pytest.warns(UserWarning, match="version 2 is missing"):
        assert live(load_snapshot(store)) == ["a"]
    with (
        pytest.warns(UserWarning, match="is missing"),
        pytest.raises(CorruptTableError, match="version 2 .* is missing"),
    ):
        append_to(store)


def test_the_limit_is_the_inflated_size_and_not_the_files():
    text = encode_version([AddFile(f"splits/{n}", {}, 10) for n in range(1000)], compress=False)
    assert len(decode_version(gzip.compress(text), "some file", max_inflated=len(text))) == 1000
    with pytest.raises(CorruptTableError):
        decode_version(gzip.compress(text), "some file", max_inflated=len(text) - 1)

"""Tables of the older protocols: JSON checkpoints, whole and in parts, and their way to a state."""

from __future__ import annotations

import gzip
import json

import pytest

from indextables.config import Settings
from indextables.errors import CorruptTableError
from indextables.log import Append, Protocol, StateWarning, checkpoint, commit, load_snapshot, version_key
from indextables.log.actions import to_document
from indextables.log.snapshots import cache
from indextables.state import LAST_CHECKPOINT, read_state
from support.faults import MemoryStore
from support.logs import add, metadata, put_version

V = "_transaction_log/00000000000000000010.checkpoint"

OLD_ADD = {
    "path": "s3a://bucket/table/splits/old.split",
    "partitionValues": {"day": "mon"},
    "size": 7,
    "modificationTime": 5,
    "dataChange": True,
    "stats": '{"numRecords":3}',
    "tags": {"a": "b"},
    "hotcacheStartOffset": 1,
    "hotcacheLength": 2,
    "timeRangeStart": 17,
    "deleteOpstamp": 4,
    "docMappingJson": '[{"name":"id"}]',
    "somethingNew": {"x": [1]},
    "numRecords": None,
}


@pytest.fixture
def store() -> MemoryStore:
    cache.forget()
    return MemoryStore("s3://bucket/table")


def lines(*documents: dict) -> bytes:
    return b"\n".join(json.dumps(document).encode() for document in documents) + b"\n"


def header() -> list[dict]:
    return [to_document(Protocol(2, 2)), to_document(metadata())]


PACK = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "01 01 gzip": lambda data: b"\x01\x01" + gzip.compress(data),
}


@pytest.mark.spec("testReadLegacyJsonCheckpoint")
@pytest.mark.parametrize("packed", PACK)
def test_a_checkpoint_in_one_file(store, packed: str):
    store.put(f"{V}.json", PACK[packed](lines(*header(), {"add": OLD_ADD}, to_document(add("b")))))
    put_version(store, 11, [add("c")])
    snapshot = load_snapshot(store)
    assert (snapshot.version, list(snapshot.files)) == (11, ["splits/old.split", "b", "c"])
    old = snapshot.files["splits/old.split"]
    assert (old.tags, old.hotcache_length, old.time_range_start, old.extra) == (
        {"a": "b"},
        2,
        "17",
        {"somethingNew": {"x": [1]}},
    )


def test_the_object_of_lists_of_the_first_protocol(store):
    document = {**header()[0], **header()[1], "add": [OLD_ADD, to_document(add("b"))["add"]], "remove": None}
    store.put(f"{V}.json", json.dumps(document, indent=1).encode())
    assert list(load_snapshot(store).files) == ["splits/old.split", "b"]


@pytest.mark.spec("testReadLegacyJsonCheckpoint")
@pytest.mark.parametrize("packed", PACK)
def test_a_checkpoint_in_parts(store, packed: str):
    parts = [f"{V.split('/')[1]}.0123456789ab.{n:05d}.json" for n in (1, 2)]
    contents = (lines(*header(), {"add": OLD_ADD}), lines(to_document(add("b"))))
    for part, content in zip(parts, contents, strict=True):
        store.put(f"_transaction_log/{part}", PACK[packed](content))
    store.put(
        f"_transaction_log/{V.split('/')[1]}.ffffffffffff.00001.json", lines(to_document(add("orphan")))
    )
    manifest = {
        "version": 10,
        "checkpointId": "0123456789ab",
        "parts": parts,
        "createdTime": 1,
        "format": "json",
    }
    store.put(f"{V}.json", json.dumps(manifest).encode())
    store.put(
        LAST_CHECKPOINT,
        json.dumps({"version": 10, "size": 4, "parts": 2, "checkpointId": "0123456789ab"}).encode(),
    )
    assert list(load_snapshot(store).files) == ["splits/old.split", "b"]
    store.delete(f"_transaction_log/{parts[1]}")
    cache.forget()
    with (
        pytest.warns(StateWarning, match="00002.json, a part of the checkpoint"),
        pytest.raises(CorruptTableError),
    ):
        load_snapshot(store)


def test_parts_outside_the_log_are_refused(store):
    store.put(f"{V}.json", b'{"version":10,"parts":["../../etc/passwd"]}')
    with pytest.warns(StateWarning, match="not a part of a checkpoint"), pytest.raises(CorruptTableError):
        load_snapshot(store)


def test_a_damaged_checkpoint_is_left_out_where_the_versions_are_there(store):
    put_version(store, 0, [Protocol(2, 2), metadata(), add("a")])
    for version in range(1, 12):
        put_version(store, version, [add(str(version))])
    store.put(f"{V}.json", gzip.compress(lines(*header()))[:-9])
    with pytest.warns(StateWarning, match="checkpoint of version 10"):
        assert len(load_snapshot(store).files) == 12


def test_an_older_table_becomes_one_with_a_state_and_loses_nothing(store):
    store.put(f"{V}.json", gzip.compress(lines(*header(), {"add": OLD_ADD}, to_document(add("b")))))
    put_version(store, 11, [add("c")])
    before = load_snapshot(store)
    checkpoint(store, Settings())
    cache.forget()
    after = load_snapshot(store)
    assert after.files.base_version == 11
    assert after == before
    assert read_state(store, 11).protocol_version == 4
    pointer = json.loads(store.get(LAST_CHECKPOINT))
    assert pointer["format"] == "avro-state"


def test_an_older_table_takes_appends(store):
    store.put(f"{V}.json", lines(*header(), to_document(add("b"))))
    done = commit(store, Append((add("new"),), metadata()), base=load_snapshot(store))
    assert done.version == 11
    cache.forget()
    assert list(load_snapshot(store).files) == ["b", "new"]
    assert store.get(version_key(11))

"""States of other writers, built by hand: what the fixtures of the original do not have."""

from __future__ import annotations

import io
import json

import fastavro
import pytest

from indextables.config import Settings
from indextables.errors import ProtocolError
from indextables.log import Append, Protocol, RemoveFile, checkpoint, commit, load_snapshot
from indextables.log.actions import to_document
from indextables.log.snapshots import cache
from indextables.predicates import Compare
from indextables.schema import REGISTRY_PREFIX
from indextables.state import AVRO_SCHEMA, LAST_CHECKPOINT, read_state, state_key
from indextables.state.manifest import STATE_SCHEMA
from support.faults import MemoryStore
from support.logs import add, metadata, put_version

URI = "s3://bucket/table"


@pytest.fixture
def store() -> MemoryStore:
    cache.forget()
    return MemoryStore(URI)


def avro(schema: dict, rows: list[dict], codec: str) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec=codec)
    return out.getvalue()


def put_manifest(store: MemoryStore, path: str, *rows: dict, codec: str = "null") -> dict:
    schema = json.loads(AVRO_SCHEMA)
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "extra"]
    empty = {field["name"]: None for field in schema["fields"]}
    fixed = {
        "partitionValues": {},
        "size": 1,
        "modificationTime": 0,
        "dataChange": True,
        "hasFooterOffsets": False,
    }
    entries = [empty | fixed | {"addedAtVersion": 0, "addedAtTimestamp": 0} | row for row in rows]
    store.put(f"_transaction_log/{path}", avro(schema, entries, codec))
    return {"path": path, "numEntries": len(rows), "minAddedAtVersion": 0, "maxAddedAtVersion": 0}


def state(version: int, manifests: list[dict], **more: object) -> dict:
    live = sum(info["numEntries"] for info in manifests) - len(more.get("tombstones", []))  # type: ignore[arg-type]
    return {
        "formatVersion": 1,
        "stateVersion": version,
        "createdAt": 5,
        "numFiles": live,
        "totalBytes": live,
        "manifests": manifests,
        "tombstones": [],
        "schemaRegistry": {},
        "protocolVersion": 4,
        "metadata": None,
    } | more


def put_native(store: MemoryStore) -> None:
    """A version file and a state for every commit, uncompressed manifests, registry keys with their prefix."""
    table = metadata()
    registry = {key: text for key, text in table.configuration.items() if key.startswith(REGISTRY_PREFIX)}
    more = {"schemaRegistry": registry, "metadata": json.dumps(to_document(table))}
    first = put_manifest(
        store,
        "manifests/manifest-0123456789abcdef.avro",
        {"path": "a", "partitionValues": {"day": "mon"}},
        {"path": f"{URI}/b", "partitionValues": {"day": "tue"}},
    )
    second = put_manifest(
        store, "manifests/manifest-fedcba9876543210.avro", {"path": "c", "addedAtVersion": 1}
    )
    put_version(store, 0, [Protocol(4, 4), table, add("a"), add("b")])
    put_version(store, 1, [add("c")])
    put_version(store, 2, [RemoveFile("b")])
    found = [
        state(0, [first], **more),
        state(1, [first, second], **more),
        state(2, [first, second], tombstones=["b"], **more),
    ]
    for version, document in enumerate(found):
        store.put(state_key(version), avro(STATE_SCHEMA, [document], "zstandard"))
    store.put(LAST_CHECKPOINT, b'{"version":1,"size":3,"numFiles":3,"format":"avro-state"}')


def test_a_table_with_a_state_for_every_commit(store):
    put_native(store)
    snapshot = load_snapshot(store)
    assert (snapshot.version, snapshot.files.base_version) == (2, 2)
    assert list(snapshot.files) == ["a", "c"]
    assert list(load_snapshot(store, 1).files) == ["a", "b", "c"]
    assert snapshot.metadata == metadata()
    assert not snapshot.by_state


@pytest.mark.spec("testApplyTombstones")
def test_its_tombstones_hold_whatever_the_spelling_of_the_path(store):
    put_native(store)
    snapshot = load_snapshot(store)
    assert "b" not in snapshot.files
    assert snapshot.prune(Compare("=", "day", "tue")).entries.num_rows == 0


@pytest.mark.spec("testUpgradePreservesSchemaRegistry")
def test_it_takes_appends_and_a_checkpoint(store):
    put_native(store)
    done = commit(store, Append((add("new"),), metadata()), base=load_snapshot(store))
    assert done.version == 3
    checkpoint(store, Settings())
    cache.forget()
    after = load_snapshot(store)
    assert after.files.base_version == 3
    assert sorted(after.files) == ["a", "c", "new"]
    assert read_state(store, 3).tombstones == ()
    assert {key: text.startswith("[") for key, text in read_state(store, 3).schema_registry.items()} == {
        key.removeprefix(REGISTRY_PREFIX): True for key in metadata().configuration
    }


def test_a_state_by_itself_is_a_table(store):
    put_native(store)
    for version in range(3):
        store.delete(f"_transaction_log/{version:020d}.json")
    assert list(load_snapshot(store).files) == ["a", "c"]


def test_the_json_state_of_a_development_release(store):
    put_version(store, 0, [Protocol(4, 4), metadata()])
    bare = put_manifest(
        store, "state-v00000000000000000005/manifest-a1b2c3d4.avro", {"path": "x"}, codec="snappy"
    )
    document = state(5, [bare | {"path": "manifest-a1b2c3d4.avro"}])
    store.put(state_key(5, "json"), json.dumps(document).encode())
    snapshot = load_snapshot(store)
    assert (snapshot.version, list(snapshot.files), snapshot.by_state) == (5, ["x"], True)
    done = commit(store, Append((add("new"),), metadata()), base=snapshot)
    assert done.version == 6
    cache.forget()
    assert list(load_snapshot(store).files) == ["x", "new"]


def test_metadata_comes_from_the_newest_that_has_any(store):
    old, new = metadata(name="old"), metadata(name="new")
    put_version(store, 0, [Protocol(4, 4), old])
    info = put_manifest(store, "manifests/manifest-a1b2c3d4.avro", {"path": "x"})
    for version, text in ((1, None), (2, json.dumps(to_document(new))), (3, None)):
        document = state(version, [info], metadata=text)
        store.put(state_key(version), avro(STATE_SCHEMA, [document], "zstandard"))
    assert [load_snapshot(store, version).metadata.name for version in (1, 2, 3)] == ["old", "new", "new"]


@pytest.mark.spec("testInvalidSchemaVersion")
def test_a_state_of_a_newer_protocol_is_refused(store):
    put_version(store, 0, [Protocol(4, 4), metadata()])
    info = put_manifest(store, "manifests/manifest-a1b2c3d4.avro", {"path": "x"})
    document = state(1, [info], protocolVersion=9, metadata=json.dumps(to_document(metadata())))
    store.put(state_key(1), avro(STATE_SCHEMA, [document], "zstandard"))
    with pytest.raises(ProtocolError, match="requires protocol version 9"):
        load_snapshot(store)

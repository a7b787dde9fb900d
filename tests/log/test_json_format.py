"""States written as JSON checkpoints, for readers from before the Avro state; and tables that have both."""

from __future__ import annotations

import dataclasses
import gzip
import json
import warnings
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indextables as it
from indextables.config import Settings, keys
from indextables.log import (
    Append,
    DropPartitions,
    Protocol,
    Snapshot,
    StateWarning,
    Txn,
    checkpoint,
    commit,
    load_snapshot,
    version_key,
)
from indextables.log.actions import checkpoint_key
from indextables.log.snapshots import (
    EXTRAS_PROPERTY,
    cache,
    snapshot_of_checkpoint,
    write_snapshot_checkpoint,
)
from indextables.log.versions import list_log
from indextables.maintenance import clean_versions, describe_state, upgrade_and_checkpoint
from indextables.predicates import Compare
from indextables.runtime import CacheFigures
from indextables.spark.sql import run_command
from indextables.state import LAST_CHECKPOINT, LOG_DIRECTORY, read_pointer, state_key
from indextables.storage import open_store
from support.faults import MemoryStore
from support.logs import add, metadata, put_version
from support.states import add_files

STRICT_ADD = {
    *(
        "path",
        "partitionValues",
        "size",
        "modificationTime",
        "dataChange",
        "stats",
        "tags",
        "minValues",
        "maxValues",
    ),
    *("numRecords", "footerStartOffset", "footerEndOffset", "hotcacheStartOffset", "hotcacheLength"),
    *("hasFooterOffsets", "timeRangeStart", "timeRangeEnd", "splitTags", "deleteOpstamp", "numMergeOps"),
    *(
        "docMappingJson",
        "docMappingRef",
        "uncompressedSizeBytes",
        "companionSourceFiles",
        "companionDeltaVersion",
    ),
    "companionFastFieldMode",
}
STRICT_POINTER = {"version", "size", "sizeInBytes", "numFiles", "createdTime", "parts", "checkpointId"}
"""All that readers from before the Avro state know. They refuse a file with anything else in it."""


def chosen(form: str = "json", **more: str) -> Settings:
    return Settings({keys.STATE_FORMAT.key: form} | {f"spark.indextables.{k}": v for k, v in more.items()})


def asked_only(form: str = "json") -> Settings:
    return chosen(form, **{"checkpoint.enabled": "false"})


def told(store: Any, version: int | None = None) -> Snapshot:
    cache.forget()
    return load_snapshot(store, version)


def grow(store: Any, versions: int, options: Settings) -> Snapshot:
    snapshot = None
    for n in range(versions):
        new = [add(f"v{n}-{i}", day=f"d{n % 3}") for i in range(3)]
        snapshot = commit(store, Append(tuple(new), metadata()), base=snapshot, settings=options).snapshot
    assert snapshot is not None
    return snapshot


def names(store: Any) -> list[str]:
    return [info.key.removeprefix(f"{LOG_DIRECTORY}/") for info in store.list_from(LOG_DIRECTORY)]


def strictly_read(store: Any) -> dict[str, list[dict]]:
    """What a reader from before the Avro state finds, by way of the hint; AssertionError where it would give up."""
    pointer = json.loads(store.get(LAST_CHECKPOINT))
    assert pointer.keys() <= STRICT_POINTER
    main = store.get(checkpoint_key(pointer["version"]))
    if "checkpointId" in pointer:
        parts = json.loads(main)
        assert parts.keys() == {"version", "checkpointId", "parts", "createdTime", "format"}
        assert len(parts["parts"]) == pointer["parts"]
        contents = [store.get(f"{LOG_DIRECTORY}/{name}") for name in parts["parts"]]
    else:
        contents = [main]
    found: dict[str, list[dict]] = {"protocol": [], "metaData": [], "add": [], "mergeskip": []}
    for content in contents:
        text = gzip.decompress(content.removeprefix(b"\1\1")) if content.startswith(b"\1\1") else content
        for line in text.splitlines():
            ((name, body),) = json.loads(line).items()
            found[name].append(body)
    assert all(body.keys() <= STRICT_ADD for body in found["add"])
    assert (len(found["protocol"]), len(found["metaData"])) == (1, 1)
    assert pointer["size"] == sum(map(len, found.values()))
    assert pointer["numFiles"] == len(found["add"])
    return found


def test_the_default_is_avro(store):
    grow(store, 11, Settings())
    assert [name for name in names(store) if "checkpoint" in name] == ["_last_checkpoint"]


def test_a_commit_whose_turn_it_is_writes_a_checkpoint_and_no_state(store):
    before = grow(store, 12, chosen())
    assert f"{10:020d}.checkpoint.json" in names(store)
    assert not [name for name in names(store) if name.startswith(("state-", "manifests/"))]
    assert told(store) == before
    assert told(store).files.base_version == 10


@pytest.mark.parametrize("compress", ["true", "false"])
def test_readers_from_before_the_avro_state_find_every_file(store, compress: str):
    before = grow(store, 11, chosen(**{"transaction.compression.enabled": compress}))
    found = strictly_read(store)
    assert [body["path"] for body in found["add"]] == [file.path for file in before.files.values()]
    assert found["metaData"][0]["schemaString"] == before.metadata.schema_string


def test_a_large_checkpoint_is_in_parts(store):
    before = grow(store, 11, chosen(**{"state.entriesPerManifest": "10"}))
    pointer = read_pointer(store)
    assert pointer is not None
    assert (pointer.kind, pointer.parts, pointer.num_files) == ("json-multipart", 4, 33)
    assert len(strictly_read(store)["add"]) == 33
    assert describe_state(store, chosen()).format == "json-multipart"
    assert told(store) == before


def test_readers_that_know_no_parts_get_none(store):
    put_version(store, 0, [Protocol(2, 2), metadata(), *[add(str(n)) for n in range(30)]])
    upgrade_and_checkpoint(store, chosen(**{"state.entriesPerManifest": "10"}))
    assert told(store).protocol == Protocol(2, 2), (
        "a checkpoint for older readers leaves the protocol to them"
    )
    assert read_pointer(store).parts is None
    assert len(strictly_read(store)["add"]) == 30


def test_a_commit_that_writes_json_does_not_raise_the_protocol(store):
    put_version(store, 0, [Protocol(2, 2), metadata(), add("a")])
    snapshot = told(store)
    for n in range(10):
        snapshot = commit(
            store,
            Append((add(f"n{n}", doc_mapping_ref=None),), metadata()),
            base=snapshot,
            settings=chosen(),
        ).snapshot
    assert snapshot.protocol == Protocol(2, 2)
    assert len(strictly_read(store)["add"]) == 11


def test_a_missing_part_is_seen_and_the_versions_are_read_instead(store):
    before = grow(store, 11, chosen(**{"state.entriesPerManifest": "10"}))
    store.delete(next(key for key in list(store.objects) if key.endswith(".00003.json")))
    with pytest.warns(StateWarning, match="00003.json, a part of the checkpoint"):
        assert told(store) == before


def test_the_file_that_names_the_parts_comes_after_them(store):
    """A writer that dies between two parts leaves nothing that a reader looks at."""
    grow(store, 11, chosen(**{"state.entriesPerManifest": "10"}))
    order = sorted(
        (when, key)
        for key, (_, when) in store.objects.items()
        if "checkpoint" in key and key != LAST_CHECKPOINT
    )
    assert order[-1][1] == checkpoint_key(10)
    assert store.objects[LAST_CHECKPOINT][1] > order[-1][0]


# Both formats in one table


@pytest.mark.spec("testMixedFormatRollback")
def test_mixed_format_rollback(store):
    """avro, then json, then avro again: the newest is read each time, and none is needed for the others."""
    snapshot = grow(store, 3, asked_only())
    for turn, form in enumerate(("avro", "json", "avro", "json")):
        checkpoint(store, asked_only(form))
        cache.forget()
        seen = load_snapshot(store)
        assert seen == snapshot
        assert read_pointer(store).kind == {"avro": "avro-state", "json": "json"}[form]
        assert describe_state(store, chosen()).format == {"avro": "avro-state", "json": "json"}[form]
        assert seen.files.base_version == snapshot.version
        snapshot = commit(
            store, Append((add(f"turn{turn}"),), metadata()), base=snapshot, settings=asked_only()
        ).snapshot


@pytest.mark.spec("testMixedFormatRollback")
def test_a_downgrade_of_the_same_version_moves_the_hint(store):
    before = grow(store, 3, asked_only())
    checkpoint(store, asked_only("avro"))
    assert read_pointer(store).kind == "avro-state"
    checkpoint(store, asked_only("json"))
    assert read_pointer(store).kind == "json"
    assert len(strictly_read(store)["add"]) == len(before.files)
    for key in [
        key for key in store.objects if key.startswith((f"{LOG_DIRECTORY}/state-", f"{LOG_DIRECTORY}/mani"))
    ]:
        store.delete(key)
    assert told(store) == before
    checkpoint(store, asked_only("avro"))
    assert read_pointer(store).kind == "avro-state"


@pytest.mark.parametrize("newest", ["avro", "json"])
@pytest.mark.parametrize("older", ["avro", "json"])
def test_a_damaged_newest_falls_back_to_the_one_before(store, newest: str, older: str):
    grow(store, 4, asked_only())
    checkpoint(store, asked_only(older))
    base = told(store)
    snapshot = commit(store, Append((add("late"),), metadata()), base=base, settings=asked_only()).snapshot
    checkpoint(store, asked_only(newest))
    key = state_key(4) if newest == "avro" else checkpoint_key(4)
    store.put(key, store.get(key)[:-7])
    for version in range(3):
        store.delete(version_key(version))  # so that only the older one can help
    with pytest.warns(StateWarning, match="of version 4"):
        seen = told(store)
    assert seen == snapshot
    assert seen.files.base_version == 3


@pytest.mark.parametrize("damaged", ["avro", "json"])
def test_of_two_of_one_version_the_one_that_can_be_read_counts(store, damaged: str):
    before = grow(store, 3, asked_only())
    for form in ("avro", "json"):
        checkpoint(store, asked_only(form))
    key = state_key(2) if damaged == "avro" else checkpoint_key(2)
    store.put(key, b"no such thing")
    for version in range(2):
        store.delete(version_key(version))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        assert told(store) == before


def test_an_avro_state_after_a_json_checkpoint_has_everything(store):
    grow(store, 12, chosen())
    snapshot = told(store)
    for n in range(9):
        snapshot = commit(
            store, Append((add(f"n{n}"),), metadata()), base=snapshot, settings=Settings()
        ).snapshot
    assert list_log(store).states == (20,)
    seen = told(store)
    assert seen == snapshot
    assert {key: a.version for key, a in seen.files.added()} == {
        key: a.version for key, a in snapshot.files.added()
    }


# What the older form has no word for


def test_when_files_came_is_true_through_a_json_checkpoint(store):
    before = grow(store, 11, chosen())
    assert [(key, a.version, a.timestamp_ms) for key, a in told(store).files.added()] == [
        (key, a.version, a.timestamp_ms) for key, a in before.files.added()
    ]
    assert told(store).files.exact_from == -1


def test_a_checkpoint_of_another_writer_does_not_know_when_files_came(store):
    before = grow(store, 11, chosen())
    document = gzip.decompress(store.get(checkpoint_key(10)).removeprefix(b"\1\1"))
    lines = [json.loads(line) for line in document.splitlines()]
    del lines[1]["metaData"]["configuration"][EXTRAS_PROPERTY]
    store.put(checkpoint_key(10), b"\n".join(json.dumps(line).encode() for line in lines))
    seen = told(store)
    assert dict(seen.files.items()) == dict(before.files.items())
    assert seen.files.exact_from == 10


def test_the_entry_in_the_configuration_is_nobodys_metadata(store):
    grow(store, 11, chosen())
    assert EXTRAS_PROPERTY not in told(store).metadata.configuration
    copied = dataclasses.replace(
        metadata(), configuration={**metadata().configuration, EXTRAS_PROPERTY: "stale"}
    )
    put_version(store, 11, [copied])
    assert told(store).metadata == metadata()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(add_files, max_size=3), min_size=1, max_size=4), st.integers(1, 3), st.booleans())
def test_a_checkpoint_reads_back_as_it_was(versions: list, part: int, compress: bool):
    store = MemoryStore("memory://round")
    put_version(store, 0, [Protocol(4, 4), metadata(), Txn("app", 7)])
    for version, adds in enumerate(versions, 1):
        put_version(store, version, [dataclasses.replace(file, size=abs(file.size) >> 8) for file in adds])
    before = told(store)
    options = chosen(
        **{"state.entriesPerManifest": str(part), "transaction.compression.enabled": str(compress).lower()}
    )
    write_snapshot_checkpoint(store, before, options, 99)
    after = snapshot_of_checkpoint(store, before.version)
    assert after == before
    assert list(after.files.added()) == list(before.files.added())
    strictly_read(store)


@pytest.mark.parametrize(
    "carried",
    [
        *("", "[]", "3", "{}", '{"added":3}', '{"added":[[1]]}', '{"added":[]}', '{"added":[[33,"x",0]]}'),
        *(
            '{"added":[[-1,0,0],[34,0,0]]}',
            '{"added":[[33,0,0]],"addExtra":3}',
            '{"added":[[33,0,0]],"txns":3}',
        ),
    ],
)
def test_a_checkpoint_that_carries_nonsense_is_left_out(store, carried: str):
    before = grow(store, 11, chosen(**{"transaction.compression.enabled": "false"}))
    lines = [json.loads(line) for line in store.get(checkpoint_key(10)).splitlines()]
    lines[1]["metaData"]["configuration"][EXTRAS_PROPERTY] = carried
    store.put(checkpoint_key(10), b"\n".join(json.dumps(line).encode() for line in lines))
    with pytest.warns(StateWarning, match="checkpoint of version 10"):
        assert told(store) == before


# The rest of the table's life


@pytest.mark.parametrize("local", [False, True])
def test_versions_that_a_json_checkpoint_covers_are_cleaned_up(local: bool, tmp_path):
    store: Any = open_store(str(tmp_path / "t")) if local else MemoryStore("memory://cleaned-json")
    before = grow(store, 12, chosen())
    commit(store, DropPartitions(Compare("=", "day", "d1")), base=before, settings=chosen())
    done = clean_versions(store, chosen(), hours=0, clock=lambda: 10**15)
    assert (done.covered_by, done.versions_deleted) == (10, 10)
    assert {file.partition_values["day"] for file in told(store).files.values()} == {"d0", "d2"}
    assert len(told(store, 10).files) == 33


def test_a_snapshot_of_a_checkpoint_is_kept_in_memory_like_any_other(store):
    grow(store, 112, chosen(**{"checkpoint.interval": "100"}))
    told(store)
    cache.invalidate_cache(store.uri)
    for _ in range(3):
        load_snapshot(store)
    assert cache.invalidate_cache(store.uri) == CacheFigures(hits=2, misses=1)


def test_through_the_face_of_a_table(tmp_path):
    options = {keys.STATE_FORMAT.key: "json", keys.CHECKPOINT_INTERVAL.key: "2"}
    for n in range(5):
        it.write(tmp_path / "t", pa.table({"n": [n]}), settings=options)
    table = it.open(tmp_path / "t", settings=options)
    assert table.checkpoint() == 4
    assert table.describe_state().format == "json"
    assert sorted(table.to_arrow().column("n").to_pylist()) == list(range(5))
    assert table.truncate_time_travel().versions_deleted == 4
    cache.forget()
    assert it.open(tmp_path / "t").count() == 5


def test_the_sql_command_tells_of_the_parts(tmp_path):
    for n in range(3):
        it.write(tmp_path / "t", pa.table({"n": [n]}))
    options = {keys.STATE_FORMAT.key: "json", keys.STATE_ENTRIES_PER_MANIFEST.key: "2"}
    (row,) = run_command(f"CHECKPOINT INDEXTABLES '{tmp_path}/t'", options, None).to_pylist()
    assert (row["status"], row["checkpoint_version"], row["num_files"], row["num_actions"]) == (
        "SUCCESS",
        2,
        3,
        5,
    )
    assert row["is_multi_part"] is True

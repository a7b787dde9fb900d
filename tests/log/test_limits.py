"""Nothing is written to the log that cannot be read back, and nothing in it is read without a bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError, InputError
from indextables.log import (
    AddFile,
    Append,
    Protocol,
    checkpoint,
    commit,
    load_snapshot,
    version_key,
)
from indextables.log.actions import checkpoint_key, codec
from indextables.log.changes import registry_changes as revisions
from indextables.log.snapshots import StateWarning, cache, read_snapshot, write_snapshot_checkpoint
from indextables.log.versions import advance_watermark, record_key, recorded_transaction, watermark
from indextables.maintenance import renormalize_schemas, repair
from indextables.schema import mapping_hash
from indextables.state import LAST_CHECKPOINT, manifest, read_pointer, state_key
from indextables.storage import open_store
from support.faults import MemoryStore
from support.logs import add, live, metadata, put_version

JSON = Settings({keys.STATE_FORMAT.key: "json"})
TINY = 4000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log whose readers take a few kilobytes."""
    monkeypatch.setattr(codec, "MAX_INFLATED", TINY)


def files(count: int) -> tuple[AddFile, ...]:
    return tuple(add(f"splits/{n:03}.split") for n in range(count))


# Writing


@pytest.mark.usefixtures("small")
def test_a_commit_that_no_reader_would_take_is_refused_before_it_is_created(store: MemoryStore):
    base = commit(store, Append(files(2), metadata()), base=None).snapshot
    with pytest.raises(InputError, match="would write .* of actions .* in one version; readers accept"):
        commit(store, Append(files(50), metadata()), base=base)
    assert version_key(1) not in store.objects
    cache.forget()
    assert commit(store, Append((add("later"),), metadata()), base=load_snapshot(store)).version == 1


@pytest.mark.usefixtures("small")
def test_the_largest_commit_that_is_written_is_read_back(store: MemoryStore):
    count = 1
    while True:
        other = MemoryStore(store.uri)
        try:
            commit(other, Append(files(count), metadata()), base=None)
        except InputError:
            break
        store, count = other, count + 1
    cache.forget()
    assert len(live(load_snapshot(store))) == count - 1 > 1


def test_what_json_cannot_hold_is_refused_as_our_error(store: MemoryStore):
    with pytest.raises(InputError, match="cannot be written to the log"):
        commit(store, Append((add("a", extra={"number": 1 << 70}),), metadata()), base=None)
    assert store.objects == {}


@pytest.mark.usefixtures("small")
def test_a_json_checkpoint_that_no_reader_would_take_is_not_written(store: MemoryStore):
    base = None
    for n in range(10):
        adds = tuple(add(f"{n}-{m}") for m in range(3))
        base = commit(store, Append(adds, metadata(), protocol=Protocol(2, 2)), base=base).snapshot
    with pytest.raises(InputError, match="a JSON checkpoint .* readers accept up to"):
        write_snapshot_checkpoint(store, load_snapshot(store), JSON, 0)
    assert checkpoint_key(9) not in store.objects


def test_a_state_that_no_reader_would_take_is_not_written(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
):
    commit(store, Append(files(3), metadata()), base=None)
    monkeypatch.setattr(manifest, "MAX_BLOCK", 100)
    with pytest.raises(InputError, match="the state of version 0 has .* in one record"):
        checkpoint(store, Settings())
    assert state_key(0) not in store.objects


def test_repair_cuts_a_large_table_into_versions_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    source = open_store(str(tmp_path / "source"))
    base = None
    for file in files(40):
        source.put(file.path, b"0123456789")
        base = commit(source, Append((file,), metadata()), base=base).snapshot
    monkeypatch.setattr(codec, "MAX_INFLATED", TINY)
    log = "_transaction_log"
    done = repair(tmp_path / "source" / log, tmp_path / "target" / log)
    assert (done.valid_splits, done.status) == (40, "SUCCESS")
    found = load_snapshot(open_store(str(tmp_path / "target")))
    assert found.version > 1
    assert sorted(live(found)) == [file.path for file in files(40)]
    assert found.metadata == load_snapshot(source).metadata


def test_a_repair_that_was_interrupted_leaves_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    test_repair_cuts_a_large_table_into_versions_that_can_be_read(tmp_path, monkeypatch)
    target = open_store(str(tmp_path / "target"))
    target.delete(version_key(load_snapshot(target).version))
    cache.forget()
    with pytest.raises(CorruptTableError, match="no metaData"):
        load_snapshot(target)


def test_names_of_schemas_are_tidied_in_several_commits(store: MemoryStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(revisions, "_FILES_AT_ONCE", 2)
    mapping = '[{"name":"a","type":"i64"},{"name":"b"}]'
    odd = {f"docMappingSchema.odd{n}": mapping for n in range(6)}
    table = metadata()
    table = type(table)(
        table.id, table.schema_string, table.partition_columns, {**table.configuration, **odd}
    )
    put_version(
        store, 0, [Protocol(4, 4), table, *(add(f"f{n}", doc_mapping_ref=f"odd{n}") for n in range(6))]
    )
    assert renormalize_schemas(store, Settings({keys.RENORMALIZE_THRESHOLD.key: "1"})) == 3
    refs = {file.doc_mapping_ref for file in load_snapshot(store).files.values()}
    assert refs == {mapping_hash(mapping)}


def test_a_long_clean_up_is_recorded_in_several_links(store: MemoryStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watermark, "_MAX_NAMES", 50)
    assert advance_watermark(store, 9, lambda version: f"transaction {version}") == 9
    assert sorted(store.objects) == [record_key(first) for first in (0, 4, 8)]
    assert [recorded_transaction(store, version) for version in (3, 4)] == ["transaction 3", "transaction 4"]


# Reading


def test_a_pointer_of_any_size_is_no_hint(store: MemoryStore):
    commit(store, Append(files(1), metadata()), base=None)
    checkpoint(store, Settings())
    store.put(LAST_CHECKPOINT, b'{"version":0}' + b" " * (1 << 20))
    assert read_pointer(store) is None
    assert read_snapshot(store).version == 0


@pytest.mark.parametrize("key", [version_key(0), record_key(0)])
def test_files_of_any_size_are_refused_by_their_size(
    store: MemoryStore, key: str, monkeypatch: pytest.MonkeyPatch
):
    commit(store, Append(files(1), metadata()), base=None)
    for module in (watermark, codec, "indextables.log.versions.reader"):
        for name in ("_MAX_RECORD", "MAX_STORED"):
            target = module if isinstance(module, str) else module.__name__
            monkeypatch.setattr(f"{target}.{name}", 5000, raising=False)
    store.put(key, b" " * 5001)
    cache.forget()
    with pytest.raises(CorruptTableError, match=f"{key} has 5001 bytes or more; at most 5000 are read"):
        load_snapshot(store)


def test_a_state_of_any_size_is_left_out_with_a_warning(store: MemoryStore, monkeypatch: pytest.MonkeyPatch):
    commit(store, Append(files(2), metadata()), base=None)
    checkpoint(store, Settings())
    monkeypatch.setattr("indextables.state.reading.MAX_STATE", 100)
    with pytest.warns(StateWarning, match="at most 100 are read"):
        assert len(live(read_snapshot(store))) == 2


def test_a_manifest_of_any_size_is_left_out_with_a_warning(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
):
    commit(store, Append(files(2), metadata()), base=None)
    checkpoint(store, Settings())
    monkeypatch.setattr("indextables.state.loading.MAX_MANIFEST", 100)
    with pytest.warns(StateWarning, match="at most 100 are read"):
        assert len(live(read_snapshot(store))) == 2


def test_a_checkpoint_that_names_a_part_twice_is_damaged(store: MemoryStore):
    settings = Settings(dict(JSON) | {keys.STATE_ENTRIES_PER_MANIFEST.key: "1"})
    commit(store, Append(files(2), metadata()), base=None)
    checkpoint(store, settings)
    whole = store.get(checkpoint_key(0))
    store.put(checkpoint_key(0), whole.replace(b".00002.json", b".00001.json"))
    with pytest.warns(StateWarning, match="names a part of the checkpoint twice"):
        assert len(live(read_snapshot(store))) == 2


def test_a_local_file_is_measured_before_it_is_read(tmp_path: Path):
    store = open_store(str(tmp_path))
    store.put("a", b"12345")
    os.truncate(tmp_path / "a", 1 << 40)  # a sparse file, as large as no machine's memory
    with pytest.raises(CorruptTableError, match="at most 100 are read"):
        store.get("a", 100)
    store.put("b", b"x" * 100)
    assert store.get("b", 100) == b"x" * 100


def test_a_device_without_an_end_is_not_read(tmp_path: Path):
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(CorruptTableError, match="is a symbolic link"):
        open_store(str(tmp_path)).get("zero", 100)


def test_a_remote_object_is_measured_before_it_is_fetched():
    store = open_store("memory:limits")
    store.put("a", b"x" * 101)
    with pytest.raises(CorruptTableError, match="has 101 bytes or more; at most 100 are read"):
        store.get("a", 100)
    assert len(store.get("a", 101)) == 101

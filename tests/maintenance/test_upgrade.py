"""Older tables are brought up to today's protocol by a commit, and lose no field on the way."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from indextables.config import Settings, keys
from indextables.errors import InputError, ProtocolError, StorageError
from indextables.log import (
    Append,
    Metadata,
    Protocol,
    RenormalizeSchemas,
    SkipFile,
    UnknownAction,
    UpgradeProtocol,
    commit,
    doc_mapping,
    load_snapshot,
    read_version,
)
from indextables.log.snapshots import cache, canonical_names, read_snapshot, renormalize_registry
from indextables.log.versions import list_log
from indextables.maintenance import renormalize_schemas, upgrade_and_checkpoint, upgrade_protocol
from indextables.schema import REGISTRY_PREFIX, mapping_hash
from support.faults import MemoryStore
from support.logs import add, metadata, put_table, put_version

SETTINGS = Settings()

LEGACY: dict[str, Any] = {
    "tags": {"source": "old"},
    "stats": '{"numRecords":1}',
    "hotcache_start_offset": 5,
    "hotcache_length": 6,
    "time_range_start": "2020-01-01",
    "time_range_end": "2020-01-02",
    "delete_opstamp": 9,
    "split_tags": ("a", "b"),
    "footer_start_offset": 1,
    "footer_end_offset": 2,
    "has_footer_offsets": True,
    "extra": {"someDay": [1]},
}


def legacy_table(store: MemoryStore, protocol: Protocol) -> None:
    files = [
        add("inline", doc_mapping_json="[]", doc_mapping_ref=None, **LEGACY),
        add(f"{store.uri}/absolute", **LEGACY),
    ]
    put_table(
        store, [*files, SkipFile("inline", 1, "torn", "merge"), UnknownAction("later", {})], protocol=protocol
    )


@pytest.mark.spec("testUpgradePreservesAllFiles", "testUpgradeFromV2ToV4")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_checkpoint_upgrades_an_older_table_and_loses_nothing(store: MemoryStore, version: int):
    legacy_table(store, Protocol(version, version))
    before = load_snapshot(store)
    assert upgrade_and_checkpoint(store, SETTINGS).state_version == 2
    after = read_snapshot(store)
    assert (after.protocol, after.version, after.files.base_version) == (Protocol(4, 4), 2, 2)
    assert dict(after.files) == dict(before.files)
    assert after.metadata == before.metadata


def test_a_table_of_before_the_protocol_action_is_upgraded_too(store: MemoryStore):
    put_version(store, 0, [metadata(), add("a")])
    assert load_snapshot(store).protocol == Protocol(1, 1)
    assert upgrade_protocol(store, SETTINGS) == 1
    assert load_snapshot(store).protocol == Protocol(4, 4)


def test_features_that_the_table_asks_for_stay(store: MemoryStore):
    asked = Protocol(3, 3, frozenset({"footerOffsets"}), frozenset({"schemaDeduplication"}), {"extra": 1})
    legacy_table(store, asked)
    upgrade_protocol(store, SETTINGS)
    assert load_snapshot(store).protocol == dataclasses.replace(
        asked, min_reader_version=4, min_writer_version=4
    )


def test_a_table_of_today_is_left_alone(store: MemoryStore):
    put_table(store)
    assert upgrade_protocol(store, SETTINGS) == 0
    assert len(store.objects) == 1


def test_a_protocol_that_this_release_does_not_know_is_no_upgrade(store: MemoryStore):
    put_table(store)
    with pytest.raises(ProtocolError):
        commit(store, UpgradeProtocol(Protocol(99, 99)), base=None)


@pytest.mark.spec("testWriteAfterUpgrade")
def test_a_commit_that_writes_a_state_by_itself_upgrades_the_table(store: MemoryStore):
    put_table(store, [add("a")], protocol=Protocol(2, 2))
    settings = Settings({keys.CHECKPOINT_INTERVAL.key: "3"})
    for version, path in ((2, "b"), (3, "c")):
        done = commit(store, Append((add(path),), metadata()), base=load_snapshot(store), settings=settings)
        assert done.version == version
    assert [a for a in read_version(store, 2) or () if isinstance(a, Protocol)] == [Protocol(3, 3)]
    assert [a for a in read_version(store, 3) or () if isinstance(a, Protocol)] == [Protocol(4, 4)]
    assert read_snapshot(store).files.base_version == 3


@pytest.mark.parametrize(
    ("old", "more", "wanted"),
    [
        (1, {}, 3),
        (2, {}, 3),
        (3, {}, 3),
        (4, {}, 4),
        (1, {"doc_mapping_ref": None}, 1),
        (1, {"doc_mapping_ref": None, "has_footer_offsets": True}, 2),
    ],
)
def test_an_append_raises_the_protocol_to_the_fields_that_it_writes(
    store: MemoryStore, old: int, more: dict[str, Any], wanted: int
):
    put_table(store, [add("a", doc_mapping_ref=None)], protocol=Protocol(old, old))
    commit(store, Append((add("b", **more),), metadata()), base=load_snapshot(store))
    assert read_snapshot(store).protocol == Protocol(wanted, wanted)
    written = [action for action in read_version(store, 2) or () if isinstance(action, Protocol)]
    assert written == ([] if old == wanted else [Protocol(wanted, wanted)])


@pytest.mark.parametrize(
    ("reader", "writer", "wanted"), [(2, 3, (2, 3)), (1, 1, (1, 2)), (4, 4, (4, 4)), (3, 1, (3, 2))]
)
def test_the_protocol_is_raised_to_the_versions_that_are_asked_for(
    store: MemoryStore, reader: int, writer: int, wanted: tuple[int, int]
):
    put_table(store, protocol=Protocol(1, 2))
    upgrade_protocol(store, SETTINGS, min_reader_version=reader, min_writer_version=writer)
    assert load_snapshot(store).protocol == Protocol(*wanted)


@pytest.mark.parametrize(("reader", "writer", "error"), [(0, 4, InputError), (4, 5, ProtocolError)])
def test_protocol_versions_that_there_are_not_are_refused(
    store: MemoryStore, reader: int, writer: int, error: type[Exception]
):
    put_table(store, protocol=Protocol(1, 2))
    with pytest.raises(error):
        upgrade_protocol(store, SETTINGS, min_reader_version=reader, min_writer_version=writer)
    assert load_snapshot(store).version == 0


def test_an_upgrade_that_is_followed_by_a_state_goes_all_the_way(store: MemoryStore):
    put_table(store, protocol=Protocol(1, 1))
    settings = Settings({keys.CHECKPOINT_INTERVAL.key: "1"})
    upgrade_protocol(store, settings, min_reader_version=2, min_writer_version=2)
    assert read_snapshot(store).protocol == Protocol(4, 4)
    assert read_snapshot(store).files.base_version == 1


# The schema registry

MAPPINGS = [f'[{{"name":"a","type":"t{n}"}},{{"name":"b"}}]' for n in range(2)]
REORDERED = [f'[{{"name":"b"}},{{"type":"t{n}","name":"a"}}]' for n in range(2)]


def odd_registry() -> Metadata:
    """Two mappings under three names each, of which one is that of the canonical form."""
    configuration = dict(metadata().configuration)
    for n, (mapping, other) in enumerate(zip(MAPPINGS, REORDERED, strict=True)):
        names = {mapping_hash(mapping): mapping, f"odd{n}": mapping, f"other{n}": other}
        configuration |= {f"{REGISTRY_PREFIX}{name}": value for name, value in names.items()}
    return dataclasses.replace(metadata(), configuration=configuration)


REFS = ["odd0", "odd1", "other0", "other1", mapping_hash(MAPPINGS[0]), mapping_hash(MAPPINGS[1])]


def test_a_files_mapping_is_its_own_or_the_registrys():
    table = odd_registry()
    assert doc_mapping(add("x", doc_mapping_ref="other1"), table) == REORDERED[1]
    assert doc_mapping(add("x", doc_mapping_ref="odd0", doc_mapping_json="[]"), table) == "[]"
    assert doc_mapping(add("x", doc_mapping_ref=None), table) is None
    assert doc_mapping(add("x", doc_mapping_ref="unheard of"), table) is None


def test_names_that_are_not_canonical_are_found():
    zero, one = (mapping_hash(mapping) for mapping in MAPPINGS)
    assert canonical_names(odd_registry().configuration) == {
        "odd0": zero,
        "odd1": one,
        "other0": zero,
        "other1": one,
    }


def test_a_checkpoint_gives_each_mapping_one_name_above_the_threshold(store: MemoryStore):
    files = [add(f"f{n}", doc_mapping_ref=ref) for n, ref in enumerate(REFS)]
    put_version(store, 0, [Protocol(4, 4), odd_registry(), *files])
    upgrade_and_checkpoint(store, SETTINGS)
    after = read_snapshot(store)
    assert {file.doc_mapping_ref for file in after.files.values()} == set(REFS[4:])
    assert [doc_mapping(file, after.metadata) for file in after.files.values()]
    assert set(after.files) == {f"f{n}" for n in range(6)}
    assert sum(file.num_records or 0 for file in after.files.values()) == 6
    assert renormalize_schemas(store, SETTINGS) == after.version, "once is enough"


@pytest.mark.parametrize("form", ["avro", "json"])
def test_an_automatic_checkpoint_does_so_too(store: MemoryStore, form: str):
    files = [add(f"f{n}", doc_mapping_ref=ref) for n, ref in enumerate(REFS)]
    put_version(store, 0, [Protocol(4, 4), odd_registry(), *files])
    chosen = Settings({keys.CHECKPOINT_INTERVAL.key: "2", keys.STATE_FORMAT.key: form})
    snapshot = load_snapshot(store)
    for n in range(1, 5):
        done = commit(store, Append((add(f"more{n}"),), metadata()), base=snapshot, settings=chosen)
        snapshot = load_snapshot(store)
        assert done.version == (n if n <= 2 else n + 1), "the version of the append itself"
        assert snapshot.version == (n if n < 2 else n + 1)
    assert {snapshot.files[f"f{n}"].doc_mapping_ref for n in range(6)} == set(REFS[4:])
    listing = list_log(store)
    bases = {file.version for file in listing.checkpoints} if form == "json" else set(listing.states)
    assert 3 in bases, "the state has the names of the version that it belongs to"
    cache.forget()
    assert dict(read_snapshot(store).files) == dict(snapshot.files)


def test_a_checkpoint_is_written_if_names_cannot_be_tidied(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
):
    files = [add(f"f{n}", doc_mapping_ref=ref) for n, ref in enumerate(REFS)]
    put_version(store, 0, [Protocol(4, 4), odd_registry(), *files])

    def fail(*asked: object) -> list[object]:
        raise StorageError("no space")

    monkeypatch.setattr(RenormalizeSchemas, "actions", fail)
    every = Settings({keys.CHECKPOINT_INTERVAL.key: "1"})
    commit(store, Append((add("more"),), metadata()), base=load_snapshot(store), settings=every)
    assert list(list_log(store).states) == [1]


def test_names_in_use_are_looked_at_once(store: MemoryStore, monkeypatch: pytest.MonkeyPatch):
    """All files must be decoded for it, and a table that was tidied keeps its old names for older versions."""
    put_version(store, 0, [Protocol(4, 4), odd_registry(), *(add(f"f{n}") for n in range(6))])
    looks = []
    real = RenormalizeSchemas.actions

    def look(change: RenormalizeSchemas, current: Any) -> Any:
        looks.append(current.version)
        return real(change, current)

    monkeypatch.setattr(RenormalizeSchemas, "actions", look)
    every = Settings({keys.CHECKPOINT_INTERVAL.key: "1", keys.RENORMALIZE_THRESHOLD.key: "3"})
    for n in range(3):
        commit(store, Append((add(f"more{n}"),), metadata()), base=load_snapshot(store), settings=every)
    assert looks == [1]


def test_at_the_threshold_nothing_is_renamed(store: MemoryStore):
    files = [add(f"f{n}", doc_mapping_ref=ref) for n, ref in enumerate(REFS[:5])]
    put_version(store, 0, [Protocol(4, 4), odd_registry(), *files])
    assert renormalize_schemas(store, SETTINGS) == 0
    lower = Settings({keys.RENORMALIZE_THRESHOLD.key: "4"})
    assert renormalize_schemas(store, lower) == 1


def test_nothing_is_renamed_where_it_would_not_help():
    """Different mappings, each under one odd name: as many names as before."""
    configuration = {f"{REGISTRY_PREFIX}odd{n}": mapping for n, mapping in enumerate(MAPPINGS)}
    table = dataclasses.replace(metadata(), configuration=configuration)
    files = [add(f"f{n}", doc_mapping_ref=f"odd{n}") for n in range(2)]
    assert renormalize_registry(table, files, threshold=0) is None


def test_no_file_changes_but_in_its_reference():
    files = [add(f"f{n}", doc_mapping_ref=ref, **LEGACY) for n, ref in enumerate(REFS)]
    due = renormalize_registry(odd_registry(), files, threshold=5)
    assert due is not None
    table, changed = due
    assert [
        dataclasses.replace(file, doc_mapping_ref=ref, data_change=True)
        for file, ref in zip(changed, REFS[:4], strict=True)
    ] == files[:4]
    assert odd_registry().configuration.items() <= table.configuration.items()

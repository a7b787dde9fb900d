"""Version files and JSON checkpoints carry a checksum, and versions name the one before: damage is noticed."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re

import pytest

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.log import (
    Append,
    CommitInfo,
    Metadata,
    Txn,
    checkpoint,
    commit,
    decode_version,
    encode_version,
    load_snapshot,
    read_version,
    version_key,
)
from indextables.log.actions import CHECKPOINT_SEAL, UNSEALED, checkpoint_key
from indextables.log.actions.checksums import check_version
from indextables.log.snapshots import EXTRAS_PROPERTY, StateWarning, cache, read_snapshot
from indextables.maintenance import truncate_time_travel
from indextables.maintenance.log_recovery import recover_log
from indextables.state import LOG_DIRECTORY
from support.faults import FaultyStore, MemoryStore
from support.logs import add, live, metadata, put_version

PLAIN = Settings({keys.COMPRESS_VERSION_FILES.key: "false"})
PLAIN_JSON = Settings(dict(PLAIN) | {keys.STATE_FORMAT.key: "json"})


def grow(store: MemoryStore, paths: str = "abcd", settings: Settings = PLAIN) -> None:
    """One version for each letter, which adds the file of that name."""
    for path in paths:
        base = load_snapshot(store) if store.objects else None
        commit(store, Append((add(path),), metadata()), base=base, settings=settings)


def commit_info(store: MemoryStore, version: int) -> CommitInfo:
    info = (read_version(store, version) or [])[0]
    assert isinstance(info, CommitInfo)
    return info


# Empty files


@pytest.mark.parametrize("content", [b"", b"\n", b" \n\t"])
def test_an_empty_version_file_is_damage_and_not_an_empty_commit(store: MemoryStore, content: bytes):
    grow(store)
    store.put(version_key(2), content)
    cache.forget()
    with pytest.raises(CorruptTableError, match=r"00000002\.json is empty.*REPAIR INDEXFILES"):
        load_snapshot(store)


def test_a_writer_does_not_go_on_after_an_empty_version_file(store: MemoryStore):
    grow(store, "ab")
    base = load_snapshot(store)
    store.put(version_key(2), b"")
    with pytest.raises(CorruptTableError, match="is empty"):
        commit(store, Append((add("c"),), metadata()), base=base)


def test_an_empty_commit_of_another_writer_is_none(store: MemoryStore):
    grow(store, "a")
    store.put(version_key(1), gzip.compress(b""))
    assert (load_snapshot(store).version, live(load_snapshot(store))) == (1, ["a"])


def test_repair_passes_over_an_empty_version_file_and_names_it(store: MemoryStore):
    grow(store)
    store.put(version_key(2), b"")
    found = recover_log(store, Settings())
    assert sorted(found.files) == ["a", "b", "d"]
    assert [damage for damage in found.damaged if version_key(2) in damage and "is empty" in damage]


def test_an_empty_checkpoint_is_left_out_with_a_warning(store: MemoryStore):
    grow(store)
    checkpoint(store, PLAIN_JSON)
    store.put(checkpoint_key(3), b"")
    with pytest.warns(StateWarning, match="is empty"):
        assert live(read_snapshot(store)) == ["a", "b", "c", "d"]


# Checksums of version files


@pytest.mark.parametrize("compress", [True, False])
def test_every_version_has_its_checksum_and_that_of_the_version_before(store: MemoryStore, compress: bool):
    grow(store, settings=Settings({keys.COMPRESS_VERSION_FILES.key: str(compress).lower()}))
    infos = [commit_info(store, version) for version in range(4)]
    assert all(re.fullmatch("[0-9a-f]{64}", info.sha256 or "") for info in infos)
    assert [info.previous_sha256 for info in infos] == [None, *(info.sha256 for info in infos[:-1])]


def test_changed_bytes_of_a_plain_version_file_are_noticed(store: MemoryStore):
    grow(store)
    key = version_key(2)
    store.put(key, store.get(key).replace(b'"path":"c"', b'"path":"z"'))
    cache.forget()
    with pytest.raises(CorruptTableError, match=r"00000002\.json: the content does not match its checksum; "):
        load_snapshot(store)


def test_a_version_file_that_lost_its_last_lines_is_noticed(store: MemoryStore):
    commit(store, Append((add("a"), add("b")), metadata()), base=None, settings=PLAIN)
    whole = store.get(version_key(0))
    store.put(version_key(0), b"".join(whole.splitlines(keepends=True)[:-1]))
    with pytest.raises(CorruptTableError, match="checksum"):
        read_version(store, 0)


def test_the_checksum_covers_every_byte_but_its_own():
    text = encode_version([CommitInfo("t", sha256=UNSEALED), Txn("app", 3)], compress=False)
    check_version(text, "f")
    place = text.index(b'"sha256":"') + len(b'"sha256":"')
    for at in range(len(text)):
        torn = bytearray(text)
        torn[at] ^= 1
        if text[at : at + 1] == b"\n" or torn[at : at + 1] == b"\n":
            continue
        is_field = (
            place - 10 <= at <= place + 66
        )  # what names the checksum: without it there is nothing to verify
        if not is_field and torn.startswith(b'{"commitInfo":'):
            with pytest.raises(CorruptTableError):
                check_version(bytes(torn), "f")


def test_files_without_a_checksum_and_texts_in_its_field_are_read_as_they_are():
    for info in (
        CommitInfo("t"),
        CommitInfo("t", sha256="mine"),
        CommitInfo("t", parameters={"sha256": "0" * 64}),
    ):
        assert decode_version(encode_version([info, Txn("a", 1)], compress=False), "f") == [info, Txn("a", 1)]


# The chain


def replace_version(store: MemoryStore, version: int, path: str) -> None:
    """Another sound file in the place of a version: its own checksum is right."""
    info = dataclasses.replace(commit_info(store, version), txn_id="another")
    store.put(version_key(version), encode_version([info, add(path)], compress=False))
    cache.forget()


def test_a_replaced_version_is_noticed_by_the_next_one(store: MemoryStore):
    grow(store)
    replace_version(store, 1, "z")
    with pytest.raises(CorruptTableError, match="version 2 was written after another version 1 .*REPAIR"):
        load_snapshot(store)
    assert live(load_snapshot(store, 1)) == ["a", "z"]


def test_two_versions_that_changed_places_are_noticed(store: MemoryStore):
    grow(store)
    one, two = store.get(version_key(1)), store.get(version_key(2))
    store.put(version_key(1), two)
    store.put(version_key(2), one)
    cache.forget()
    with pytest.raises(CorruptTableError, match="written after another version"):
        load_snapshot(store)


def test_repair_leaves_out_the_version_that_was_replaced(store: MemoryStore):
    grow(store)
    replace_version(store, 1, "z")
    found = recover_log(store, Settings())
    assert sorted(found.files) == ["a", "c", "d"]
    assert [damage for damage in found.damaged if version_key(1) in damage]


def test_a_version_of_another_writer_ends_the_chain_and_is_no_damage(store: MemoryStore):
    grow(store, "ab")
    put_version(store, 2, [add("x")])
    grow(store, "cd")
    assert commit_info(store, 3).previous_sha256 is None
    assert commit_info(store, 4).previous_sha256 == commit_info(store, 3).sha256
    cache.forget()
    assert live(load_snapshot(store)) == ["a", "b", "x", "c", "d"]


@pytest.mark.parametrize("form", ["avro", "json"])
def test_the_chain_goes_on_from_a_state(store: MemoryStore, form: str):
    grow(store)
    settings = Settings(dict(PLAIN) | {keys.STATE_FORMAT.key: form})
    checkpoint(store, settings)
    truncate_time_travel(store, settings)
    before = commit_info(store, 3).sha256
    cache.forget()
    grow(store, "e")
    assert commit_info(store, 4).previous_sha256 == before
    cache.forget()
    assert load_snapshot(store).checksum == commit_info(store, 4).sha256
    replaced = dataclasses.replace(commit_info(store, 4), previous_sha256="0" * 63 + "1")
    store.put(version_key(4), encode_version([replaced, add("e")]))
    cache.forget()
    with pytest.raises(CorruptTableError, match="version 4 was written after another version 3"):
        load_snapshot(store)


def test_a_writer_that_lost_a_race_names_the_winner(store: MemoryStore):
    grow(store, "a")
    base = load_snapshot(store)
    commit(store, Append((add("winner"),), metadata()), base=base)
    done = commit(store, Append((add("late"),), metadata()), base=base)
    assert (done.version, commit_info(store, 2).previous_sha256) == (2, commit_info(store, 1).sha256)


def test_the_chain_costs_a_warm_writer_no_request(store: MemoryStore):
    grow(store, "a")
    watched = FaultyStore(store)
    base = commit(watched, Append((add("b"),), metadata()), base=load_snapshot(store)).snapshot
    watched.calls.clear()
    commit(watched, Append((add("c"),), metadata()), base=base)
    assert [key for operation, key in watched.calls if operation == "create"] == [version_key(2)]
    assert (("get", version_key(1)) in watched.calls) is False
    assert commit_info(store, 2).previous_sha256 == commit_info(store, 1).sha256


def test_a_table_that_was_replaced_is_read_and_not_taken_for_damage(store: MemoryStore):
    grow(store)
    load_snapshot(store)
    other = MemoryStore(store.uri)
    grow(other, "pqrstu")
    store.objects = dict(other.objects)
    assert live(load_snapshot(store)) == list("pqrstu")


# JSON checkpoints


@pytest.mark.parametrize("entries", ["50000", "2"], ids=["whole", "in parts"])
def test_changed_bytes_of_a_json_checkpoint_are_noticed(store: MemoryStore, entries: str):
    grow(store)
    settings = Settings(dict(PLAIN_JSON) | {keys.STATE_ENTRIES_PER_MANIFEST.key: entries})
    checkpoint(store, settings)
    assert live(read_snapshot(store)) == ["a", "b", "c", "d"]
    (key,) = [key for key in store.objects if "checkpoint." in key and b'"path":"d"' in store.get(key)]
    store.put(key, store.get(key).replace(b'"path":"d"', b'"path":"z"'))
    with pytest.warns(StateWarning, match="does not match its checksum"):
        assert live(read_snapshot(store)) == ["a", "b", "c", "d"]


def test_what_another_writer_copied_from_a_checkpoint_is_not_held_against_it(store: MemoryStore):
    grow(store)
    checkpoint(store, PLAIN_JSON)
    (copied,) = (a for a in decode_version(store.get(checkpoint_key(3)), "c") if isinstance(a, Metadata))
    assert {EXTRAS_PROPERTY, CHECKPOINT_SEAL} <= copied.configuration.keys()
    put_version(store, 4, [add("e")])
    files = [add(path) for path in "abcde"]
    store.put(checkpoint_key(4), encode_version([copied, *files], compress=False))
    store.put(f"{LOG_DIRECTORY}/_last_checkpoint", json.dumps({"version": 4}).encode())
    cache.forget()
    found = read_snapshot(store)
    assert (live(found), found.files.base_version) == (list("abcde"), 4)
    assert found.metadata == metadata(created_time=found.metadata.created_time)
